"""The folder that the code of the pages runs in: small photos, a tiny CLIP of random weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image

CLASSES = {"circle": (40, 80, 200), "stripes": (210, 60, 40), "dots": (60, 170, 70)}
MODEL = {
    "embed_dim": 16,
    "vision_cfg": {
        "image_size": 32,
        "layers": 1,
        "width": 32,
        "head_width": 16,
        "patch_size": 8,
    },
    "text_cfg": {
        "context_length": 16,
        "vocab_size": 49408,
        "width": 32,
        "heads": 2,
        "layers": 1,
    },
}


def make_world(folder: Path) -> None:
    """Write photos/CLASS/*.png, new.png, and tiny-clip, which open_clip reads."""
    generator = np.random.default_rng(0)
    for name, color in CLASSES.items():
        (folder / "photos" / name).mkdir(parents=True)
        for number in range(12):
            picture = _drawn(generator, name, color)
            picture.save(folder / "photos" / name / f"{number}.png")
    _drawn(generator, "stripes", CLASSES["stripes"]).save(folder / "new.png")
    _make_clip(folder / "tiny-clip")


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


def _make_clip(folder: Path) -> None:
    import open_clip
    from safetensors.torch import save_file

    folder.mkdir()
    config = {"model_cfg": MODEL, "preprocess_cfg": {"interpolation": "bicubic"}}
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.CLIP(**MODEL)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
