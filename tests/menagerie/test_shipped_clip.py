"""The CLIP that git keeps: the file that README.md names, small, and one that sees."""

import hashlib
import io
import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score

from infopursuit.clip.towers import Clip, load_clip
from menagerie.counterfactuals import SwitchedPairs, draw_pairs
from menagerie.pictures import draw_pictures
from menagerie.scenes import ATTRIBUTE_NAMES
from menagerie.species import CLASS_NAMES
from menagerie.switch_measures import switch_measures
from menagerie.truths import CLAIMS
from menagerie.wordings import UNHEARD

HOME = Path(__file__).parents[2] / "stages/menagerie"
WEIGHTS = HOME / "clip/open_clip_model.safetensors"
# Pictures that neither the training nor the default world has drawn.
SEED = 77
PICTURES = draw_pictures(480, SEED, "test", 64, workers=1)
# Below what is measured on these pictures, by about twice the standard error of so few.
FLOORS = {"zero_shot": 0.95, "zero_shot_new": 0.65, "heard": 0.97, "unheard": 0.93, "order": 0.9}


@pytest.fixture(scope="module")
def clip() -> Clip:
    return load_clip(HOME / "clip", "cpu")


def embedded(clip: Clip, pngs: list[bytes]) -> np.ndarray:
    batch = []
    for png in pngs:
        with Image.open(io.BytesIO(png)) as picture:
            batch.append(clip.preprocess(picture))
    return clip.encode_images(torch.stack(batch))


@pytest.fixture(scope="module")
def images(clip: Clip) -> np.ndarray:
    return embedded(clip, [picture.png for picture in PICTURES])


def mean_auroc(clip: Clip, images: np.ndarray, phrases: list[str]) -> float:
    """Mean over phrases of how well their cosines tell pictures of which they are true."""
    truth = np.array([picture.truth for picture in PICTURES])
    cosines = images @ clip.encode_texts(phrases).T
    found = []
    for column, phrase in enumerate(phrases):
        attribute, holds = CLAIMS[phrase]
        true = truth[:, ATTRIBUTE_NAMES.index(attribute)] == holds
        if 0 < true.sum() < len(true):
            found.append(roc_auc_score(true, cosines[:, column]))
    assert len(found) > 0.9 * len(phrases)
    return float(np.mean(found))


def test_the_weights_are_those_that_the_readme_names() -> None:
    assert WEIGHTS.stat().st_size <= 8 * 2**20
    digest = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    assert digest in (HOME / "README.md").read_text(encoding="utf-8")


def test_loading_tells_nobody_that_weights_are_random(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        load_clip(HOME / "clip", "cpu").encode_texts(["a zebra"])
    assert "randomly" not in caplog.text
    assert "No pretrained" not in caplog.text


def test_names_tell_the_classes_apart(clip: Clip, images: np.ndarray) -> None:
    names = clip.encode_texts(list(CLASS_NAMES))
    photos = clip.encode_texts([f"a photo of a {name}." for name in CLASS_NAMES])
    right = (images @ (names + photos).T).argmax(axis=1) == np.arange(480) % 16
    new = np.array([picture.is_new for picture in PICTURES])
    assert right.mean() >= FLOORS["zero_shot"]
    assert right[new].mean() >= FLOORS["zero_shot_new"]


def test_phrases_tell_attributes_heard_or_not(clip: Clip, images: np.ndarray) -> None:
    heard = [phrase for phrase in CLAIMS if phrase not in UNHEARD]
    assert mean_auroc(clip, images, heard) >= FLOORS["heard"]
    assert mean_auroc(clip, images, list(UNHEARD)) >= FLOORS["unheard"]


def test_scores_follow_an_attribute_that_is_switched(clip: Clip) -> None:
    pictures = draw_pairs(8, SEED, 64, workers=1)
    pairs = SwitchedPairs(
        [picture.pair for picture in pictures[::2]],
        [picture.attribute for picture in pictures[::2]],
        np.array([picture.truth for picture in pictures]),
    )
    cosines = embedded(clip, [picture.png for picture in pictures])
    cosines = cosines @ clip.encode_texts(list(CLAIMS)).T
    found = switch_measures(pairs, list(CLAIMS.values()), cosines, cosines > cosines.mean(axis=0))
    assert found["all"].order is not None
    assert found["all"].order >= FLOORS["order"]
