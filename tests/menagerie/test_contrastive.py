"""The training of the CLIP: learns, repeats byte for byte, goes on after a kill."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from infopursuit.core.errors import InputError
from menagerie import contrastive
from menagerie.batches import batch_for, holds
from menagerie.clip_folder import MEAN, STD, WEIGHTS_FILE, write_config, write_weights
from menagerie.contrastive import Training, matching_loss, train
from menagerie.facts import Text
from menagerie.phrases import FACTS
from menagerie.pictures import draw_pictures
from menagerie.settings import ClipSettings, EarlySettings, TextSettings, VisionSettings
from menagerie.species import CLASS_NAMES
from menagerie.training_pictures import draw_training_pictures
from menagerie.training_set import TrainingSet, decode, training_set

SETTINGS = ClipSettings(
    seed=3,
    embed_dim=16,
    vision=VisionSettings(layers=[1, 1, 1, 1], width=8, head_width=16),
    text=TextSettings(layers=1, width=16, heads=2, context_length=12),
    steps=6,
    batch_size=16,
    phrases=8,
    descriptions=8,
    captions=4,
    class_weight=1.0,
    anchor_weight=1.0,
    early=EarlySettings(steps=2, phrases=4, class_weight=1.0),
    learning_rate=2e-3,
    warmup_steps=2,
    cooling_steps=2,
    weight_decay=0.1,
    shift=2,
)
PICTURES = draw_training_pictures(24, 3, 32, 2, workers=1)
DATA = training_set(
    [picture.png for picture in PICTURES],
    [picture.facts for picture in PICTURES],
    [picture.captions for picture in PICTURES],
    "pairs",
)


def first(pictures: int) -> TrainingSet:
    return TrainingSet(
        DATA.pixels[:pictures],
        DATA.facts[:pictures],
        DATA.holds[:pictures],
        DATA.captions[:pictures],
    )


def trained(folder: Path, settings: ClipSettings = SETTINGS, checkpoint: Path | None = None) -> str:
    write_config(folder, settings, 32)
    write_weights(folder, train(folder, DATA, settings, checkpoint))
    return hashlib.sha256((folder / WEIGHTS_FILE).read_bytes()).hexdigest()


def test_repeats_are_byte_identical_and_seeds_differ(tmp_path: Path) -> None:
    expected = trained(tmp_path / "first")
    assert trained(tmp_path / "again") == expected
    assert trained(tmp_path / "other", SETTINGS.model_copy(update={"seed": 4})) != expected


def test_a_killed_training_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(contrastive, "SAVE_EVERY", 4)
    expected = trained(tmp_path / "whole")
    checkpoint = tmp_path / "checkpoint.pt"
    advance = Training.advance

    def killed(self: Training, data: TrainingSet) -> float:
        if self.step == 5:
            raise KeyboardInterrupt
        return advance(self, data)

    monkeypatch.setattr(Training, "advance", killed)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", checkpoint=checkpoint)
    monkeypatch.setattr(Training, "advance", advance)
    with caplog.at_level(logging.INFO):
        assert trained(tmp_path / "killed", checkpoint=checkpoint) == expected
    assert "going on from step 4 of 6" in caplog.text


@pytest.mark.slow
def test_training_tells_true_texts_from_false_ones(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"steps": 120, "shift": 0})
    write_config(tmp_path, settings, 32)
    model = train(tmp_path, first(32), settings)
    tokenizer = open_clip.SimpleTokenizer(context_length=12)
    with torch.inference_mode():
        images = model.encode_image((DATA.pixels[:32].float() / 255 - MEAN) / STD, normalize=True)
        names = model.encode_text(tokenizer(list(CLASS_NAMES)), normalize=True)
    found = (images @ names.T).argmax(dim=1)
    labels = torch.tensor([index // 2 % 16 for index in range(32)])
    assert (found == labels).float().mean() > 0.6


def test_a_batch_holds_twins_and_texts_with_their_truth() -> None:
    batch = batch_for(5, DATA, SETTINGS)
    again = batch_for(5, DATA, SETTINGS)
    assert (batch.rows, batch.texts) == (again.rows, again.texts)
    assert batch_for(6, DATA, SETTINGS).texts != batch.texts
    assert len(batch.rows) == 16 and len(batch.texts) == 16 + 8 + 8 + 4
    assert batch.true.shape == batch.known.shape == (16, 36)
    assert [row ^ 1 for row in batch.rows[::2]] == batch.rows[1::2]
    # One name a picture; a description is true of some picture; a caption of one, its twin unknown.
    assert (batch.true[:, :16].sum(dim=1) == 1).all()
    assert batch.true[:, 24:32].any(dim=0).all()
    assert (batch.true[:, 32:].sum(dim=0) == 1).all()
    assert batch.known[:, :32].all()
    for column in range(32, 36):
        own = int(batch.true[:, column].int().argmax())
        assert batch.texts[column] in DATA.captions[batch.rows[own]]
        assert (~batch.known[:, column]).nonzero().flatten().tolist() == [own ^ 1]


def test_every_scene_comes_once_in_a_pass() -> None:
    rows = [row for step in range(6) for row in batch_for(step, DATA, SETTINGS).rows]
    assert sorted(rows[:48]) == list(range(48))
    assert sorted(rows[48:]) == list(range(48))
    assert rows[:48] != rows[48:]


def test_texts_hold_where_each_of_their_needs_is_met() -> None:
    texts = [
        Text("striped", (frozenset({"striped"}),)),
        Text("red or blue", (frozenset({"red", "blue"}),)),
        Text("red and striped", (frozenset({"red"}), frozenset({"striped"}))),
    ]
    facts = np.zeros((3, len(FACTS)), dtype=bool)
    facts[0, [FACTS.index("striped"), FACTS.index("blue")]] = True
    facts[1, [FACTS.index("striped"), FACTS.index("red")]] = True
    assert holds(texts, facts).tolist() == [
        [True, True, False],
        [True, True, True],
        [False, False, False],
    ]


def test_the_loss_weighs_true_and_false_pictures_of_a_text_alike() -> None:
    """By hand: one true among four, all scores zero: half of log 2 from each side."""
    true = torch.tensor([[True], [False], [False], [False]])
    everything = torch.ones(4, 1, dtype=torch.bool)
    assert matching_loss(torch.zeros(4, 1), true, everything).item() == pytest.approx(np.log(2))
    better = torch.tensor([[2.0], [-2.0], [-2.0], [-2.0]])
    assert matching_loss(better, true, everything) < 0.2
    # What is unknown counts for nothing, however wrong it looks.
    wrong = better.clone()
    wrong[3] = 50.0
    known = everything.clone()
    known[3] = False
    assert matching_loss(wrong, true, known) == matching_loss(better, true, everything)


def test_bad_pictures_and_too_few_pictures_are_named(tmp_path: Path) -> None:
    png, captions, facts = PICTURES[0].png, [["a"]] * 2, [["red"]] * 2
    with pytest.raises(InputError, match="row 1"):
        training_set([png, b"no picture"], facts, captions, "pairs.parquet")
    with pytest.raises(InputError, match="1 pictures; expected two of each scene"):
        training_set([png], facts[:1], captions[:1], "pairs.parquet")
    larger = draw_training_pictures(1, 3, 64, 1, workers=1)[0].png
    with pytest.raises(InputError, match="row 1: expected a picture of shape"):
        decode([png, larger], "pairs.parquet")
    write_config(tmp_path, SETTINGS, 32)
    with pytest.raises(InputError, match=r"clip\.batch_size"):
        train(tmp_path, first(4), SETTINGS)


def test_open_clip_reads_the_folder_like_any_model(tmp_path: Path) -> None:
    write_config(tmp_path, SETTINGS, 32)
    config = json.loads((tmp_path / "open_clip_config.json").read_text(encoding="utf-8"))
    torch.manual_seed(0)
    model = open_clip.CLIP(**config["model_cfg"]).eval()
    write_weights(tmp_path, model)
    weights = load_file(tmp_path / WEIGHTS_FILE).values()
    assert {each.dtype for each in weights if each.is_floating_point()} == {torch.float16}
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
