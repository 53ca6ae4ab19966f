"""Pictures that strangers send: limited, decoded by few formats, never stored."""

from __future__ import annotations

import io

from PIL import Image, UnidentifiedImageError

from infopursuit.datasets.decoding import DAMAGED, UnreadableError, to_rgb

# A photo of a telephone has 3 to 15 MB and 12 to 50 million pixels.
MAX_BYTES = 20_000_000
MAX_PIXELS = 64_000_000
# Those that browsers show. Pillow's other decoders, some of which start programs, see none of it.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "AVIF")


class UploadError(Exception):
    """A picture that is not taken; the message is one sentence, `status` that of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def decoded(content: bytes) -> Image.Image:
    """An upright 8-bit RGB image of what was sent.

    The size is read from the header, before a pixel is decoded.

    Raises:
        UploadError: it is empty, too large, damaged, or no picture of these formats.
    """
    if not content:
        raise UploadError("Nothing was sent; expected one picture.", 400)
    if len(content) > MAX_BYTES:
        raise too_large()
    try:
        Image.init()  # an older Pillow has no AVIF
        known = [name for name in FORMATS if name in Image.OPEN]
        with Image.open(io.BytesIO(content), formats=known) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise _too_many_pixels(f"{width} x {height}")
            return to_rgb(image)
    except UnidentifiedImageError as error:
        raise UploadError(
            f"This is no picture that can be read; expected {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}.",
            415,
        ) from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels("far more") from error
    except (UnreadableError, *DAMAGED) as error:
        raise UploadError("The picture is damaged; expected a whole file.", 422) from error


def too_large(most: int = MAX_BYTES) -> UploadError:
    """More bytes than are taken."""
    return UploadError(f"This is too large; expected at most {most // 10**6} MB.", 413)


def _too_many_pixels(found: str) -> UploadError:
    return UploadError(
        f"The picture has {found} pixels; expected at most {MAX_PIXELS // 10**6} million.", 413
    )
