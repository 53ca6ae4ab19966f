"""A tiny CLIP with random weights in open_clip's layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.datasets.images import write_image_table

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


@pytest.fixture
def image_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a Parquet file of encoded images; columns can be overridden."""
    return partial(write_image_table, tmp_path / "images.parquet")
