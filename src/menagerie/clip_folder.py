"""The folder of the menagerie's CLIP: an ordinary open_clip model that open_clip reads like any.

`open_clip.create_model_and_transforms("local-dir:FOLDER")` builds and loads it.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from menagerie.settings import ClipSettings

CONFIG_FILE = "open_clip_config.json"
WEIGHTS_FILE = "open_clip_model.safetensors"
MEAN, STD = 0.5, 0.25


def model_config(settings: ClipSettings, size: int) -> dict[str, Any]:
    """The content of open_clip_config.json for pictures of size x size pixels."""
    vision, text = settings.vision, settings.text
    return {
        "model_cfg": {
            "embed_dim": settings.embed_dim,
            "vision_cfg": {
                "image_size": size,
                "layers": vision.layers,
                "width": vision.width,
                "head_width": vision.head_width,
            },
            "text_cfg": {
                "context_length": text.context_length,
                "vocab_size": 49408,
                "width": text.width,
                "heads": text.heads,
                "layers": text.layers,
            },
        },
        "preprocess_cfg": {"mean": [MEAN] * 3, "std": [STD] * 3},
    }


def write_config(folder: Path, settings: ClipSettings, size: int) -> None:
    """Write open_clip_config.json into a new or existing folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(model_config(settings, size), indent=2, sort_keys=True)
    (folder / CONFIG_FILE).write_text(text + "\n", encoding="utf-8")


def write_weights(folder: Path, model: torch.nn.Module) -> None:
    """Write the weights beside the config, as float16 and without metadata.

    Equal weights are equal bytes.
    """
    weights = {
        name: (value.half() if value.is_floating_point() else value).contiguous()
        for name, value in sorted(model.state_dict().items())
    }
    save_file(weights, folder / WEIGHTS_FILE)
