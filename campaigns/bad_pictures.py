"""Bad pictures, and good ones that look bad."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from campaigns.kinds import Kind, family, put, saved
from campaigns.readers import READERS, picture
from tests.explorer.test_server import bomb


def _blank(side: int, mode: str = "L", **more: Any) -> bytes:
    """Return a PNG of side x side black pixels."""
    return saved(lambda file: Image.new(mode, (side, side)).save(file, "PNG", **more))


def _noted(note: str, packed: bool = False) -> bytes:
    notes = PngInfo()
    notes.add_text("note", note, packed)
    return _blank(1, pnginfo=notes)


LONG_NOTE = _noted("x" * 20_000_000, packed=True)


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "a.jpg")
    return folder / "a.jpg"


def _scans(count: int, before: bytes = b"") -> bytes:
    """Return a progressive JPEG whose last scan stands there many times."""
    content = saved(lambda file: Image.new("RGB", (12, 10)).save(file, "JPEG", progressive=True))
    last = content.rindex(b"\xff\xda")
    return content[:last] + (before + content[last:-2]) * count + content[-2:]


def _refused() -> list[Kind]:
    def called(name: str, content: bytes) -> Callable[[Path], Path]:
        return lambda folder: put({name: content}, folder) / name

    jpeg, not_numbers = picture("JPEG"), np.full((3, 3), np.nan, np.float32)
    nan = saved(lambda target: Image.fromarray(not_numbers).save(target, "TIFF"))
    unknown = "not an image of a known format"
    rows = [
        ("missing", lambda folder: folder / "a.jpg", "missing"),
        ("a pipe", _pipe, "not a regular file; expected a picture"),
        ("zero bytes in a table", b"", "missing"),
        ("a text called .jpg", called("a.jpg", b"hello"), unknown),
        ("a drawing (SVG)", called("a.svg", b'<svg onload="x()"/>'), unknown),
        ("a truncated JPEG", called("a.jpg", jpeg[: len(jpeg) // 2]), "damaged: .*[Tt]runc"),
        ("300 scans", _scans(300), "more than 200 scans"),
        ("300 scans after TEM", _scans(300, b"\xff\x01"), "more than 200 scans"),
        ("a million marks", b"\xff\xd8" + b"\xff\xe5\0\2" * 10**6 + b"\xff\xd9", "parts"),
        ("30,000 x 30,000 claimed", bomb(30_000, 30_000), "too large: .*178,9"),
        ("2^31 x 2^31 claimed", bomb(2**31 - 1, 2**31 - 1), "too large"),
        ("a note of 20 MB", LONG_NOTE, "damaged: .*too large"),
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

    rows = [
        ("CMYK", picture("JPEG", "CMYK"), rgb(12, 10)),
        ("100 scans", _scans(100), rgb(12, 10)),
        ("a film after its end", picture("JPEG") + b"\xff\xda\0\2" * 999, rgb(12, 10)),
        ("16 bits", picture("PNG", "I;16"), rgb(12, 10)),
        ("animated", saved(animated), rgb(6, 5)),
        ("1 x 3000", picture(size=(1, 3000)), rgb(1, 3000)),
        ("bytes after its end", picture("JPEG") + b"<?php x() ?>" * 100, rgb(12, 10)),
        ("a hostile note", _noted("{{ 7 * 7 }}<script>"), rgb(1, 1)),
        ("a broken profile", _blank(1, icc_profile=b"no profile"), rgb(1, 1)),
    ]
    return family("pictures", READERS["pictures"], rows)


KINDS = [*_refused(), *_accepted()]
