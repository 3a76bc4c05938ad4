"""The settings of the kinds of turn, of pictures and of documents; see `davenport.settings`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, SecretStr
from pydantic.config import JsonDict

from davenport.settings_section import AN_ADDRESS, HELD_IN_FILE, Address, ModelName, SecretFile, Section
from media.settings import PainterSettings
from memory.settings import KindSettings

KINDS = KindSettings()
PAINTER = PainterSettings()
_ROOM: JsonDict = {"scope": "room"}
_LIVE_ROOM: JsonDict = {"scope": "room", "live": True}
MEGABYTE = 1_000_000


class CodeSection(Section):
    """`!code`."""

    live: ClassVar[bool] = True
    attach_lines: int = Field(
        default=KINDS.code_attach_lines,
        ge=0,
        le=100_000,
        description="A code block of more lines than this goes out as a file too; 0: every block.",
        json_schema_extra=_ROOM,
    )


class VerseSection(Section):
    """`!verse`: scenes in which the bot and people speak in character."""

    live: ClassVar[bool] = True
    enabled: bool = Field(
        default=KINDS.verse_enabled, description="Let people play scenes with `!verse`.", json_schema_extra=_ROOM
    )
    minutes: int = Field(
        default=KINDS.verse_minutes,
        ge=1,
        le=1440,
        description="Minutes without a message after which a scene begun with `!verse on` ends by itself.",
        json_schema_extra=_ROOM,
    )


class DrawSection(Section):
    """`!draw` and the pictures of `!story`."""

    enabled: bool = Field(
        default=KINDS.draw_enabled,
        description="Let people have pictures drawn with `!draw`.",
        json_schema_extra=_LIVE_ROOM,
    )
    provider: Literal["model", "openai"] = Field(
        default="model",
        description="model: the language model writes an SVG. openai: a server that speaks OpenAI's "
        "/v1/images/generations; the other keys are for it.",
    )
    base_url: Address = Field(
        default=PAINTER.base_url,
        description="The address of that server's API with its version; /images/generations is added.",
        json_schema_extra={"allowed": AN_ADDRESS},
    )
    model: ModelName = Field(
        default=PAINTER.model,
        description="The model that paints.",
        json_schema_extra={"allowed": "the name of a model; not empty for openai"},
    )
    size: str = Field(
        default=PAINTER.size,
        pattern=r"^([0-9]{2,5}x[0-9]{2,5}|auto)?$",
        description="The size that server is asked for.",
        json_schema_extra={"allowed": "width and height as 1024x1024, or auto, or empty to leave it to the server"},
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="The key for that server, where it wants one.",
        json_schema_extra={"allowed": "the key"},
    )
    api_key_file: SecretFile = Field(
        default=None, description="A file that holds the key instead.", json_schema_extra={"allowed": HELD_IN_FILE}
    )
    timeout_seconds: float = Field(
        default=PAINTER.timeout_seconds, gt=0, le=3600, description="How long that server may take for one picture."
    )

    def painter(self) -> PainterSettings:
        """Return the values as the painter reads them."""
        values = self.model_dump(exclude={"api_key_file", "enabled"})
        values["api_key"] = self.api_key or SecretStr("")
        return PainterSettings(**values)


class StorySection(Section):
    """`!story`."""

    live: ClassVar[bool] = True
    enabled: bool = Field(
        default=KINDS.story_enabled, description="Let people have stories told with `!story`.", json_schema_extra=_ROOM
    )
    parts: int = Field(
        default=KINDS.story_parts,
        ge=1,
        le=20,
        description="Parts of a story, each one answer of the model.",
        json_schema_extra=_ROOM,
    )
    illustrations: int = Field(
        default=KINDS.story_illustrations,
        ge=0,
        le=20,
        description="Pictures in a story at most; 0: none.",
        json_schema_extra=_ROOM,
    )


class PicturesSection(Section):
    """Pictures that people ask the bot about."""

    live: ClassVar[bool] = True
    enabled: bool = Field(
        default=KINDS.pictures_enabled,
        description="Show the model a picture that it is asked about. Turn it off for a model that takes no pictures.",
        json_schema_extra=_ROOM,
    )
    most_mb: float = Field(
        default=KINDS.pictures_most_bytes / MEGABYTE,
        gt=0,
        le=100,
        description="MB of a picture's file at most.",
        json_schema_extra=_ROOM,
    )


class DocumentsSection(Section):
    """Documents of a room (`!documents`), of which fitting parts are given with an answer."""

    live: ClassVar[bool] = True
    enabled: bool = Field(
        default=KINDS.documents_enabled,
        description="Let rooms have documents, and search them. What was added stays while it is off.",
        json_schema_extra=_ROOM,
    )
    most_mb: float = Field(
        default=KINDS.documents_most_bytes / MEGABYTE,
        gt=0,
        le=100,
        description="MB of a document's file at most.",
        json_schema_extra=_ROOM,
    )
    most: int = Field(
        default=KINDS.documents_most,
        ge=1,
        le=10_000,
        description="Documents of one room at most.",
        json_schema_extra=_ROOM,
    )
    chunks: int = Field(
        default=KINDS.documents_chunks,
        ge=1,
        le=10_000,
        description="Parts of at most a thousand characters one document may be cut into; a longer one is refused.",
        json_schema_extra=_ROOM,
    )
    in_prompt: int = Field(
        default=KINDS.documents_in_prompt,
        ge=1,
        le=20,
        description="Parts of documents given with one answer at most.",
        json_schema_extra=_ROOM,
    )
    match_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Similarity from which a part is given; not set: 0.25, as measured for the built-in embedder, or "
        "0.3 for openai, which suits no model in particular.",
        json_schema_extra={"allowed": "a number from 0 to 1", **_ROOM},
    )


def kinds_of(
    code: CodeSection,
    verse: VerseSection,
    draw: DrawSection,
    story: StorySection,
    pictures: PicturesSection,
    documents: DocumentsSection,
) -> KindSettings:
    """Return the values of these sections as turns read them."""
    return KindSettings(
        code_attach_lines=code.attach_lines,
        verse_enabled=verse.enabled,
        verse_minutes=verse.minutes,
        draw_enabled=draw.enabled,
        story_enabled=story.enabled,
        story_parts=story.parts,
        story_illustrations=story.illustrations,
        pictures_enabled=pictures.enabled,
        pictures_most_bytes=round(pictures.most_mb * MEGABYTE),
        documents_enabled=documents.enabled,
        documents_most_bytes=round(documents.most_mb * MEGABYTE),
        documents_most=documents.most,
        documents_chunks=documents.chunks,
        documents_in_prompt=documents.in_prompt,
        documents_threshold=documents.match_threshold,
    )
