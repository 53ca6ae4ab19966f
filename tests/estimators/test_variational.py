"""The paper's method by scikit-learn's conventions: the trainer's bits, and clear mistakes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from infopursuit import load
from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pursuit.answers.rules import MinMaxAnswers, ThresholdAnswers
from infopursuit.pursuit.vip.training import InitialDictionary, Trainer, TrainingImages
from tests.pursuit.vip.planted import CLASSES, SETTINGS, D, planted

NAMES = ("cat", "bus", "owl", "car", "bee", "ant")
U = 60
TEXTS = [f"thing {row}" for row in range(U)]
SMALL: dict[str, Any] = {
    "n_queries": 8,
    "hidden": SETTINGS.hidden,
    "random_updates": 24,
    "biased_updates": 24,
    "batch_size": 32,
    "learning_rate": 5e-3,
    "dictionary_learning_rate": 1e-2,
    "validate_every": 12,
    "device": "cpu",
}


def embeddings() -> np.ndarray:
    """Return 60 texts, the last 12 of them near the classes."""
    return planted(6, seed=0)[1].numpy()


def images(count: int = 160, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    found, _ = planted(count, seed)
    return found.embeddings.numpy(), np.array(NAMES)[found.labels.numpy()]


def model(**chosen: Any) -> VariationalInformationPursuit:
    return VariationalInformationPursuit(TEXTS, embeddings(), **{**SMALL, **chosen})


@pytest.mark.parametrize("dictionary", ["fixed", "alternating", "joint"])
def test_the_trainer_gives_the_same_bits(dictionary: str) -> None:
    X, y = images()
    queries = TEXTS[3:9]
    stored = embeddings().astype(np.float16)
    fresh = model(dictionary=dictionary, queries=queries, random_state=3)
    fitted = fresh.set_params(text_embeddings=stored).fit(X, y)

    labels = np.unique(y, return_inverse=True)[1].astype(np.int64)
    all_images = LabelledImages(
        tuple(map(str, range(len(y)))),
        torch.from_numpy(labels),
        torch.from_numpy(X),
        tuple(sorted(NAMES)),
    )
    train, validation = (
        TrainingImages(part.embeddings, part.labels, CLASSES)
        for part in hold_out(all_images, 0.1, 3)
    )
    settings = replace(SETTINGS, dictionary=dictionary, weight_decay=0.01)  # type: ignore[arg-type]
    start = InitialDictionary(torch.from_numpy(stored), torch.arange(3, 9))
    trained = Trainer(train, validation, start, settings, budget=6, seed=3).train()
    assert fitted.log_ == trained.log
    assert fitted.provenance_["selected"] == trained.selected
    pursuit = fitted.pursuit_
    for ours, theirs in ((pursuit.querier, trained.querier), (pursuit.rule, trained.rule)):
        assert all(torch.equal(v, theirs.tensors()[name]) for name, v in ours.tensors().items())
    evolution = fitted.provenance_["evolution"]
    assert evolution["initial"] == queries
    assert evolution["final"] == [TEXTS[row] for row in trained.rows["final"].tolist()]
    assert fitted.queries_ == tuple(evolution["final"])
    sizes = {"train": len(train.labels), "held_out": len(validation.labels)}
    assert fitted.provenance_["images"] == sizes
    kept = fitted.provenance_["settings"]
    assert kept == {**kept, "dictionary": dictionary, "budget": 6, "random_state": 3}


def test_the_answers_setting_gives_the_rule() -> None:
    X, y = images()
    hard = model().fit(X, y).pursuit_.rule
    soft = model(answers="soft").fit(X, y)
    assert isinstance(hard, MinMaxAnswers)
    assert not hard.soft
    assert soft.answers == "soft"
    assert isinstance(soft.pursuit_.rule, MinMaxAnswers)
    assert soft.pursuit_.rule.soft
    fitted = model(answers="threshold", dictionary="fixed").fit(X, y)
    assert isinstance(fitted.pursuit_.rule, ThresholdAnswers)
    reference = np.random.default_rng(0).normal(size=(30, D)) + 1
    reference /= np.linalg.norm(reference, axis=1, keepdims=True)
    other = model(answers="threshold", dictionary="fixed")
    rule = other.fit(X, y, reference_embeddings=reference).pursuit_.rule
    assert isinstance(rule, ThresholdAnswers)
    assert not torch.allclose(rule.directions, fitted.pursuit_.rule.directions, atol=1e-2)


@pytest.mark.parametrize("init", ["medoids", "random", "informative"])
def test_every_init_gives_k_distinct_texts_and_follows_the_seed(init: str) -> None:
    X, y = images()
    quick = {"dictionary": "fixed", "random_updates": 1, "biased_updates": 0, "init": init}
    first = model(**quick).fit(X, y).queries_
    assert len(set(first)) == 8
    assert model(**quick).fit(X, y).queries_ == first
    assert len(model(**quick, n_queries=1000).fit(X, y).queries_) == U
    if init == "random":
        assert model(**quick, random_state=1).fit(X, y).queries_ != first
    if init == "informative":
        assert set(first) & set(TEXTS[-2 * CLASSES :])


def test_images_to_validate_on_can_be_given() -> None:
    X, y = images()
    validation = images(40, seed=9)
    fitted = model().fit(X, y, validation)
    assert fitted.provenance_["images"] == {"train": 160, "held_out": 40}
    correct = fitted.roll_out(validation[0]).posteriors.argmax(dim=2).numpy()
    truth = np.searchsorted(fitted.classes_, validation[1])
    area = (correct[:, 1:] == truth[:, None]).mean()
    assert fitted.provenance_["selected"]["validation_auc"] == pytest.approx(area)
    for rows, labels, message in (
        (validation[0], np.full(40, "dog"), r"'dog'.* is not among the training labels"),
        (np.eye(5)[np.arange(40) % 5], validation[1], "validation X has 5 columns"),
    ):
        with pytest.raises(InputError, match=message):
            model().fit(X, y, (rows, labels))
    with pytest.raises(InputError, match="class 'dog' has 1 training images"):
        model().fit(X[:13], np.array([*y[:12], "dog"]))


def test_clones_pickles_and_saved_models_predict_the_same(tmp_path: Path) -> None:
    X, y = images()
    copy = clone(model(n_queries=5)).set_params(random_state=4)
    assert copy.get_params()["n_queries"] == 5
    fitted = copy.fit(X, y)
    expected = fitted.predict_proba(X)
    assert pickle.loads(pickle.dumps(fitted)).predict_proba(X).tolist() == expected.tolist()
    fitted.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert isinstance(found, VariationalInformationPursuit)
    assert found.predict_proba(X).tolist() == expected.tolist()
    assert found.provenance_["evolution"] == fitted.provenance_["evolution"]
    with pytest.raises(InputError, match="trained on its whole dictionary"):
        fitted.without(fitted.queries_[0])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"texts": None}, "only texts can be learned; expected texts, or 'fixed'"),
        ({"n_queries": 0}, "n_queries is 0; expected a whole number from 1"),
        ({"random_state": -1}, "random_state is -1"),
        ({"init": "llm"}, "init is 'llm'; expected 'medoids', 'random' or 'informative'"),
        ({"queries": []}, "queries is empty"),
        ({"queries": ["a dragon"]}, "'a dragon' is not among the texts"),
        ({"hidden": (8,)}, "hidden is .8,.; expected two numbers"),
        ({"answers": "threshold"}, "a threshold belongs to a text"),
        ({"budget": 9}, "budget is 9; expected 1 to 8"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected more than 0"),
        ({"learning_rate": 1e10}, "learning_rate is 10000000000.0; expected .* at most 1"),
        ({"network_updates": 0}, "network_updates is 0; expected more than 0"),
        ({"temperature": (1.0, 0.0)}, "temperature is 0.0"),
        ({"random_updates": 0, "biased_updates": 0}, "not both 0"),
        ({"weight_decay": -1.0}, "weight_decay is -1.0; expected 0 to 1"),
        ({"text_embeddings": np.eye(U, 7) + 0.1}, "X has 24 columns and text_embeddings 7"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*scaled to unit norm:UserWarning")
def test_bad_settings_are_refused(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model().set_params(**chosen).fit(*images())
    with pytest.raises(InputError, match="reference_embeddings has 7 columns"):
        model().fit(*images(), reference_embeddings=np.eye(7) + 0.1)
