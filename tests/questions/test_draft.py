"""A draft of the CLIP earns its place on images that its questions were not chosen on."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from sklearn.base import clone

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.estimators.provenance import words_run_out
from infopursuit.pursuit.naive_bayes.training_set import MIX, InMemorySet
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions.draft import (
    CANDIDATES,
    COST,
    EQUAL,
    UNTRIED,
    SelectedWeights,
    Trial,
    select_weights,
)
from infopursuit.questions.knowledge import Knowledge
from tests.planted import unit


def outcome(right: list[float], fitting: float, images: int = 400) -> Trial:
    """Images of which these shares are classified right, and whose one yes fits in this share."""
    places = torch.arange(images).unsqueeze(1) / images
    fits = (torch.arange(images) / images < fitting).float()
    return Trial((places < torch.tensor(right)).float(), torch.ones(images), fits)


def test_the_most_fitting_of_the_cheap_weights_are_taken() -> None:
    without = outcome([0.5, 0.8], 0.0)
    same, fitting = [0.5, 0.8], [0.1, 0.3, 0.4, 0.5, 0.7, 0.9]

    def chosen(right: list[list[float]], fits: list[float] = fitting) -> SelectedWeights:
        tried = [outcome(*each) for each in zip(right, fits, strict=True)]
        return select_weights(without, tried)

    assert chosen([same] * 6).weights == CANDIDATES[5]
    for dear in range(2):  # both accuracies count
        right = [list(same) for _ in CANDIDATES]
        right[5][dear] -= 0.05
        assert chosen(right).weights == CANDIDATES[4]
    found = chosen([same, same, [0.45, 0.8], *[[0.3, 0.3]] * 3])
    assert found == SelectedWeights(CANDIDATES[1], 0.0, pytest.approx((0.1, 0.3)))
    nothing = chosen([[0.45, 0.8]] * 6)
    assert nothing.weights is None and nothing.cost > COST
    # Of about as fitting ones the cheapest, of equals the mildest.
    close = [0.1, 0.3, 0.4, 0.9 - EQUAL / 2, 0.9 - EQUAL / 4, 0.9]
    assert chosen([same] * 6, close).weights == CANDIDATES[3]
    better = [same] * 4 + [[0.51, 0.81], same]
    assert chosen(better, close).weights == CANDIDATES[4]


def test_few_images_are_halved_in_several_ways() -> None:
    rows = unit(np.random.default_rng(0).standard_normal((60, 8)))
    rows[31] = rows[1]  # equal images of a class stay together
    labels = torch.arange(60) % 3
    labels[31] = labels[1]
    data = InMemorySet(UnitMatrix(rows, "X"), labels, None, np.array(list("abc")))
    halves = []
    for draw in (0, MIX):
        parts = [others.keys for _, others in data.folds(2, 2, draw)]
        assert sorted(np.concatenate(parts)) == sorted(data.keys)
        assert not set(parts[0]) & set(parts[1])
        halves.append(frozenset(parts[0].tolist()))
    assert halves[0] not in (halves[1], frozenset(data.keys.tolist()) - halves[1])


@pytest.fixture(scope="module")
def named() -> dict[str, np.ndarray]:
    """Eight classes of four texts each; 32 texts of other things tell them apart less well."""
    generator = np.random.default_rng(2)
    embeddings = unit(generator.standard_normal((400, 48)))
    of_class = embeddings[: 8 * 4].reshape(8, 4, 48).sum(axis=1)
    labels = np.arange(640) % 8
    images = unit(unit(of_class)[labels] + 0.17 * generator.standard_normal((640, 48)))
    return {"texts": embeddings, "X": images, "y": np.array([f"K{each}" for each in labels])}


def fitted(world: dict[str, np.ndarray], **settings) -> infopursuit.InformationPursuitClassifier:
    texts = [f"T{number}" for number in range(len(world["texts"]))]
    model = infopursuit.InformationPursuitClassifier(texts, world["texts"], 24, **settings)
    return model.fit(world["X"], world["y"])


def test_a_draft_that_fits_is_followed(
    named: dict[str, np.ndarray], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "infopursuit"):
        model = fitted(named, knowledge="clip")
    facts = model.provenance_["draft"]
    assert facts["weights"] is not None and facts["cost"] <= COST
    assert facts["fits"][1] > facts["fits"][0]
    assert sum("CLIP's draft" in record.getMessage() for record in caplog.records) == 1
    again = fitted(named, knowledge="clip")
    assert again.queries_ == model.queries_ and again.provenance_ == model.provenance_
    assert np.array_equal(again.predict_proba(named["X"]), model.predict_proba(named["X"]))


def test_a_draft_that_costs_accuracy_changes_nothing(
    named: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing may cost: the questions and answers are those without a draft, and words are told."""
    monkeypatch.setattr("infopursuit.questions.draft.COST", -1.0)
    model, plain = fitted(named, knowledge="clip"), fitted(named)
    assert model.provenance_["draft"]["weights"] is None
    assert model.queries_ == plain.queries_
    assert np.array_equal(model.predict_proba(named["X"]), plain.predict_proba(named["X"]))
    assert model.knowledge_ is not None, "it can still be written as a table"
    assert "words" in model.provenance_ and "words" not in plain.provenance_


