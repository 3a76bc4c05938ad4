"""What the Messages API refuses, refused here too, so that a request that works offline works there.

Shapes are checked by the models below (surplus keys are refused, as by the API), what spans several parts by functions.
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, ValidationInfo, field_validator

from llm.offline.api import JsonObject, refused
from llm.offline.schema import check_schema

MAX_BREAKPOINTS = 4
MAX_IMAGES = 100
MAX_IMAGE_CHARACTERS = 5 * 1024 * 1024  # of one picture, in base64
_MAGIC = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n", "image/gif": b"GIF8", "image/webp": b"RIFF"}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _CacheControl(_Part):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


Text = Annotated[str, StringConstraints(pattern=r"\S")]  # the API refuses blank texts


class _TextBlock(_Part):
    type: Literal["text"]
    text: Text
    cache_control: _CacheControl | None = None
    citations: None = None


class _ImageSource(_Part):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str

    @field_validator("data")
    @classmethod
    def _holds_a_picture(cls, data: str, info: ValidationInfo) -> str:
        if len(data) > MAX_IMAGE_CHARACTERS:
            raise ValueError(f"image exceeds 5 MB maximum: {len(data)} bytes > {MAX_IMAGE_CHARACTERS} bytes")
        begins = _MAGIC.get(str(info.data.get("media_type")), b"")
        if not base64.b64decode(data, validate=True).startswith(begins):
            raise ValueError("Image does not match the provided media type")
        return data


class _Image(_Part):
    type: Literal["image"]
    source: _ImageSource
    cache_control: _CacheControl | None = None


class _ToolUse(_Part):
    type: Literal["tool_use"]
    id: Text
    name: Text
    input: dict[str, Any]
    cache_control: _CacheControl | None = None
    caller: Any = None


class _ToolResult(_Part):
    type: Literal["tool_result"]
    tool_use_id: Text
    content: str | list[_TextBlock] = ""
    is_error: bool = False
    cache_control: _CacheControl | None = None


class _Thinking(_Part):
    type: Literal["thinking"]
    thinking: str
    signature: str


_UserBlock = Annotated[_TextBlock | _Image | _ToolResult, Field(discriminator="type")]
_AssistantBlock = Annotated[_TextBlock | _ToolUse | _Thinking, Field(discriminator="type")]


class _UserMessage(_Part):
    role: Literal["user"]
    content: Text | Annotated[list[_UserBlock], Field(min_length=1)]


class _AssistantMessage(_Part):
    role: Literal["assistant"]
    content: Text | Annotated[list[_AssistantBlock], Field(min_length=1)]


class _InputSchema(BaseModel):
    type: Literal["object"]


class _Tool(_Part):
    name: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str = ""
    input_schema: _InputSchema
    cache_control: _CacheControl | None = None


class _ToolChoice(_Part):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool = False


class _Format(_Part):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class _OutputConfig(_Part):
    format: _Format | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None


class _Body(_Part):
    model: Text
    max_tokens: Annotated[int, Field(ge=1)]
    messages: Annotated[
        list[Annotated[_UserMessage | _AssistantMessage, Field(discriminator="role")]], Field(min_length=1)
    ]
    system: str | list[_TextBlock] = ""
    tools: list[_Tool] = Field(default_factory=list)
    tool_choice: _ToolChoice | None = None
    output_config: _OutputConfig | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    stream: bool = False


def check_request(body: JsonObject) -> None:
    """Raise ApiFault 400 for a request that the API would refuse, or that needs what this server does not have."""
    try:
        request = _Body.model_validate(body)
    except ValidationError as error:
        raise refused(_problem(error)) from None
    _check_order(request)
    _check_images(request)
    _check_breakpoints(request)
    _check_tools(request)
    if request.output_config and request.output_config.format:
        check_schema(request.output_config.format.schema_)


def _problem(error: ValidationError) -> str:
    """Name the problem that lies deepest, which is the one of the alternative that was meant."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    problem = max(problems, key=lambda found: len(found["loc"]))
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"


def _check_order(request: _Body) -> None:
    if request.messages[0].role != "user":
        raise refused("messages: first message must use the user role")
    if request.messages[-1].role != "user":
        raise refused("messages: this model does not support a prefilled answer; the last message must be a user's")
    open_calls: list[str] = []
    for index, message in enumerate(request.messages):
        blocks = [] if isinstance(message.content, str) else message.content
        answered = [block.tool_use_id for block in blocks if isinstance(block, _ToolResult)]
        if sorted(answered) != sorted(open_calls):
            raise refused(f"messages.{index}: each tool_use must be followed by its one tool_result")
        open_calls = [block.id for block in blocks if isinstance(block, _ToolUse)]


def _check_images(request: _Body) -> None:
    blocks = [
        block for message in request.messages if not isinstance(message.content, str) for block in message.content
    ]
    found = sum(1 for block in blocks if isinstance(block, _Image))
    if found > MAX_IMAGES:
        raise refused(f"messages: at most {MAX_IMAGES} images may be provided, found {found}")


def _check_breakpoints(request: _Body) -> None:
    blocks: list[object] = [*request.tools, *(request.system if isinstance(request.system, list) else [])]
    for message in request.messages:
        blocks += [] if isinstance(message.content, str) else message.content
    found = sum(1 for block in blocks if getattr(block, "cache_control", None) is not None)
    if found > MAX_BREAKPOINTS:
        raise refused(f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}.")


def _check_tools(request: _Body) -> None:
    names = [tool.name for tool in request.tools]
    if len(names) != len(set(names)):
        raise refused("tools: Tool names must be unique.")
    choice = request.tool_choice
    if choice is None:
        return
    if not names:
        raise refused("tool_choice: may only be specified while providing tools")
    if (choice.type == "tool") != (choice.name is not None):
        raise refused("tool_choice: `name` belongs to type `tool` and to no other")
    if choice.name is not None and choice.name not in names:
        raise refused(f"tool_choice: Tool '{choice.name}' not found in provided tools")
