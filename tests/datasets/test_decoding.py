from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import (
    MOST_SCANS,
    ORIENTATION,
    UnreadableError,
    picture_list,
    prepared_ahead,
    to_rgb,
)
from tests.datasets.images import encoded


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def grey(*values: float, kind: str = "uint8") -> np.ndarray:
    """One row of grey pixels."""
    return np.array([values], dtype=kind)


def row(picture: Any) -> list[int]:
    """The red channel of the first row, of a picture that is decoded to grey."""
    pixels = np.asarray(to_rgb(picture))
    assert (pixels == pixels[:, :, :1]).all()
    return pixels[0, :, 0].tolist()


def pixel(picture: Any) -> tuple[int, ...]:
    return tuple(np.asarray(to_rgb(picture))[0, 0].tolist())


SIXTEEN = grey(0, 128, 129, 257, 32768, 65535, kind="uint16")


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM", "JPEG2000"])
def test_16_bit_greyscale_is_scaled_not_cut(kind: str) -> None:
    options = {"irreversible": False} if kind == "JPEG2000" else {}
    assert row(saved(Image.fromarray(SIXTEEN), kind, **options)) == [0, 0, 1, 1, 128, 255]
    assert row(SIXTEEN) == [0, 0, 1, 1, 128, 255]
    assert row(Image.fromarray(SIXTEEN)) == [0, 0, 1, 1, 128, 255]


def test_32_bit_integers_are_stretched_from_least_to_greatest() -> None:
    wide = Image.fromarray(grey(-100, 400, 150, 0, kind="int32"))
    assert row(saved(wide, "TIFF")) == [0, 255, 128, 51]
    assert row(wide) == [0, 255, 128, 51]
    assert row(Image.fromarray(grey(7, 7, kind="int32"))) == [0, 0]


def test_floats_in_a_file_are_from_0_to_1_or_stretched() -> None:
    for values, expected in [((0, 0.5, 0.25), [0, 128, 64]), ((10, 30, 20), [0, 255, 128])]:
        file = saved(Image.fromarray(grey(*values, kind="float32")), "TIFF")
        assert row(file) == expected
    with pytest.raises(UnreadableError, match="NaN or infinite"):
        to_rgb(saved(Image.fromarray(grey(0.5, np.nan, kind="float32")), "TIFF"))


def test_transparency_is_laid_on_white() -> None:
    assert pixel(Image.new("RGBA", (2, 2), (200, 0, 0, 0))) == (255, 255, 255)
    assert pixel(saved(Image.new("RGBA", (2, 2), (200, 0, 0, 51)))) == (244, 204, 204)
    assert pixel(saved(Image.new("LA", (2, 2), (0, 102)))) == (153, 153, 153)
    palette = Image.new("P", (2, 1))
    palette.putpalette([255, 0, 0, 0, 0, 255])
    palette.putdata([0, 1])
    for file in (saved(palette, transparency=0), saved(palette, "GIF", transparency=0)):
        assert np.asarray(to_rgb(file)).tolist() == [[[255, 255, 255], [0, 0, 255]]]
    assert np.asarray(to_rgb(saved(palette))).tolist() == [[[255, 0, 0], [0, 0, 255]]]
    # One colour of an image without an alpha channel.
    assert row(saved(Image.fromarray(grey(9, 8)), transparency=9)) == [255, 8]
    red = Image.new("RGB", (2, 1), (255, 0, 0))
    assert pixel(saved(red, transparency=(255, 0, 0))) == (255, 255, 255)
    assert row(saved(Image.fromarray(SIXTEEN), transparency=32768)) == [0, 0, 1, 1, 255, 255]


