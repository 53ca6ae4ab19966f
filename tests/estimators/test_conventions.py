"""What scikit-learn expects of a classifier."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from infopursuit.core.errors import InputError
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from tests.estimators.conftest import World

CHECKS = """
import warnings
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator
from infopursuit import InformationPursuitClassifier

# The one check that is skipped wants SCIPY_ARRAY_API in the environment.
warnings.filterwarnings("ignore", category=SkipTestWarning)
for each in check_estimator(InformationPursuitClassifier(), on_fail=None):
    print(each["status"], each["check_name"])
"""


def test_all_checks_of_scikit_learn_pass() -> None:
    # In a process of its own: the type checks of the tests refuse what `fit` is to refuse.
    told = subprocess.run([sys.executable, "-c", CHECKS], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    results = [line.split() for line in told.stdout.splitlines()]
    assert len(results) > 50
    assert [name for status, name in results if status not in ("passed", "skipped")] == []
    assert [name for status, name in results if status == "skipped"] in (
        [],
        ["check_array_api_input"],
    )


def test_the_constructor_stores_and_parameters_go_both_ways(world: World) -> None:
    model = InformationPursuitClassifier(world.texts, world.embeddings, 5, ban=["nothing"])
    assert model.texts is world.texts
    assert model.text_embeddings is world.embeddings
    assert model.set_params(n_queries=3).get_params()["n_queries"] == 3
    assert "n_queries=3" in repr(model)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(queries_count=3)


def test_a_clone_is_unfitted_and_learns_the_same(world: World, model) -> None:
    copy = clone(model)
    with pytest.raises(NotFittedError):
        copy.predict(world.unseen)
    copy.fit(world.X, world.y)
    assert copy.queries_ == model.queries_
    assert np.array_equal(copy.predict_proba(world.unseen), model.predict_proba(world.unseen))


def test_fit_returns_itself_and_learns_from_scratch(world: World) -> None:
    model = world.fitted(n_queries=4)
    before = model.predict_proba(world.unseen)
    other = world.y[::-1].copy()
    assert model.fit(world.X, other) is model
    assert model.score(world.unseen, world.unseen_y) < 0.6
    model.fit(world.X, world.y)
    assert np.array_equal(model.predict_proba(world.unseen), before)


def test_it_works_in_a_pipeline() -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    alone = cross_val_score(InformationPursuitClassifier(), X, y)
    scaled = cross_val_score(make_pipeline(StandardScaler(), InformationPursuitClassifier()), X, y)
    assert alone.mean() > 0.9
    assert scaled.mean() == pytest.approx(alone.mean(), abs=0.02)


def test_a_grid_search_finds_the_larger_dictionary(world: World) -> None:
    model = InformationPursuitClassifier(world.texts, world.embeddings)
    search = GridSearchCV(model, {"n_queries": [1, 6]}, cv=2).fit(world.X, world.y)
    assert search.best_params_ == {"n_queries": 6}
    assert search.best_estimator_.score(world.unseen, world.unseen_y) > 0.9


def test_a_pickle_predicts_the_same(world: World, model) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(world.unseen), model.predict_proba(world.unseen))


@pytest.mark.parametrize(
    "labels",
    [
        {"zebra": 7, "horse": -1, "penguin": 3, "parrot": 0},
        {"zebra": True, "horse": True, "penguin": False, "parrot": False},
        {"zebra": "Ü", "horse": "b", "penguin": "c", "parrot": "d"},
    ],
    ids=["integers", "booleans", "strings"],
)
def test_predictions_are_labels_as_they_were_given(world: World, labels: dict) -> None:
    y = np.array([labels[each] for each in world.y])
    model = InformationPursuitClassifier(world.texts, world.embeddings, 6).fit(world.X, y)
    predicted = model.predict(world.unseen)
    assert predicted.dtype == y.dtype
    assert list(model.classes_) == sorted(set(labels.values()))
    assert (predicted == [labels[each] for each in world.unseen_y]).mean() > 0.9
    speaks = model.questions_for(labels["zebra"])
    assert speaks["for"][0][1] > 0 > speaks["against"][0][1]


def test_probabilities_sum_to_one_and_decide(world: World, model) -> None:
    posterior = model.predict_proba(world.unseen)
    assert posterior.dtype == np.float64
    assert posterior.sum(axis=1) == pytest.approx(1)
    assert (model.classes_[posterior.argmax(axis=1)] == model.predict(world.unseen)).all()
    assert model.score(world.unseen, world.unseen_y) > 0.9


def test_a_fit_is_repeatable_and_seeds_are_of_any_kind(world: World) -> None:
    tables = []
    for random_state in (0, 0, np.random.RandomState(3), np.random.RandomState(3), None):
        fitted = world.fitted(random_state=random_state)
        tables.append(fitted.pursuit_.classifier.tensors()["log_likelihood"].numpy())
    assert np.array_equal(tables[0], tables[1])
    assert np.array_equal(tables[2], tables[3])
    with pytest.raises(ValueError, match="cannot be used to seed"):
        world.fitted(random_state="yes")


def test_a_weight_of_two_is_a_row_twice(world: World) -> None:
    weights = np.where(world.y == "zebra", 2, 1)
    rows = np.repeat(np.arange(len(world.y)), weights)
    settings = {"n_queries": 6, "queries": world.texts[:6]}
    fresh = InformationPursuitClassifier(world.texts, world.embeddings, **settings)
    weighted = clone(fresh).fit(world.X, world.y, sample_weight=weights)
    repeated = clone(fresh).fit(world.X[rows], world.y[rows])
    assert weighted.predict_proba(world.unseen) == pytest.approx(
        repeated.predict_proba(world.unseen), abs=1e-5
    )
    plain = clone(fresh).fit(world.X, world.y)
    assert plain.predict_proba(world.unseen) != pytest.approx(
        weighted.predict_proba(world.unseen), abs=1e-3
    )


def test_rows_of_no_weight_do_not_count(world: World) -> None:
    weights = (world.y != "parrot").astype(float)
    model = InformationPursuitClassifier(world.texts, world.embeddings, 6)
    model.fit(world.X, world.y, sample_weight=weights)
    assert "parrot" not in model.classes_
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(world.X, world.y, sample_weight=-weights)
    with pytest.raises(ValueError, match="zero"):
        model.fit(world.X, world.y, sample_weight=0 * weights)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_queries": 0}, "n_queries is 0; expected 1 or more"),
        ({"n_queries": 2.5}, "n_queries is 2.5; expected a whole number"),
        ({"answers": "maybe"}, "answers is 'maybe'"),
        ({"validation_fraction": 1}, "validation_fraction is 1"),
        ({"stop": 0.9}, "stop is 0.9; expected a StoppingRule"),
        ({"queries": "four legs"}, "expected a list of queries"),
        ({"queries": []}, "expected a list of queries"),
        ({"ban": "legs"}, "ban is the string 'legs'"),
    ],
)
def test_settings_are_checked_in_fit(world: World, settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        world.fitted(**settings)
