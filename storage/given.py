"""How the journal writes down what an answer was given (`!why`)."""

from __future__ import annotations

import json

from memory.types import Given, TurnKind

NOTHING_GIVEN = Given()


def write_given(given: Given) -> str:
    """Write it as JSON; the kind of turn has a column of its own."""
    return json.dumps(
        {
            "memories": list(given.memories),
            "recalled": list(given.recalled),
            "chunks": list(given.chunks),
            "picture": given.picture,
        }
    )


def read_given(text: str, turn: str | None = None, private: int = 0) -> Given:
    """Read what `write_given` wrote; rows of earlier versions hold memories only, and ask turns.

    turn, private: of the turn, which the journal tells.
    """
    value = json.loads(text)
    return Given(
        tuple(value["memories"]),
        tuple(value["recalled"]),
        tuple(value.get("chunks", ())),
        bool(value.get("picture")),
        TurnKind.ASK if turn is None else TurnKind(turn),
        bool(private),
    )
