"""What scikit-learn expects of a classifier."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

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
    # In its own process: the type checks of the tests refuse what `fit` is to refuse.
    done = subprocess.run([sys.executable, "-c", CHECKS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = [line.split() for line in done.stdout.splitlines()]
    assert len(results) > 50
    assert [name for status, name in results if status not in ("passed", "skipped")] == []
    assert {name for status, name in results if status == "skipped"} <= {"check_array_api_input"}


def test_a_fit_is_repeatable_and_takes_any_kind_of_seed(world: World) -> None:
    tables = []
    for random_state in (0, 0, np.random.RandomState(3), np.random.RandomState(3), None):
        fitted = world.fitted(random_state=random_state)
        tables.append(fitted.pursuit_.classifier.scores.means.numpy())
    assert np.array_equal(tables[0], tables[1])
    assert np.array_equal(tables[2], tables[3])
    with pytest.raises(ValueError, match="cannot be used to seed"):
        world.fitted(random_state="yes")


def test_a_weight_counts_like_repeated_rows(world: World) -> None:
    X, y = world.X[:300], world.y[:300]  # no more than the samples hold
    weights = np.where(y == "zebra", 2, 1)
    rows = np.repeat(np.arange(300), weights)
    fresh = world.unfitted(queries=world.texts[:6])
    weighted, plain, repeated = (
        clone(fresh).fit(*data).predict_proba(world.unseen)
        for data in (
            (X, y, weights),
            (X, y),
            (X[rows], y[rows]),
        )
    )
    assert weighted == pytest.approx(repeated, abs=1e-5)
    assert plain != pytest.approx(weighted, abs=1e-3)
    weights = (world.y != "parrot").astype(float)
    assert "parrot" not in fresh.fit(world.X, world.y, sample_weight=weights).classes_
    names = ["even", {"zebra": -1.0}, {"zebar": 5}, ["a"] * len(weights)]
    for bad in (-weights, 0 * weights, np.nan * weights, *names):
        with pytest.raises(ValueError, match=r"weight|zebra"):
            fresh.fit(world.X, world.y, sample_weight=bad)


def test_weights_of_classes_are_those_of_their_rows(world: World) -> None:
    fresh = world.unfitted(queries=world.texts[:6], validation_fraction=0.0)
    rows = np.r_[0:120, np.flatnonzero(world.y == "zebra")]
    X, y = world.X[rows], world.y[rows]
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    model = clone(fresh).fit(X, y, sample_weight="balanced")
    prior = model.pursuit_.classifier.scores.log_prior.exp().numpy()
    assert prior == pytest.approx(np.full(len(counts), 1 / len(counts)), abs=1e-6)
    given = {name: 2.0 + place for place, name in enumerate(counts)}
    model = clone(fresh).fit(X, y, sample_weight=given)
    weights = np.array([given[label] for label in y])
    same = clone(fresh).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
