"""Questions about the columns of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from infopursuit.core.errors import InputError
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_iris(as_frame=True)
    columns = [name.removesuffix(" (cm)") for name in found.data.columns]
    return found.data.set_axis(columns, axis=1), found.target_names[found.target]


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


def test_questions_can_be_written_by_hand(iris: tuple) -> None:
    X, y = iris
    queries = ["petal length > 2.45?", "petal width > 1.75"]
    model = InformationPursuitClassifier(queries=queries).fit(X, y)
    assert model.queries_ == ("petal length > 2.45", "petal width > 1.75")
    assert model.score(X, y) > 0.94
    said = model.explain(X[:1], overrides={"petal length > 2.45?": "yes"})[0]
    assert said.predicted_class != "setosa"
    for queries, message in (
        (["petal > 2"], "expected 'column > number' with one of the columns sepal length"),
        (["petal length > much"], "expected a finite number after '>'"),
        (["petal length > 2", "petal length > 2.0?"], "is there twice"),
    ):
        with pytest.raises(InputError, match=message):
            InformationPursuitClassifier(queries=queries).fit(X, y)


def test_columns_can_be_banned_and_a_first_question_forced(iris: tuple) -> None:
    X, y = iris
    first = "petal length > 2.5"
    model = InformationPursuitClassifier(ban=["sepal"], first_query=f"{first}?").fit(X, y)
    assert not any("sepal" in question for question in model.queries_)
    assert {each.questions[0] for each in model.explain(X)} == {first}
    with pytest.raises(InputError, match="is banned"):
        InformationPursuitClassifier(queries=[first, "sepal width > 3"], ban=["petal"]).fit(X, y)


def test_questions_about_columns_can_be_kept(iris: tuple) -> None:
    X, y = iris
    kept = "sepal width > 3.25"
    model = InformationPursuitClassifier(n_queries=4, keep=[f"{kept}?"]).fit(X, y)
    assert kept in model.queries_
    assert len(model.queries_) == 4
    best = InformationPursuitClassifier(n_queries=2).fit(X, y).queries_
    for keep in best:
        assert len(InformationPursuitClassifier(n_queries=2, keep=[keep]).fit(X, y).queries_) == 2
    assert InformationPursuitClassifier(n_queries=1, keep=[kept]).fit(X, y).queries_ == (kept,)
    with pytest.raises(InputError, match=r"keep: .* is banned"):
        InformationPursuitClassifier(keep=[kept], ban=["sepal"]).fit(X, y)


def test_missing_values_are_refused(iris: tuple) -> None:
    X, y = iris
    with pytest.raises(ValueError, match="NaN"):
        InformationPursuitClassifier().fit(X.mask(X > 7), y)
