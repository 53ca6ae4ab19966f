"""The folder that the code of the pages runs in: small photos, a tiny CLIP of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.clip.conftest import write_tiny_clip

CLASSES = {"circle": (40, 80, 200), "stripes": (210, 60, 40), "dots": (60, 170, 70)}


def make_world(folder: Path) -> None:
    """Write photos/CLASS/*.png, new.png, and tiny-clip, which open_clip reads."""
    generator = np.random.default_rng(0)
    for name, color in CLASSES.items():
        (folder / "photos" / name).mkdir(parents=True)
        for number in range(12):
            picture = _drawn(generator, name, color)
            picture.save(folder / "photos" / name / f"{number}.png")
    _drawn(generator, "stripes", CLASSES["stripes"]).save(folder / "new.png")
    write_tiny_clip(folder / "tiny-clip")


def _drawn(generator: np.random.Generator, name: str, color: tuple[int, int, int]) -> Image.Image:
    rows, columns = np.mgrid[:32, :32]
    shift = int(generator.integers(8))
    shown = {
        "circle": (rows - 16) ** 2 + (columns - 16) ** 2 < 60 + 10 * shift,
        "stripes": (rows + shift) % 8 < 4,
        "dots": ((rows + shift) % 8 < 3) & ((columns + shift) % 8 < 3),
    }[name]
    picture = generator.integers(200, 256, (32, 32, 3))
    picture[shown] = color
    return Image.fromarray(picture.astype(np.uint8))
