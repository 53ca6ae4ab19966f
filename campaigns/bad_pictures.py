"""Bad pictures, and good ones that look bad; in data sets, and as the server gets them."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from campaigns.kinds import Kind, Reader, family, put
from campaigns.mutations import dumped, saved
from campaigns.readers import HISTORIES, READERS, picture, post
from infopursuit.explorer.server import MAX_BYTES

# A compressed note that unpacks to 20 MB.
NOTE = (b"zTXt", b"note\0\0" + zlib.compress(bytes(20_000_000), 1))


class RefusedError(Exception):
    """A request that the server refused, in its words."""


def kinds() -> list[Kind]:
    """Return all kinds of this module."""
    return [*_refused(), *_accepted(), *_requests()]


def png(side: int, packed: bytes, *more: tuple[bytes, bytes], bits: int = 8) -> bytes:
    """Return a grey PNG that claims side x side pixels, with further chunks."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", side, side, bits, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), *more, (b"IDAT", packed), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*named) for named in chunks)


def _blank(side: int, bits: int = 8, *more: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of side x side black pixels, whose lines are packed one by one."""
    packer = zlib.compressobj(1)
    line = bytes(1 + side * bits // 8)
    pixels = b"".join(packer.compress(line) for _ in range(side)) + packer.flush()
    return png(side, pixels, *more, bits=bits)


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "a.jpg")
    return folder / "a.jpg"


def _scans(count: int) -> bytes:
    """Return a progressive JPEG whose last scan stands there many times."""
    content = saved(lambda file: Image.new("RGB", (12, 10)).save(file, "JPEG", progressive=True))
    last = content.rindex(b"\xff\xda")
    return content[:last] + content[last:-2] * count + content[-2:]


def _refused() -> list[Kind]:
    def called(name: str, content: bytes) -> Callable[[Path], Path]:
        return lambda folder: put({name: content}, folder) / name

    jpeg, not_numbers = picture("JPEG"), np.full((3, 3), np.nan, np.float32)
    nan = saved(lambda target: Image.fromarray(not_numbers).save(target, "TIFF"))
    unknown = "not an image of a known format"
    rows = [
        ("missing", lambda folder: folder / "a.jpg", "missing"),
        ("a pipe", _pipe, "a pipe; expected a file"),
        ("zero bytes in a table", b"", "missing"),
        ("a text called .jpg", called("a.jpg", b"hello"), unknown),
        ("a drawing (SVG)", called("a.svg", b'<svg onload="x()"/>'), unknown),
        ("a truncated JPEG", called("a.jpg", jpeg[: len(jpeg) // 2]), "damaged: .*[Tt]runc"),
        ("300 scans", _scans(300), "more than 200 scans"),
        ("30,000 x 30,000 claimed", png(30_000, b""), "too large: .*178,9"),
        ("2^31 x 2^31 claimed", png(2**31 - 1, b""), "too large"),
        ("a note of 20 MB", _blank(1, 8, NOTE), "damaged: .*too large"),
        ("NaN", nan, "NaN or infinite"),
        ("an array of texts", np.array([["a"]]), "an array of <U1; expected uint8"),
        ("an array of 5 channels", np.zeros((2, 2, 5)), r"shape \(2, 2, 5\)"),
        ("an array beyond 1", np.full((2, 2), 3.0), "from 3 to 3; expected 0 to 1"),
        ("a number", 3, "a int; expected a path, bytes or pixels"),
    ]
    return family("pictures", READERS["pictures"], rows)


def _accepted() -> list[Kind]:
    def rgb(width: int, height: int) -> Callable[[Any], bool]:
        return lambda image: image.mode == "RGB" and image.size == (width, height)

    def animated(target: Any) -> None:
        first, *frames = (Image.new("RGB", (6, 5), color) for color in ("red", "blue", "green"))
        first.save(target, "GIF", save_all=True, append_images=frames)

    profile = (b"iCCP", b"x\0\0" + zlib.compress(b"no profile"))
    rows = [
        ("CMYK", picture("JPEG", "CMYK"), rgb(12, 10)),
        ("100 scans", _scans(100), rgb(12, 10)),
        ("a film after its end", picture("JPEG") + b"\xff\xda\0\2" * 999, rgb(12, 10)),
        ("16 bits", picture("PNG", "I;16"), rgb(12, 10)),
        ("animated", saved(animated), rgb(6, 5)),
        ("1 x 3000", picture(size=(1, 3000)), rgb(1, 3000)),
        ("bytes after its end", picture("JPEG") + b"<?php x() ?>" * 100, rgb(12, 10)),
        ("a hostile note", _blank(1, 8, (b"tEXt", b"note\0{{ 7 * 7 }}<script>")), rgb(1, 1)),
        ("a broken profile", _blank(1, 8, profile), rgb(1, 1)),
    ]
    large = rgb(13_000, 13_000)
    heavy = [
        ("170 million pixels", lambda folder: _blank(13_000), large),
        ("170 million pixels, 16 bits", lambda folder: _blank(13_000, 16), large),
    ]
    reader = READERS["pictures"]
    return [
        *family("pictures", reader, rows),
        *(replace(kind, heavy=True) for kind in family("pictures", reader, heavy)),
    ]


def _requests() -> list[Kind]:
    def posted(path: str, content: bytes) -> Any:
        response = post(path, content)
        if response.status_code == 200:
            return response.json()
        assert 400 <= response.status_code < 500, response.text
        assert list(response.json()) == ["error"]
        raise RefusedError(f"{response.status_code} {response.json()['error']}")

    def reader(path: str) -> Reader:
        return Reader(partial(posted, path), refusal=RefusedError)

    def changed(**more: Any) -> bytes:
        return dumped({**HISTORIES, **more}, escaped=True)

    first = {"query": 0, "answer": 1.0}
    unknown, extreme = {**first, "query": 99}, {**first, "answer": 2}
    images = [
        ("nothing", b"", "400 Nothing was sent"),
        ("too many bytes", bytes(MAX_BYTES + 1), "413 This is too large"),
        ("a TIFF", picture("TIFF"), "415 This is not a picture that can be read"),
        ("half a JPEG", picture("JPEG")[:300], "415|422 The picture is damaged"),
        ("9,000 x 9,000", png(9000, b""), "413 The picture has 9000 x 9000"),
        ("a note of 20 MB", _blank(1, 8, NOTE), "422 The picture is damaged|415"),
    ]
    steps = [
        ("lists in lists", b"[" * 5000, "4.. "),
        ("a list", b"[]", "422 The request is malformed: body"),
        ("no model", changed(model=7), "422 .*model"),
        ("5000 histories", changed(histories=[[]] * 5000), "422 .*histories"),
        ("an unknown query", changed(histories=[[unknown]]), "422 .*no query 99; expected 0 to"),
        ("a query twice", changed(histories=[[first, first]]), "422 .*twice"),
        ("an answer of 2", changed(histories=[[extreme]]), "422 .*answer"),
        ("a key too many", changed(more=1), "422 .*more"),
        ("5000 digits", b'{"model": ' + b"9" * 5000 + b"}", "4.. "),
    ]
    return [
        *family("requests", reader("/api/images"), images),
        *family("requests", reader("/api/steps"), steps),
    ]
