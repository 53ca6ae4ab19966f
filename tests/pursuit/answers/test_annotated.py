"""What answers of people teach: planted questions that depend on more than the class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from infopursuit import InformationPursuitClassifier
from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.annotated import fit_annotated, within_auroc

WIDTH, COUNT = 24, 400


class Moles:
    """Images with an attribute that only partly depends on the class, and a text that misses it."""

    def __init__(self, seed: int = 0) -> None:
        generator = np.random.default_rng(seed)
        self.y = generator.choice(["benign", "malign"], COUNT)
        malign = self.y == "malign"
        self.veil = (generator.random(COUNT) < np.where(malign, 0.7, 0.2)).astype(float)
        base = generator.standard_normal((COUNT, WIDTH))
        base[:, 0] += 2.5 * (2 * self.veil - 1)
        base[:, 1] += 1.0 * (2 * malign - 1)
        self.X = (base / np.linalg.norm(base, axis=1, keepdims=True)).astype(np.float32)
        rows = generator.standard_normal((6, WIDTH))
        rows[0] = 0.05 * np.eye(WIDTH)[0] + np.eye(WIDTH)[1]  # says the class rather than the veil
        self.rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        self.texts = ["veil", "b", "c", "d", "e", "f"]
        self.train = np.arange(COUNT) < 280

    def said(self, count: int, text: str = "veil") -> dict[str, np.ndarray]:
        values = np.full(int(self.train.sum()), np.nan)
        values[:count] = self.veil[self.train][:count]
        return {text: values}

    def fit(self, annotations: Any = None, **settings: Any) -> InformationPursuitClassifier:
        model = InformationPursuitClassifier(self.texts, self.rows, **settings)
        X, y = self.X[self.train], self.y[self.train]
        return model.fit(X, y, annotations=annotations)

    def measured(self, model: InformationPursuitClassifier, text: str = "veil") -> tuple:
        """AUROC within classes, and the share of yes and no that is right, of other images."""
        column, others = model.queries_.index(text), ~self.train
        answers = model.answer(self.X[others])[:, column].astype(float)
        no = model.pursuit_.rule.cuts[column, 0].item()
        given = (answers > 0.5) | (answers <= no)
        right = ((answers > 0.5) == self.veil[others])[given].mean()
        groups = (self.y[others] == "malign").astype(int)
        return within_auroc(answers, self.veil[others], groups), right


def test_annotations_make_answers_true_within_classes() -> None:
    world = Moles()
    plain, _ = world.measured(world.fit(queries=["veil"]))
    taught, right = world.measured(world.fit(queries=["veil"], annotations=world.said(200)))
    assert taught > 0.9 > 0.8 > plain
    assert right > 0.85


def test_what_is_said_of_a_text_comes_from_fits_without_the_image() -> None:
    """Answers that are noise rank nothing but by chance."""
    world = Moles()
    noise = np.random.default_rng(5).integers(0, 2, int(world.train.sum())).astype(float)
    found = fit_annotated(
        world.X[world.train], noise, (world.y[world.train] == "malign").astype(int), None, 0
    )
    assert found is not None
    assert found.facts["auroc"] == pytest.approx(0.5, abs=0.12)
    in_sample = world.X[world.train] @ found.direction
    assert within_auroc(in_sample, noise, np.zeros(len(noise), int)) > found.facts["auroc"] + 0.05


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"annotations": {"veil": [1, 0]}}, r"the shape \(2,\); expected \(280,\)"),
        ({"annotations": {"veil": np.full(280, 0.5)}}, "0.5 for 'veil'; expected 1 for yes"),
    ],
)
def test_mistakes(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Moles().fit(**settings)


def test_coin_flips_are_right_in_half_of_the_pictures() -> None:
    """What is reported was judged on answers that chose neither strength nor margin."""
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        images, own = rng.normal(size=(20, 16)), rng.normal(size=16)
        said = rng.permutation(np.arange(20) % 2).astype(float)
        fitted = fit_annotated(images, said, rng.integers(2, size=20), own / 4, 0)
        assert fitted is not None
        answers = fitted.facts["yes"] + fitted.facts["no"]
        shares.append((fitted.facts["yes_right"] + fitted.facts["no_right"]) / max(answers, 1))
    assert np.mean(shares) < 0.57
