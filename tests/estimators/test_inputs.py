"""Rows, texts and labels of every kind that people have, and every setting that is refused."""

from __future__ import annotations

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
from tests.estimators.conftest import World
from tests.planted import unit
from tests.shapes import UNTYPED


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


def test_rows_that_are_not_of_unit_norm_are_scaled_with_a_warning(world: World, model) -> None:
    with pytest.warns(UserWarning, match="scaled to unit norm"):
        scaled = model.predict_proba(7 * world.unseen)
    assert scaled == pytest.approx(model.predict_proba(world.unseen), abs=1e-6)


def bad(rows: np.ndarray, row: int, value: float) -> np.ndarray:
    rows = rows.copy()
    rows[row] = value
    return rows


THREE = np.eye(3, 48, dtype=np.float32)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"texts": "four legs"}, "list"),
        ({"texts": ["a", "b", "a"], "text_embeddings": THREE}, "repeats"),
        ({"text_embeddings": THREE}, "3 rows"),
        ({"text_embeddings": np.eye(20, 40)}, "40"),
        ({"text_embeddings": None}, "missing"),
        ({"text_embeddings": [[1.0, 0.0], [1.0]]}, "lengths"),
        ({"texts": None}, "without texts"),
        ({"n_queries": 0}, "n_queries"),
        pytest.param({"n_queries": 2.5}, "n_queries", marks=UNTYPED),
        ({"validation_fraction": 1}, "validation_fraction"),
        ({"stop": 0.9}, "StoppingRule"),
        ({"rates": "grouped"}, "rates"),
        ({"queries": "four legs"}, "list"),
        ({"queries": []}, "list"),
        ({"queries": ["webbed foot"]}, "'webbed feet'"),
        ({"ban": "legs"}, "ban"),
        ({"ban": ["legs"], "queries": ["four legs"]}, "banned"),
        ({"ban": ["legs"], "first_query": "four legs"}, "first_query"),
        ({"first_query": "nothing"}, "nothing"),
        ({"first_query": "nothing 3", "queries": ["four legs"]}, "nothing 3"),
        ({"keep": "nothing 3"}, "keep"),
        ({"keep": ["four legs"], "ban": ["legs"]}, "keep"),
        ({"keep": ["nothing 1", "nothing 3"], "n_queries": 1}, "k = 1"),
    ],
)
def test_bad_settings_are_refused_in_fit(world: World, settings: dict, word: str) -> None:
    with pytest.raises(InputError, match=word):
        world.fitted(**settings)


PIECES = np.array([*np.eye(2, 48), None], dtype=object)[:2]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda m, x: m.explain(bad(x, 0, np.nan)), "row 0"),
        (lambda m, x: m.explain(bad(x, 0, 0.0)), "row 0"),
        (lambda m, x: m.predict(unit(x[:, 1:])), "47"),
        (lambda m, x: m.predict([["a", "b"]]), "expected"),
        (lambda m, x: m.predict(np.array([1 + 2j])), "expected"),
        (lambda m, x: m.predict(torch.zeros(2, 48, dtype=torch.long)), "expected"),
        (lambda m, x: m.predict(csr_matrix(x)), "sparse"),
        (lambda m, x: m.predict(PIECES), "objects"),
        (lambda m, x: m.explain(x, names=["one", "two"]), "2 names"),
        (lambda m, x: m.explain("photo.png"), "list"),
        (lambda m, x: m.explain(["photo.png"]), "CLIP"),
        (lambda m, x: m.explain(np.zeros((2, 8, 8, 3), np.uint8)), "CLIP"),
        (lambda m, x: m.predict(x, StoppingRule(1.5)), "1.5"),
        (lambda m, x: m.roll_out(x, budget=7), "budget"),
        (lambda m, x: m.without("four leg"), "'four legs'"),
        (lambda m, x: m.without(*m.queries_), "left"),
        (lambda m, x: m.explain(x, overrides={"four legs": "perhaps"}), "perhaps"),
        pytest.param(lambda m, x: m.explain(x, overrides={3: "yes"}), "3", marks=UNTYPED),
        pytest.param(lambda m, x: m.explain(x, overrides=["yes"]), "dict", marks=UNTYPED),
        (
            lambda m, x: m.explain(x, overrides={"four legs": 1.0, "Does it have four legs?": 0.0}),
            "twice",
        ),
        (lambda m, x: m.dialogue(np.eye(48)[:2]), "one image"),
        (lambda m, x: m.dialogue().step(), "image"),
        (lambda m, x: m.questions_for("okapi"), "okapi"),
        (lambda m, x: InformationPursuitClassifier().select_queries(x, [0]), "texts"),
    ],
)
def test_bad_arguments_are_refused(world: World, model, call: Callable, word: str) -> None:
    with pytest.raises(InputError, match=word):
        call(model, world.unseen[:1])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda y: [*y[:3], np.nan, *y[4:]], "row 3"),
        (lambda y: [*y[:3], None, *y[4:]], "row 3"),
        (lambda y: [*y[:3], 7, *y[4:]], "types"),
        (lambda y: np.where(np.arange(600) % 2 == 0, "caf\xe9", "cafe\u0301"), "one name"),
        (lambda y: ["horse"] * 600, "one class"),
        (lambda y: y[:-1], "inconsistent"),
    ],
)
def test_labels_that_are_none_are_refused(world: World, change: Callable, word: str) -> None:
    labels = np.array(change(world.y.astype(object).tolist()), dtype=object)
    with pytest.raises(ValueError, match=word):
        world.unfitted().fit(world.X, labels)


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
        with pytest.raises(InputError, match="sample_weight"):
            world.unfitted().fit(world.X, world.y, sample_weight=np.full(len(world.y), weight))
