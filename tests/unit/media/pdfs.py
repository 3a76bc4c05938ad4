"""PDF files made by hand, good ones and such as no program would make."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

Objects = dict[int, bytes]

CATALOG, PAGES, LATIN, UNICODE, CID, TO_UNICODE, INFO = range(1, 8)
FIRST_PAGE = 10


def pdf(
    pages: Sequence[Sequence[str]], title: str | None = None, catalog: str = "", more: Mapping[int, bytes] | None = None
) -> bytes:
    """Return a PDF of these pages, each of lines. catalog: more entries of it. more: objects that replace or join."""
    letters = sorted({letter for lines in pages for line in lines for letter in line if not _latin(letter)})
    numbers = {letter: number for number, letter in enumerate(letters, 1)}
    kids = " ".join(f"{FIRST_PAGE + 2 * n} 0 R" for n in range(len(pages)))
    objects: Objects = {
        CATALOG: f"<< /Type /Catalog /Pages {PAGES} 0 R {catalog} >>".encode(),
        PAGES: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        LATIN: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        UNICODE: f"<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [{CID} 0 R] "
        f"/ToUnicode {TO_UNICODE} 0 R >>".encode(),
        CID: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 600 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        TO_UNICODE: stream(_to_unicode(numbers)),
    }
    if title is not None:
        hexadecimal = ("\ufeff" + title).encode("utf-16-be").hex()
        objects[INFO] = f"<< /Title <{hexadecimal}> >>".encode()
    for n, lines in enumerate(pages):
        page = FIRST_PAGE + 2 * n
        objects[page] = (
            f"<< /Type /Page /Parent {PAGES} 0 R /MediaBox [0 0 612 792] /Contents {page + 1} 0 R "
            f"/Resources << /Font << /F1 {LATIN} 0 R /F2 {UNICODE} 0 R >> >> >>"
        ).encode()
        objects[page + 1] = stream(_shown(lines, numbers))
    return written(objects | dict(more or {}), info=title is not None)


def stream(data: bytes, entries: str = "", length: int | None = None) -> bytes:
    """Return a stream object; `length`: as it is told, where that is a lie."""
    told = len(data) if length is None else length
    return f"<< /Length {told} {entries} >>\nstream\n".encode() + data + b"\nendstream"


def deflated(data: bytes) -> bytes:
    """Return a compressed stream object."""
    return stream(zlib.compress(data, 9), "/Filter /FlateDecode")


def written(objects: Mapping[int, bytes], trailer: str = "", *, info: bool = False) -> bytes:
    """Return a file of these objects with a table of where they are."""
    data = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places: dict[int, int] = {}
    for number, content in objects.items():
        places[number] = len(data)
        data += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start, size = len(data), max(objects) + 1
    data += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    for number in range(1, size):
        free = "0000000000 00000 f \n"
        data += (f"{places[number]:010} 00000 n \n" if number in places else free).encode()
    trailer += f" /Info {INFO} 0 R" if info else ""
    data += f"trailer\n<< /Size {size} /Root {CATALOG} 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(data)


def _latin(letter: str) -> bool:
    try:
        letter.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _shown(lines: Sequence[str], numbers: Mapping[str, int]) -> bytes:
    """Return the operators that show lines below each other; a line is in the one font or in the other."""
    shown = ["BT 14 TL 72 720 Td"]
    for line in lines:
        if all(_latin(letter) for letter in line):
            shown.append(f"/F1 11 Tf <{line.encode('cp1252').hex()}> Tj T*")
        else:
            glyphs = "".join(f"{numbers.get(letter, 0):04x}" for letter in line)
            shown.append(f"/F2 11 Tf <{glyphs}> Tj T*")
    return "\n".join([*shown, "ET"]).encode()


def _to_unicode(numbers: Mapping[str, int]) -> bytes:
    told = "\n".join(f"<{number:04x}> <{letter.encode('utf-16-be').hex()}>" for letter, number in numbers.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(numbers)} beginbfchar\n{told}\nendbfchar\nendcmap end end"
    ).encode()
