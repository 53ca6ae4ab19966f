"""The menagerie's CLIP: learns, repeats byte for byte, and is read by open_clip like any other."""

import hashlib
import io
import json
from pathlib import Path

import open_clip
import pytest
import torch
from PIL import Image

from infopursuit.errors import InputError
from infopursuit.menagerie.contrastive import (
    MEAN,
    STD,
    WEIGHTS_FILE,
    decode,
    retrieval_accuracy,
    tokenize,
    train,
    write_config,
    write_weights,
)
from infopursuit.menagerie.pictures import draw_pictures
from infopursuit.menagerie.settings import ClipSettings, TextSettings, VisionSettings

SETTINGS = ClipSettings(
    seed=3,
    embed_dim=16,
    vision=VisionSettings(layers=[1, 1, 1, 1], width=8, head_width=16),
    text=TextSettings(layers=1, width=16, heads=2, context_length=12),
    steps=6,
    batch_size=16,
    texts_per_step=2,
    learning_rate=2e-3,
    warmup_steps=2,
    weight_decay=0.1,
    shift=2,
)
PICTURES = draw_pictures(48, 3, "pairs", 32, 3, workers=1)
PIXELS = decode([picture.png for picture in PICTURES], "pairs")
TOKENS = tokenize([picture.texts for picture in PICTURES], 12)


def trained(folder: Path, settings: ClipSettings = SETTINGS) -> str:
    write_config(folder, settings, 32)
    write_weights(folder, train(folder, PIXELS, TOKENS, settings))
    return hashlib.sha256((folder / WEIGHTS_FILE).read_bytes()).hexdigest()


def test_repeats_are_byte_identical_and_seeds_differ(tmp_path: Path) -> None:
    first = trained(tmp_path / "first")
    assert trained(tmp_path / "again") == first
    assert trained(tmp_path / "other", SETTINGS.model_copy(update={"seed": 4})) != first


def test_open_clip_reads_the_folder_like_any_model(tmp_path: Path) -> None:
    write_config(tmp_path, SETTINGS, 32)
    model = train(tmp_path, PIXELS, TOKENS, SETTINGS)
    write_weights(tmp_path, model)
    name = f"local-dir:{tmp_path}"
    read, _, preprocess = open_clip.create_model_and_transforms(name)
    tokenizer = open_clip.get_tokenizer(name)
    with Image.open(io.BytesIO(PICTURES[0].png)) as picture:
        prepared = preprocess(picture)[None]
    assert torch.allclose(prepared, (PIXELS[:1].float() / 255 - MEAN) / STD, atol=1e-6)
    assert torch.equal(tokenizer([PICTURES[0].texts[0]]), TOKENS[0, :1])
    with torch.inference_mode():
        read.eval()
        assert torch.allclose(read.encode_image(prepared), model.encode_image(prepared), atol=1e-6)
        assert torch.equal(read.encode_text(TOKENS[0]), model.encode_text(TOKENS[0]))


def test_config_is_sorted_json_of_the_settings(tmp_path: Path) -> None:
    write_config(tmp_path, SETTINGS, 32)
    config = json.loads((tmp_path / "open_clip_config.json").read_text(encoding="utf-8"))
    assert config["model_cfg"]["vision_cfg"]["image_size"] == 32
    assert config["model_cfg"]["text_cfg"]["context_length"] == 12


def test_training_finds_the_texts_of_a_handful_of_pictures(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"steps": 80, "shift": 0})
    write_config(tmp_path, settings, 32)
    model = train(tmp_path, PIXELS[:16], TOKENS[:16, :1], settings)
    assert retrieval_accuracy(model, PIXELS[:16], TOKENS[:16, 0]) > 0.5


def test_tokens_are_those_of_each_text_in_its_place() -> None:
    tokenizer = open_clip.SimpleTokenizer(context_length=12)
    assert TOKENS.shape == (48, 3, 12)
    assert torch.equal(TOKENS[7], tokenizer(list(PICTURES[7].texts)))


def test_bad_pictures_and_too_few_pictures_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row 1"):
        decode([PICTURES[0].png, b"no picture"], "pairs.parquet")
    larger = draw_pictures(1, 3, "pairs", 64, 0, workers=1)[0].png
    with pytest.raises(InputError, match="row 1: expected a picture of shape"):
        decode([PICTURES[0].png, larger], "pairs.parquet")
    write_config(tmp_path, SETTINGS, 32)
    with pytest.raises(InputError, match=r"clip\.batch_size"):
        train(tmp_path, PIXELS[:4], TOKENS[:4], SETTINGS)
