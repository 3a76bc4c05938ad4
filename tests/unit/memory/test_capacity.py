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
    with pytest.raises(Refused) as refused:
        refuse_if_full(scope, capacity + over, SETTINGS)
    assert refused.value.text_id == f"list-full-{scope}"
    assert refused.value.values == {"n": capacity + over, "capacity": capacity}


def test_d9_global_memories_count_against_no_capacity() -> None:
    refuse_if_full(ScopeKind.GLOBAL, 10_000, SETTINGS)
