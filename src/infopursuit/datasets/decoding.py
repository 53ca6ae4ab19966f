"""Pictures of every kind to 8-bit RGB: the one decoder of pipeline and library.

to_rgb("photo.jpg")                       a path, encoded bytes, an open file, a PIL image,
to_rgb(np.zeros((48, 64, 3), np.uint8))   an array or a torch tensor

How pixels become 8-bit RGB:

8-bit greyscale, palettes      as they look
16-bit greyscale               scaled by the depth of the file: 65535, or 4095 if it has 12 bits
32-bit integers                stretched, the least value to black and the greatest to white
floats in a file               taken from 0 to 1 if all lie there; otherwise stretched too
transparency of any kind       laid on white
CMYK                           by the ICC profile in the file; by Pillow's rule if there is none
RGB                            as it is, whatever its profile

The picture is turned upright as its EXIF orientation says, and of an animation the first frame is
taken. A truncated file, one of more pixels than Pillow allows (2 * PIL.Image.MAX_IMAGE_PIXELS) and
floats that are NaN or infinite are refused; so is PostScript, which is a program. A file of a few
MB can keep a decoder busy for minutes, so a JPEG of many scans (MOST_SCANS, MOST_SCANNED) and a
file of very many parts (MOST_READS) are refused, too.
"""

from __future__ import annotations

import base64
import io
import logging
import re
import struct
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_bytes

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Encoded bytes, a file, a function that opens an image, or None for a missing one.
Encoded: TypeAlias = bytes | Path | Callable[[], Image.Image] | None
# What a person may call a picture.
Picture: TypeAlias = (
    "str | Path | bytes | bytearray | memoryview | io.IOBase | Image.Image | np.ndarray | Tensor"
)

# What Pillow raises for damaged files of the many formats.
DAMAGED = (OSError, SyntaxError, ValueError, EOFError, struct.error)
ORIENTATION = 0x0112
TIFF_BITS, TIFF_PHOTOMETRIC, WHITE_IS_ZERO = 258, 262, 0
# Formats whose 16-bit greyscale Pillow may hold in the mode of 32-bit integers.
SIXTEEN_BITS = ("PNG", "PPM")
HEIC = "HEIC, which pip install 'infopursuit[heic]' reads; or export the photo as JPEG or PNG"
WITH_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")
CHANNELS = (1, 3, 4)
# Pixels of the longer side of a thumbnail, and WebP's quality.
SIDE, QUALITY = 128, 70
# Scans of a progressive JPEG, and pixels of all its scans together. Cameras and programs write
# about ten scans; one of no content takes up to 0.6 nanoseconds a pixel.
MOST_SCANS, MOST_SCANNED = 200, 2 * 10**9
# Pieces in which Pillow reads a file: a photo has hundreds; so many take about a second.
MOST_READS = 300_000
# A marker of a JPEG that has a length, or ends the picture. All others have none: coded pixels
# (0xFF 0x00), 0xFF that fills, TEM and others below 0xC0, restarts, a second beginning.
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")
# Formats that are not read. PostScript would start another program; the others may wrap a JPEG,
# whose scans nobody would count.
NOT_READ = ("EPS", "BLP", "FPX", "IPTC", "MIC")
# Rows of pixels that are computed with at a time.
ROWS = 256


class UnreadableError(Exception):
    """An image that cannot be decoded; the message is the reason, the same in every run."""


