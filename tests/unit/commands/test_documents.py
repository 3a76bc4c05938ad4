"""What `!documents …` is read as."""

from __future__ import annotations

import pytest

from commands.document_values import AddRoomDocument, DeleteRoomDocuments, ListRoomDocuments
from commands.memory_values import TooManyIds
from commands.parse import parse
from commands.table import TABLE
from commands.values import Misused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!documents", ListRoomDocuments()),
        ("!documents list", ListRoomDocuments()),
        ("!DOCS", ListRoomDocuments()),
        ("!document add", AddRoomDocument()),
        ("!documents add handbook.txt", Misused()),
        ("!documents del 3, #5 and x", DeleteRoomDocuments((3, 5), ("x",))),
        ("!docs delete 3-5", DeleteRoomDocuments((3, 4, 5))),
        ("!documents del 1-900", TooManyIds(200)),
        ("!documents del", Misused()),
        ("!documents everything", Misused()),
    ],
)
def test_documents_are_read(text: str, value: object) -> None:
    call = parse(text, "!", TABLE)
    assert call is not None
    assert call.value == value
