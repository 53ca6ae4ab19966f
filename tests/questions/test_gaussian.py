"""The pursuit of jointly normal scores as people use it, on planted images."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import infopursuit
from infopursuit import InformationPursuitClassifier, InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.gaussian.fit import ScoreMoments
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from tests.planted import Planted, planted, unit

K = 8


@pytest.fixture(scope="module")
def world() -> Planted:
    return planted()


@pytest.fixture(scope="module")
def model(world: Planted) -> Any:
    return classifier(world).fit(world.X, world.y)


def classifier(world: Planted, **settings: Any) -> Any:
    how = {"n_queries": K, "pursuit": "gaussian", **settings}
    return InformationPursuitClassifier(world.texts, world.embeddings, **how)


def test_its_questions_are_the_texts_that_are_true_of_classes(model: Any, world: Planted) -> None:
    true = world.texts[: len(model.classes_)]
    assert set(true) <= set(model.queries_)
    assert set(model.roll_out(world.X_test, 2).order[:, 0].tolist()) <= {
        model.queries_.index(each) for each in true
    }
    accuracies = model.accuracy_by_budget(world.X_test, world.y_test)
    plain = classifier(world, pursuit="naive_bayes").fit(world.X, world.y)
    assert accuracies[3] >= plain.accuracy_by_budget(world.X_test, world.y_test)[3]
    assert accuracies[-1] > 0.95


def test_it_comes_back_and_loses_questions_and_classes(
    model: Any, world: Planted, tmp_path: Path
) -> None:
    model.save(tmp_path)
    again = infopursuit.load(tmp_path)
    for each in (model, again):
        assert [type(each.pursuit_.rule).kind, each.pursuit_.querier.kind] == ["levels", "gaussian"]
    np.testing.assert_allclose(
        again.predict_proba(world.X_test), model.predict_proba(world.X_test), atol=1e-6
    )
    assert [str(each) for each in again.explain(world.X_test[:9])] == [
        str(each) for each in model.explain(world.X_test[:9])
    ]
    np.testing.assert_array_equal(again.conformity(world.X_test), model.conformity(world.X_test))
    fewer = again.without(again.queries_[0])
    assert fewer.accuracy_by_budget(world.X_test, world.y_test)[-1] > 0.7
    some = list(model.classes_[:2])
    assert set(model.given(classes=some).predict(world.X_test)) <= set(some)


def test_labels_come_later(world: Planted, tmp_path: Path) -> None:
    few = np.concatenate([np.flatnonzero(world.y == name)[:4] for name in np.unique(world.y)])
    rest = np.setdiff1d(np.arange(len(world.y)), few)
    model = classifier(world).fit(world.X[few], world.y[few])
    before = model.pursuit_.classifier.scores
    model.save(tmp_path)
    at_once = infopursuit.load(tmp_path).partial_fit(world.X[rest], world.y[rest])
    for part in np.array_split(rest, 3):
        model.partial_fit(world.X[part], world.y[part])
    own, other = (each.pursuit_.classifier.scores.tensors() for each in (model, at_once))
    for name, tensor in own.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-6, rtol=1e-5)
    answers = model.pursuit_.answers(torch.from_numpy(world.X)).double()
    for number, name in enumerate(model.classes_):
        rows = torch.from_numpy(world.y == name)
        mean = model.counts_.means[number]
        torch.testing.assert_close(mean, answers[rows].mean(dim=0), atol=1e-3, rtol=1e-3)
    assert not torch.equal(own["covariance"], before.covariance)
    assert torch.equal(own["temperature"], before.temperature)
    assert model.pursuit_.querier.scores is model.pursuit_.classifier.scores
    fewer = model.without(model.queries_[0]).partial_fit(world.X[:9], world.y[:9])
    assert fewer.counts_.means.shape == (len(model.classes_), len(model.queries_) - 1)


def test_images_that_tempered_are_learned_from_unless_they_were_given(world: Planted) -> None:
    model = classifier(world).fit(world.X, world.y)
    assert model.provenance_["held_out_images"] > 0
    assert model.counts_.images.sum() == len(world.y)
    answers = model.pursuit_.answers(torch.from_numpy(world.X)).double()
    for number, name in enumerate(model.classes_):
        mean = answers[torch.from_numpy(world.y == name)].mean(dim=0)
        torch.testing.assert_close(model.counts_.means[number], mean, atol=1e-3, rtol=1e-3)
    given = classifier(world).fit(world.X, world.y, validation=(world.X_test, world.y_test))
    assert given.counts_.images.sum() == len(world.y)
    # What a new image is compared with was not learned from.
    scores = model.pursuit_.conformity.scores
    assert not torch.equal(scores.means, model.pursuit_.classifier.scores.means)


def test_every_line_is_true_of_the_scores(model: Any, world: Planted) -> None:
    """A yes is above the level; in between a line says how many training images score less."""
    pursuit = model.pursuit_
    shown = pursuit.answers(torch.from_numpy(world.X)).numpy()
    explained = model.explain(world.X_test)
    words = {step.said for each in explained for step in each.steps}
    assert {"yes", "no"} <= words
    for each in explained:
        for step in each.steps:
            query = model.queries_.index(step.query)
            assert (step.said in ("yes", "probably")) == step.yes == (step.answer > 0.5)
            if compared := re.fullmatch(r"(more|less) than (\d) of 10 images", step.said):
                below = (shown[:, query] < step.answer).mean()
                share = int(compared[2]) / 10
                assert below > share - 0.08 if compared[1] == "more" else 1 - below > share - 0.08


def test_a_person_answers_in_words(model: Any, world: Planted) -> None:
    dialogue, cat = model.dialogue(), model.classes_[0]
    prior = dialogue.posterior[cat]
    dialogue.answer("not sure", world.texts[0])
    assert dialogue.posterior[cat] == pytest.approx(prior)
    by_word = []
    for word in ("no", "probably not", "probably", "yes"):
        dialogue.answer(word, world.texts[0])
        by_word.append(dialogue.posterior[cat])
    assert by_word == sorted(by_word)
    assert by_word[0] < prior < by_word[-1]
    assert model.given({world.texts[0]: "yes"}).predict_proba(world.X_test[:1])[0, 0] > prior
    step = dialogue.explanation().steps[0]
    assert (step.said, step.overridden) == ("yes", True)


def test_few_images_and_one_of_a_class_are_fitted(world: Planted) -> None:
    for count in (1, 3):
        rows = np.concatenate([np.flatnonzero(world.y == c)[:count] for c in np.unique(world.y)])
        few = classifier(world).fit(world.X[rows], world.y[rows])
        probabilities = few.predict_proba(world.X_test)
        assert np.isfinite(probabilities).all()
        assert few.score(world.X_test, world.y_test) > 0.7
        stated, right = probabilities.max(axis=1).mean(), few.score(world.X_test, world.y_test)
        assert stated - right < 0.08


def test_moments_of_parts_add_up(world: Planted) -> None:
    """All that is fitted on images are sums: they are those of all shards together."""
    labels = torch.from_numpy(np.unique(world.y, return_inverse=True)[1])
    whole = InMemorySet(UnitMatrix(world.X, "X"), labels, None, np.unique(world.y))
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    mixed = whole.subset(order)
    first, second = ScoreMoments.of(whole.moments), ScoreMoments.of(mixed.moments)
    torch.testing.assert_close(first.within, second.within)
    torch.testing.assert_close(first.means, second.means)


def test_what_is_known_says_which_texts_are_asked_and_how_many_say_yes(world: Planted) -> None:
    """Of two texts alike the one that is true of a class is asked, of as many images as told."""
    embeddings = np.concatenate([world.embeddings, world.embeddings[:4]])
    texts = [*world.texts, *(f"no {each}" for each in world.texts[:4])]
    known = np.full((4, len(texts)), np.nan, dtype=np.float32)
    known[:, :4], known[:, -4:] = np.eye(4), 0.0
    embeddings = unit(embeddings + np.random.default_rng(0).normal(0, 0.01, embeddings.shape))
    settings = {"n_queries": 4, "knowledge": known, "pursuit": "gaussian"}
    told = InformationPursuitClassifier(texts, embeddings, **settings)
    told.fit(world.X, world.y)
    assert set(told.queries_) == set(world.texts[:4])
    answers = told.pursuit_.answers(torch.from_numpy(world.X))
    np.testing.assert_allclose((answers > 0.5).double().mean(dim=0), 0.25, atol=0.03)
    assert told.knowledge_ is not None


def test_a_text_that_people_taught_is_a_text_like_any_other(world: Planted) -> None:
    """What two classes share and no text says is asked, and answered as people did."""
    shared = np.isin(world.y, ["cat", "dog"]).astype(float)
    said = np.where(np.arange(len(shared)) % 3, shared, np.nan)
    model = classifier(world, n_queries=3)
    model.fit(world.X, world.y, annotations={"a furry thing": said})
    assert "a furry thing" in model.queries_
    place = model.queries_.index("a furry thing")
    answers = model.pursuit_.answers(torch.from_numpy(world.X_test))[:, place] > 0.5
    assert (answers.numpy() == np.isin(world.y_test, ["cat", "dog"])).mean() > 0.85
    assert model.score(world.X_test, world.y_test) > 0.9


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"knowledge": "clip"}, "knowledge"),
        ({"rates": "counted"}, "rates"),
    ],
)
def test_what_it_does_not_take_is_refused(world: Planted, settings: dict, word: str) -> None:
    with pytest.raises(InputError, match=word):
        classifier(world, **settings).fit(world.X, world.y)


def test_tables_are_refused() -> None:
    with pytest.raises(InputError, match="texts"):
        InformationPursuitClassifier(pursuit="gaussian").fit(np.eye(4), [0, 1, 0, 1])
