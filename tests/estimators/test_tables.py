"""Questions about the columns of a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from numpy.typing import ArrayLike
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.stopping import StoppingRule
from tests.estimators.conftest import World

CELLS = Path(__file__).parents[3] / "shared/data/tables"


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, np.ndarray]:
    found = load_iris(as_frame=True)
    X = found.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    return X, found.target_names[found.target]


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
        assert each.dialogue(X[:1]).posterior.keys() == set(labels.tolist())
        again = Explanation.from_dict(json.loads(json.dumps(explained[0].to_dict())))
        assert again == explained[0]
        assert f"Prediction: {kind(labels[0])}, " in str(again)


def mixed_table(count: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Animals: a category, a boolean, texts of yes and no, a number; a fifth of the cells empty."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["frog", "swan", "fox"], count)
    colour = np.where(rng.random(count) < 0.9, pd.Series(y).map(COLOURS), "grey").astype(object)
    X = pd.DataFrame(
        {
            "colour": colour,
            "lives in water": pd.Series(y != "fox").astype(object),
            "feathers": np.where(y == "swan", "yes", "no").astype(object),
            "weight": rng.normal(pd.Series(y).map({"frog": 1, "swan": 9, "fox": 8}), 0.5),
        }
    )
    for name in X:
        X.loc[rng.random(count) < 0.2, name] = None
    return X, y


COLOURS = {"frog": "green", "swan": "white", "fox": "red"}


DATES = pd.date_range("2026-01-01", periods=300)
NUMBERS = np.arange(600.0).reshape(300, 2)


def of_csv(column: ArrayLike, folder: Path) -> pd.DataFrame:
    pd.DataFrame({"added": column}).to_csv(folder / "X.csv", index=False)
    return pd.read_csv(folder / "X.csv")


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda _: pd.DataFrame({"added": [f"name {i}" for i in range(300)]}), "300"),
        (lambda _: pd.DataFrame({"added": ["red", 3] * 150}), "int"),
        (lambda _: pd.DataFrame({"added": DATES}), "dates"),
        (lambda _: pd.DataFrame({"added": DATES - DATES[0]}), "dates"),
        (lambda _: pd.DataFrame({"added": DATES.date}), "dates"),
        (lambda folder: of_csv(DATES, folder), "dates"),
        (lambda folder: of_csv(DATES.time, folder.parent), "dates"),
        (lambda _: DATES.to_numpy()[:, None], "dates"),
        (lambda _: np.where(NUMBERS == 7, -np.inf, NUMBERS), "column 1"),
        (lambda _: pd.DataFrame(NUMBERS + 1j, columns=["height", "width"]), "height"),
        (lambda _: NUMBERS + 1j, "Complex"),
        (lambda _: pa.table([[1] * 300, [2] * 300], names=["a", "a"]), "'a'"),
    ],
)
def test_what_is_no_table_is_refused(made: Callable, word: str, tmp_path: Path) -> None:
    """Dates also in a CSV file, and not as numbers of nanoseconds."""
    with pytest.raises(InputError, match=word):
        InformationPursuitClassifier().fit(made(tmp_path), np.arange(300) % 2)


def test_a_cell_that_is_no_number_is_named(iris: tuple) -> None:
    X, y = iris
    model = InformationPursuitClassifier().fit(X, y)
    for cell in ("5.1 cm", np.inf, [1, 2]):
        bad = X.astype(object)
        bad.iat[7, 2] = cell
        with pytest.raises(InputError, match=r"'petal length': row 7"):
            model.predict(bad)


def test_numbers_answer_a_question_of_yes_and_no() -> None:
    X = pd.DataFrame({"flies": [True] * 40 + [False] * 40})
    model = InformationPursuitClassifier().fit(X, ["bat"] * 40 + ["fox"] * 40)
    for yes in (1, 1.0, True, "yes", "1"):
        assert model.predict(pd.DataFrame({"flies": [yes]})) == "bat"
    for no in (0, 0.0, False, "no", "0"):
        assert model.predict(pd.DataFrame({"flies": [no]})) == "fox"


def test_columns_of_zero_and_one_are_as_good_as_yes_and_no() -> None:
    """Before, the two answers lent rows to each other, which blurred the rates."""
    generator = np.random.default_rng(0)
    rates, y = generator.choice([0.02, 0.5, 0.98], (5, 30)), generator.integers(0, 5, 400)
    X = generator.random((400, 30)) < rates[y]
    numbers = InformationPursuitClassifier().fit(X[:250].astype(float), y[:250])
    booleans = InformationPursuitClassifier().fit(X[:250], y[:250])
    rates_of = [each.pursuit_.classifier.table.log_likelihood for each in (numbers, booleans)]
    assert torch.equal(*rates_of)
    assert np.array_equal(
        numbers.predict_proba(X[250:].astype(float)), booleans.predict_proba(X[250:])
    )


# -- questions for the value of a column ----------------------------------------------------


def test_a_question_shows_the_value_of_its_column(tmp_path: Path) -> None:
    X, y = mixed_table(600, 0)
    model = InformationPursuitClassifier().fit(X, y)
    assert model.queries_ == ("colour?", "lives in water?", "feathers?", "weight?")
    unseen, labels = mixed_table(300, 1)
    assert model.score(unseen, labels) > 0.95
    everything = StoppingRule(None, stability=None)
    model.save(tmp_path / "model")
    for each in (model, infopursuit.load(tmp_path / "model")):
        explained = each.explain(unseen, everything)
        for explanation, row in zip(explained, unseen.to_dict("records"), strict=True):
            assert sorted(explanation.questions) == sorted(model.queries_)
            for step in explanation.steps:
                value = row[step.query.removesuffix("?")]
                assert shows(step.said, value), (step.query, step.said, value)
        assert explained == model.explain(unseen, everything)
        assert np.array_equal(each.conformity(unseen), model.conformity(unseen))
        again = Explanation.from_dict(json.loads(json.dumps(explained[0].to_dict())))
        assert str(again) == str(explained[0])


def test_gaps_booleans_and_categories() -> None:
    X, y = mixed_table(600, 0)
    model = InformationPursuitClassifier().fit(X, y)
    unseen, _ = mixed_table(300, 1)
    # An empty row says nothing, whatever is asked.
    empty = torch.from_numpy(model.answer(unseen[:1].assign(**dict.fromkeys(unseen, None))))
    table = model.pursuit_.classifier.table.double()
    said = table.evidence(empty, torch.ones_like(empty))[0] - table.log_prior
    assert torch.allclose(said, said[:1], atol=1e-5)
    for other in (
        pl.from_pandas(unseen.astype({"lives in water": "boolean"})),
        unseen.astype({"colour": "category", "lives in water": "boolean", "weight": "Float64"}),
    ):
        assert np.array_equal(model.predict_proba(other), model.predict_proba(unseen))
    with pytest.warns(UserWarning, match=r"'colour': 1 values such as 'violet'"):
        violet = model.answer(unseen[:1].assign(colour="violet"))
    assert violet[0, model.queries_.index("colour?")] == 0.5


def shows(word: str, value: object) -> bool:
    """Whether an answer in words is true of a value."""
    if value is None or value != value:
        return word == "not sure"
    if isinstance(value, bool):
        return word == ("yes" if value else "no")
    if isinstance(value, str):
        return word == value
    low, high = -np.inf, np.inf
    if word.startswith("at most "):
        high = float(word.removeprefix("at most "))
    elif word.startswith("more than "):
        low = float(word.removeprefix("more than "))
    else:
        low, high = map(float, word.split(" to "))
    return low - 1e-3 <= value <= high + 1e-3  # the words are rounded


def test_rates_of_values() -> None:
    X, y = mixed_table(400, 2)
    model = InformationPursuitClassifier(validation_fraction=0.0, rates="counted").fit(X, y)
    pursuit = model.pursuit_
    found = pursuit.classifier.table.log_likelihood.double().exp().numpy()
    assert np.allclose(found.sum(axis=0), 1, atol=1e-5)
    answers, v = model.answer(X), len(found)
    levels = np.rint(answers * (v - 1)).astype(int)
    for query, words in enumerate(pursuit.words):
        gaps = max((levels[:, query] == v // 2).mean(), 0.01)
        assert np.allclose(found[v // 2, query], gaps, atol=1e-6)  # alike: it tells nothing
        cells = [level for level, word in enumerate(words) if word and level != v // 2]
        for number, name in enumerate(model.classes_):
            of_class = [list(levels[y == name, query]).count(level) for level in cells]
            of_all = [list(levels[:, query]).count(level) for level in cells]
            lent = of_class
            if query == 3:  # numbers: each cell lends to its neighbours
                lent = [0.0] * len(cells)
                for place, count in enumerate(of_class):
                    shares = [np.exp(-(((to - place) / 0.7) ** 2) / 2) for to in range(len(cells))]
                    for to, share in enumerate(shares):
                        lent[to] += count * share / sum(shares)
            pooled = [(count + 1) / (sum(of_all) + len(cells)) for count in of_all]
            expected = [
                (count + 2 * share) / (sum(lent) + 2)
                for count, share in zip(lent, pooled, strict=True)
            ]
            expected = np.maximum(expected, 0.02 / len(cells))
            expected *= (1 - gaps) / expected.sum()
            assert np.allclose(found[cells, query, number], expected, atol=1e-6)


def test_a_person_answers_with_a_value() -> None:
    X, y = mixed_table(600, 0)
    model = InformationPursuitClassifier().fit(X, y)
    (frog,) = model.explain(X[:1], overrides={"colour": "green", "weight?": 1.1})
    given = {step.query: step.said for step in frog.steps if step.overridden}
    assert frog.predicted_class == "frog"
    assert given["colour?"] == "green"
    dialogue = model.dialogue()
    dialogue.answer(9.0, "weight")
    dialogue.answer(" White", "colour")
    dialogue.answer("not sure", "feathers?")
    assert max(dialogue.posterior, key=dialogue.posterior.__getitem__) == "swan"
    assert "at most" in model.pursuit_.words[3][0]
    with pytest.warns(UserWarning, match=r"'colour\?': 'violet' was not there in fit, unlike 'gre"):
        dialogue.answer("violet", "colour")
    for weight in (np.int64(9), np.float32(9), torch.tensor(9)):
        assert model.pursuit_.answer_value(3, weight) == model.pursuit_.answer_value(3, 9.0)
    feathers = model.pursuit_.number("feathers")
    for answer in (True, np.True_, 1, np.int64(1), "YES"):
        assert model.pursuit_.answer_value(feathers, answer) == 1.0
    with pytest.raises(InputError, match=r"the answer '' to 'colour\?'"):
        dialogue.answer("", "colour")
    evidence = model.questions_for("swan")
    assert "colour? white" in dict(evidence["for"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"ban": ["petal"]}, ("sepal length?", "sepal width?")),
        ({"queries": ["petal width", "sepal width?"]}, ("petal width?", "sepal width?")),
        ({"n_queries": 2}, ("petal length?", "petal width?")),
        ({"n_queries": 2, "keep": ["sepal width"]}, ("sepal width?", "petal width?")),
    ],
)
def test_columns_are_chosen(iris: tuple, settings: dict, expected: tuple) -> None:
    X, y = iris
    assert InformationPursuitClassifier(**settings).fit(X, y).queries_ == expected
    first = InformationPursuitClassifier(first_query="sepal width?", **settings)
    if "sepal width?" in expected:
        assert {each.questions[0] for each in first.fit(X, y).explain(X)} == {"sepal width?"}


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"queries": ["petal length > 2"]}, "columns"),
        ({"keep": ["sepal width"], "ban": ["sepal"]}, "banned"),
        ({"queries": ["petal width"], "keep": ["sepal width"]}, "kept"),
        ({"queries": ["petal width"] * 2}, "twice"),
    ],
)
def test_other_columns_are_refused(iris: tuple, settings: dict, word: str) -> None:
    with pytest.raises(InputError, match=word):
        InformationPursuitClassifier(**settings).fit(*iris)


@pytest.mark.parametrize(("load", "goal"), [(load_breast_cancer, 0.94), (load_wine, 0.95)])
def test_tables_of_numbers_in_ten_folds(load: Callable, goal: float) -> None:
    X, y = load(return_X_y=True, as_frame=True)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    proba = cross_val_predict(
        InformationPursuitClassifier(), X, y, cv=folds, method="predict_proba"
    )
    right = (proba.argmax(axis=1) == y).mean()
    assert right >= goal
    assert abs(proba.max(axis=1).mean() - right) <= 0.03


@pytest.mark.skipif(not CELLS.exists(), reason="the tables of ../shared are not there")
def test_two_and_five_questions_about_blood_cells() -> None:
    parts = {p: pd.read_parquet(CELLS / f"wbcatt_{p}.parquet") for p in ("train", "val", "test")}
    X = {part: table.drop(columns=["img_name", "label"]) for part, table in parts.items()}
    y = {part: table["label"].to_numpy() for part, table in parts.items()}
    model = InformationPursuitClassifier()
    model.fit(X["train"], y["train"], validation=(X["val"], y["val"]))
    course = model.accuracy_by_budget(X["test"], y["test"], 5)
    assert course[2] >= 0.97
    assert course[5] >= 0.985


# -- the same table by another way ----------------------------------------------------------

KINDS = {
    "texts": ["red", "blue", "two words", None],
    "texts of numbers": ["1", "2", "3+", None],
    "texts of whole numbers": ["1", "2", "3", None],
    "texts with zeros": ["01", "02", "3", None],
    "categories": pd.Categorical(["low", "high", "low", None]),
    "categories of numbers": pd.Categorical([1, 2, 3, None]),
    "booleans": pd.array([True, False, True, None], dtype="boolean"),
    "booleans without a gap": [True, False, True, False],
    "texts of yes and no": ["yes", "No", "yes", None],
    "whole numbers": [1, 2, 3, 4],
    "whole numbers with a gap": pd.array([1, 2, 3, None], dtype="Int64"),
    "floats": [0.5, 1.5, 3e-5, None],
    "float32": np.array([0.5, 1.5, 2.5, np.nan], np.float32),
}
# What reads a CSV file: types as pandas and polars guess them, or all cells as texts.
READERS = {
    "pandas": pd.read_csv,
    "polars": pl.read_csv,
    "texts": partial(pd.read_csv, dtype=str, keep_default_na=False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [slice(None), slice(0, 1), slice(3, 4)])
def test_a_column_is_the_same_after_a_csv_file(
    kind: str, rows: slice, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """Whatever its type is then: of one row, of a gap alone, with a gap or without."""
    some = pd.DataFrame({"c": KINDS[kind], "n": [0.0, 1.0, 2.0, 3.0]})
    X = pd.concat([some] * 20, ignore_index=True)
    y = np.tile(["a", "b", "c", "d"], 20)
    model = InformationPursuitClassifier(validation_fraction=0.0).fit(X, y)
    model.save(tmp_path / "model")
    X[rows].to_csv(tmp_path / "table.csv", index=False)
    recwarn.clear()
    for read in READERS.values():
        again = read(tmp_path / "table.csv")
        for each in (model, load_fitted(tmp_path / "model")):
            assert np.array_equal(each.answer(again), model.answer(X[rows])), again
    assert not list(recwarn)


@pytest.mark.filterwarnings("ignore:column 'code'. 20 of 60 cells are no numbers")
def test_a_category_is_found_as_it_is_written_first() -> None:
    """Two categories of one number stay two; a number tells them apart from neither."""
    X = pd.DataFrame({"code": ["1", "01", "x"] * 20})
    model = InformationPursuitClassifier(validation_fraction=0.0).fit(X, ["a", "b", "c"] * 20)
    assert model.predict(X[:3]).tolist() == ["a", "b", "c"]
    with pytest.warns(UserWarning, match=r"1 values such as '1.0' were not there in fit"):
        assert model.answer(pd.DataFrame({"code": [1.0]})).item() == 0.5


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda X: X[X.columns[::-1]], "same order|comes first"),
        (lambda X: X.rename(columns={"weight": "mass"}), "mass"),
        (lambda X: X.drop(columns="colour"), "missing.*colour"),
        (lambda X: X.assign(added="text"), "added"),
    ],
)
def test_the_columns_are_named_before_any_cell(
    numbers: bool, change: Callable, reason: str, tmp_path: Path
) -> None:
    X, y = mixed_table(200, 0)
    if numbers:
        X = X[["weight"]].assign(colour=X["weight"])
    model = InformationPursuitClassifier().fit(X, y)
    model.save(tmp_path / "model")
    for each in (model, load_fitted(tmp_path / "model")):
        for table in (change(X), pl.from_pandas(change(X))):
            with pytest.raises(ValueError, match=f"(?is)feature names should match.*({reason})"):
                each.predict(table)


def test_a_table_of_pyarrow_is_a_table() -> None:
    X, y = mixed_table(300, 0)
    X = X.astype({"colour": "category", "lives in water": "boolean"})
    model = InformationPursuitClassifier().fit(X, y)
    table = pa.Table.from_pandas(X, preserve_index=False)
    again = InformationPursuitClassifier().fit(table, y)
    assert again.queries_ == model.queries_
    for each in (model, again):
        assert np.array_equal(each.answer(table), model.answer(X))


def test_rows_are_called_by_their_index() -> None:
    X, y = mixed_table(60, 0)
    model = InformationPursuitClassifier().fit(X, y)
    named = X[20:22].set_index(pd.Index(["ann", "bob"]))
    levels = X[20:22].set_index(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    for table, names in (
        (X[20:22], ["row 20", "row 21"]),
        (named, ["ann", "bob"]),
        (X[20:22].rename_axis("bird"), ["bird 20", "bird 21"]),
        (levels, ["a, 1", "b, 2"]),
        (pl.from_pandas(X[20:22]), ["row 0", "row 1"]),
    ):
        assert [each.image for each in model.explain(table)] == names
        assert model.dialogue(table[:1]).name == names[0]
    assert model.dialogue().name == "row"


def test_a_table_has_no_images() -> None:
    """Where a person reads of a row of a table, it is a row."""
    X, y = mixed_table(300, 0)
    model = InformationPursuitClassifier().fit(X, y)
    (explained,) = model.explain(X[:1], StoppingRule(None, None), {"weight": 9.0})
    assert explained.noun == "row"
    assert Explanation.from_dict(json.loads(json.dumps(explained.to_dict()))) == explained
    explained = replace(explained, conformity=0.001)
    pages = explained._repr_html_(), model._repr_mimebundle_()["text/html"]
    for text in (str(explained), explained.to_text(everything=True), *pages):
        assert "row" in text or "question" in text
        assert "image" not in text


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_table_without_a_question_is_warned_of(value: float) -> None:
    X, y = np.full((20, 3), value), np.array(["ill", "well"] * 10)
    with pytest.warns(UserWarning, match="no column of X differs between rows"):
        model = InformationPursuitClassifier().fit(X, y)
    assert model.queries_ == ()


@pytest.mark.parametrize("weights", [None, "balanced", {"ill": 5, "well": 1}])
def test_before_any_question_a_class_has_its_share(weights: dict | str | None) -> None:
    generator = np.random.default_rng(0)
    y = np.where(np.arange(2000) % 25, "well", "ill")
    X = generator.normal(size=(2000, 3)) + 1.5 * (y == "ill")[:, None]
    model = InformationPursuitClassifier(rates="counted").fit(X, y, sample_weight=weights)
    assert model.pursuit_.classifier.table.evidence_weight != 1, "calibrated"
    ill = {"balanced": 0.5}.get(str(weights), 5 / 29 if weights else 0.04)
    explained, nothing = model.explain(X[:1])[0], StoppingRule(None, 0)
    for found in (
        model.roll_out(X[:1], 1).posteriors[0, 0].tolist(),
        model.predict_proba(X[:1], nothing)[0],
        list(model.dialogue().posterior.values()),
        explained.prior,
    ):
        assert found == pytest.approx([ill, 1 - ill], abs=1e-3)


@pytest.mark.parametrize("names", [[1, 0], [2023, 2024], [("a", 1), ("a", 2)]])
def test_columns_with_names_that_are_no_texts_go_by_them(names: list) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["ash", "oak"], 80)
    X = pd.DataFrame({0: (y == "ash") + rng.normal(size=80) / 3, 1: np.where(y == "ash", "x", "z")})
    X = X.set_axis(pd.Index(names), axis=1)
    model = InformationPursuitClassifier().fit(X, y)
    assert model.feature_names_in_.tolist() == [str(name) for name in X.columns]
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[X.columns[::-1]])


@pytest.mark.parametrize("others", ["float64", "no gradients", "numpy's errors"])
def test_what_other_code_of_the_process_set_changes_nothing(world: World, others: str) -> None:
    def results() -> list[np.ndarray]:
        model = world.fitted(n_queries=6)
        networks = VariationalInformationPursuit(
            world.texts, world.embeddings, 6, random_updates=3, biased_updates=3
        ).fit(world.X, world.y)
        return [each.predict_proba(world.unseen) for each in (model, networks)]

    usual = results()
    settings = {
        "float64": ExitStack(),
        "no gradients": torch.inference_mode(),
        "numpy's errors": np.errstate(all="raise"),
    }
    try:
        if others == "float64":
            torch.set_default_dtype(torch.float64)
        with settings[others]:
            assert all(map(np.array_equal, results(), usual))
        assert torch.get_default_dtype() == (
            torch.float64 if others == "float64" else torch.float32
        )
    finally:
        torch.set_default_dtype(torch.float32)
