"""Files made to do harm, and what becomes of each. `python -m tests.unit.media.hostile` prints it as a table.

Every file is made here, by code. `told`: the ids of the sentences that refuse it, one of which it must be; HARMLESS:
something may be made of it, since nothing in it does anything.
"""

from __future__ import annotations

import asyncio
import json
import resource
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from PIL import Image

from media.jobs import DOCUMENT, DRAWING, PICTURE
from media.sandbox import Sandbox
from media.worker import Job
from memory.errors import Refused
from tests.unit.media.hostile_documents import DOCUMENTS
from tests.unit.media.hostile_drawings import DRAWINGS, HARMLESS, svg
from texts.catalogue import Speaker

DAMAGED = "picture-damaged"


@dataclass(frozen=True, slots=True)
class Case:
    """A file for a job, and what may come of it."""

    job: Job
    make: Callable[[], bytes]
    told: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, rows: bytes = b"\0\0") -> bytes:
    """A PNG of 8 bits of grey that says of itself what it likes."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + end


def _packed(megabytes: int) -> bytes:
    """As many bytes of nothing, packed once and repeated; the sum at the end is wrong, which nobody comes to see."""
    packer = zlib.compressobj(9)
    first = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + more * (megabytes - 1) + packer.flush()


def good(form: str, size: tuple[int, int] = (200, 100), **options: Any) -> bytes:
    made = BytesIO()
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    image.save(made, form, **options)
    return made.getvalue()


def gif_of_many_frames(frames: int = 10_000) -> bytes:
    one = good("GIF", (100, 100))
    begin = one.index(b"\x2c", 13 + 3 * 256)  # after the header and its palette
    return one[:begin] + one[begin:-1] * frames + b"\x3b"


def zipped(name: str) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        archive.writestr(name, bytes(1_000_000))
    return made.getvalue()


def webp_of(width: int, height: int) -> bytes:
    """A lossless WebP whose header says another size than it has."""
    data = bytearray(good("WEBP", lossless=True))
    at = data.index(b"VP8L") + 9
    data[at : at + 4] = struct.pack("<I", (width - 1) | (height - 1) << 14)
    return bytes(data)


def jpeg_of(width: int, height: int) -> bytes:
    """A JPEG whose header says another size than it has."""
    data = bytearray(good("JPEG", (16, 16)))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def webp_of_many_frames(frames: int = 100_000, side: int = 4) -> bytes:
    """An animation; side: of its canvas, as it says."""
    one = good("WEBP", (4, 4), lossless=True)[12:]
    frame = b"ANMF" + struct.pack("<I", 16 + len(one)) + bytes(6) + b"\3\0\0\3\0\0\1\0\0\0" + one
    canvas = struct.pack("<I", side - 1)[:3] * 2
    head = b"WEBPVP8X" + struct.pack("<I", 10) + b"\2\0\0\0" + canvas + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return b"RIFF" + struct.pack("<I", len(head) + frames * len(frame)) + head + frame * frames


def png_of_many_frames(frames: int = 10_000) -> bytes:
    def control(number: int) -> bytes:
        return chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, 1, 1, 0, 0, 1, 10, 0, 0))

    rows = zlib.compress(b"\0\0")
    others = [
        control(number) + chunk(b"fdAT", struct.pack(">I", number + 1) + rows) for number in range(1, 2 * frames - 1, 2)
    ]
    return png(1, 1, chunk(b"acTL", struct.pack(">II", frames, 0)), control(0), chunk(b"IDAT", rows), *others)


def jpeg_of_many_scans(scans: int) -> bytes:
    """A progressive JPEG that says its last scan again and again."""
    data = good("JPEG", (400, 400), progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + data[-2:]


def exif_bomb() -> bytes:
    """EXIF whose directory has 65,535 entries that all point to themselves."""
    entries = struct.pack("<HHII", 0x8769, 4, 1, 8) * 5_000
    return good("JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff" + entries)


PICTURES: dict[str, tuple[bytes | Callable[[], bytes], str | tuple[str, ...]]] = {
    "PNG that says 60,000 x 60,000": (png(60_000, 60_000), "picture-too-large"),
    "PNG that says 7,000 x 7,000 and has nothing": (png(7_000, 7_000), DAMAGED),
    "PNG of 49 million pixels": (lambda: png(7_000, 7_000, rows=bytes(7_001 * 7_000)), HARMLESS),
    "PNG without pixels": (png(0, 0), DAMAGED),
    "PNG with a bomb in its text": (
        lambda: png(1, 1, chunk(b"zTXt", b"a\0\0" + _packed(50))),
        (DAMAGED, HARMLESS),
    ),
    "PNG with a bomb for a colour profile": (
        lambda: png(1, 1, chunk(b"iCCP", b"a\0\0" + _packed(50))),
        (DAMAGED, HARMLESS),
    ),
    "PNG whose pixels are a bomb": (lambda: png(1, 1, rows=bytes(10_000_000)), (DAMAGED, HARMLESS)),
    "truncated PNG": (lambda: good("PNG")[:-200], DAMAGED),
    "truncated JPEG": (lambda: good("JPEG")[:-400], DAMAGED),
    "truncated GIF": (lambda: good("GIF")[:400], DAMAGED),
    "truncated WebP": (lambda: good("WEBP")[:-50], DAMAGED),
    "JPEG of nothing but its beginning": (b"\xff\xd8\xff\xe0", DAMAGED),
    "JPEG with a bomb for EXIF": (exif_bomb, (DAMAGED, HARMLESS)),
    "JPEG with a broken colour profile": (lambda: good("JPEG", icc_profile=b"\xff" * 500_000), HARMLESS),
    "GIF with 10,000 frames": (gif_of_many_frames, HARMLESS),
    "GIF that says 65,535 x 65,535": (
        b"GIF89a\xff\xff\xff\xff\x80\0\0" + bytes(6) + b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0\x3b",
        "picture-too-large",
    ),
    "WebP that says 16,384 x 16,384": (lambda: webp_of(16_384, 16_384), ("picture-too-large", DAMAGED)),
    "WebP that says 5,000 x 5,000": (lambda: webp_of(5_000, 5_000), (DAMAGED, HARMLESS)),
    "WebP of nothing but its beginning": (b"RIFF\xff\xff\xff\xffWEBPVP8L", DAMAGED),
    "JPEG that says 60,000 x 60,000": (lambda: jpeg_of(60_000, 60_000), "picture-too-large"),
    "JPEG that says 7,000 x 7,000 and has nothing": (lambda: jpeg_of(7_000, 7_000), (DAMAGED, HARMLESS)),
    "JPEG that says 0 x 0": (lambda: jpeg_of(0, 0), DAMAGED),
    "JPEG of many scans": (lambda: jpeg_of_many_scans(200), (DAMAGED, HARMLESS)),
    "JPEG with 10,000 times EXIF": (
        lambda: b"\xff\xd8" + (b"\xff\xe1\0\x08Exif\0\0" * 10_000) + good("JPEG")[2:],
        (DAMAGED, HARMLESS),
    ),
    "JPEG of several pictures that there are not": (
        lambda: good("JPEG")[:2] + b"\xff\xe2\xff\xffMPF\0II*\0\x08\0\0\0\xff\xff" + b"\2\xb0" * 40_000,
        (DAMAGED, HARMLESS),
    ),
    "PNG of 10,000 frames": (png_of_many_frames, HARMLESS),
    "PNG of 100,000 parts without anything in them": (
        lambda: png(1, 1, *[chunk(b"IDAT", b"")] * 100_000),
        (DAMAGED, HARMLESS),
    ),
    "PNG with a part of 2 GB": (b"\x89PNG\r\n\x1a\n\x7f\xff\xff\xffIHDR", DAMAGED),
    "PNG that says 2^31 x 2^31": (png(2**31 - 1, 2**31 - 1), "picture-too-large"),
    "PNG that says 1 x 50,000,001": (png(1, 50_000_001), "picture-too-large"),
    "PNG with a bomb in its text of any language": (
        lambda: png(1, 1, chunk(b"iTXt", b"a\0\1\0\0\0" + _packed(50))),
        (DAMAGED, HARMLESS),
    ),
    "WebP with 100,000 frames": (webp_of_many_frames, HARMLESS),
    "animated WebP that says 2^24 x 2^24": (lambda: webp_of_many_frames(2, 1 << 24), ("picture-too-large", DAMAGED)),
    "GIF with a frame beside it": (
        b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + b"\x2c" + b"\xff" * 8 + b"\0\2\2\x44\1\0\x3b",
        ("picture-too-large", DAMAGED, HARMLESS),
    ),
    "GIF of 300,000 comments": (
        lambda: b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + b"\x21\xfe\0" * 300_000 + b"\x3b",
        DAMAGED,
    ),
    "GIF that is an archive too": (lambda: good("GIF") + zipped("a.class"), HARMLESS),
    "PNG that is HTML too": (lambda: good("PNG") + b"<script>alert(1)</script>", HARMLESS),
    "ICO": (lambda: good("ICO"), "picture-unknown-format"),
    "JPEG 2000": (lambda: good("JPEG2000"), "picture-unknown-format"),
    "HEIC": (b"\0\0\0\x18ftypheic" + bytes(99), "picture-unknown-format"),
    "AVIF": (b"\0\0\0\x1cftypavif" + bytes(99), "picture-unknown-format"),
    "zip named .png": (lambda: zipped("cat.png"), "picture-unknown-format"),
    "SVG for a picture": (svg("<script/>"), "picture-unknown-format"),
    "TIFF": (lambda: good("TIFF"), "picture-unknown-format"),
    "BMP": (lambda: good("BMP"), "picture-unknown-format"),
    "EPS, which other programs would run": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "picture-unknown-format"),
    "empty picture": (b"", "picture-unknown-format"),
    "noise": (lambda: zlib.compress(bytes(range(256)) * 99), "picture-unknown-format"),
}


def cases() -> Iterator[tuple[str, Case]]:
    """Yield every case with its name."""
    for job, of_job in ((DRAWING, DRAWINGS), (PICTURE, PICTURES)):
        for name, (data, told) in of_job.items():
            make = data if callable(data) else (lambda data=data: data)
            yield name, Case(job, make, (told,) if isinstance(told, str) else told)
    for name, (data, told, file_name) in DOCUMENTS.items():
        make = data if callable(data) else (lambda data=data: data)
        arguments = {"name": file_name, "media_type": "", "most_chunks": 500}
        yield name, Case(DOCUMENT, make, (told,) if isinstance(told, str) else told, arguments)


CASES = dict(cases())


async def outcome(case: Case, data: bytes) -> Refused | None:
    """What became of a file: its refusal, or None where something was made of it."""
    try:
        await Sandbox().run(case.job, case.arguments, data)
    except Refused as refused:
        return refused
    return None


def measured(name: str, data: bytes) -> tuple[str, float, int]:
    """Run one case in this process, and return outcome, seconds and the most bytes that the job's process took.

    That is never told as less than this process itself takes, about 30 MB.
    """
    begun = time.monotonic()
    refused = asyncio.run(outcome(CASES[name], data))
    seconds = time.monotonic() - begun
    told = HARMLESS if refused is None else Speaker().refusal(refused)
    return told, seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main() -> None:
    """Print the table, each case run below a process of its own, so that its memory is seen apart."""
    print("| file | outcome | seconds | peak MB |\n|---|---|---|---|")
    for name, case in CASES.items():
        command = [sys.executable, "-m", "tests.unit.media.hostile", name]
        answer = subprocess.run(command, check=True, input=case.make(), stdout=subprocess.PIPE).stdout
        told, seconds, most = json.loads(answer)
        print(f"| {name} | {told} | {seconds:.1f} | {most / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1], sys.stdin.buffer.read())))
    else:
        main()
