"""The CLIP's folder: open_clip reads it like any model, in float16 on disk."""

import json
from pathlib import Path
from typing import Any

import open_clip
import torch
from menagerie.clip_folder import MEAN, STD, write_config, write_weights
from menagerie.pictures import draw_pictures
from menagerie.training_set import decode
from PIL import Image
from safetensors.torch import load_file

from tests.menagerie.test_contrastive import SETTINGS


def test_open_clip_reads_the_folder_like_any_model(tmp_path: Path) -> None:
    write_config(tmp_path, SETTINGS, 32)
    config = json.loads((tmp_path / "open_clip_config.json").read_text(encoding="utf-8"))
    torch.manual_seed(0)
    model = open_clip.CLIP(**config["model_cfg"]).eval()
    write_weights(tmp_path, model)
    name = f"local-dir:{tmp_path}"
    create: Any = open_clip.create_model_and_transforms
    read, _, preprocess = create(name)
    tokenizer = open_clip.get_tokenizer(name)
    pixels = decode([draw_pictures(1, 3, "test", 32, workers=1)[0].png], "test")
    picture = Image.fromarray(pixels[0].permute(1, 2, 0).numpy())
    prepared = preprocess(picture)[None]
    assert torch.allclose(prepared, (pixels.float() / 255 - MEAN) / STD, atol=1e-6)
    tokens = tokenizer(["a striped animal"])
    assert tokens.shape == (1, 12)
    with torch.inference_mode():
        read.eval()
        for ours, theirs in (
            (model.encode_image(prepared, True), read.encode_image(prepared, True)),
            (model.encode_text(tokens, True), read.encode_text(tokens, True)),
        ):
            assert torch.allclose(ours, theirs, atol=2e-3)


def test_weights_are_float16_and_equal_weights_are_equal_bytes(tmp_path: Path) -> None:
    files = []
    for name in ("first", "again"):
        write_config(tmp_path / name, SETTINGS, 32)
        torch.manual_seed(0)
        config = json.loads((tmp_path / name / "open_clip_config.json").read_text())
        write_weights(tmp_path / name, open_clip.CLIP(**config["model_cfg"]))
        files.append(tmp_path / name / "open_clip_model.safetensors")
    assert files[0].read_bytes() == files[1].read_bytes()
    weights = load_file(files[0])
    floats = {value.dtype for value in weights.values() if value.is_floating_point()}
    assert floats == {torch.float16}


def test_config_is_sorted_json_of_the_settings(tmp_path: Path) -> None:
    write_config(tmp_path, SETTINGS, 32)
    config = json.loads((tmp_path / "open_clip_config.json").read_text(encoding="utf-8"))
    assert config["model_cfg"]["vision_cfg"]["image_size"] == 32
    assert config["model_cfg"]["text_cfg"]["context_length"] == 12
    assert list(config) == sorted(config)
