"""What is said out of character in a scene, as far as it can be told for certain: nothing else in it is a fact."""

from __future__ import annotations

import re

_MOST = 500  # characters of one remark
_MARK = r"(?:OOC|out of character)\b"
_REMARKS = (
    re.compile(rf"\(\(([^()]{{1,{_MOST}}})\)\)"),
    re.compile(rf"[(\[]\s?{_MARK}\s?[:,–-]?([^()\[\]]{{1,{_MOST}}})[)\]]", re.IGNORECASE),
    re.compile(rf"^[ \t]?{_MARK}\s?[:–-]([^\n]{{1,{_MOST}}})$", re.IGNORECASE | re.MULTILINE),
)
# Said out of character, but about somebody in the scene.
_OF_A_CHARACTER = re.compile(r"\b(?:characters?|persona|role|charakter\w*|figur|rolle)\b", re.IGNORECASE)


def out_of_character(said: str) -> str:
    """Return the remarks of a message that stand in double brackets or are marked as OOC, one a line."""
    remarks = (found.strip() for pattern in _REMARKS for found in pattern.findall(said))
    return "\n".join(remark for remark in dict.fromkeys(remarks) if not _OF_A_CHARACTER.search(remark))
