"""A tiny CLIP with random weights, as a folder that open_clip reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

MODEL: dict[str, Any] = {
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


def write_tiny_clip(folder: Path) -> None:
    """Write the configuration and the weights, the same in every process; embeddings are of 16."""
    import open_clip
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    config = {"model_cfg": MODEL, "preprocess_cfg": {"interpolation": "bicubic"}}
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.CLIP(**MODEL)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")
