"""The world that git keeps: unpacked to what was drawn, and its CLIP, which sees what is there."""

import hashlib
import io
import logging
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score

from infopursuit.clip.towers import load_clip
from menagerie.pictures import TABLE, unpacked
from menagerie.truths import CLAIMS, claims_truth
from tests.stage_scripts import ROOT

HOME = ROOT / "stages/menagerie"
CARD = (HOME / "README.md").read_text(encoding="utf-8")
WEIGHTS = HOME / "clip/open_clip_model.safetensors"


@pytest.fixture(scope="module")
def drawn() -> dict[str, list]:
    return unpacked(HOME)


def test_unpacked_pixels_are_those_that_were_drawn(drawn: dict[str, list]) -> None:
    digest = hashlib.sha256()
    for png in drawn["image"]:
        with Image.open(io.BytesIO(png)) as picture:
            digest.update(picture.tobytes())
    assert digest.hexdigest() in CARD
    assert Counter(drawn["split"]) == {"train": 2400, "test": 960}
    assert set(Counter(drawn["class_name"]).values()) == {210}
    assert drawn["id"][:2] == ["train-00000", "train-00001"]
    assert drawn["label"] == [place % 16 for place in range(2400)] + [
        place % 16 for place in range(960)
    ]


def test_the_weights_are_those_that_the_card_names() -> None:
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() in CARD


def test_loading_tells_nobody_that_weights_are_random(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        load_clip(HOME / "clip", "cpu").encode_texts(["a zebra"])
    assert "randomly" not in caplog.text
    assert "No pretrained" not in caplog.text


def test_the_clip_tells_classes_and_attributes_apart(drawn: dict[str, list]) -> None:
    """Of half of the test pictures; the card has the figures of all."""
    clip = load_clip(HOME / "clip", "cpu")
    rows = range(2400, 2880)
    batch = []
    for row in rows:
        with Image.open(io.BytesIO(drawn["image"][row])) as picture:
            batch.append(clip.preprocess(picture))
    images = clip.encode_images(torch.stack(batch))
    names = drawn["class_name"][:16]
    texts = clip.encode_texts(names) + clip.encode_texts(
        [f"a photo of a {name}." for name in names]
    )
    right = (images @ texts.T).argmax(axis=1) == np.array(drawn["label"])[rows]
    new = pq.read_table(TABLE)["new_composition"].to_numpy()[rows]
    assert right.mean() >= 0.95
    assert right[new].mean() >= 0.65
    ids = [drawn["id"][row] for row in rows]
    truth = claims_truth(TABLE, ids, list(CLAIMS.values()))
    cosines = images @ clip.encode_texts(list(CLAIMS)).T
    known = [column for column, true in enumerate(truth.T) if 0 < true.sum() < len(true)]
    assert len(known) > 0.9 * len(CLAIMS)
    aurocs = [roc_auc_score(truth[:, column], cosines[:, column]) for column in known]
    assert np.mean(aurocs) >= 0.96
