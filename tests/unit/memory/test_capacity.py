from __future__ import annotations

import pytest

from memory.capacity import refuse_if_full
from memory.errors import Refused
from memory.settings import MemorySettings
from memory.types import ScopeKind

SETTINGS = MemorySettings(capacity_room=2, capacity_personal=3)


@pytest.mark.parametrize(("scope", "capacity"), [(ScopeKind.ROOM, 2), (ScopeKind.PERSONAL, 3)])
@pytest.mark.parametrize("over", [0, 1])
def test_d9_full_is_at_or_over_the_capacity(scope: ScopeKind, capacity: int, over: int) -> None:
    refuse_if_full(scope, capacity - 1, SETTINGS)
    with pytest.raises(Refused, match=f"full.*room for {capacity}"):
        refuse_if_full(scope, capacity + over, SETTINGS)


def test_d10_the_refusal_says_what_to_do_with_the_prefix_in_use() -> None:
    with pytest.raises(Refused, match=r"Nothing was saved.*`\?memories del ID`"):
        refuse_if_full(ScopeKind.PERSONAL, 3, SETTINGS, prefix="?")


def test_d9_global_memories_count_against_no_capacity() -> None:
    refuse_if_full(ScopeKind.GLOBAL, 10_000, SETTINGS)
