"""What `!config` says, in Markdown. Values and what people typed stand in code, shortened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from commands.ports import ChangedSetting, ChosenSettings, Origin, ShownSetting
from memory.errors import Refused
from memory.text import visible
from texts.catalogue import Speaker

_LONGEST = 1000
_LONGEST_IN_LIST = 80
_LONGEST_TYPED = 60


def code(text: str, longest: int = _LONGEST) -> str:
    """Return a text as Markdown code that shows exactly it, on one line; what is too long is cut."""
    line = " ".join(visible(text).split())
    line = line if len(line) <= longest else line[:longest] + "…"
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    inner = f" {line} " if line.startswith("`") or line.endswith("`") or not line else line
    return f"{fence}{inner}{fence}"


def _value(say: Speaker, value: str | None, longest: int = _LONGEST) -> str:
    return say("config-not-set") if value is None else code(value, longest)


def shown(say: Speaker, setting: ShownSetting) -> str:
    """Say what holds, where it comes from, and what else could be."""
    said = say(
        "config-shown",
        key=code(setting.key),
        value=_value(say, setting.value),
        origin=say(setting.origin.value),
        default=_value(say, setting.default),
        allowed=setting.allowed,
    )
    notes = [said, say("config-scope-room" if setting.room else "config-scope-global")]
    return " ".join(notes if setting.settable else [*notes, say("config-not-in-chat")])


def everything(say: Speaker, settings: Iterable[ShownSetting]) -> str:
    """List every setting with its value."""
    return "\n".join([say("config-all"), "", *_lines(say, settings)])


def chosen(say: Speaker, found: ChosenSettings, *, room: bool) -> str:
    """Say what is set in chat, and how to see more. `room`: of this room alone."""
    parts = []
    if found.everywhere and not room:
        parts += ["\n".join([say("config-chosen"), "", *_lines(say, found.everywhere, origin=False)])]
    if found.here:
        parts += ["\n".join([say("config-chosen-here"), "", *_lines(say, found.here, origin=False)])]
    if not parts:
        parts += [say("config-chosen-none-here" if room else "config-chosen-none")]
    if found.elsewhere and not room:
        parts += [say("config-chosen-elsewhere", n=found.elsewhere)]
    if found.idle:
        parts += [say("config-idle", keys=", ".join(map(code, found.idle)))]
    return "\n\n".join([*parts, say("config-how-room" if room else "config-how")])


def of_room(say: Speaker, keys: Iterable[str]) -> str:
    """Say which settings a room may have of its own."""
    return say("config-of-room", keys=", ".join(map(code, keys)))


def _lines(say: Speaker, settings: Iterable[ShownSetting], *, origin: bool = True) -> Iterator[str]:
    for setting in settings:
        where = f" ({say(setting.origin.value)})" if origin and setting.origin is not Origin.DEFAULT else ""
        yield f"- {code(setting.key)} = {_value(say, setting.value, _LONGEST_IN_LIST)}{where}"


def was_set(say: Speaker, change: ChangedSetting, *, room: bool) -> str:
    """Say what a setting is now, and what holds in this room where that is something else."""
    key, value = code(change.now.key), _value(say, change.now.value)
    said = say("config-set-here", key=key, value=value) if room else say("config-set", key=key, value=value)
    return _with_here(say, said, change)


def was_reset(say: Speaker, change: ChangedSetting) -> str:
    """Say what holds again."""
    values = {"key": code(change.now.key), "value": _value(say, change.now.value)}
    values["origin"] = say(change.now.origin.value)
    said = say("config-reset", **values) if change.had else say("config-reset-nothing", **values)
    return _with_here(say, said, change)


def _with_here(say: Speaker, said: str, change: ChangedSetting) -> str:
    if change.here.value == change.now.value:
        return said
    here = say("config-set-but-here", value=_value(say, change.here.value), origin=say(change.here.origin.value))
    return f"{said} {here}"


def unknown(key: str, guess: str) -> Refused:
    """Refuse because there is no such setting; `guess` is one with a name like it, or ""."""
    typed = code(key, _LONGEST_TYPED)
    return (
        Refused("config-unknown-guess", key=typed, guess=code(guess)) if guess else Refused("config-unknown", key=typed)
    )


def secret(key: str) -> Refused:
    """Refuse to show or set a secret, without what was typed."""
    return Refused("config-secret", key=code(key))


def file_only(key: str) -> Refused:
    """Refuse to set what is set in the settings file alone."""
    return Refused("config-file-only", key=code(key))


def needs_restart(key: str) -> Refused:
    """Refuse to set what would act only after a restart."""
    return Refused("config-needs-restart", key=code(key))


def not_of_room(key: str) -> Refused:
    """Refuse to set for one room what holds for all."""
    return Refused("config-not-of-room", key=code(key))


def final(key: str) -> Refused:
    """Refuse to change what the environment has decided for good (D13)."""
    return Refused("config-final", key=code(key))


def out_of_bounds(key: str, typed: str, allowed: str) -> Refused:
    """Refuse a value with what is allowed."""
    return Refused("config-out-of-bounds", key=code(key), value=code(typed, _LONGEST_TYPED), allowed=allowed)


def no_value(key: str, typed: str) -> Refused:
    """Refuse a word that asks for the default instead of being a value."""
    return Refused("config-no-value", key=code(key), value=code(typed, _LONGEST_TYPED))


def no_price(key: str, models: str) -> Refused:
    """Refuse a change after which money could not be counted; `models`: the keys of models without a price."""
    return Refused("config-no-price", key=code(key), models=models)


def others_misfit(key: str, keys: Iterable[str]) -> Refused:
    """Refuse a change that other settings, set in chat before, do not go together with."""
    return Refused("config-others", key=code(key), keys=", ".join(map(code, keys)))


def nowhere() -> Refused:
    """Refuse because this bot has nowhere to keep settings."""
    return Refused("config-nowhere")
