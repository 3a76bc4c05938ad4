"""Fenced code in Markdown, exactly as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from texts.code_blocks import CodeBlock, code_blocks

lines = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r\n`~"), max_size=30)


@given(code=st.lists(lines, min_size=1, max_size=5), marker=st.sampled_from(["```", "````", "~~~"]))
def test_code_comes_back_character_by_character(code: list[str], marker: str) -> None:
    text = "".join(f"{line}\n" for line in code)
    [block] = code_blocks(f"Words\n\n{marker}python  x.py \n{text}{marker}\n\nmore words")
    assert block == CodeBlock("python  x.py", text, closed=True)
    assert block.lines == len(code)


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("no `code`, and\n\n    indented", []),
        ("```\nopen", [CodeBlock("", "open", closed=False)]),
        ("```\nopen\n", [CodeBlock("", "open\n", closed=False)]),
        ("```", [CodeBlock("", "", closed=False)]),
        ("```\n```", [CodeBlock("", "", closed=True)]),
        ("````\n```\n````", [CodeBlock("", "```\n", closed=True)]),
        ("````\n```", [CodeBlock("", "```", closed=False)]),
        ("- a\n\n  ```py\n  b\n    c\n  ```", [CodeBlock("py", "b\n  c\n", closed=True)]),
        ("> ```py\n> b\n> ```", [CodeBlock("py", "b\n", closed=True)]),
        ("<pre>\n```py\nb\n```\n</pre>", [CodeBlock("py", "b\n", closed=True)]),
        ("[a]: /b\n```py\nb\n```", [CodeBlock("py", "b\n", closed=True)]),
        ("```py\r\nb\r\n```\r\n", [CodeBlock("py", "b\n", closed=True)]),
    ],
)
def test_what_is_a_block_and_whether_it_is_closed(markdown: str, blocks: list[CodeBlock]) -> None:
    assert list(code_blocks(markdown)) == blocks


def test_lines_are_counted_with_the_last_that_has_no_end() -> None:
    assert [CodeBlock("", code, closed=True).lines for code in ("", "a", "a\n", "a\nb")] == [0, 1, 1, 2]
