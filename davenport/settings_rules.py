"""The settings of the rules of memory and of the conversation window; see `davenport.settings`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from davenport.settings_section import Section, names_somebody
from memory.settings import ContextSettings, MemorySettings

RULES = MemorySettings()
WINDOW = ContextSettings()


class MemorySection(Section):
    """What is remembered, and when it rests. The letters in brackets name rules of memory."""

    live: ClassVar[bool] = True
    enabled: bool = Field(
        default=RULES.enabled,
        description="Learn facts from conversations (P2). Saving on request, recall and ageing go on without it.",
        json_schema_extra={"scope": "room"},
    )
    promotion_threshold: int = Field(
        default=RULES.promotion_threshold,
        ge=1,
        le=1000,
        description="Mentions after which a fact becomes a memory (P10); 1 keeps every fact at once.",
    )
    candidate_ttl_days: int = Field(
        default=RULES.candidate_ttl_days,
        ge=0,
        le=36_500,
        description="Days without a mention after which a fact that is no memory yet is dropped (P4); 0: never.",
    )
    max_per_user: int = Field(
        default=RULES.max_per_user,
        ge=1,
        le=100_000,
        description="Memories of one person at which the bot stops learning about them (P3).",
    )
    cleanup_interval: int = Field(
        default=RULES.cleanup_interval,
        ge=0,
        le=1000,
        description="Passes that saved something after which memories are tidied (P13); 0: never.",
    )
    decay_enabled: bool = Field(
        default=RULES.decay_enabled,
        description="Let unused memories rest and search them (D5, D13). MEMORY_DECAY_ENABLED=false overrules this.",
    )
    rest_after_days: int = Field(
        default=RULES.rest_after_days,
        ge=1,
        le=36_500,
        description="Chat days without use after which a memory rests (D5).",
    )
    match_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Similarity from which a memory counts as used (D3); not set: 0.23, as measured for the built-in "
        "embedder, or 0.3 for openai, which suits no model in particular.",
    )
    capacity_room: int = Field(
        default=RULES.capacity_room, ge=1, le=100_000, description="Memories one room's list holds (D9)."
    )
    capacity_personal: int = Field(
        default=RULES.capacity_personal, ge=1, le=100_000, description="Memories one person's list holds (D9)."
    )
    private_stays_private: bool = Field(
        default=RULES.private_stays_private,
        description="What was said in a direct room is not used in group rooms (D8).",
    )
    blacklist: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=RULES.blacklist,
        description="People and rooms of whom nothing is learned and whose memories are not used (D8, P1); * stands "
        "for anything.",
        json_schema_extra={
            "allowed": 'a list of user ids, room ids or patterns such as "@*:example.org"',
            "scope": "room",
            "admins": True,
        },
    )
    notices: Literal["room", "private", "off"] = Field(
        default=RULES.notices,
        description="Where it is said what was saved and forgotten (D12): in the room, to the person in private, or "
        "nowhere.",
        json_schema_extra={"scope": "room"},
    )
    room_power_level: int | None = Field(
        default=None,
        ge=-1_000_000,
        le=1_000_000,
        description="The power level that may change a room's list of memories; not set: the one that may change the "
        "room's state.",
        json_schema_extra={"scope": "room"},
    )

    @field_validator("blacklist")
    @classmethod
    def _names_people_or_rooms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return names_somebody(value, kinds="@!")

    def rules(self, embedder_threshold: float | None) -> MemorySettings:
        """Return what the rules read. `embedder_threshold` None: there is no embedder, so nothing decays (D13)."""
        values = self.model_dump()
        if self.match_threshold is None:
            values["match_threshold"] = RULES.match_threshold if embedder_threshold is None else embedder_threshold
        values["decay_enabled"] = self.decay_enabled and embedder_threshold is not None
        return MemorySettings(**values)


class ContextSection(Section):
    """The window: what of a conversation the model is shown again."""

    live: ClassVar[bool] = True
    max_messages: int = Field(
        default=WINDOW.max_messages,
        ge=1,
        le=1000,
        description="Messages of a room or thread that are kept in view.",
        json_schema_extra={"scope": "room"},
    )
    timeout_minutes: int = Field(
        default=WINDOW.timeout_minutes,
        ge=1,
        le=525_600,
        description="Minutes after which a message is out of view.",
        json_schema_extra={"scope": "room"},
    )

    def window(self) -> ContextSettings:
        """Return the values as the actors read them."""
        return ContextSettings(**self.model_dump())
