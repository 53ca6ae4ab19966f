"""The paper's method by scikit-learn's conventions: the trainer's bits, and clear mistakes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch.nn.functional import normalize

from infopursuit.answers.rules import MinMaxAnswers, ThresholdAnswers
from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.estimators.saved import load
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.vip.checkpoints import Checkpoint
from infopursuit.vip.settings import VariationalSettings
from infopursuit.vip.training import InitialDictionary, Trainer, TrainingImages

D, CLASSES, U = 24, 4, 40
NAMES = ("cat", "bus", "owl", "car")
TEXTS = [f"thing {row}" for row in range(U)]
SMALL: dict[str, Any] = {
    "n_queries": 8,
    "hidden": (32, 16),
    "random_updates": 24,
    "biased_updates": 24,
    "batch_size": 32,
    "learning_rate": 5e-3,
    "dictionary_learning_rate": 2e-2,
    "validate_every": 12,
    "device": "cpu",
}


def embeddings() -> np.ndarray:
    """40 texts; the last 8 lie near the classes, and are found."""
    generator = torch.Generator().manual_seed(2)
    texts = torch.randn(U, D, generator=generator)
    texts[-2 * CLASSES :] = points().repeat(2, 1) * 5 + texts[-2 * CLASSES :] * 0.3
    return normalize(texts, dim=1).numpy()


def points() -> torch.Tensor:
    return normalize(torch.randn(CLASSES, D, generator=torch.Generator().manual_seed(1)), dim=1)


def images(count: int = 160, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % CLASSES
    noise = torch.randn(count, D, generator=torch.Generator().manual_seed(seed))
    X = normalize(points()[torch.from_numpy(labels)] + 0.1 * noise, dim=1).numpy()
    return X, np.array(NAMES)[labels]


def model(**chosen: Any) -> VariationalInformationPursuit:
    return VariationalInformationPursuit(TEXTS, embeddings(), **{**SMALL, **chosen})


def test_it_learns_predicts_and_explains() -> None:
    X, y = images()
    fitted = model(random_updates=100, biased_updates=100, stop=StoppingRule(0.9, 6)).fit(X, y)
    assert fitted.classes_.tolist() == sorted(NAMES)
    assert fitted.n_features_in_ == D
    assert len(fitted.queries_) == 8
    assert set(fitted.queries_) <= set(TEXTS)
    assert fitted.score(*images(80, seed=6)) > 0.8
    probabilities = fitted.predict_proba(X[:9])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    explanation = fitted.explain(X[:1])[0]
    assert explanation.criterion == "querier probability"
    assert 1 <= len(explanation.steps) <= 6
    values = [step.value for step in explanation.steps]
    assert all(value is not None and 0 < value <= 1 for value in values)


@pytest.mark.parametrize("dictionary", ["fixed", "alternating", "joint"])
def test_the_trainer_gives_the_same_bits(dictionary: str) -> None:
    X, y = images()
    queries = TEXTS[3:9]
    fitted = model(dictionary=dictionary, queries=queries, random_state=3).fit(X, y)

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
    settings = VariationalSettings(
        dictionary=dictionary,  # type: ignore[arg-type]
        hidden=(32, 16),
        random_updates=24,
        biased_updates=24,
        batch_size=32,
        learning_rate=5e-3,
        dictionary_learning_rate=2e-2,
        schedule="cosine",
        weight_decay=0.01,
        temperature=(1.0, 0.2),
        validate_every=12,
    )
    start = InitialDictionary(torch.from_numpy(embeddings()), torch.arange(3, 9))
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
    assert fitted.provenance_["images"] == {"train": 144, "held_out": 16}
    kept = fitted.provenance_["settings"]
    assert kept == {**kept, "dictionary": dictionary, "budget": 6, "random_state": 3}


def test_the_answers_setting_gives_the_rule() -> None:
    X, y = images()
    hard = model().fit(X, y).pursuit_.rule
    soft = model(answers="soft").fit(X, y)
    assert isinstance(hard, MinMaxAnswers)
    assert hard.hard
    assert soft.answers == "soft"
    assert isinstance(soft.pursuit_.rule, MinMaxAnswers)
    assert not soft.pursuit_.rule.hard
    fitted = model(answers="threshold", dictionary="fixed").fit(X, y)
    assert isinstance(fitted.pursuit_.rule, ThresholdAnswers)
    reference = np.random.default_rng(0).normal(size=(30, D)) + 1
    reference /= np.linalg.norm(reference, axis=1, keepdims=True)
    other = model(answers="threshold", dictionary="fixed", reference_embeddings=reference)
    rule = other.fit(X, y).pursuit_.rule
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
    with pytest.raises(InputError, match=r"'dog'.* is not among the training labels"):
        model().fit(X, y, (validation[0], np.full(40, "dog")))
    with pytest.raises(InputError, match="validation X has 5 columns"):
        model().fit(X, y, (np.eye(5)[np.arange(40) % 5], validation[1]))


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    class Killing(Checkpoint):
        batches = 7

        def save_if_due(self, run: Trainer) -> None:
            self.save(run)
            self.batches -= 1
            if self.batches == 0:
                raise KilledError

    X, y = images()
    whole = model().fit(X, y)
    with pytest.raises(KilledError):
        model().fit(X, y, checkpoint=Killing(tmp_path / "run.pt", 0.0))
    resumed = model().fit(X, y, checkpoint=Checkpoint(tmp_path / "run.pt", 1e9))
    assert resumed.log_ == whole.log_
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


def test_it_follows_scikit_learn_s_conventions(tmp_path: Path) -> None:
    X, y = images()
    chosen = model(n_queries=5)
    copy = clone(chosen).set_params(random_state=4)
    assert copy.get_params()["n_queries"] == 5
    assert not hasattr(copy, "classes_")
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


def test_texts_are_searched_as_they_are_stored_or_scaled() -> None:
    X, y = images()
    stored = torch.from_numpy(embeddings()).half()
    fitted = VariationalInformationPursuit(TEXTS, stored.numpy(), **SMALL).fit(X, y)
    rows = torch.tensor([TEXTS.index(text) for text in fitted.queries_])
    rule = fitted.pursuit_.rule
    assert isinstance(rule, MinMaxAnswers)
    assert torch.equal(rule.queries, normalize(stored[rows].float(), dim=1))
    with pytest.warns(UserWarning, match="scaled to unit norm"):
        scaled = VariationalInformationPursuit(TEXTS, 7 * embeddings(), **SMALL).fit(X, y)
    assert scaled.queries_ == model().fit(X, y).queries_


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"texts": None}, "texts is missing"),
        ({"n_queries": 0}, "n_queries is 0; expected a whole number from 1"),
        ({"random_state": -1}, "random_state is -1"),
        ({"init": "llm"}, "init is 'llm'; expected medoids, random or informative"),
        ({"queries": []}, "queries is empty"),
        ({"queries": ["a dragon"]}, "'a dragon' is not among the texts"),
        ({"hidden": (8,)}, "hidden is .8,.; expected two numbers"),
        ({"answers": "threshold"}, "a threshold belongs to a text"),
        ({"budget": 9}, "budget is 9; expected 1 to 8"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; expected more than 0"),
        ({"text_embeddings": np.eye(U, 7) + 0.1}, "X has 24 columns and text_embeddings 7"),
        ({"reference_embeddings": np.eye(7) + 0.1}, "reference_embeddings has 7 columns"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*scaled to unit norm:UserWarning")
def test_mistakes_are_told(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model().set_params(**chosen).fit(*images())


def test_a_class_of_one_image_cannot_be_held_out() -> None:
    X, y = images(13)
    with pytest.raises(InputError, match="class 'dog' has 1 training images"):
        model().fit(X, np.array([*y[:12], "dog"]))
