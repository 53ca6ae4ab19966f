"""Rows, texts and labels of every kind that people have, and every setting that is refused."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.sparse import csr_matrix

from infopursuit.core.errors import InputError
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions.labels import encoded_labels
from tests.estimators.conftest import World
from tests.planted import unit

# Where signatures are checked, a wrong type does not reach the code.
UNTYPED = pytest.mark.skipif(
    os.environ.get("JAXTYPING_DISABLE") != "1", reason="types of signatures are checked"
)


def mapped(rows: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "rows.npy", rows.astype(np.float16))
    return np.load(folder / "rows.npy", mmap_mode="r")


KINDS: dict[str, Callable] = {
    "float16": lambda rows, _: rows.astype(np.float16),
    "float64": lambda rows, _: rows.astype(np.float64),
    "fortran order": lambda rows, _: np.asfortranarray(rows),
    "reversed view": lambda rows, _: rows[::-1][::-1],
    "mapped from disk": mapped,
    "torch": lambda rows, _: torch.from_numpy(rows),
    "torch bfloat16": lambda rows, _: torch.from_numpy(rows).bfloat16(),
    "torch float16 with gradients": lambda rows, _: torch.from_numpy(rows).half().requires_grad_(),
    "lists": lambda rows, _: rows.tolist(),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "polars": lambda rows, _: pl.DataFrame(rows),
}


@pytest.mark.parametrize("kind", KINDS)
def test_embeddings_of_any_kind(world: World, model, tmp_path: Path, kind: str) -> None:
    convert = KINDS[kind]
    fresh = world.unfitted(text_embeddings=convert(world.embeddings, tmp_path))
    fresh.fit(convert(world.X, tmp_path), world.y)
    rows = convert(world.unseen, tmp_path)
    posterior = fresh.predict_proba(rows)
    assert fresh.score(rows, world.unseen_y) > 0.9
    if "16" not in kind and kind != "mapped from disk":
        assert fresh.queries_ == model.queries_
        assert posterior == pytest.approx(model.predict_proba(world.unseen), abs=1e-5)


@pytest.mark.parametrize(
    "convert",
    [list, pd.Series, pl.Series, pd.Categorical, lambda y: pd.Series(y, dtype="string")],
    ids=["list", "pandas", "polars", "categorical", "pandas strings"],
)
def test_labels_of_any_kind(world: World, model, convert: Callable) -> None:
    fresh = world.unfitted().fit(world.X, convert(world.y))
    assert list(fresh.classes_) == list(model.classes_)
    assert np.array_equal(fresh.predict_proba(world.unseen), model.predict_proba(world.unseen))


def test_labels_and_texts_from_torch_and_polars(world: World) -> None:
    labels = torch.from_numpy((world.y == "zebra").astype(int))
    model = world.unfitted(texts=pl.Series(world.texts)).fit(world.X, labels)
    assert list(model.classes_) == [0, 1]


def test_columns_of_a_frame_must_be_the_same(world: World) -> None:
    names = [f"d{number}" for number in range(world.X.shape[1])]
    model = world.unfitted().fit(pd.DataFrame(world.X, columns=names), world.y)
    assert list(model.feature_names_in_) == names
    frame = pd.DataFrame(world.unseen, columns=names)
    assert np.array_equal(model.predict(frame), model.predict(world.unseen))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])


def test_rows_that_are_not_of_unit_norm_are_scaled_with_a_warning(world: World, model) -> None:
    with pytest.warns(UserWarning, match="scaled to unit norm"):
        scaled = model.predict_proba(7 * world.unseen)
    assert scaled == pytest.approx(model.predict_proba(world.unseen), abs=1e-6)


def test_one_image_of_each_class_gives_no_warning() -> None:
    names = [f"bird {number:02}" for number in range(30)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classes, numbers = encoded_labels(names[::-1])
    assert (classes.tolist(), numbers.tolist()) == (names, list(range(30))[::-1])


def bad(rows: np.ndarray, row: int, value: float) -> np.ndarray:
    rows = rows.copy()
    rows[row] = value
    return rows


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_rows_without_a_direction_are_refused(world: World, model, value: float) -> None:
    with pytest.raises(InputError, match="X: row 3 is NaN, infinite or all zeros"):
        model.explain(bad(world.unseen, 3, value))
    with pytest.raises(InputError, match="X: row 5 is NaN"):
        world.unfitted().fit(bad(world.X, 5, value), world.y)
    with pytest.raises(InputError, match="text_embeddings: row 2 is NaN"):
        world.fitted(text_embeddings=bad(world.embeddings, 2, value))


def test_rows_that_do_not_fit_a_model_are_refused(world: World, model) -> None:
    with pytest.raises(InputError, match=r"X has 47 columns; .* width 48"):
        model.predict(unit(world.unseen[:, 1:]))
    with pytest.raises(InputError, match="1 names for 3 images"):
        model.explain(world.unseen[:3], names=["one"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        world.unfitted().fit(world.X, world.y[:-1])
    for rows in ([["a", "b"]], np.array([1 + 2j]), torch.zeros(2, 48, dtype=torch.long)):
        with pytest.raises(InputError, match="expected"):
            model.predict(rows)
    rows_of_objects = np.array([*world.unseen[:2], None], dtype=object)[:2]
    for rows, message in (
        (csr_matrix(world.unseen[:2]), r"X: found a sparse matrix; .*toarray"),
        (rows_of_objects, r"X: found an array of objects; .*np\.stack"),
    ):
        with pytest.raises(InputError, match=message):
            world.unfitted().fit(rows, world.y[:2])
    with pytest.raises(InputError, match="rows of several lengths"):
        world.fitted(text_embeddings=[[1.0, 0.0], [1.0]])
    with pytest.raises(InputError, match="is a string; expected a list of pictures"):
        model.explain("photo.png")
    for pictures in (["photo.png"], [Path("photo.png")], b"GIF", np.zeros((2, 8, 8, 3), np.uint8)):
        with pytest.raises(InputError, match="does not know where its CLIP is"):
            model.explain(pictures)


THREE = np.eye(3, 48, dtype=np.float32)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"texts": "four legs"}, "texts is 'four legs'; expected a list"),
        ({"texts": 3}, "texts is 3; expected a list"),
        ({"texts": []}, "texts is empty"),
        ({"texts": ["a", "b", "a"], "text_embeddings": THREE}, "row 2 repeats 'a' of row 0"),
        ({"texts": ["a", None, "b"], "text_embeddings": THREE}, "row 1 is None"),
        ({"texts": ["a", " ", "b"], "text_embeddings": THREE}, "row 1 is ' '"),
        ({"text_embeddings": THREE}, "3 rows for 20 texts"),
        ({"text_embeddings": np.eye(20, 40)}, "X has 48 columns and text_embeddings 40"),
        ({"text_embeddings": None}, "text_embeddings is missing"),
        ({"texts": None}, "text_embeddings come without texts"),
        ({"n_queries": 0}, "n_queries is 0; expected a whole number from 1 on"),
        pytest.param(
            {"n_queries": 2.5}, "n_queries is 2.5; expected a whole number", marks=UNTYPED
        ),
        ({"rates": "maybe"}, "rates is 'maybe'"),
        ({"validation_fraction": 1}, "validation_fraction is 1"),
        ({"stop": 0.9}, "stop is 0.9; expected a StoppingRule"),
        ({"rates": "grouped"}, "rates is 'grouped'; expected 'auto', 'counted', "),
        ({"queries": "four legs"}, "expected a list of queries"),
        ({"queries": []}, "expected a list of queries"),
        ({"queries": ["webbed foot"]}, r"'webbed foot' is not .*'webbed feet'"),
        ({"queries": ["striped coat", "striped coat"]}, "'striped coat' is there twice"),
        ({"ban": "legs"}, "ban is the string 'legs'"),
        ({"ban": ["legs"], "queries": ["four legs"]}, "'four legs' is banned"),
        ({"ban": ["legs"], "first_query": "four legs"}, "first_query: 'four legs' is banned"),
        ({"first_query": "nothing"}, "'nothing' is not among the texts"),
        ({"first_query": "nothing 3", "queries": ["four legs"]}, "not one of the given queries"),
        ({"keep": "nothing 3"}, "keep is the string 'nothing 3'; expected a list"),
        ({"keep": ["nothing"]}, "'nothing' is not among the texts"),
        ({"keep": ["four legs"], "ban": ["legs"]}, "keep: 'four legs' is banned"),
        ({"keep": ["nothing 3"], "queries": ["four legs"]}, "not one of the given queries"),
        ({"keep": ["nothing 1", "nothing 3"], "n_queries": 1}, "are 2 questions; .* k = 1"),
    ],
)
def test_bad_settings_are_refused_in_fit(world: World, settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        world.fitted(**settings)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: m.predict(x, StoppingRule(1.5)), r"stop at probability 1\.5"),
        (lambda m, x: m.roll_out(x, budget=7), "a budget of 7 queries; expected 0 to 6"),
        (lambda m, x: m.without("four leg"), r"no question 'four leg'; expected .* 'four legs'"),
        (lambda m, x: m.without(*m.queries_), "no query would be left"),
        (lambda m, x: m.explain(x, overrides={"xyz": "yes"}), "expected one such as"),
        (lambda m, x: m.explain(x, overrides={"four legs": "perhaps"}), "the answer 'perhaps'"),
        pytest.param(
            lambda m, x: m.explain(x, overrides={3: "yes"}),
            "the question 3; expected a text",
            marks=UNTYPED,
        ),
        pytest.param(
            lambda m, x: m.explain(x, overrides=["yes"]),
            "expected answers by question, as a dict",
            marks=UNTYPED,
        ),
        (
            lambda m, x: m.explain(x, overrides={"four legs": 1.0, "Does it have four legs?": 0.0}),
            r"'Does it have four legs\?' is there twice",
        ),
        (lambda m, x: m.dialogue(np.eye(48)[:2]), "a dialogue is about one image; found 2"),
        (lambda m, x: m.dialogue().step(), "has no image"),
        (lambda m, x: m.questions_for("okapi"), "no class 'okapi'; expected one such as"),
        (lambda m, x: InformationPursuitClassifier().select_queries(x, [0]), "texts is missing"),
    ],
)
def test_bad_arguments_are_refused(world: World, model, call: Callable, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(model, world.unseen[:1])


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (np.nan, "y: row 3 is nan; expected the label of a class"),
        (None, "y: row 3 is None; expected the label of a class"),
        (7, "y has labels of the types int, str; expected one type"),
    ],
)
def test_a_label_that_is_none_is_refused(world: World, label: object, message: str) -> None:
    y = world.y.astype(object)
    y[3] = label
    with pytest.raises(InputError, match=message):
        world.unfitted().fit(world.X, y)
    forms = np.where(np.arange(600) % 2 == 0, "caf\xe9", "cafe\u0301")
    with pytest.raises(InputError, match=r"y: the labels 'cafe.u0301' and 'caf.xe9' are one name"):
        world.unfitted().fit(world.X, forms)
    with pytest.raises(InputError, match="y has one class, 'horse' in all 600 rows; expected two"):
        world.unfitted().fit(world.X, ["horse"] * 600)


def test_texts_across_all_rows_are_a_model_and_extreme_weights_are_refused(world: World) -> None:
    across = np.eye(2 * world.X.shape[1], dtype=np.float32)[-len(world.texts) :]
    wide = np.hstack([world.X, np.zeros_like(world.X)])
    model = world.unfitted(text_embeddings=across).fit(wide, world.y)
    assert np.isfinite(model.predict_proba(wide[:5])).all()
    equal = np.tile(world.embeddings[0], (len(world.texts), 1))
    with pytest.warns(UserWarning, match="texts have the embedding of another"):
        model = world.unfitted(text_embeddings=equal).fit(world.X, world.y)
    assert np.isfinite(model.predict_proba(world.X[:5])).all()
    for weight in (1e300, 1e-300):
        with pytest.raises(InputError, match="sample_weight is from"):
            world.unfitted().fit(world.X, world.y, sample_weight=np.full(len(world.y), weight))
