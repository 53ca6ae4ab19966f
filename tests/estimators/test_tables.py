"""Questions about the columns of a table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.explanation import Explanation


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_iris(as_frame=True)
    X = found.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    return X, found.target_names[found.target]


def test_questions_name_columns_and_cuts(iris: tuple) -> None:
    X, y = iris
    model = InformationPursuitClassifier(n_queries=12).fit(X, y)
    assert len(model.queries_) == 12
    for question, answers in zip(model.queries_, model.answer(X).T, strict=True):
        name, cut = question.split(" > ")
        assert np.array_equal(answers == 1, X[name] > float(cut))
    explanation = model.explain(X[:1])[0]
    assert explanation.predicted_class == "setosa"
    assert f"{explanation.questions[0]}?" in str(explanation)
    assert np.array_equal(model.predict(pl.from_pandas(X)), model.predict(X))
    plain = InformationPursuitClassifier(n_queries=12).fit(X.to_numpy(), y)
    assert plain.queries_[0].startswith("column ")


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_explanations_keep_the_type_of_the_labels(iris: tuple, kind: type, tmp_path: Path) -> None:
    X, y = iris
    labels = np.unique(y, return_inverse=True)[1]
    labels = np.array([kind(each) for each in labels])
    model = InformationPursuitClassifier(n_queries=12).fit(X, labels)
    model.save(tmp_path / "model")
    for each in (model, infopursuit.load(tmp_path / "model")):
        explained = each.explain(X)
        predicted = [explanation.predicted_class for explanation in explained]
        assert {type(one) for one in predicted} == {kind}
        assert predicted == each.predict(X).tolist()
        assert each.decisive_answers(X[:1])[0].predicted_class == labels[0]
        assert each.dialogue(X[:1]).posterior.keys() == set(labels.tolist())
        again = Explanation.from_dict(json.loads(json.dumps(explained[0].to_dict())))
        assert again == explained[0]
        assert f"Prediction: {kind(labels[0])}, " in str(again)


def test_questions_can_be_written_by_hand(iris: tuple) -> None:
    X, y = iris
    queries = ["petal length > 2.45?", "petal width > 1.75"]
    model = InformationPursuitClassifier(queries=queries).fit(X, y)
    assert model.queries_ == ("petal length > 2.45", "petal width > 1.75")
    assert model.score(X, y) > 0.94
    said = model.explain(X[:1], overrides={"petal length > 2.45?": "yes"})[0]
    assert said.predicted_class != "setosa"


def test_columns_can_be_banned_kept_and_asked_first(iris: tuple) -> None:
    X, y = iris
    first = "petal length > 2.5"
    model = InformationPursuitClassifier(ban=["sepal"], first_query=f"{first}?").fit(X, y)
    assert not any("sepal" in question for question in model.queries_)
    assert {each.questions[0] for each in model.explain(X)} == {first}
    kept = "sepal width > 3.25"
    model = InformationPursuitClassifier(n_queries=4, keep=[f"{kept}?"]).fit(X, y)
    assert kept in model.queries_
    assert len(model.queries_) == 4
    for keep in InformationPursuitClassifier(n_queries=2).fit(X, y).queries_:
        assert len(InformationPursuitClassifier(n_queries=2, keep=[keep]).fit(X, y).queries_) == 2
    assert InformationPursuitClassifier(n_queries=1, keep=[kept]).fit(X, y).queries_ == (kept,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queries": ["petal > 2"]}, "'column > number' with one of the columns sepal length"),
        ({"queries": ["petal length > 2", "sepal width > 3"], "ban": ["petal"]}, "is banned"),
        ({"keep": ["sepal width > 3"], "ban": ["sepal"]}, "keep: .* is banned"),
    ],
)
def test_bad_settings_are_refused(iris: tuple, settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        InformationPursuitClassifier(**settings).fit(*iris)