def to_rgb(picture: Any) -> Image.Image:
    """Decode a picture of any kind into upright 8-bit RGB, by the rules above.

    Args:
        picture: a `Picture` or what a data set gives (`Encoded`): a path, encoded bytes, a file
            opened for reading bytes, a PIL image, a function that gives one, an array (h, w),
            (h, w, 1), (h, w, 3) or (h, w, 4), or a tensor (h, w) or (c, h, w). Numbers are uint8,
            uint16, bool, wider integers from 0 to 255, or floats from 0 to 1.
    """
    if picture is None or (isinstance(picture, bytes) and not picture):
        raise UnreadableError("missing")
    try:
        if isinstance(picture, Image.Image):
            return _rgb(picture)
        if isinstance(picture, np.ndarray) or is_tensor(picture):
            return _rgb(_image_of(picture))
        if callable(picture):
            opened: Any = picture()
            return _rgb(opened)
        picture = LimitedFile(_content(picture))
        with Image.open(picture, formats=_formats()) as image:
            return _rgb(image)
    except FileNotFoundError as error:
        raise UnreadableError("missing") from error
    except UnidentifiedImageError as error:
        if isinstance(picture, LimitedFile) and is_heic(picture):
            raise UnreadableError(HEIC) from error
        # Pillow's own message names a buffer by its address, which differs from run to run.
        raise UnreadableError("not an image of a known format") from error
    except Image.DecompressionBombError as error:
        limit = 2 * (Image.MAX_IMAGE_PIXELS or 0)
        raise UnreadableError(f"too large: expected at most {limit:,} pixels") from error
    except DAMAGED as error:
        reason = re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(error).split()))
        raise UnreadableError(f"damaged: {reason}") from error


class LimitedFile(io.BytesIO):
    """The bytes of a picture, for Pillow: UnreadableError at more than `MOST_READS` pieces."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes."""
        self.reads += 1
        if self.reads > MOST_READS:
            raise UnreadableError(f"damaged: more than {MOST_READS:,} parts")
        return super().read(size)


def _content(picture: Any) -> bytes:
    if isinstance(picture, str | Path):
        try:
            return read_bytes(picture, "expected a picture")
        except InputError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise UnreadableError("missing") from error
            raise UnreadableError(str(error).removeprefix(f"{picture}: ")) from error
    if isinstance(picture, bytes | bytearray | memoryview):
        return bytes(picture)
    if not hasattr(picture, "read"):
        raise UnreadableError(f"a {type(picture).__name__}; expected a path, bytes or pixels")
    if picture.seekable():
        picture.seek(0)
    return picture.read()


def is_heic(picture: io.BytesIO) -> bool:
    """Return whether the bytes of a file are of the format that iPhones write."""
    head = picture.getbuffer()[:12]
    return head[4:8] == b"ftyp" and head[8:] in (b"heic", b"heix", b"hevc", b"mif1", b"msf1")


@cache
def _formats() -> list[str]:
    with suppress(ImportError):
        import_module("pillow_heif").register_heif_opener()
    Image.init()
    return [name for name in Image.ID if name not in NOT_READ]


@cache
def suffixes() -> frozenset[str]:
    """Return the suffixes of pictures: none, those of `_formats`, and HEIC to say how."""
    formats = frozenset(_formats())
    known = (suffix for suffix, of in Image.registered_extensions().items() if of in formats)
    return frozenset(("", ".heic", ".heif", *known))


def is_picture(file: Path) -> bool:
    """Return whether a file is meant as a picture: by its suffix, or else by how it begins."""
    if file.suffix.lower() in suffixes():
        return True
    try:
        return file.is_file() and begins_as_picture(_content(file))
    except (UnreadableError, *DAMAGED):
        return False


def begins_as_picture(content: bytes) -> bool:
    """Return whether bytes begin as those of a picture."""
    try:
        with Image.open(LimitedFile(content), formats=_formats()):
            return True
    except (UnreadableError, *DAMAGED, Image.DecompressionBombError):
        return False


def thumbnail(picture: Any, side: int = SIDE) -> str:
    """Return a picture as a small WebP in a data address: nothing of its metadata stays."""
    image = to_rgb(picture).copy()
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    bare = Image.new("RGB", image.size)
    bare.paste(image)
    content = io.BytesIO()
    bare.save(content, "WEBP", quality=QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(content.getvalue()).decode('ascii')}"


