"""Where in a picture: a small grey copy of it, on which what speaks for an answer is orange."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from infopursuit.pursuit.explanation import Explanation, Step

MARK = np.array([201.0, 79.0, 0.0])
# How dark the grey of the copy stays, and how far the mark covers it.
GREY, COVER = 0.5, 0.8


def marked_picture(explanation: Explanation, step: Step, side: int) -> Image.Image | None:
    """Draw the place of an answer on the picture, its longer side this many pixels.

    None if the explanation has no picture, or the answer no place.
    """
    if step.where is None or explanation.picture is None:
        return None
    encoded = base64.b64decode(explanation.picture.partition(",")[2])
    with Image.open(io.BytesIO(encoded)) as seen:
        scale = side / max(seen.size)
        size = (max(1, round(seen.width * scale)), max(1, round(seen.height * scale)))
        grey = np.asarray(seen.convert("L").resize(size, Image.Resampling.LANCZOS), dtype=float)
    grid = Image.fromarray(np.array(step.where, dtype=np.uint8))
    strength = np.asarray(grid.resize(size, Image.Resampling.BICUBIC), dtype=float)
    covered = COVER * strength[:, :, None] / 255
    drawn = (1 - covered) * (255 - GREY * (255 - grey))[:, :, None] + covered * MARK
    return Image.fromarray(drawn.round().astype(np.uint8))


def marked_address(explanation: Explanation, step: Step, side: int) -> str | None:
    """Return the same as a PNG in a data address."""
    drawn = marked_picture(explanation, step, side)
    if drawn is None:
        return None
    content = io.BytesIO()
    drawn.save(content, "PNG")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode('ascii')}"
