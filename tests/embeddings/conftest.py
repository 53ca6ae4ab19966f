"""A tiny CLIP with random weights in open_clip's layout, and pictures to embed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.tables import IMAGES, write_table

CLASSES = ["cat", "giant panda", "zebra"]
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


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that open_clip reads, of width 16."""
    import open_clip
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("clip")
    config = {"model_cfg": MODEL, "preprocess_cfg": {"interpolation": "bicubic"}}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    model = open_clip.CLIP(**MODEL)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
    return folder


def encoded(seed: int, kind: str = "PNG", size: tuple[int, int] = (40, 36)) -> bytes:
    """A random picture, encoded."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


@pytest.fixture
def image_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a Parquet file of encoded images; columns can be overridden."""

    def write(count: int = 12, **columns: list[object]) -> Path:
        labels = [row % len(CLASSES) for row in range(count)]
        whole: dict[str, object] = {
            "id": [f"image-{row}" for row in range(count)],
            "split": ["train" if row % 4 else "test" for row in range(count)],
            "label": labels,
            "class_name": [CLASSES[label] for label in labels],
            "image": [encoded(row) for row in range(count)],
        }
        write_table(tmp_path / "images.parquet", IMAGES, {**whole, **columns})
        return tmp_path / "images.parquet"

    return write
