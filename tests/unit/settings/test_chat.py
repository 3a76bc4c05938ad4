"""`!config`: every form, who may, what is refused and how, what is stored, and what holds over what."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from itertools import count
from pathlib import Path
from typing import cast

import pytest

from commands.dispatcher import CommandDispatcher
from commands.ports import System
from davenport.overrides import ChatSettings
from davenport.reload import Reloader
from davenport.settings_aliases import ALIASES
from davenport.settings_fields import all_keys
from davenport.settings_load import load_with_sources
from davenport.settings_source import ConfiguredSettings
from memory.errors import Refused, SettingsError, StorageError
from memory.events import Caller
from memory.types import Conversation
from storage import Database
from texts.catalogue import Speaker

WriteConfig = Callable[..., Path]
ROOM, OTHER = "!room:hs", "!other:hs"
ANA = "@ana:hs"


class Bot:
    """The settings of a bot over one data folder, and its command `!config`. `start` begins anew on the same data."""

    def __init__(self, config: Path, environ: dict[str, str] | None = None) -> None:
        self.config = config
        self.environ = environ or {}
        self._numbers = count()

    async def start(self) -> Bot:
        loaded = load_with_sources(self.config, self.environ)
        self.reloader = Reloader(self.config, loaded.settings, self.environ, loaded.sources)
        self.store = await Database.open(loaded.settings.storage.data_dir)
        self.chat = ChatSettings(self.reloader.in_force, self.store)
        await self.chat.load()
        self.source = ConfiguredSettings(self.reloader.settings, embedder_threshold=0.25)
        self.reloader.follow(self.source.use)
        self.dispatcher = CommandDispatcher(cast("System", None), self.source, config=self.chat)
        return self

    async def restart(self) -> None:
        await self.store.close()
        await self.start()

    async def run(
        self, text: str, *, admin: bool = True, moderator: bool = False, room: str = ROOM, event: str = ""
    ) -> str:
        """Return what is answered, a refusal too."""
        recognised = self.dispatcher.recognise(text)
        assert recognised is not None
        event = event or f"$e{next(self._numbers)}"
        where = Conversation(room, private=False, asker=ANA)
        caller = Caller(ANA, event, where, admin=admin, changes_state=moderator)
        try:
            return (await self.dispatcher.run(recognised.command, caller)).markdown
        except Refused as refused:
            return Speaker().refusal(refused)

    async def stored(self) -> dict[tuple[str, str], object]:
        async with self.store.transaction() as tables:
            return {place: json.loads(value) for place, value in (await tables.overrides.all()).items()}


@pytest.fixture
async def bots() -> AsyncIterator[Callable[..., Bot]]:
    made: list[Bot] = []

    def make(config: Path, environ: dict[str, str] | None = None) -> Bot:
        made.append(Bot(config, environ))
        return made[-1]

    yield make
    for bot in made:
        await bot.store.close()


@pytest.fixture
async def bot(bots: Callable[..., Bot], write_config: WriteConfig) -> Bot:
    return await bots(write_config()).start()


# --- shown ----------------------------------------------------------------------------------------------------------


async def test_a_setting_is_shown_with_value_default_scope_and_where_it_is_from(bot: Bot) -> None:
    assert await bot.run("!config memory.max_per_user") == (
        "`memory.max_per_user` is `50` (by default). Default: `50`. Allowed: a whole number from 1 to 100000. "
        "It holds for every room."
    )
    assert (await bot.run("!config memory.enabled")).endswith("A room may have its own value.")
    assert "`memory.match_threshold` is not set (by default)" in await bot.run("!config memory.match_threshold")
    assert (await bot.run("!config storage.data_dir")).endswith("It is set in the settings file alone.")


async def test_where_a_value_is_from_is_said_from_weak_to_strong(
    bots: Callable[..., Bot], write_config: WriteConfig
) -> None:
    path = write_config(f'[context]\ntimeout_minutes = 9\n[rooms."{OTHER}"]\ncontext.timeout_minutes = 8\n')
    bot = await bots(path, {"DAVENPORT_CONTEXT__MAX_MESSAGES": "7"}).start()

    async def origin(key: str, room: str) -> str:
        return (await bot.run(f"!config {key}", room=room)).split("(")[1].split(")")[0]

    assert await origin("memory.notices", ROOM) == "by default"
    assert await origin("context.timeout_minutes", ROOM) == "from the settings file"
    assert await origin("context.max_messages", ROOM) == "from the environment"
    assert await origin("context.timeout_minutes", OTHER) == "from the settings file, for this room"
    await bot.run("!config context.timeout_minutes 7")
    await bot.run("!config context.max_messages 8")
    assert await origin("context.timeout_minutes", ROOM) == "set in chat"
    assert await origin("context.max_messages", ROOM) == "set in chat"
    assert await origin("context.timeout_minutes", OTHER) == "from the settings file, for this room"
    await bot.run("!config room context.timeout_minutes 7", room=OTHER)
    assert await origin("context.timeout_minutes", OTHER) == "set in chat for this room"


async def test_every_setting_but_secrets_is_listed(bot: Bot) -> None:
    listed = await bot.run("!config list all")
    assert [line.split("`")[1] for line in listed.splitlines() if line.startswith("- ")] == [
        key.dotted for key in all_keys() if not key.secret
    ]
    assert '- `matrix.homeserver` = `"https://matrix.example.org"` (from the settings file)' in listed
    assert "- `memory.max_per_user` = `50`" in listed.splitlines()
    assert "sesame" not in listed


async def test_the_overview_says_what_is_set_here_and_counts_other_rooms(bot: Bot) -> None:
    assert (await bot.run("!config")).startswith("Nothing is set in chat.\n\n`!config KEY` shows a setting")
    await bot.run("!config memoryMaxPerUser 9")
    await bot.run("!config room bot.language de", room=OTHER)
    await bot.run("!config room memory.enabled off")
    for form in ("!config", "!config list", "!CONFIG LIST"):
        said = await bot.run(form)
        assert "Set in chat, for everywhere:\n\n- `memory.max_per_user` = `9`" in said
        assert "Set in chat, for this room:\n\n- `memory.enabled` = `false`" in said
        assert "1 more is set for another room." in said
        assert OTHER not in said
    room = await bot.run("!config room", admin=False, moderator=True)
    assert "What can be set here: `bot.language`, `memory.enabled`, " in room
    assert "memory.blacklist" not in room, "that is for admins (P1)"
    assert "memory.blacklist" in await bot.run("!config room")
    assert "`memory.enabled` = `false`" in room
    assert "max_per_user" not in room
    assert "other" not in room


# --- set ------------------------------------------------------------------------------------------------------------


async def test_only_what_was_set_is_stored_and_it_acts_at_once(bot: Bot) -> None:
    before = bot.source.memory(ROOM)
    assert await bot.run("!config memory.promotion_threshold 3") == "`memory.promotion_threshold` is now `3`."
    assert bot.source.memory(ROOM).promotion_threshold == 3
    assert before.promotion_threshold == 2  # P5: what was read stays
    assert await bot.stored() == {("memory.promotion_threshold", ""): 3}
    assert (await bot.run("!config memory.promotion_threshold")).startswith(
        "`memory.promotion_threshold` is `3` (set in chat). Default: `2`."
    )


@pytest.mark.parametrize(
    ("typed", "key", "value"),
    [
        ("memory.max_per_user 3", "memory.max_per_user", 3),
        ("MEMORY.Max_Per_User = 3", "memory.max_per_user", 3),
        ("memory.max_per_user=3", "memory.max_per_user", 3),
        ("`memory.max_per_user` `3`", "memory.max_per_user", 3),
        ("plugins.LLM.memoryMaxPerUser 3", "memory.max_per_user", 3),
        ("memory.enabled off", "memory.enabled", False),
        ("memory.decay_enabled No", "memory.decay_enabled", False),
        ("memory.private_stays_private yes", "memory.private_stays_private", True),
        ("bot.welcome on", "bot.welcome", True),
        ("memory.match_threshold 0.5", "memory.match_threshold", 0.5),
        ("memory.match_threshold 1", "memory.match_threshold", 1.0),
        ("llm.timeout_seconds 30", "llm.timeout_seconds", 30.0),
        ('assistantModel "big model"', "llm.assistant_model", "big model"),
        ("assistantModel “big”", "llm.assistant_model", "big"),
        ("assistantModel „groß“", "llm.assistant_model", "groß"),
        ("llm.assistant_model big", "llm.assistant_model", "big"),
        ('llm.assistant_model "default"', "llm.assistant_model", "default"),
        ('memoryModel ""', "llm.memory_model", ""),
        ("memory.notices private", "memory.notices", "private"),
        ("memory.notices Private", "memory.notices", "private"),
        ("log.level DEBUG", "log.level", "debug"),
        ("matrix.command_prefix %", "matrix.command_prefix", "%"),
        ("matrix.ignore_users @a:hs  @irc_*:hs", "matrix.ignore_users", ["@a:hs", "@irc_*:hs"]),
        ('matrix.ignore_users ["@a:hs", "@b:hs"]', "matrix.ignore_users", ["@a:hs", "@b:hs"]),
        ('memory.blacklist "@a:hs", "@b:hs"', "memory.blacklist", ["@a:hs", "@b:hs"]),
        ("memory.blacklist [@a:hs, @b[12]:hs]", "memory.blacklist", ["@a:hs", "@b[12]:hs"]),
        ("memory.blacklist @b[12]", "memory.blacklist", ["@b[12]"]),
        ('memory.blacklist ""', "memory.blacklist", []),
        ("memory.room_power_level -1", "memory.room_power_level", -1),
    ],
)
async def test_values_are_taken_as_people_write_them(
    bot: Bot, capsys: pytest.CaptureFixture[str], typed: str, key: str, value: object
) -> None:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    assert "is now" in await bot.run(f"!config {typed}")
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)
    assert await bot.stored() == {(key, ""): value}
    section, _, name = key.partition(".")
    shown = getattr(getattr(bot.reloader.settings, section), name)
    assert (list(shown) if isinstance(shown, tuple) else shown) == value


# P2-P4, P10, P13: the settings of the source, what they must be, and a value just outside and just inside.
BOUNDS = (
    ("memoryEnabled", "true or false", "2", "false"),
    ("memoryPromotionThreshold", "a whole number from 1 to 1000", "0", "1"),
    ("memoryPromotionThreshold", "a whole number from 1 to 1000", "1001", "1000"),
    ("memoryPromotionThreshold", "a whole number from 1 to 1000", "1.5", "1"),
    ("memoryCandidateTTLDays", "a whole number from 0 to 36500", "-1", "0"),
    ("memoryCandidateTTLDays", "a whole number from 0 to 36500", "36501", "36500"),
    ("memoryMaxPerUser", "a whole number from 1 to 100000", "0", "1"),
    ("memoryMaxPerUser", "a whole number from 1 to 100000", "100001", "100000"),
    ("memoryMaxPerUser", "a whole number from 1 to 100000", "nan", "1"),
    ("memoryCleanupInterval", "a whole number from 0 to 1000", "-1", "0"),
    ("memoryCleanupInterval", "a whole number from 0 to 1000", "1001", "1000"),
    ("assistantModel", "the name of a model", '""', '"x"'),
)


@pytest.mark.parametrize("prefix", ["", "plugins.LLM."])
@pytest.mark.parametrize(("name", "allowed", "wrong", "right"), BOUNDS)
async def test_p2_p3_p4_p10_p13_bounds_hold_in_file_environment_and_chat(
    bot: Bot, write_config: WriteConfig, name: str, allowed: str, wrong: str, right: str, prefix: str
) -> None:
    key = ALIASES[name]
    variable = f"DAVENPORT_{key.replace('.', '__')}".upper()
    for value, fault in ((wrong, True), (right, False)):
        ways = [(f"{prefix}{name} = {value}\n", {}), (f"{key} = {value}\n", {}), ("", {variable: value.strip('"')})]
        for top, environ in ways:
            path = write_config(required="", more=f'{top}\n[matrix]\nhomeserver = "https://a"\nuser_id = "@b:a"\n')
            try:
                load_with_sources(path, environ)
            except SettingsError as error:
                assert fault, error
                assert f"{key}" in str(error)
                assert f"must be {allowed}" in str(error)
            else:
                assert not fault, (value, top, environ)
    shown = wrong.strip('"')
    before = bot.reloader.settings
    said = await bot.run(f"!config {prefix}{name} {wrong}")
    assert said.startswith(f"`{key}` cannot be ")
    assert said.endswith(f" Allowed: {allowed}.")
    assert shown in said
    assert bot.reloader.settings is before
    assert await bot.stored() == {}
    assert "is now" in await bot.run(f"!config {prefix}{name} {right}")


async def test_a_wrong_value_is_named_short_and_without_markup(bot: Bot) -> None:
    said = await bot.run(f"!config memory.max_per_user **`<b>x</b>`** [l](http://x)\n{'y' * 5000}")
    assert said.startswith("`memory.max_per_user` cannot be ``**`<b>x</b>`** [l](http://x) y")
    assert len(said) < 250


async def test_the_word_default_is_no_value(bot: Bot) -> None:
    said = await bot.run("!config llm.assistant_model Default")
    assert said.startswith("`Default` is no value of `llm.assistant_model`. `!config reset KEY` lets the default hold")
    assert await bot.stored() == {}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("memory.max_per_usr 3", "There is no setting `memory.max_per_usr`. Did you mean `memory.max_per_user`?"),
        ("memoryMaxPerUsr 3", "There is no setting `memoryMaxPerUsr`. Did you mean `memoryMaxPerUser`?"),
        ("dance 3", "There is no setting `dance`. `!config list all` names them all."),
        ("matrix.admins @eve:hs", "`matrix.admins` cannot be set in chat, only in the settings file."),
        ('llm.prices {"a": 1}', "`llm.prices` cannot be set in chat, only in the settings file."),
        ("limits.quotas {}", "`limits.quotas` cannot be set in chat, only in the settings file."),
        ("storage.data_dir /tmp", "`storage.data_dir` acts only after a restart"),
        ("llm.api_key_file /etc/passwd", "`llm.api_key_file` acts only after a restart"),
        ("room memory.max_per_user 3", "`memory.max_per_user` is the same for every room"),
    ],
)
async def test_what_cannot_be_set_is_refused_with_the_reason(bot: Bot, typed: str, said: str) -> None:
    assert (await bot.run(f"!config {typed}")).startswith(said)
    assert await bot.stored() == {}


@pytest.mark.parametrize("key", [key.dotted for key in all_keys() if key.secret])
@pytest.mark.parametrize("form", ["{}", "{} sk-typed", "room {}", "room {} sk-typed", "reset {}", "room reset {}"])
async def test_secrets_are_neither_shown_nor_set_nor_repeated(bot: Bot, key: str, form: str) -> None:
    said = await bot.run(f"!config {form.format(key)}")
    assert said.startswith(f"`{key}` is a secret")
    assert "sk-typed" not in said
    assert "sesame" not in said
    assert await bot.stored() == {}


async def test_d13_decay_cannot_be_set_where_the_environment_is_final(
    bots: Callable[..., Bot], write_config: WriteConfig
) -> None:
    bot = await bots(write_config()).start()
    await bot.run("!config memory.decay_enabled on")
    bot.environ["MEMORY_DECAY_ENABLED"] = "false"
    await bot.restart()
    assert bot.source.memory(ROOM).decay_enabled is False
    assert "`memory.decay_enabled` is `false` (from the environment)" in await bot.run("!config memory.decay_enabled")
    said = await bot.run("!config memory.decay_enabled true")
    assert "`MEMORY_DECAY_ENABLED=false` in the environment of the bot is final" in said
    assert bot.source.memory(ROOM).decay_enabled is False
    assert "Set in chat, but without effect since it no longer fits: `memory.decay_enabled`" in await bot.run("!config")


async def test_what_money_needs_is_not_taken_away(bots: Callable[..., Bot], write_config: WriteConfig) -> None:
    prices = "".join(f'[llm.prices."{model}"]\ninput = 1\noutput = 1\n' for model in ("a", "b"))
    models = 'assistant_model = "a"\nmemory_model = "a"\n'
    config = write_config(f'[llm]\n{models}daily_budget = 5\nbudget_unit = "currency"\n{prices}')
    bot = await bots(config).start()
    said = await bot.run("!config assistantModel c")
    assert said.startswith("`llm.assistant_model` cannot be changed like that: `llm.prices` has no price for the model")
    assert "is now" in await bot.run("!config assistantModel b")
    write_config(
        f'[llm]\n{models}daily_budget = 5\nbudget_unit = "currency"\n{prices.split("[llm.prices.")[1]}'.replace(
            '"a"]', '[llm.prices."a"]'
        )
    )
    bot.reloader.reload()
    assert bot.reloader.settings.llm.assistant_model == "a"
    assert await bot.stored() == {("llm.assistant_model", ""): "b"}


async def test_a_change_that_leaves_another_without_sense_is_refused(
    bots: Callable[..., Bot], write_config: WriteConfig
) -> None:
    bot = await bots(
        write_config('[llm]\nassistant_model = "a"\nmemory_model = ""\n[llm.prices.b]\ninput=1\noutput=1\n')
    ).start()
    await bot.run("!config llm.daily_budget 5")
    await bot.run("!config llm.assistant_model b")
    assert "is now" in await bot.run("!config llm.budget_unit currency")
    said = await bot.run("!config reset llm.assistant_model")
    assert said == (
        "`llm.assistant_model` cannot be changed like that, since these, set in chat, would no longer fit: "
        "`llm.budget_unit`."
    )
    assert bot.reloader.settings.llm.assistant_model == "b"
    await bot.restart()
    llm = bot.reloader.settings.llm
    assert (llm.assistant_model, llm.budget_unit, llm.daily_budget) == ("b", "currency", 5)


# --- who may --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "list",
        "list all",
        "memory.enabled",
        "memory.enabled off",
        "reset memory.enabled",
        "room",
        "room memory.enabled",
        "room memory.enabled off",
        "room reset memory.enabled",
    ],
)
async def test_whoever_may_nothing_is_refused_every_form(bot: Bot, typed: str) -> None:
    assert (await bot.run(f"!config {typed}", admin=False)).startswith("Only admins of the bot")
    assert await bot.stored() == {}


async def test_whoever_may_change_the_room_sets_what_the_room_has_of_its_own(bot: Bot) -> None:
    for typed in ("list", "list all", "reset memory.enabled"):
        assert await bot.run(f"!config {typed}", admin=False, moderator=True) == "Only admins of the bot may do that."
    for typed in ("", "memory.enabled", "memory.enabled off"):
        assert await bot.run(f"!config {typed}", admin=False, moderator=True) == (
            "Only admins of the bot may do that. `!config room` shows what you may set for this room."
        )
    moderator = {"admin": False, "moderator": True}
    assert await bot.run("!config room memory.enabled off", **moderator) == (
        "`memory.enabled` is now `false` in this room."
    )
    assert "`false` (set in chat for this room)" in await bot.run("!config room memory.enabled", **moderator)
    assert (bot.source.memory(ROOM).enabled, bot.source.memory(OTHER).enabled) == (False, True)
    said = await bot.run("!config room memory.max_per_user", **moderator)
    assert said.startswith("`memory.max_per_user` is the same for every room")
    assert await bot.run("!config room reset memory.enabled", **moderator) == (
        "`memory.enabled` is `true` again (by default)."
    )


async def test_p1_a_rooms_own_people_cannot_lift_the_blacklist(bot: Bot) -> None:
    await bot.run("!config memory.blacklist @eve:hs")
    for typed in ('room memory.blacklist ""', "room reset memory.blacklist"):
        assert await bot.run(f"!config {typed}", admin=False, moderator=True) == "Only admins of the bot may do that."
    assert bot.source.memory(ROOM).blacklist == ("@eve:hs",)
    assert "is now" in await bot.run('!config room memory.blacklist ""')
    assert bot.source.memory(ROOM).blacklist == ()


# --- what holds over what -------------------------------------------------------------------------------------------


async def test_the_order_is_default_file_environment_chat_room_of_file_room_of_chat(
    bots: Callable[..., Bot], write_config: WriteConfig
) -> None:
    def messages(room: str) -> int:
        return bot.source.context(room).max_messages

    path = write_config(f'[context]\nmax_messages = 2\n[rooms."{OTHER}"]\ncontext.max_messages = 5\n')
    bot = await bots(path).start()
    assert (messages(ROOM), messages(OTHER)) == (2, 5)
    bot.environ["DAVENPORT_CONTEXT__MAX_MESSAGES"] = "3"
    await bot.restart()
    assert (messages(ROOM), messages(OTHER)) == (3, 5)
    said = await bot.run("!config context.max_messages 4", room=OTHER)
    assert said == "`context.max_messages` is now `4`. In this room `5` holds (from the settings file, for this room)."
    assert (messages(ROOM), messages(OTHER)) == (4, 5)
    await bot.run("!config room context.max_messages 6", room=OTHER)
    assert (messages(ROOM), messages(OTHER)) == (4, 6)
    await bot.restart()
    assert (messages(ROOM), messages(OTHER)) == (4, 6)
    assert await bot.run("!config room reset context.max_messages", room=OTHER) == (
        "`context.max_messages` is `5` again (from the settings file, for this room)."
    )
    assert await bot.run("!config reset context.max_messages") == (
        "`context.max_messages` is `3` again (from the environment)."
    )
    assert await bot.run("!config reset context.max_messages") == (
        "`context.max_messages` was not set in chat; it is `3` (from the environment)."
    )
    assert await bot.stored() == {}


async def test_a_room_keeps_its_other_values_from_the_file(bots: Callable[..., Bot], write_config: WriteConfig) -> None:
    path = write_config(f'[rooms."{ROOM}"]\nbot.language = "de"\ncontext.max_messages = 5\n')
    bot = await bots(path).start()
    await bot.run("!config room context.timeout_minutes 9")
    context = bot.source.context(ROOM)
    assert (context.max_messages, context.timeout_minutes, bot.source.language(ROOM)) == (5, 9, "de")


async def test_sighup_reads_the_file_again_under_what_is_set_in_chat(
    bots: Callable[..., Bot], write_config: WriteConfig, caplog: pytest.LogCaptureFixture
) -> None:
    bot = await bots(write_config("[memory]\nmax_per_user = 5\n")).start()
    await bot.run("!config memory.max_per_user 6")
    write_config("[memory]\nmax_per_user = 7\ncapacity_room = 8\n")
    bot.reloader.reload()
    assert (bot.source.memory(ROOM).max_per_user, bot.source.memory(ROOM).capacity_room) == (6, 8)
    assert (await bot.run("!config reset memory.max_per_user")).startswith("`memory.max_per_user` is `7` again")
    assert bot.source.memory(ROOM).max_per_user == 7


async def test_what_no_longer_fits_is_left_out_named_and_kept(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    rows = {
        ("memory.gone", ""): "3",
        ("memory.max_per_user", ""): "0",
        ("memory.capacity_room", ""): "{broken",
        ("memory.capacity_personal", ROOM): "9",
        ("matrix.admins", ""): '["@eve:hs"]',
        ("llm.api_key", ""): '"sk-stored"',
        ("memory.rest_after_days", ""): "4",
    }
    async with bot.store.transaction() as tables:
        for (key, room_id), value in rows.items():
            await tables.overrides.set(key, room_id, value)
    await bot.restart()
    assert bot.source.memory(ROOM).rest_after_days == 4
    assert (bot.source.memory(ROOM).max_per_user, bot.source.memory(ROOM).capacity_personal) == (50, 100)
    assert not bot.source.admin("@eve:hs")
    named = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(named) == len(rows) - 1
    assert any(
        line.startswith("what was set in chat for memory.capacity_personal for !room:hs does not") for line in named
    )
    assert "sk-stored" not in caplog.text
    async with bot.store.transaction() as tables:
        assert await tables.overrides.all() == rows
    assert "`memory.gone`" in await bot.run("!config")
    assert (await bot.run("!config reset memory.gone")).startswith("`memory.gone` is not set again")
    assert await bot.run("!config memory.max_per_user 6") == "`memory.max_per_user` is now `6`."
    assert "`6` (set in chat)" in await bot.run("!config memory.max_per_user")
    assert bot.source.memory(ROOM).max_per_user == 6
    for key in ("memory.max_per_user", "memory.capacity_room", "llm.api_key"):
        assert "again" in await bot.run(f"!config reset {key}")
    await bot.run("!config room reset memory.capacity_personal")
    assert await bot.stored() == {("matrix.admins", ""): ["@eve:hs"], ("memory.rest_after_days", ""): 4}


# --- a command that is carried out twice ----------------------------------------------------------------------------


async def test_a_replayed_command_changes_nothing_and_answers_the_same(bot: Bot) -> None:
    first = await bot.run("!config memory.max_per_user 3", event="$first", room=OTHER)
    await bot.run("!config memory.max_per_user 4", event="$second")
    await bot.restart()
    assert await bot.run("!config memory.max_per_user 3", event="$first", room=OTHER) == first
    assert bot.source.memory(ROOM).max_per_user == 4
    gone = await bot.run("!config reset memory.max_per_user", event="$third")
    await bot.run("!config memory.max_per_user 5", event="$fourth")
    assert await bot.run("!config reset memory.max_per_user", event="$third") == gone
    assert await bot.stored() == {("memory.max_per_user", ""): 5}


@pytest.mark.parametrize("text", ["!config list some", "!config reset", "!config reset a b", "!config room reset"])
async def test_what_cannot_be_read_says_how_it_is_used(bot: Bot, text: str) -> None:
    assert (await bot.run(text)).startswith("This is how to use it: `!config")


# --- what is stored is what is in force -----------------------------------------------------------------------------


async def test_changes_made_at_once_all_hold(bot: Bot) -> None:
    """One is made after the other: none is lost between what was read and what is written."""
    keys = ("max_per_user", "capacity_room", "capacity_personal", "rest_after_days", "cleanup_interval")
    await asyncio.gather(*(bot.run(f"!config memory.{key} {n}") for n, key in enumerate(keys, start=3)))
    rules = bot.source.memory(ROOM)
    assert [getattr(rules, key) for key in keys] == [3, 4, 5, 6, 7]
    assert await bot.stored() == {(f"memory.{key}", ""): n for n, key in enumerate(keys, start=3)}


@pytest.mark.parametrize("steps", range(0, 40, 3))
async def test_a_command_given_up_at_any_moment_leaves_no_difference(bot: Bot, steps: int) -> None:
    """Redacting a command cancels it, also while its transaction is being committed."""
    command = asyncio.create_task(bot.run("!config memory.max_per_user 3"))
    for _ in range(steps):
        await asyncio.sleep(0)
    command.cancel()
    await asyncio.gather(command, return_exceptions=True)
    stored = (await bot.stored()).get(("memory.max_per_user", ""), 50)
    assert bot.source.memory(ROOM).max_per_user == stored


async def test_what_cannot_be_stored_does_not_act(bot: Bot) -> None:
    failing = "CREATE TRIGGER full BEFORE INSERT ON settings BEGIN SELECT RAISE(ABORT, 'full'); END"
    async with bot.store.transaction() as tables:
        await tables.overrides._sql.run(failing)
    with pytest.raises(StorageError, match="full"):
        await bot.run("!config memory.max_per_user 3", event="$kept")
    assert bot.source.memory(ROOM).max_per_user == 50
    async with bot.store.transaction() as tables:
        await tables.overrides._sql.run("DROP TRIGGER full")
    assert "is now `3`" in await bot.run("!config memory.max_per_user 3", event="$kept")
