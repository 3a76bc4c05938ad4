"""Text files: which encoding they are in, and what of their characters is kept."""

from __future__ import annotations

import codecs
import re
from encodings.aliases import aliases

from charset_normalizer import from_bytes

from memory.errors import Refused
from memory.text import visible

# The longer marks first, since one begins with another.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Files that hold no NUL in their first bytes, and so could be taken for text. RTF and PostScript are text, of which
# nobody would want to read the better part.
_BINARY = (
    *(b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"BZh", b"7z\xbc\xaf", b"\xfd7zXZ", b"Rar!"),
    *(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*", b"ID3", b"OggS", b"fLaC", b"\x7fELF"),
    *(b"{\\rtf", b"%!PS"),
)
# What people's files are in, the likelier first where the text fits several. No other codec is ever loaded.
_ENCODINGS = (
    *("cp1252", "cp1251", "cp1250", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_15"),
    *("iso8859_2", "iso8859_5", "iso8859_7", "iso8859_9", "koi8_u", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_GUESSED = (
    "cp1252",
    "cp1251",
    "cp1250",
    "koi8_r",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
)
# Names that stand for more than they say, as browsers read them too.
_READ_AS = {
    "latin_1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "iso8859_1": "cp1252",
}
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([A-Za-z0-9_:.-]{2,40})")
_DECLARED_WITHIN = 4096
_CHAOS = 0.1  # by so much more disorder than the best guess has, another one is as good
_SOUND = 20  # sound characters for each broken one of a text that is UTF-8 all the same
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_MOST_CONTROLS = 0.02
_BROKEN = "\ufffd"

_OTHER_BREAKS = re.compile("\r\n?|[\x0b\x1c-\x1e\x85\u2028\u2029]")
_LONG_GAP, _SHORTENED = re.compile(r"[ \t]{20,}"), " " * 8
_LINE_END = re.compile(r"[ \t]+(?=\n)")
_EMPTY_LINES = re.compile(r"\n{3,}")
SIZE = 1000  # characters of a part at most

_HIDDEN = 4  # characters that show nothing, for each that does, before a text is too long

for _name in (*_ENCODINGS, "utf-8", *(name for _, name in _MARKS)):
    codecs.lookup(_name)  # nothing can be loaded once a file is read


def decoded(data: bytes) -> str:
    """Return the text of a file by its byte order mark, as UTF-8, as it says itself, or by the look of its letters.

    Raises Refused for a file that is no text, or whose encoding cannot be told.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _text(_strictly(data[len(mark) :], name))
    if data.startswith(_BINARY) or b"\x00" in data:
        raise Refused("document-unknown-format")
    for text in (_utf8(data), _strictly(data, _declared(data))):
        if text is not None:
            return _text(text)
    return _text(_guessed(data))


def tidied(text: str, most: int) -> str:
    """Return a text without what hides in it, its line ends alike and long gaps short.

    Raises Refused where it is so far beyond `most` parts that nothing else matters.
    """
    text = _OTHER_BREAKS.sub("\n", text.replace("\f", "\n\n").replace("\xa0", " "))
    text = _EMPTY_LINES.sub("\n\n", _LINE_END.sub("", _LONG_GAP.sub(_SHORTENED, text)))
    if len(text) > _HIDDEN * most * SIZE:
        raise too_long(len(text) // SIZE, most)
    return _EMPTY_LINES.sub("\n\n", visible(text)).strip()


def too_long(parts: int, most: int) -> Refused:
    """Return the refusal of a text that makes about so many parts, which are more than `most`."""
    return Refused("document-too-long", size=max(parts, most + 1), limit=most)


def _strictly(data: bytes, encoding: str | None) -> str | None:
    try:
        return None if encoding is None else data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _utf8(data: bytes) -> str | None:
    """Decode UTF-8, also where a few characters are broken, as at the end of a file that was cut."""
    text = data.decode("utf-8", errors="replace")
    broken = text.count(_BROKEN)
    if not broken:
        return text
    sound = len(data) - len(data.translate(None, bytes(range(128, 192)))) - broken  # bytes that continue a character
    return text if sound >= broken * _SOUND else None


def _declared(data: bytes) -> str | None:
    """Return the encoding that a file names itself, if it is one of those that are known here."""
    found = _DECLARED.search(data[:_DECLARED_WITHIN])
    if found is None:
        return None
    name = found[1].decode("ascii").lower().replace("-", "_")
    name = aliases.get(name, name)
    name = _READ_AS.get(name, name)
    return name if name in _ENCODINGS else None


def _guessed(data: bytes) -> str | None:
    """Return the text in the encoding that gives the least disorder, then the most of a language, then by habit."""
    guesses = list(from_bytes(data, cp_isolation=list(_GUESSED)))
    if not guesses:
        return None
    best = min(each.chaos for each in guesses) + _CHAOS

    def habit(encodings: set[str]) -> int:
        return min(_GUESSED.index(name) for name in encodings if name in _GUESSED)

    fitting = [each for each in guesses if each.chaos <= best]
    chosen = min(
        fitting, key=lambda each: (-round(each.coherence, 1), habit({each.encoding, *each.could_be_from_charset}))
    )
    return str(chosen)


def _text(text: str | None) -> str:
    if text is None:
        raise Refused("document-unknown-encoding")
    if len(_CONTROLS.findall(text)) > len(text) * _MOST_CONTROLS:
        raise Refused("document-unknown-format")
    return text
