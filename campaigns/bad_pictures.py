"""Bad pictures, and those that only look bad; in data sets, and as they come to the server."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from campaigns.kinds import ACCEPTED, Kind, file, given, nothing
from campaigns.mutations import dumped, saved
from campaigns.readers import HISTORIES, picture, served
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.explorer.server import MAX_BYTES


def kinds() -> list[Kind]:
    """All of them."""
    return [*_refused(), *_accepted(), *_requests()]


def png(width: int, height: int, pixels: bytes, *more: tuple[bytes, bytes], bits: int = 8) -> bytes:
    """A grey PNG that says it has so many pixels, with further chunks."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), *more, (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


def _blank(side: int, bits: int) -> bytes:
    """A PNG of side x side grey pixels, whose lines are packed one by one."""
    packer = zlib.compressobj(1)
    line = bytes(1 + side * bits // 8)
    pixels = b"".join(packer.compress(line) for _ in range(side)) + packer.flush()

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", side, side, bits, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in chunks)


def _bmp(width: int, height: int) -> bytes:
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + 100, 0, 0, 54) + header + bytes(100)


def _tiff(values: np.ndarray) -> bytes:
    return saved(lambda target: Image.fromarray(values).save(target, "TIFF"))


def _refused() -> list[Kind]:
    kind = partial(Kind, "pictures", read=to_rgb, refusal=UnreadableError)
    half, other = picture("JPEG"), picture("PNG")
    text = (b"zTXt", b"note\0\0" + zlib.compress(bytes(20_000_000), 1))
    broken = bytearray(other)
    broken[60:80] = bytes(20)
    unknown = "not an image of a known format"
    return [
        kind("missing", nothing("a.jpg"), told="missing"),
        kind("zero bytes in a table", given(b""), told="missing"),
        kind("a text called .jpg", file("a.jpg", "hello"), told=unknown),
        kind("a drawing (SVG)", file("a.svg", '<svg onload="x()"/>'), told=unknown),
        kind("a truncated JPEG", file("a.jpg", half[: len(half) // 2]), told="damaged: .*[Tt]runc"),
        kind("30,000 x 30,000 claimed", given(png(30_000, 30_000, b"")), told="too large: .*178,9"),
        kind("2^31 x 2^31 claimed", given(png(2**31 - 1, 2**31 - 1, b"")), told="too large"),
        kind("a note of 20 MB", given(png(1, 1, bytes(2), text)), told="damaged: .*too large"),
        kind("NaN", given(_tiff(np.full((3, 3), np.nan, np.float32))), told="NaN or infinite"),
        kind("an array of texts", given(np.array([["a"]])), told="an array of <U1; expected uint8"),
        kind("an array of 5 channels", given(np.zeros((2, 2, 5))), told=r"shape \(2, 2, 5\)"),
        kind("an array beyond 1", given(np.full((2, 2), 3.0)), told="from 3 to 3; expected 0 to 1"),
        kind("a number", given(3), told="a int; expected a path, bytes or pixels"),
    ]


def _is_rgb(width: int, height: int) -> Callable[[Any], bool]:
    return lambda image: image.mode == "RGB" and image.size == (width, height)


def _accepted() -> list[Kind]:
    def kind(name: str, content: bytes, width: int, height: int, heavy: bool = False) -> Kind:
        fits = _is_rgb(width, height)
        return Kind(
            "pictures",
            name,
            given(content),
            to_rgb,
            ACCEPTED,
            refusal=UnreadableError,
            fits=fits,
            heavy=heavy,
        )

    frames = [Image.new("RGB", (6, 5), color) for color in ("red", "blue", "green")]
    moving = saved(
        lambda target: frames[0].save(target, "GIF", save_all=True, append_images=frames)
    )
    note = (b"tEXt", b"note\0{{ 7 * 7 }}<script>")
    profile = (b"iCCP", b"x\0\0" + zlib.compress(b"no profile"))
    return [
        kind("CMYK", picture("JPEG", "CMYK"), 12, 10),
        kind("16 bits", picture("PNG", "I;16"), 12, 10),
        kind("animated", moving, 6, 5),
        kind("1 x 3000", picture(size=(1, 3000)), 1, 3000),
        kind("bytes after its end", picture("JPEG") + b"<?php x() ?>" * 100, 12, 10),
        kind("a hostile note", png(1, 1, bytes(2), note), 1, 1),
        kind("a profile that is none", png(1, 1, bytes(2), profile), 1, 1),
        kind("170 million pixels", _blank(13_000, 8), 13_000, 13_000, heavy=True),
        kind("170 million pixels, 16 bits", _blank(13_000, 16), 13_000, 13_000, heavy=True),
    ]


class RefusedError(Exception):
    """What the server refused, in its words."""


def _posted(path: str, asked: bytes) -> Any:
    answer = served().post(path, content=asked, headers={"content-type": "application/json"})
    if answer.status_code == 200:
        return answer.json()
    content = answer.json()
    assert 400 <= answer.status_code < 500, answer.text
    assert list(content) == ["error"]
    raise RefusedError(f"{answer.status_code} {content['error']}")


def _histories(**changed: Any) -> bytes:
    return dumped({**HISTORIES, **changed}, escaped=True)


def _requests() -> list[Kind]:
    image = partial(Kind, "requests", read=partial(_posted, "/api/images"), refusal=RefusedError)
    steps = partial(Kind, "requests", read=partial(_posted, "/api/steps"), refusal=RefusedError)
    asked = {"query": 0, "answer": 1.0}
    return [
        image("nothing", given(b""), told="400 Nothing was sent"),
        image("too many bytes", given(bytes(MAX_BYTES + 1)), told="413 This is too large"),
        image("a TIFF", given(picture("TIFF")), told="415 This is not a picture that can be read"),
        image("half a JPEG", given(picture("JPEG")[:300]), told="415|422 The picture is damaged"),
        image("9,000 x 9,000", given(png(9000, 9000, b"")), told="413 The picture has 9000 x 9000"),
        image("a note of 20 MB", given(_note()), told="422 The picture is damaged|415"),
        steps("lists in lists", given(b"[" * 5000), told="4.. "),
        steps("a list", given(b"[]"), told="422 The request is malformed: body"),
        steps("no model", given(_histories(model=7)), told="422 .*model"),
        steps("5000 histories", given(_histories(histories=[[]] * 5000)), told="422 .*histories"),
        steps("an unknown query", given(_histories(histories=[[{**asked, "query": 99}]])),
              told="422 .*no query 99; expected 0 to"),
        steps("a query twice", given(_histories(histories=[[asked, asked]])), told="422 .*twice"),
        steps("an answer of 2", given(_histories(histories=[[{**asked, "answer": 2}]])),
              told="422 .*answer"),
        steps("a key too many", given(_histories(more=1)), told="422 .*more"),
        steps("5000 digits", given(b'{"model": ' + b"9" * 5000 + b"}"), told="4.. "),
    ]  # fmt: skip


def _note() -> bytes:
    return png(1, 1, bytes(2), (b"zTXt", b"note\0\0" + zlib.compress(bytes(20_000_000), 1)))
