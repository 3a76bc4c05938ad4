"""What all sections of the settings share."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

PLACEHOLDER = "CHANGE-ME"
_SPACE = re.compile(r"\s")

# Without a user name and password before the host: addresses are logged and shown.
_ADDRESS = r"^https?://[^\s/?#@]+([/?#]\S*)?$"
AN_ADDRESS = "an http:// or https:// address without a user name or password"


def expanded(path: Path) -> Path:
    """Return a path with `~` replaced by the folder it stands for. Raises ValueError for what can be no path."""
    if "\0" in str(path):
        raise ValueError("a path holds no zero byte")
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("there is no such account, or it has no home") from None


def with_host_and_port(address: str) -> str:
    """Return an address whose host and port can be read. Raises ValueError for any other: no client would take it."""
    parts = urlsplit(address)
    if not parts.hostname or parts.port == 0:
        raise ValueError("there is no such host or port")
    if "[" in parts.netloc:
        ip_address(parts.hostname)
    return address


def named_for_openai(model: str, info: ValidationInfo) -> str:
    """Return the name of a section's model; refuse that there is none where the section's `provider` is "openai"."""
    if info.data.get("provider") == "openai" and not model:
        raise PydanticCustomError("no_model", "no model")
    return model


ModelName = Annotated[str, Field(validate_default=True), AfterValidator(named_for_openai)]
Address = Annotated[str, Field(pattern=_ADDRESS), AfterValidator(with_host_and_port)]
UsablePath = Annotated[Path, Field(strict=False), AfterValidator(expanded)]
SecretFile = Annotated[UsablePath | None, Field(strict=False)]
HELD_IN_FILE = "the path of a file, relative to config.toml; readable by its owner only"


def names_somebody(patterns: tuple[str, ...], *, kinds: str) -> tuple[str, ...]:
    """Return patterns of ids; refuse one that can name nobody, for whoever it was meant for would not be known by it.

    kinds: the characters with which the ids begin.
    """
    if not all(pattern and pattern[0] in f"{kinds}*?[" and not _SPACE.search(pattern) for pattern in patterns):
        raise PydanticCustomError("names_nobody", "names nobody")
    return patterns


def of_room(field: FieldInfo) -> bool:
    """Whether each room may have its own value of this key."""
    extra = field.json_schema_extra
    return isinstance(extra, dict) and extra.get("scope") == "room"


def _holds_placeholder(value: object) -> bool:
    waiting = [value]  # no recursion: lists may be nested as deep as their writer likes
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting.extend(item)
        elif isinstance(item, str) and PLACEHOLDER in item.upper():
            return True
    return False


class Section(BaseModel):
    """Base of the sections. Values are never converted: a number in quotes is a fault, not a number. An empty text is
    the same as nothing where nothing is the default.

    `live`: a changed value acts at SIGHUP; otherwise it waits for a restart. A secret key `x` has a sibling `x_file`,
    the path of a file that holds it (`settings_secrets`).
    """

    live: ClassVar[bool] = False
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_placeholder_and_unset_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if _holds_placeholder(value):
            raise PydanticCustomError("placeholder", "placeholder")
        unset = info.field_name is not None and value == "" and cls.model_fields[info.field_name].default is None
        return None if unset else value
