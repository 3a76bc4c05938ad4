"""The tables of `words/sameness.toml` by name."""

from __future__ import annotations

import re

from llm.offline.tables import Tables

_TABLES = Tables("sameness")

STOP = _TABLES.words("stop")
HAVING = _TABLES.words("having")
NAMING = _TABLES.words("naming")
NEGATIONS = _TABLES.words("negations")
PAST = _TABLES.words("past")
ORDER = _TABLES.words("order")
STATES_ED = _TABLES.words("states_ed")
LEVELLED = {word: group.split()[0] for group in _TABLES.lines("levelled") for word in group.split()}
ENDINGS = tuple((ending, int(rest)) for ending, _, rest in (pair.partition(":") for pair in _TABLES.listed("endings")))
FILLERS = _TABLES.listed("fillers")
PHRASES = tuple(
    (re.compile(rf"(?<!\w)(?:{row['pattern']})(?!\w)", re.IGNORECASE), row["becomes"])
    for row in _TABLES.rows("phrases")
)
