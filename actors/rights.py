"""Who may do what in a room, by power levels; decided here for commands and tools alike."""

from __future__ import annotations

from actors.parts import Parts


def changes_list(parts: Parts, room_id: str, user_id: str) -> bool:
    """Whether a person may change what is remembered for a room: by `memory.room_power_level`.

    Where that is not set, whoever may change the room's state.
    """
    level = parts.settings.memory(room_id).room_power_level
    if level is None:
        return parts.matrix.can_write_state(room_id, user_id)
    return parts.matrix.power_level(room_id, user_id) >= level
