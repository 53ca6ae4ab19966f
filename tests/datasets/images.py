"""Random pictures and tables of them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from infopursuit.core.tables import IMAGES, write_table

CLASSES = ["cat", "giant panda", "zebra"]


def encoded(seed: int, kind: str = "PNG", size: tuple[int, int] = (40, 36)) -> bytes:
    """A random picture, encoded."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def write_image_table(path: Path, count: int = 12, **columns: list[object]) -> Path:
    """Write a Parquet file of encoded images; columns can be overridden."""
    labels = [row % len(CLASSES) for row in range(count)]
    whole: dict[str, object] = {
        "id": [f"image-{row}" for row in range(count)],
        "split": ["train" if row % 4 else "test" for row in range(count)],
        "label": labels,
        "class_name": [CLASSES[label] for label in labels],
        "image": [encoded(row) for row in range(count)],
    }
    write_table(path, IMAGES, {**whole, **columns})
    return path