def cmyk_profile() -> bytes:
    """An ICC profile by which every mix of inks is a grey of L* = 50, 25 with full black."""
    lab = [(128, 128, 128)] * 15 + [(64, 128, 128)]
    table = b"mft1" + bytes(4) + bytes([4, 3, 2, 0])
    table += struct.pack(">9i", *(65536 * (place in (0, 4, 8)) for place in range(9)))
    ramp = bytes(range(256))
    grid = b"".join(bytes(lab[15 if corner % 2 else 0]) for corner in range(16))
    table += ramp * 4 + grid + ramp * 3
    white = b"XYZ " + bytes(4) + struct.pack(">3i", 63190, 65536, 54061)
    text = b"text" + bytes(4) + b"none\0\0\0\0"
    name = b"desc" + bytes(4) + struct.pack(">I", 5) + b"test\0" + bytes(78)
    name += bytes(-len(name) % 4)
    tags = {b"A2B0": table, b"wtpt": white, b"cprt": text, b"desc": name}
    place = 128 + 4 + 12 * len(tags)
    index, content = struct.pack(">I", len(tags)), b""
    for tag, data in tags.items():
        data += bytes(-len(data) % 4)
        index += tag + struct.pack(">II", place + len(content), len(data))
        content += data
    header = struct.pack(
        ">I4sI4s4s4s", place + len(content), b"", 0x02400000, b"prtr", b"CMYK", b"Lab "
    )
    header += struct.pack(">6H", 2020, 1, 1, 0, 0, 0) + b"acsp" + bytes(28)
    header += struct.pack(">3i", 63190, 65536, 54061)
    return header.ljust(128, b"\0") + index + content


def test_cmyk_follows_the_profile_in_the_file(caplog: pytest.LogCaptureFixture) -> None:
    cyan = Image.new("CMYK", (2, 2), (255, 0, 0, 0))
    assert pixel(cyan) == (0, 255, 255)
    for kind in ("TIFF", "JPEG"):
        red, green, blue = pixel(saved(cyan, kind, icc_profile=cmyk_profile()))
        # L* = 50 is 119 in sRGB.
        assert max(abs(red - 119), abs(green - 119), abs(blue - 119)) <= 2
    black = saved(Image.new("CMYK", (2, 2), (0, 0, 0, 255)), "TIFF", icc_profile=cmyk_profile())
    assert max(pixel(black)) < 65
    assert not caplog.records
    assert pixel(saved(cyan, "TIFF", icc_profile=b"no profile")) == (0, 255, 255)
    assert "an ICC profile cannot be used" in caplog.text


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_pictures_are_turned_upright(orientation: int, kind: str) -> None:
    upright = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10)
    # What the camera stores is the inverse of what the viewer has to do.
    turns = Image.Transpose
    stored = [
        turns.FLIP_LEFT_RIGHT, turns.ROTATE_180, turns.FLIP_TOP_BOTTOM, turns.TRANSPOSE,
        turns.ROTATE_90, turns.TRANSVERSE, turns.ROTATE_270,
    ]  # fmt: skip
    image = upright.transpose(stored[orientation - 2]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    options = {"lossless": True} if kind == "WEBP" else {}
    found = to_rgb(saved(image, kind, exif=exif, **options))
    assert np.array_equal(np.asarray(found), np.asarray(upright))
    if kind == "PNG":
        damaged = saved(upright, kind, exif=b"Exif\0\0nonsense")
        assert to_rgb(damaged).size == upright.size


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_an_animation_is_its_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ((255, 0, 0), (0, 255, 0))]
    options = {"lossless": True} if kind == "WEBP" else {}
    file = saved(frames[0], kind, save_all=True, append_images=frames[1:], **options)
    with Image.open(io.BytesIO(file)) as image:
        assert getattr(image, "n_frames", 1) == 2
    assert pixel(file) == (255, 0, 0)


COLOURS = np.array([[[255, 0, 0], [0, 128, 1]]], dtype=np.uint8)


@pytest.mark.parametrize(
    "array",
    [
        COLOURS,
        COLOURS.astype(np.uint16) * 257,
        COLOURS.astype(np.int64),
        (COLOURS / 255).astype(np.float16),
        np.concatenate([COLOURS, np.full((1, 2, 1), 255, np.uint8)], axis=2),
        torch.from_numpy(COLOURS).permute(2, 0, 1),
        (torch.from_numpy(COLOURS).permute(2, 0, 1) / 255).double().requires_grad_(),
    ],
)
def test_arrays_and_tensors_are_pictures(array: Any) -> None:
    assert np.array_equal(np.asarray(to_rgb(array)), COLOURS)


