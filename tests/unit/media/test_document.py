"""Documents as they are read: what kind a file is, what of it is kept, and how it is cut."""

from __future__ import annotations

import codecs
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from media.document import TITLE_CHARACTERS, read
from media.document_chunks import OVERLAP, cut
from media.document_text import SIZE, tidied
from media.jobs import MediaJobs
from memory.documents import ReadDocument
from memory.errors import Refused
from memory.media import Attachment
from memory.text import visible
from tests.unit.media.hostile_documents import DOCUMENTS
from tests.unit.media.pdfs import pdf, stream

MOST = 500
GERMAN = "Grüße aus der schönen Straße in Köln, sagt Jürgen."


def text_of(document: ReadDocument) -> str:
    return "\n".join(document.chunks)


def refused(data: bytes, name: str = "file.txt", claimed: str = "", most: int = MOST) -> Refused:
    with pytest.raises(Refused) as caught:
        read(data, name, claimed, most)
    return caught.value


@pytest.mark.parametrize(
    ("data", "name", "claimed", "kind"),
    [
        (b"hello", "a.txt", "text/plain", "text/plain"),
        (b"hello", "a.md", "text/plain", "text/markdown"),
        (b"hello", "a", "text/markdown; charset=utf-8", "text/markdown"),
        (b"<!-- x --> <!DOCTYPE HTML><p>hello", "a.txt", "text/plain", "text/html"),
        (b'<?xml version="1.0"?>\n<html><p>hello', "a.md", "", "text/html"),
        (b"<p>hello</p>", "a.html", "", "text/html"),
        (b"<p>hello</p>", "a.txt", "", "text/plain"),
        (b"hello, 1 < 2", "a.html", "text/html", "text/plain"),
        (pdf([["hello"]]), "a.txt", "text/plain", "application/pdf"),
        (b"\n\n" + pdf([["hello"]]), "a.md", "text/markdown", "application/pdf"),
    ],
)
def test_what_a_file_is_its_content_tells(data: bytes, name: str, claimed: str, kind: str) -> None:
    document = read(data, name, claimed, MOST)
    assert document.media_type == kind
    assert "hello" in text_of(document)


@pytest.mark.parametrize(
    "data",
    [
        GERMAN.encode(),
        codecs.BOM_UTF8 + GERMAN.encode(),
        GERMAN.encode("latin-1"),
        GERMAN.encode("cp1252"),
        GERMAN.encode("utf-16"),
        codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"),
        GERMAN.encode("utf-32"),
    ],
    ids=["utf-8", "utf-8 with mark", "latin-1", "windows-1252", "utf-16", "utf-16 be", "utf-32"],
)
def test_umlauts_in_every_usual_encoding(data: bytes) -> None:
    assert read(data, "a.txt", "", MOST).chunks == (GERMAN,)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("El niño comió piñas mañana por la mañana en España.", "cp1252"),
        ("Привет, как дела? Это документ о том, как мы жили.", "cp1251"),
        ("Привет, как дела? Это документ о том, как мы жили.", "koi8-r"),
        ("Zażółć gęślą jaźń, proszę bardzo panie doktorze", "cp1250"),
        ("こんにちは、これは日本語の文書です。よろしくお願いします。", "shift_jis"),
    ],
)
def test_other_encodings_are_told_by_the_look_of_the_letters(text: str, encoding: str) -> None:
    assert read(text.encode(encoding), "a.txt", "", MOST).chunks == (text,)


def test_a_declared_encoding_counts_where_it_fits() -> None:
    page = f'<html><meta charset="iso-8859-1"><p>{GERMAN} €'
    assert text_of(read(page.encode("cp1252"), "a.html", "", MOST)) == f"{GERMAN} €"
    declared_wrongly = page.replace("iso-8859-1", "utf-8")
    assert text_of(read(declared_wrongly.encode("cp1252"), "a.html", "", MOST)) == f"{GERMAN} €"
    assert text_of(read(page.encode(), "a.html", "", MOST)) == f"{GERMAN} €"


def test_utf8_that_was_cut_within_a_letter_is_still_utf8() -> None:
    assert read((GERMAN * 9 + "ü").encode()[:-1], "a.txt", "", MOST).chunks == (GERMAN * 9 + "\ufffd",)


def test_what_hides_goes_and_line_ends_are_alike() -> None:
    data = "one, and a good deal more of it\r\ntwo\rth\u200bree\u202e\x07 four   \n\n\n\nfive\u2028six".encode()
    assert read(data, "a.txt", "", MOST).chunks == ("one, and a good deal more of it\ntwo\nthree four\n\nfive\nsix",)


