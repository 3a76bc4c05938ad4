"""The settings of what the bot may take and what people may ask; see `davenport.settings`."""

from __future__ import annotations

from pydantic import Field

from davenport.settings_quotas import ALLOWED_QUOTA, Quotas
from davenport.settings_section import Section


class LimitsSection(Section):
    """How much memory the bot takes of the machine, beside about 280 MB that it takes always; what people may ask."""

    index_mb: int = Field(
        default=64,
        ge=1,
        le=100_000,
        description="MB for the vectors of lists in use: 64 hold 700 lists of 20 memories. Lists used longest ago go "
        "first and are read again when they are needed. The documents of rooms may take as much again.",
    )
    loaded_actors: int = Field(
        default=5000,
        ge=100,
        le=10_000_000,
        description="Rooms, users and outboxes in memory at one time: about 15 kB each, and three for a person in a "
        "room of their own. Over it, idle ones used longest ago go first.",
    )
    idle_minutes: float = Field(
        default=10, gt=0, le=100_000, description="Minutes without a message after which a room or user is let go."
    )
    enforce: bool = Field(
        default=True,
        description="Refuse a command whose quota is used up; false only logs it.",
        json_schema_extra={"live": True},
    )
    quotas: Quotas = Field(
        default={},
        description="How often a command may be given, where it is not as docs/commands.md says: a section "
        '[limits.quotas."memories cleanup"] with user (each person) and room (all its people); "ask" is for every '
        "message that the model answers. What is not set keeps its default.",
        json_schema_extra={
            "allowed": f"a table by command with user and room, each {ALLOWED_QUOTA}; in the variable, as JSON",
            "live": True,
        },
    )
