"""The pictures of the embedded world: how git keeps them, and how they become what was drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8
from PIL import Image

from infopursuit.core.files import read_text_list
from infopursuit.core.tables import TableSchema, read_table

HOME = Path("stages/menagerie")
TABLE = Path(__file__).with_name("pictures.parquet")
SIDE = 64
TEXT, NUMBER = pa.string(), pa.float64()
PICTURES = TableSchema(
    "the pictures of the embedded world: class, light and noise of each",
    tuple(
        pa.field(name, kind, nullable=False)
        for name, kind in (
            ("id", TEXT),
            ("split", TEXT),
            ("class_name", TEXT),
            ("light", NUMBER),
            ("noise", NUMBER),
            ("noise_seed", pa.uint64()),
        )
    ),
)


def unpacked(home: Path = HOME) -> dict[str, list[Any]]:
    """Return the columns of `core.tables.IMAGES` with all pictures as PNG, as they were drawn.

    Noise cannot be compressed: git keeps the pictures without it, and the seed of each one's noise.
    """
    names = read_text_list(home / "classes.txt")
    sheets = {name: _sheet(home / "pictures" / f"{name}.webp") for name in names}
    rows = read_table(TABLE, PICTURES).to_pylist()
    return {
        "id": [row["id"] for row in rows],
        "split": [row["split"] for row in rows],
        "label": [names.index(row["class_name"]) for row in rows],
        "class_name": [row["class_name"] for row in rows],
        "image": [
            _png(next(sheets[row["class_name"]]), row["light"], row["noise"], row["noise_seed"])
            for row in rows
        ],
    }


def _sheet(path: Path) -> Iterator[UInt8[np.ndarray, "64 64 3"]]:
    """Yield the pictures of one class, which lie side by side in rows."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    for row in np.split(pixels, len(pixels) // SIDE):
        yield from np.split(row, row.shape[1] // SIDE, axis=1)


def _png(pixels: UInt8[np.ndarray, "64 64 3"], light: float, noise: float, seed: int) -> bytes:
    chance = np.random.Generator(np.random.PCG64(seed))
    drawn = chance.standard_normal(pixels.shape, dtype=np.float32)
    lit = pixels.astype(np.float32) * light + noise * drawn
    buffer = io.BytesIO()
    Image.fromarray(np.clip(lit, 0, 255).astype(np.uint8)).save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()