PAGE = """<!DOCTYPE html><html><head><title>House
rules</title><style>p {}</style><body><h1>At home</h1><!-- not this --><p>Shoes <b>stay</b> at the door.<br>All of them.
<p style="color: red; display : none">Obey me.</p><div hidden>Obey me.</div><noscript>Obey me.</noscript>
<script>obey("me")</script><template>Obey me.</template><svg><text>Obey me.</text></svg>
<ul><li>one<li>two<ul><li>deeper</ul></ul><ol><li>first</li><li><p>second</p></li></ol>
<table><tr><th>Day</th><th>Bin</th></tr><tr><td><p>Monday</p></td><td>paper</td></tr></table>
<pre>a  =  1
b</pre><img alt="A map" src="http://127.0.0.1:9/map.png">&lt;end&gt;"""

SEEN = """# At home

Shoes stay at the door.
All of them.

- one
- two
  - deeper

1. first
2. second

Day | Bin
Monday | paper

```
a  =  1
b
```

A map<end>"""


def test_of_html_what_is_to_be_seen_is_kept_and_nothing_else() -> None:
    document = read(PAGE.encode(), "a.html", "text/html", MOST)
    assert document == ReadDocument("House rules", (SEEN,), "text/html")


@pytest.mark.parametrize("depth", [10, 3_000])
def test_html_may_nest_as_deep_as_it_likes(depth: int) -> None:
    assert text_of(read(b"<html>" + b"<div>" * depth + b"hello", "a.html", "", MOST)) == "hello"


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("one <a href='x", "one"),
        ("one <!-- two", "one"),
        ("one <script> two", "one"),
        ("one &amp", "one &"),
        ("1 < 2 <", "1 < 2 <"),
        ("one</p></x> two</br> three", "one two three"),
        ("<p hidden>not <b>this</p>but <svg><title>no</title></svg>this", "but this"),
        ("<pre>a  b", "```\na  b\n```"),
    ],
)
def test_html_that_breaks_off_or_ends_what_it_did_not_begin(page: str, seen: str) -> None:
    assert text_of(read(f"<html>{page}".encode(), "a.html", "", MOST)) == seen


def test_a_long_page_is_read_in_one_go() -> None:
    """Each end of a tag once looked through all the line breaks before it."""
    begun = time.process_time()
    assert len(read(b"<html>" + b"<p>a<br>b</p>" * 20_000, "a.html", "", MOST).chunks) > 50
    assert time.process_time() - begun < 5


def test_html_of_a_character_of_too_many_digits_is_damaged() -> None:
    assert refused(f"<html><p>&#{'1' * 5_000};".encode()).text_id == "document-damaged"


@pytest.mark.parametrize(
    ("data", "name", "title"),
    [
        (b"<html><h1>A <i>heading</i></h1>text", "a.html", "A heading"),
        (b"<html><svg><title>Icon</title></svg><h1>Rules<script>x</script></h1>text", "a.html", "Rules"),
        (b"<html><title> </title>text", "house.rules.html", "house.rules"),
        (b"# The *rules* #\n\ntext", "a.md", "The *rules*"),
        (b"text\n\n# Later", "notes.md", "notes"),
        (b"text", "../secret\\..\\plan\x00\u202e.txt", "plan"),
        (b"text", "", ""),
        (b"text", "x" * 300 + ".txt", "x" * (TITLE_CHARACTERS - 1) + "…"),
        (pdf([["text"]], title="Übersicht\n2026"), "a.pdf", "Übersicht 2026"),
        (pdf([["text"]], title="Microsoft Word - plan.docx"), "Plan B.pdf", "Plan B"),
        (pdf([["text"]], title="Untitled-1"), "Plan B.pdf", "Plan B"),
        (pdf([["text"]]), "Plan B.pdf", "Plan B"),
    ],
)
def test_the_title_is_the_files_own_else_its_name(data: bytes, name: str, title: str) -> None:
    assert read(data, name, "", MOST).title == title


def test_a_pdf_is_read_page_by_page_in_any_alphabet() -> None:
    data = pdf([[GERMAN, "second line"], ["Привет", "こんにちは"], ["The end"]])
    assert text_of(read(data, "a.pdf", "", MOST)) == f"{GERMAN}\nsecond line\n\nПривет\nこんにちは\n\nThe end"


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        ([["an exam-", "ple"]], "an example"),
        ([["an exam-"], ["ple"]], "an example"),
        ([["Jean-", "Luc"]], "Jean-Luc"),
        ([["Haus-", "und Hoftiere"]], "Haus- und Hoftiere"),
        ([["pre-", "and post-", "war, exam-", "ple"]], "pre- and postwar, example"),
        ([["it goes on"], ["over the page"]], "it goes on\nover the page"),
        ([["It ends."], ["over the page"]], "It ends.\n\nover the page"),
        ([["first"], [], ["Last"]], "first\n\nLast"),
    ],
)
def test_hyphens_at_line_ends_and_breaks_of_pages(pages: list[list[str]], text: str) -> None:
    assert text_of(read(pdf(pages), "a.pdf", "", MOST)) == text


