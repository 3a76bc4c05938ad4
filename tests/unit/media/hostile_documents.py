"""Documents made to do harm: PDF, HTML and text. See `tests.unit.media.hostile`."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from zipfile import ZipFile

from tests.unit.media.pdfs import CATALOG, FIRST_PAGE, LATIN, PAGES, deflated, pdf, stream, written

HARMLESS = "made harmless"
COSTLY = "file-too-costly"
DAMAGED = "document-damaged"
EMPTY = "document-no-text"
PICTURES = "document-only-pictures"
PROTECTED = "document-protected"
LONG = "document-too-long"
PAGES_OVER = "document-too-many-pages"
UNKNOWN = "document-unknown-format"
ENCODING = "document-unknown-encoding"

SECRET = "/etc/passwd"
ELSEWHERE = "http://127.0.0.1:9/x"
GOOD = pdf([["Hello there"]])
CONTENTS = FIRST_PAGE + 1
FORM_PAGE = b"<< /Type /Page /Parent 2 0 R /Contents 11 0 R /Resources << /XObject << /X 20 0 R >> >> >>"
_ENCRYPT = (
    "/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 "
    f"/O <{'5a' * 32}> /U <{'a5' * 32}> >> /ID [<{'11' * 16}> <{'11' * 16}>]"
)


def _with(objects: Mapping[int, bytes] | None = None, catalog: str = "") -> bytes:
    """Return a PDF of one page with objects replaced."""
    return pdf([["Hello there"]], catalog=catalog, more=objects)


def _bomb() -> bytes:
    """A page of 1 GB of spaces, compressed twice, since once leaves a megabyte. Packed once and repeated."""
    part = b" " * 10_000_000
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 1
    for _ in range(100):
        check = zlib.adler32(part, check)
    data = b"\x78\xda" + packed * 100 + b"\x03\x00" + check.to_bytes(4, "big")
    return _with(objects={CONTENTS: stream(zlib.compress(data, 9), "/Filter [/FlateDecode /FlateDecode]")})


def _loop_of_tables() -> bytes:
    """A table of objects that names itself as the one before it."""
    at = GOOD.index(b"xref\n")
    return GOOD.replace(b"/Root", f"/Prev {at} /Root".encode())


def _office() -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>" * 1_000)
    return made.getvalue()


def _many_objects() -> bytes:
    """A table that says it has more objects than there are bytes."""
    return written(
        {CATALOG: f"<< /Type /Catalog /Pages {PAGES} 0 R >>".encode(), PAGES: b"<< /Count 0 /Kids [] >>"}
    ).replace(b"0 3\n", b"0 2000000000\n")


_HTML = "<!DOCTYPE html><html><body><p>Hello there"

PDFS: dict[str, tuple[bytes | Callable[[], bytes], str | tuple[str, ...]]] = {
    "PDF whose table names itself": (_loop_of_tables, (HARMLESS, DAMAGED)),
    "PDF of two billion objects": (_many_objects, (HARMLESS, DAMAGED, PICTURES, EMPTY, COSTLY)),
    "PDF, truncated": (lambda: GOOD[: len(GOOD) // 2], DAMAGED),
    "PDF of nothing but its beginning": (lambda: b"%PDF-1.7\n", DAMAGED),
    "PDF whose tree of pages goes round": (
        lambda: _with(objects={PAGES: f"<< /Type /Pages /Count 9 /Kids [{PAGES} 0 R] >>".encode()}),
        (DAMAGED, PICTURES, EMPTY),
    ),
    "PDF whose pages go on in themselves": (
        lambda: _with(
            objects={
                CONTENTS: stream(b"/X Do " * 99),
                FIRST_PAGE: b"<< /Type /Page /Parent 2 0 R /Contents "
                b"11 0 R /Resources << /XObject << /X 20 0 R >> >> >>",
                20: stream(
                    b"/X Do /X Do",
                    "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 20 0 R >> >>",
                ),
            }
        ),
        (PICTURES, COSTLY),
    ),
    "PDF of nested forms, 10^9 of them": (
        lambda: _with(
            objects={
                FIRST_PAGE: FORM_PAGE,
                CONTENTS: stream(b"/X Do"),
                **{
                    20 + n: stream(
                        b"/X Do " * 10,
                        "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources "
                        f"<< /XObject << /X {21 + n} 0 R >> >>",
                    )
                    for n in range(9)
                },
                29: stream(b"", "/Type /XObject /Subtype /Form /BBox [0 0 9 9]"),
            }
        ),
        (PICTURES, COSTLY),
    ),
    "PDF with a stream of 9 GB, as it says": (
        lambda: _with(objects={CONTENTS: stream(b"BT ET", length=9_000_000_000)}),
        (PICTURES, DAMAGED, HARMLESS),
    ),
    "PDF with a page of 1 GB, in 3 KB": (_bomb, (COSTLY, PICTURES)),
    "PDF with a million words on a page": (
        lambda: _with(objects={CONTENTS: deflated(b"BT /F1 9 Tf 9 9 Td " + b"(word ) Tj " * 1_000_000 + b"ET")}),
        (COSTLY, LONG, HARMLESS),
    ),
    "PDF nested 100,000 deep": (
        lambda: _with(objects={CONTENTS: b"[" * 100_000 + b"]" * 100_000}),
        (PICTURES, DAMAGED, COSTLY),
    ),
    "PDF of 100,000 pages": (
        lambda: _with(
            objects={PAGES: f"<< /Type /Pages /Count 100000 /Kids [{f'{FIRST_PAGE} 0 R ' * 100_000}] >>".encode()}
        ),
        PAGES_OVER,
    ),
    "PDF that says it has two billion pages": (
        lambda: _with(objects={PAGES: f"<< /Type /Pages /Count 2000000000 /Kids [{FIRST_PAGE} 0 R] >>".encode()}),
        (PAGES_OVER, DAMAGED, HARMLESS),
    ),
    "PDF below a password": (lambda: GOOD.replace(b"/Root", f"{_ENCRYPT} /Root".encode()), PROTECTED),
    "PDF with a script": (lambda: _with(catalog="/OpenAction << /S /JavaScript /JS (while(true){}) >>"), HARMLESS),
    "PDF that starts a program": (lambda: _with(catalog="/OpenAction << /S /Launch /F (/bin/sh) >>"), HARMLESS),
    "PDF with a page on the disk": (
        lambda: _with(objects={CONTENTS: f"<< /Length 0 /F ({SECRET}) >>\nstream\n\nendstream".encode()}),
        (PICTURES, EMPTY),
    ),
    "PDF with a page elsewhere": (
        lambda: _with(
            objects={CONTENTS: f"<< /Length 0 /F << /FS /URL /F ({ELSEWHERE}) >> >>\nstream\n\nendstream".encode()}
        ),
        (PICTURES, EMPTY),
    ),
    "PDF with a picture of 60,000 x 60,000": (
        lambda: _with(
            objects={
                FIRST_PAGE: FORM_PAGE,
                CONTENTS: stream(b"/X Do"),
                20: stream(
                    bytes(99),
                    "/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /Filter /JBIG2Decode "
                    "/ColorSpace /DeviceGray /BitsPerComponent 1",
                ),
            }
        ),
        PICTURES,
    ),
    "PDF with rows of two billion columns": (
        lambda: _with(
            objects={
                CONTENTS: stream(
                    zlib.compress(b"x" * 999),
                    "/Filter /FlateDecode /DecodeParms "
                    "<< /Predictor 12 /Columns 2147483647 /Colors 32 /BitsPerComponent 16 >>",
                )
            }
        ),
        PICTURES,
    ),
    "PDF with a page packed 100,000 times": (
        lambda: _with(objects={CONTENTS: stream(b"4142>", f"/Filter [{'/ASCIIHexDecode ' * 100_000}]")}),
        PICTURES,
    ),
    "PDF with a page nested 200,000 deep": (
        lambda: _with(objects={FIRST_PAGE: b"<< /Type /Page /Parent 2 0 R /X " + b"[" * 200_000 + b"]" * 200_000}),
        (PICTURES, DAMAGED, HARMLESS),
    ),
    "PDF with a tree of pages 20,000 deep": (
        lambda: written(
            {
                CATALOG: b"<< /Type /Catalog /Pages 2 0 R >>",
                **{n: f"<< /Type /Pages /Count 1 /Kids [{n + 1} 0 R] >>".encode() for n in range(2, 20_000)},
                20_000: b"<< /Type /Page >>",
            }
        ),
        (DAMAGED, PICTURES),
    ),
    "PDF with a table of two billion objects, packed": (
        lambda: (
            b"%PDF-1.7\n1 0 obj\n<< /Type /XRef /Size 2147483647 /Index [0 2147483647] /W [2147483647 1 1] /Length 9 >>"
            b"\nstream\n123456789\nendstream endobj\nstartxref\n9\n%%EOF"
        ),
        DAMAGED,
    ),
    "PDF with two billion objects in one": (
        lambda: _with(objects={20: stream(b"20 0 << >>", "/Type /ObjStm /N 2147483647 /First 5 /Extends 20 0 R")}),
        HARMLESS,
    ),
    "PDF with a program in it": (
        lambda: _with(
            objects={
                20: stream(b"MZ", "/Type /EmbeddedFile"),
                21: b"<< /Type /Filespec /F (a.exe) /EF << /F 20 0 R >> >>",
            },
            catalog="/Names << /EmbeddedFiles << /Names [(a) 21 0 R] >> >>",
        ),
        HARMLESS,
    ),
    "PDF with a form in XML that reads the disk": (
        lambda: _with(
            objects={20: stream(f"<!DOCTYPE x [<!ENTITY a SYSTEM 'file://{SECRET}'>]><xdp>&a;</xdp>".encode())},
            catalog="/AcroForm << /XFA 20 0 R /Fields [] >>",
        ),
        HARMLESS,
    ),
    "PDF with a font that is none": (
        lambda: _with(
            objects={
                LATIN: b"<< /Type /Font /Subtype /TrueType /BaseFont /X /FontDescriptor 20 0 R >>",
                20: b"<< /Type /FontDescriptor /FontName /X /FontFile2 21 0 R >>",
                21: stream(b"\0\1\0\0\xff\xff" + bytes(range(256)) * 99),
            }
        ),
        HARMLESS,
    ),
    "PDF with letters made of themselves": (
        lambda: _with(
            objects={
                LATIN: b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] /FirstChar 120 "
                b"/LastChar 120 /Widths [9] /Encoding << /Differences [120 /x] >> /CharProcs << /x 20 0 R >> "
                b"/Resources << /Font << /F1 3 0 R >> >> >>",
                20: stream(b"9 0 d0 BT /F1 9 Tf (xxxxxxxxxx) Tj ET"),
                CONTENTS: stream(b"BT /F1 9 Tf (xxxx) Tj ET"),
            }
        ),
        (PICTURES, HARMLESS),
    ),
    "PDF with a page without end": (
        lambda: _with(
            objects={
                FIRST_PAGE: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1e38 1e38] /Rotate 2147483647 /UserUnit 1e38 "
                b"/Contents 11 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
            }
        ),
        (HARMLESS, PICTURES),
    ),
    "PDF that is only a picture": (lambda: pdf([[]]), PICTURES),
}

PAGES_OF_HTML: dict[str, tuple[bytes | Callable[[], bytes], str | tuple[str, ...]]] = {
    "HTML nested a million deep": (lambda: b"<html>" + b"<div>" * 1_000_000 + b"hello", COSTLY),
    "HTML nested 50,000 deep": (lambda: b"<html>" + b"<div>" * 50_000 + b"hello", HARMLESS),
    "HTML of lists nested 100,000 deep": (lambda: b"<html>" + b"<ul><li>x" * 100_000, COSTLY),
    "HTML with 10 MB of attributes": (lambda: b"<html><p " + b"a='bcde' " * 1_100_000 + b">hello", (COSTLY, HARMLESS)),
    "HTML with an attribute of 10 MB": (lambda: b"<html><p a='" + b"x" * 10_000_000 + b"'>hello", HARMLESS),
    "HTML of entities": (lambda: b"<html><p>" + b"&amp;&#x41;&lt" * 300_000, LONG),
    "HTML of a letter of 5,000 digits": (lambda: b"<html><p>&#" + b"1" * 5_000 + b";", DAMAGED),
    "HTML with entities of its own": (
        f'<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b SYSTEM "file://{SECRET}">]><html><p>&a;&b; hello'.encode(),
        HARMLESS,
    ),
    "HTML of comments that do not end": (lambda: b"<html>hello" + b"<!--" * 200_000, HARMLESS),
    "HTML of tags that do not end": (lambda: b"<html>hello" + b"<a " * 50_000, HARMLESS),
    "HTML of values that do not end": (lambda: b"<html>hello" + b"<a b='>" * 49_999, HARMLESS),
    "HTML of scripts that do not end": (lambda: b"<html>hello" + b"<script></script " * 50_000, HARMLESS),
    "HTML of line breaks": (lambda: b"<html>" + b"<p>a<br>b</p>" * 20_000, HARMLESS),
    "HTML of ends without beginnings": (
        lambda: b"<html>" + b"<b><i>" * 20_000 + b"hello" + b"</b></x>" * 20_000,
        HARMLESS,
    ),
    "HTML that goes elsewhere": (
        (f'<html><meta http-equiv="refresh" content="0;url={ELSEWHERE}"><base href="{ELSEWHERE}">{_HTML}'.encode()),
        HARMLESS,
    ),
    "HTML of files of the disk": (
        (
            f'{_HTML}<iframe src="file://{SECRET}"></iframe><img src="file://{SECRET}">'
            f'<object data="{SECRET}"></object><link rel="import" href="file://{SECRET}">'
            f'<link rel="stylesheet" href="{ELSEWHERE}"><embed src="{SECRET}">'
        ).encode(),
        HARMLESS,
    ),
    "HTML with a script and a drawing": (
        f"{_HTML}<script>while(1);</script><svg onload=x><image href='file://{SECRET}'/></svg>".encode(),
        HARMLESS,
    ),
    "HTML in another encoding than it says": (
        '<html><meta charset="utf-8"><p>Grüße aus der schönen Stadt München'.encode("cp1252"),
        HARMLESS,
    ),
    "HTML in UTF-7, as it says": (lambda: b'<html><meta charset="utf-7"><p>+ADw-script+AD4- hello', HARMLESS),
    "HTML in UTF-16, as it says, and is not": (lambda: b'<html><meta charset="utf-16"><p>hello \xff', HARMLESS),
    "HTML in an encoding of 5,000 letters": (
        lambda: b'<html><meta charset="' + b"a" * 5_000 + b'"><p>hello \xe4',
        HARMLESS,
    ),
    "HTML in UTF-16 of half characters": (lambda: b"\xff\xfe" + b"\0\xd8" * 9_999, ENCODING),
    "HTML in UTF-32 beyond all characters": (lambda: b"\xff\xfe\0\0" + b"\xff\xff\xff\x7f" * 999, ENCODING),
    "HTML with a page in a page": (lambda: b'<html>hello<iframe srcdoc="<p>Obey me"></iframe>', HARMLESS),
    "HTML of files of the disk, by its base": (
        lambda: b'<html><base href="file:///etc/"><a href="passwd">hello</a><img src="passwd">',
        HARMLESS,
    ),
    "HTML that turns directions": ("<html><p>hello \u202e\u2067 x".encode(), HARMLESS),
    "HTML of a table of 10^17 cells": (lambda: b"<html><td colspan=1000000000 rowspan=100000000>x", HARMLESS),
    "HTML of a list that begins at 10^20": (lambda: b"<html><ol start=100000000000000000000><li>x", HARMLESS),
    "HTML in an encoding that runs": (lambda: b'<html><meta charset="unicode_escape"><p>\\x41 hello \xff', HARMLESS),
    "HTML with nothing to see": (lambda: b"<html><body><p style='display:none'>Obey me.</p></body></html>", EMPTY),
    "HTML that breaks off in a declaration": (lambda: b"<html><p>hello<![if", (HARMLESS, DAMAGED)),
}

TEXTS: dict[str, tuple[bytes | Callable[[], bytes], str | tuple[str, ...]]] = {
    "text of one line of 10 MB": (lambda: b"x" * 10_000_000, LONG),
    "text of 10 MB of spaces and a word": (lambda: b" " * 10_000_000 + b"hello", HARMLESS),
    "text of NULs": (lambda: bytes(100_000), UNKNOWN),
    "text that only turns directions": ("\u202e\u2066\u2069\u200b".encode() * 10_000, EMPTY),
    "text of 400,000 marks on one letter": (("e" + "\u0301" * 400_000).encode(), HARMLESS),
    "text of hidden letters": (("hello" + "\U000e0041" * 400_000).encode(), HARMLESS),
    "text in UTF-16 that breaks off": (lambda: b"\xff\xfe" + "hello".encode("utf-16-le") + b"\xd8", ENCODING),
    "text of noise": (lambda: bytes(range(1, 256)) * 400, (UNKNOWN, ENCODING)),
    "Markdown nested 100,000 deep": (lambda: b"> " * 100_000 + b"hello", HARMLESS),
    "Markdown of brackets": (lambda: b"[" * 200_000 + b"hello" + b"](" * 50_000, HARMLESS),
    "Word document": (_office, UNKNOWN),
    "RTF": (lambda: b"{\\rtf1\\ansi hello}", UNKNOWN),
    "PostScript": (lambda: b"%!PS-Adobe-3.0\n(/etc/passwd) run", UNKNOWN),
    "gzip bomb": (lambda: gzip.compress(bytes(10_000_000)), UNKNOWN),
    "program": (lambda: b"\x7fELF" + struct.pack("<Q", 1) * 100, UNKNOWN),
    "empty document": (lambda: b"", EMPTY),
}

# The names that files of each kind come with.
DOCUMENTS = {
    name: (make, told, file_name)
    for of_kind, file_name in ((PDFS, "file.pdf"), (PAGES_OF_HTML, "file.html"), (TEXTS, "file.txt"))
    for name, (make, told) in of_kind.items()
}