def picture_list(pictures: Any) -> list[Any]:
    """Return pictures as a list; of one PIL image, array or tensor alone, a list of one."""
    if isinstance(pictures, str | Path | bytes | bytearray | memoryview):
        what = repr(pictures) if isinstance(pictures, str | Path) else "the bytes of one file"
        raise InputError(f"pictures: expected a list of pictures, found {what}; write [picture]")
    if isinstance(pictures, Image.Image):
        return [pictures]
    if (isinstance(pictures, np.ndarray) or is_tensor(pictures)) and pictures.ndim in (2, 3):
        return [pictures]
    if not isinstance(pictures, Iterable) or hasattr(pictures, "read"):
        what = type(pictures).__name__
        raise InputError(f"pictures: expected a list of pictures, found one {what}")
    return list(pictures)


def prepared_ahead(
    images: Iterable[Any],
    preprocess: Callable[[Image.Image], T],
    workers: int,
    ahead: int,
) -> Generator[T | UnreadableError, None, None]:
    """Decode and preprocess images in threads, in order, at most `ahead` of what is taken."""

    def prepare(encoded: Any) -> T | UnreadableError:
        try:
            return preprocess(to_rgb(encoded))
        except UnreadableError as reason:
            return reason

    pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")
    pending: deque[Future[T | UnreadableError]] = deque()
    try:
        for encoded in images:
            pending.append(pool.submit(prepare, encoded))
            if len(pending) >= ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _rgb(image: Image.Image) -> Image.Image:
    if image.format in ("JPEG", "MPO") and (file := getattr(image, "fp", None)) is not None:
        place = file.tell()
        file.seek(0)
        most = min(MOST_SCANS, MOST_SCANNED // max(image.width * image.height, 1))
        if more_scans_than(file.read(), most):
            raise UnreadableError(f"damaged: a JPEG of this size with more than {most} scans")
        file.seek(place)
    image.load()
    image = _upright(image)
    if image.mode in WITH_ALPHA or "transparency" in image.info:
        return _on_white(image)
    # An image that is RGB already would only be copied.
    return image if image.mode == "RGB" else _opaque(image)


def more_scans_than(jpeg: bytes, most: int) -> bool:
    """Whether a decoder would run more scans than this; each takes the whole picture once."""
    place, scans = 2, 0
    while (marker := _MARKER.search(jpeg, place)) and marker[1] != b"\xd9" and scans <= most:
        scans += marker[1] == b"\xda"
        end = marker.end()
        place = end + int.from_bytes(jpeg[end : end + 2], "big")
    return scans > most


def _upright(image: Image.Image) -> Image.Image:
    try:
        orientation = image.getexif().get(ORIENTATION, 1)
    except DAMAGED:
        return image
    return image if orientation == 1 else ImageOps.exif_transpose(image)


def _opaque(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):
        return _scaled(image, _depth(image))
    if image.mode == "I":
        return _scaled(image, 65535) if image.format in SIXTEEN_BITS else _stretched(image)
    if image.mode == "F":
        return _stretched(image)
    if image.mode == "CMYK" and image.info.get("icc_profile"):
        return _by_profile(image)
    return image.convert("RGB")


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # one grey value of more than 8 bits is transparent
        rgb = _opaque(image)
        clear = np.asarray(image) == image.info["transparency"]
        rgb.paste((255, 255, 255), mask=Image.fromarray(clear))
        return rgb
    rgb = Image.new("RGB", image.size)
    for top in range(0, image.height, ROWS):  # whole layers would take a gigabyte
        box = (0, top, image.width, min(top + ROWS, image.height))
        layers = image.crop(box).convert("RGBA")
        white = Image.new("RGBA", layers.size, (255, 255, 255, 255))
        rgb.paste(Image.alpha_composite(white, layers).convert("RGB"), box)
    return rgb


def _depth(image: Image.Image) -> int:
    """Return the greatest value of 16-bit greyscale; a TIFF file may have fewer bits."""
    return 2 ** getattr(image, "tag_v2", {}).get(TIFF_BITS, (16,))[0] - 1


def _scaled(image: Image.Image, top: int) -> Image.Image:
    """Return greyscale whose `top` is white, or black in a TIFF file that says so."""
    levels = np.arange(top + 1, dtype=np.int64)
    grey_of = ((levels * 255 + top // 2) // top).astype(np.uint8)
    values = np.asarray(image)
    grey = np.empty(values.shape, dtype=np.uint8)
    for start in range(0, len(values), ROWS):  # numpy takes eight bytes a pixel meanwhile
        rows = slice(start, start + ROWS)
        grey[rows] = grey_of[values[rows].clip(0, top)]
    if getattr(image, "tag_v2", {}).get(TIFF_PHOTOMETRIC) == WHITE_IS_ZERO:
        grey = 255 - grey
    return Image.fromarray(grey).convert("RGB")


def _stretched(image: Image.Image) -> Image.Image:
    """Return greyscale from the least to the greatest value; from 0 to 1 if all floats are."""
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise UnreadableError("damaged: pixels are NaN or infinite")
    least, greatest = values.min(), values.max()
    if image.mode == "F" and least >= 0 and greatest <= 1:
        least, greatest = 0.0, 1.0
    span = greatest - least or 1.0
    return Image.fromarray(_eight_bits((values - least) / span)).convert("RGB")


def _by_profile(image: Image.Image) -> Image.Image:
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(image.info["icc_profile"]))
        srgb = ImageCms.createProfile("sRGB")
        converted = ImageCms.profileToProfile(
            image, profile, srgb, ImageCms.Intent.RELATIVE_COLORIMETRIC, outputMode="RGB"
        )
    except (ImageCms.PyCMSError, OSError) as error:
        logger.warning("an ICC profile cannot be used (%s): CMYK by Pillow's rule", error)
        return image.convert("RGB")
    assert converted is not None
    return converted


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """Whether a value is one of torch, which takes seconds to import: who has one has loaded it."""
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def _image_of(array: np.ndarray | Tensor) -> Image.Image:
    if is_tensor(array):
        tensor = array.detach().cpu()
        shape = tuple(tensor.shape)
        values = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
        if values.ndim == 3:
            values = values.transpose(1, 2, 0)
        expected = "(h, w) or (c, h, w) with 1, 3 or 4 channels"
    else:
        values, shape = array, array.shape
        expected = "(h, w), (h, w, 1), (h, w, 3) or (h, w, 4)"
    channels = 1 if values.ndim == 2 else values.shape[-1]
    if values.ndim not in (2, 3) or channels not in CHANNELS or 0 in values.shape:
        raise UnreadableError(f"an array of shape {shape}; expected {expected}")
    if values.ndim == 3 and channels == 1:
        values = values[:, :, 0]
    return Image.fromarray(
        np.ascontiguousarray(_bytes_of(values))  # pyright: ignore[reportArgumentType]
    )


def _bytes_of(values: np.ndarray) -> np.ndarray:
    kind = values.dtype.kind
    if values.dtype == np.uint8:
        return values
    if values.dtype == np.uint16:
        return ((values.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    if kind == "b":
        return values.astype(np.uint8) * np.uint8(255)
    if kind not in "iuf":
        raise UnreadableError(f"an array of {values.dtype}; expected uint8, uint16 or floats")
    least, greatest, top = values.min(), values.max(), 1 if kind == "f" else 255
    if not (least >= 0 and greatest <= top):  # NaN is not, either
        raise UnreadableError(
            f"an array of {values.dtype} from {least:g} to {greatest:g}; expected 0 to {top} "
            "(a picture before it is normalised), or uint8 or uint16"
        )
    return _eight_bits(values) if kind == "f" else values.astype(np.uint8)


def _eight_bits(values: np.ndarray) -> np.ndarray:
    return np.rint(values.astype(np.float64) * 255).astype(np.uint8)
