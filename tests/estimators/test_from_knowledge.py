"""Models of knowledge alone, and labels that come later."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.estimators.from_knowledge import known_rates
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.naive_bayes.fit import Calibration
from infopursuit.texts.knowledge import KnowledgeTable

CLASSES = ("fox", "frog", "swan", "zebra")
TEXTS = ("red fur", "lives in water", "feathers", "stripes", "animal")
NAN = np.nan
VALUES = np.array(
    [[1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 1, 1, 0, 1], [0, NAN, 0, 1, 1]], np.float32
)
TABLE = KnowledgeTable(CLASSES, TEXTS, VALUES)


def seen(count: int, seed: int, dims: int = 16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts of a made-up CLIP, and images of which it sees what is true of their class."""
    rng = np.random.default_rng(seed)
    texts = np.linalg.qr(np.random.default_rng(0).normal(size=(dims, dims)))[0][: len(TEXTS)]
    y = rng.integers(len(CLASSES), size=count)
    X = np.nan_to_num(VALUES)[y] @ texts + rng.normal(0, 0.12, (count, dims))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return texts.astype(np.float32), unit.astype(np.float32), np.array(CLASSES)[y]


def test_a_person_answers_a_table(tmp_path: Path) -> None:
    model = InformationPursuitClassifier.from_knowledge(TABLE, reliability=0.8)
    assert model.queries_ == TEXTS[:4]  # all are animals
    rates = model.pursuit_.classifier.table.log_likelihood[1].exp().numpy().T
    expected = np.where(np.nan_to_num(VALUES[:, :4]) == 1, 0.8, 0.2)
    expected[3, 1] = (0.2 + 0.8 + 0.8) / 3  # what is not known is the mean of the others
    assert np.allclose(rates, expected, atol=1e-6)
    asked = model.dialogue()
    for question in TEXTS[:4]:
        asked.answer("yes" if question == "stripes" else "no", question)
    assert max(asked.posterior, key=asked.posterior.get) == "zebra"
    answers = pd.DataFrame([[False, True, None, False]], columns=list(TEXTS[:4]))
    model.save(tmp_path / "model")
    for each in (model, infopursuit.load(tmp_path / "model")):
        fox, frog, swan, zebra = each.predict_proba(answers)[0]
        assert frog == pytest.approx(swan, abs=1e-6)
        assert frog > zebra > fox  # nothing is known of zebras and water


def test_clip_answers_without_labels_and_labels_come_later(tmp_path: Path) -> None:
    texts, unlabelled, _ = seen(600, 1)
    _, X, y = seen(400, 2)
    settings = {"texts": TEXTS, "text_embeddings": texts, "unlabelled": unlabelled}
    model = InformationPursuitClassifier.from_knowledge(TABLE, **settings)
    before = model.score(X, y)
    assert before > 0.85
    shares = (model.answer(unlabelled) == 1).mean(axis=0)
    assert np.allclose(shares, np.nanmean(VALUES[:, :4] ** 2, axis=0), atol=0.01)
    start = model.counts_
    _, more, labels = seen(200, 3)
    assert model.partial_fit(more, labels) is model
    said = model.answer(more) == 1
    for number, name in enumerate(CLASSES):
        rows = labels == name
        expected = (start.yes[number].numpy() + said[rows].sum(axis=0)) / (10 + rows.sum())
        found = model.pursuit_.classifier.table.log_likelihood[1].exp()[:, number]
        assert np.allclose(found, np.clip(expected, 0.01, 0.99), atol=1e-6)
    assert model.score(X, y) >= before - 0.01
    model.save(tmp_path / "model")
    fewer = infopursuit.load(tmp_path / "model").without("feathers").partial_fit(more, labels)
    images = model.provenance_["images"]
    copy.copy(model).partial_fit(more, labels)
    assert model.provenance_["images"] == images, "a copy has its own"
    again = model.partial_fit(more, labels).pursuit_.classifier.table
    kept = [number for number, each in enumerate(model.queries_) if each != "feathers"]
    table = fewer.pursuit_.classifier.table
    assert torch.equal(table.log_likelihood, again.log_likelihood[:, kept])
    calibration = [getattr(table, each) for each in Calibration._fields]
    assert calibration == [6.0, 0.7, 0.5, 1.0, 0.0]
    with pytest.raises(InputError, match="'cat' is not among"):
        model.partial_fit(more[:1], ["cat"])
    assert not hasattr(InformationPursuitClassifier(), "partial_fit")


def test_wrong_yes_are_as_many_as_the_share_of_yes_allows() -> None:
    truth = np.array([[1.0], [0.0], [0.0], [0.0]])
    rates = known_rates(truth, 0.6, np.array([0.25]))
    assert rates.mean() == pytest.approx(0.25)
    assert rates[0, 0] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reliability": 0.4}, "reliability is 0.4; expected more than 0.5"),
        ({"strength": 0.0}, "strength is 0.0"),
        ({"text_embeddings": np.eye(5)}, "belong together"),
        ({"texts": ["animal"]}, "tells none of 1 texts apart"),
    ],
)
def test_bad_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        InformationPursuitClassifier.from_knowledge(TABLE, **settings)


def test_a_photograph_answers_what_it_is_sure_of_and_a_person_the_rest() -> None:
    texts, unlabelled, _ = seen(600, 1)
    settings = {"texts": TEXTS, "text_embeddings": texts, "unlabelled": unlabelled}
    pursuit = InformationPursuitClassifier.from_knowledge(TABLE, **settings).pursuit_
    answers = torch.tensor([0.0, 0.5, 0.0, 0.5])  # no fur, no feathers; water and stripes unclear
    cheap = Dialogue(pursuit, answers, person_cost=1.0)
    dear = Dialogue(pursuit, answers, person_cost=1000.0)
    assert dear.listen() in ("lives in water", "stripes")
    asked = [step.query for step in dear.explanation().steps]
    assert sorted(asked) == ["feathers", "red fur"]
    alone = Dialogue(pursuit, answers)
    assert cheap.next_question() == alone.next_question()
    dear.answer("yes", "stripes")
    steps = {step.query: (step.answer, step.overridden) for step in dear.explanation().steps}
    assert steps == {"red fur": (0, False), "feathers": (0, False), "stripes": (1, True)}
    both = Dialogue(pursuit)
    for query, said in (("red fur", 0.0), ("feathers", 0.0), ("stripes", 1.0)):
        both.answer(said, query)
    assert dear.posterior == pytest.approx(both.posterior)
    assert max(dear.posterior, key=dear.posterior.get) == "zebra"
    with pytest.raises(InputError, match="person_cost is"):
        Dialogue(pursuit, answers, person_cost=0.5)


def test_new_names_of_classes_are_those_of_its_tables() -> None:
    model = InformationPursuitClassifier.from_knowledge(TABLE, reliability=0.8)
    model.knowledge_ = KnowledgeTable(CLASSES[::-1], TEXTS, VALUES)
    renamed = model.with_class_names(["a", "b", "c", "d"])
    assert renamed.knowledge_ is not None and model.knowledge_ is not None
    assert renamed.knowledge_.classes == ("d", "c", "b", "a")
    assert model.knowledge_.classes == CLASSES[::-1]