def test_grey_arrays_are_pictures() -> None:
    assert row(grey(0, 255, 7)) == [0, 255, 7]
    assert row(grey(0, 255, 7)[:, :, None]) == [0, 255, 7]
    assert row(np.array([[True, False]])) == [255, 0]
    assert row(torch.tensor([[[0.0, 1.0]]], dtype=torch.bfloat16)) == [0, 255]
    assert row(torch.tensor([[0, 200]], dtype=torch.uint8)) == [0, 200]
    see_through = np.zeros((1, 1, 4), np.uint8)
    assert pixel(see_through) == (255, 255, 255)


def test_one_picture_and_a_list_of_pictures_are_distinguished() -> None:
    image = Image.new("RGB", (2, 2))
    assert picture_list(image) == [image]
    assert picture_list((image, "a.jpg")) == [image, "a.jpg"]
    assert len(picture_list(np.zeros((4, 6, 3)))) == len(picture_list(torch.zeros(3, 4, 6))) == 1
    assert [part.shape for part in picture_list(np.zeros((2, 4, 6, 3)))] == [(4, 6, 3)] * 2
    assert picture_list(path for path in ["a", "b"]) == ["a", "b"]
    for wrong in ("a.jpg", Path("a.jpg"), b"x", io.BytesIO(), 3):
        with pytest.raises(InputError, match="found"):
            picture_list(wrong)


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (Path("absent.jpg"), "missing"),
        (b"no picture", "not an image of a known format"),
        (encoded(0, "JPEG")[:900], "damaged: image file is truncated"),
        (encoded(0)[:60] + b"\0\0\0\0" + encoded(0)[64:], "damaged: "),
        (np.zeros((0, 5, 3)), r".*shape \(0, 5, 3\)"),
        (np.zeros(5), r".*shape \(5,\)"),
        (torch.zeros(5, 4, 3), r".*shape \(5, 4, 3\); expected \(h, w\) or \(c, h, w\)"),
        (np.full((2, 2), -1), ".*int64 from -1 to -1; expected 0 to 255"),
        (np.full((2, 2), np.nan), ".*expected 0 to 1"),
    ],
)
def test_reasons_are_short_and_repeatable(picture: Any, reason: str) -> None:
    for _ in range(2):  # an address in memory would differ
        with pytest.raises(UnreadableError, match=f"^{reason}(?!.*0x)"):
            to_rgb(picture)


def test_no_more_images_are_held_than_asked_for() -> None:
    taken = []

    def images():
        for row in range(50):
            taken.append(row)
            yield encoded(row % 3)

    prepared = prepared_ahead(images(), lambda _: torch.zeros(3, 1, 1), workers=2, ahead=5)
    for number in range(1, 20):
        next(prepared)
        assert len(taken) <= number + 5
    prepared.close()


def test_postscript_starts_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr("subprocess.Popen", lambda *given, **_: started.append(given))
    drawn = io.BytesIO()
    Image.new("RGB", (4, 4)).save(drawn, "EPS")
    with pytest.raises(UnreadableError, match="not an image of a known format"):
        to_rgb(drawn.getvalue())
    assert not started


def scans(count: int, before: bytes = b"", head: bytes = b"", **options: Any) -> bytes:
    """A progressive JPEG whose last scan follows `count` times, each time after some bytes."""
    whole = saved(Image.new("L", (16, 16), 90), "JPEG", progressive=True, **options)
    last = whole.rindex(b"\xff\xda")
    return whole[:2] + head + whole[2:last] + (before + whole[last:-2]) * count + b"\xff\xd9"


def segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\xff\xff\xff",  # 0xFF that fills
        b"\xff\x01\xff\xff",  # TEM, without a length; a decoder looks for the next marker
        b"\xff\xbf\xff\xff",
        b"\xff\xd0\xff\xff",  # a restart
        b"\xff\xd8",  # a second beginning
        b"\xff\x00\xff\xff",  # coded pixels
        segment(0xFE, b"a comment"),
        segment(0xE1, b"\xff\xd9"),
        b"\xff\xe5\0\0",  # a length that is none
    ],
)
def test_every_scan_that_a_decoder_would_run_is_counted(before: bytes) -> None:
    with pytest.raises(UnreadableError, match=f"more than {MOST_SCANS} scans"):
        to_rgb(scans(MOST_SCANS + 1, before))
    with pytest.raises(UnreadableError, match=f"more than {MOST_SCANS} scans"):
        to_rgb(Image.open(io.BytesIO(scans(MOST_SCANS + 1, before))))


def test_the_pixels_of_all_scans_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = scans(20 - scans(0).count(b"\xff\xda"))
    monkeypatch.setattr("infopursuit.datasets.decoding.MOST_SCANNED", 20 * 16 * 16)
    assert pixel(picture) == (90, 90, 90)
    monkeypatch.setattr("infopursuit.datasets.decoding.MOST_SCANNED", 20 * 16 * 16 - 1)
    with pytest.raises(UnreadableError, match="of this size with more than 19 scans"):
        to_rgb(picture)


def parts_of(kind: str, count: int) -> bytes:
    """A whole picture of `count` parts, most of which say nothing."""
    image = Image.new("P" if kind in ("GIF", "BMP") else "RGB", (8, 8))
    whole = saved(image, kind.split()[0])

    def chunk(name: bytes, content: bytes = b"") -> bytes:
        check = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)

    if kind.startswith("JPEG"):
        part = {"JPEG": b"\xff\xe5\0\2", "JPEG fill": b"\xff", "JPEG tables": b"\xff\xc4\0\2"}[kind]
        return whole[:2] + part * count + whole[2:]
    if kind.startswith("PNG"):
        part = {"PNG": chunk(b"aaAa"), "PNG text": chunk(b"tEXt", b"a\0b")}.get(
            kind, chunk(b"IDAT")
        )
        place = whole.index(b"IEND" if kind == "PNG pixels" else b"IDAT") - 4
        return whole[:place] + part * count + whole[place:]
    if kind == "GIF":
        place = whole.index(b",")
        return whole[:place] + b"!\xfe" + b"\1a" * count + b"\0" + whole[place:]
    runs = (b"\1\7" * (count // 8) + b"\0\0") * 8  # runs of one pixel, and ends of rows
    head = struct.pack("<IiiHHIIiiII", 40, count // 8, 8, 1, 8, 1, len(runs), 0, 0, 256, 0)
    start = 14 + len(head) + 1024
    file = struct.pack("<2sIHHI", b"BM", start + len(runs) + 2, 0, 0, start)
    return file + head + bytes(1024) + runs + b"\0\1"


@pytest.mark.parametrize(
    "kind",
    ["JPEG", "JPEG fill", "JPEG tables", "PNG", "PNG text", "PNG pixels", "GIF", "BMP"],
)
def test_the_parts_of_a_file_are_limited(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infopursuit.datasets.decoding.MOST_READS", 1000)
    assert to_rgb(parts_of(kind, 100)).mode == "RGB"
    with pytest.raises(UnreadableError, match="more than 1,000 parts"):
        to_rgb(parts_of(kind, 1100))


def test_a_text_in_a_png_does_not_unpack_to_gigabytes() -> None:
    packed = b"k\0\0" + zlib.compress(bytes(2**24), 9)
    chunk = b"zTXt" + packed
    part = struct.pack(">I", len(packed)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    whole = saved(Image.new("RGB", (8, 8)))
    with pytest.raises(UnreadableError, match="too large"):
        to_rgb(whole[:33] + part + whole[33:])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_is_no_picture(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe.png", Path("/dev/zero"), tmp_path):
        with pytest.raises(UnreadableError, match=r"not a regular|Is a directory"):
            to_rgb(path)