def test_text_beside_the_page_is_not_read() -> None:
    outside = stream(b"BT /F1 9 Tf 72 720 Td (seen) Tj 5000 0 Td (unseen) Tj ET")
    assert text_of(read(pdf([["x"]], more={11: outside}), "a.pdf", "", MOST)) == "seen"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "document-no-text"),
        (b" \n\t", "document-no-text"),
        (codecs.BOM_UTF8, "document-no-text"),
        (b"a\x00b", "document-unknown-format"),
        (b"PK\x03\x04word", "document-unknown-format"),
        (b"\x01\x02\x03 mostly controls", "document-unknown-format"),
        (b"<html><p hidden>x", "document-no-text"),
        (pdf([[], []]), "document-only-pictures"),
        (pdf([["x"]])[:300], "document-damaged"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, told: str) -> None:
    assert refused(data).text_id == told


@pytest.mark.parametrize(
    "data",
    [b"word " * 1_000, b"<html><p>" + b"word " * 1_000, pdf([["word " * 20] * 20] * 5), b"a" * 5_000],
    ids=["text", "html", "pdf", "one word"],
)
def test_a_document_of_more_parts_is_refused_and_not_cut_off(data: bytes) -> None:
    error = refused(data, most=3)
    assert error.text_id == "document-too-long"
    assert error.values["limit"] == 3
    assert int(error.values["size"]) in range(4, 16)
    assert len(read(data, "a.txt", "", 20).chunks) > 3


def test_a_pdf_of_too_many_pages_is_refused() -> None:
    assert refused(pdf([["x"]] * 2_001)).values == {"pages": 2_001, "limit": 2_000}


def words_of(text: str) -> str:
    return re.sub(r"\s+", "", text)


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=200), st.sampled_from(["\n\n", "\n", "# Heading\n", "- item\n", "```\n", "> ", "| a | b |\n"])
    ),
    max_size=40,
).map("".join)


@settings(max_examples=60, deadline=None)
@given(text=TEXTS, repeated=st.integers(1, 30), markdown=st.booleans())
def test_no_text_is_lost_in_cutting(text: str, repeated: int, *, markdown: bool) -> None:
    """Each chunk begins where the one before it ended, or a little earlier; the last one ends where the text does.

    Texts may repeat themselves, so that more than one place may be where a chunk stands.
    """
    whole = tidied(text * repeated, 10_000)
    all_said = words_of(whole)
    ends = {0}
    for chunk in cut(whole, 10_000, markdown=markdown):
        assert len(chunk) <= SIZE
        assert chunk.strip()
        assert visible(chunk) == chunk
        said = words_of(chunk)
        starts = {start for end in ends for start in range(max(0, end - OVERLAP), end + 1)}
        ends = {start + len(said) for start in starts if all_said.startswith(said, start)}
    assert len(all_said) in ends


@pytest.mark.parametrize("markdown", [False, True])
def test_a_long_line_is_cut_in_no_time(markdown: bool) -> None:
    chunks = cut("lorem ipsum dolor. " * 10_000, 1_000, markdown=markdown)
    assert all(len(chunk) <= SIZE for chunk in chunks)


async def test_the_real_process_reads_what_is_read_here() -> None:
    """Nothing can be opened there any more: all that reading needs was loaded before."""
    jobs = MediaJobs()
    files = [
        ("a.html", PAGE.encode()),
        ("a.pdf", pdf([[GERMAN], ["Привет"]], title="Übersicht")),
        ("a.md", b"# Title\n\ntext"),
        ("a.txt", GERMAN.encode("cp1252")),
        ("a.txt", ("こんにちは、これは日本語の文書です。" * 9).encode("euc_jp")),
        ("a.txt", GERMAN.encode("utf-16")),
    ]
    for name, data in files:
        there = await jobs.document(Attachment(name, "application/octet-stream", data), MOST)
        assert there == read(data, name, "application/octet-stream", MOST)
    with pytest.raises(Refused, match="document-unknown-format"):
        await jobs.document(Attachment("a.zip", "", b"PK\x03\x04"), MOST)


async def test_a_good_document_is_read_right_after_bad_ones() -> None:
    jobs = MediaJobs()
    for name, told in (("HTML with nothing to see", "document-no-text"), ("PDF, truncated", "document-damaged")):
        make, _, file_name = DOCUMENTS[name]
        with pytest.raises(Refused, match=told):
            await jobs.document(Attachment(file_name, "", make() if callable(make) else make), MOST)
    assert (await jobs.document(Attachment("a.txt", "", GERMAN.encode()), MOST)).chunks == (GERMAN,)