def test_one_image_of_each_class_is_too_few_to_try(named: dict[str, np.ndarray]) -> None:
    few = {**named, "X": named["X"][:8], "y": named["y"][:8]}
    with pytest.warns(UserWarning, match="too few to calibrate"):
        model = fitted(few, knowledge="clip")
    assert model.provenance_["draft"] == {"weights": list(UNTRIED)}


def test_selection_and_fit_choose_the_same_texts_by_a_draft(named: dict[str, np.ndarray]) -> None:
    model = fitted(named, knowledge="clip", validation_fraction=0.0)
    assert tuple(clone(model).select_queries(named["X"], named["y"])) == model.queries_
    given = fitted(named, knowledge="clip", queries=["T1", "T5", "T300"])
    assert given.queries_ == ("T1", "T5", "T300") and given.provenance_["draft"]["weights"]


def test_what_the_words_explain_is_that_of_the_first_answers(named: dict[str, np.ndarray]) -> None:
    """Against plain counting: of a table that a person wrote."""
    true = np.zeros((8, 400), np.float32)
    for each in range(7):  # no text names the last class
        true[each, 4 * each : 4 * each + 4] = 1
    model = fitted(named, knowledge=true, validation_fraction=0.0)
    words = model.provenance_["words"]
    assert words["unnamed"] == ["K7"] and 0 < words["explained"] < 1
    yes = fitting = 0
    rule = StoppingRule(None, stability=None, max_queries=10)
    for explanation in model.explain(named["X"], rule):
        leads = int(np.argmax(explanation.posterior))
        for step in explanation.steps:
            if step.answer > 0.5:
                yes += 1
                fitting += true[leads, int(step.query[1:])] >= 0.5
    assert words["fits"] == pytest.approx(fitting / yes)
    said = words_run_out(model.provenance_)
    assert said is not None and "no question names 1 class (K7)" in said
    assert "a language model" in said
    full = {"words": {"fits": 0.8, "explained": 0.3, "unnamed": []}}
    assert words_run_out(full) is None and words_run_out({}) is None


def test_few_texts_are_refused(named: dict[str, np.ndarray]) -> None:
    with pytest.raises(InputError, match=r"unexplained_weight is 0\.5; expected 1: fit chooses it"):
        Knowledge("clip", 0.5)
    few = {**named, "texts": named["texts"][:40]}
    with pytest.raises(InputError, match="knowledge 'clip': 40 texts for 8 classes"):
        fitted(few, knowledge="clip")
