"""Rows, texts and labels of every kind that people have them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from tests.estimators.conftest import World, unit


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
    fresh = InformationPursuitClassifier(world.texts, convert(world.embeddings, tmp_path), 6)
    fresh.fit(convert(world.X, tmp_path), world.y)
    exact = kind not in ("float16", "mapped from disk", "torch bfloat16") and "16" not in kind
    if exact:
        assert fresh.queries_ == model.queries_
    rows = convert(world.unseen, tmp_path)
    posterior = fresh.predict_proba(rows)
    assert fresh.score(rows, world.unseen_y) > 0.9
    if exact:
        assert posterior == pytest.approx(model.predict_proba(world.unseen), abs=1e-5)


@pytest.mark.parametrize(
    "convert",
    [list, pd.Series, pl.Series, pd.Categorical, lambda y: pd.Series(y, dtype="string")],
    ids=["list", "pandas", "polars", "categorical", "pandas strings"],
)
def test_labels_of_any_kind(world: World, model, convert: Callable) -> None:
    fresh = InformationPursuitClassifier(world.texts, world.embeddings, 6)
    fresh.fit(world.X, convert(world.y))
    assert list(fresh.classes_) == list(model.classes_)
    assert np.array_equal(fresh.predict_proba(world.unseen), model.predict_proba(world.unseen))


def test_labels_and_texts_from_torch_and_polars(world: World) -> None:
    labels = torch.from_numpy((world.y == "zebra").astype(int))
    model = world.unfitted(texts=pl.Series(world.texts)).fit(world.X, labels)
    assert list(model.classes_) == [0, 1]


def test_columns_of_a_frame_must_be_the_same(world: World) -> None:
    names = [f"d{number}" for number in range(world.X.shape[1])]
    frame = pd.DataFrame(world.X, columns=names)
    model = InformationPursuitClassifier(world.texts, world.embeddings, 6).fit(frame, world.y)
    assert list(model.feature_names_in_) == names
    there = pd.DataFrame(world.unseen, columns=names)
    assert np.array_equal(model.predict(there), model.predict(world.unseen))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(there[names[::-1]])


def test_a_row_alone_is_one_image(world: World, model) -> None:
    assert len(model.explain(world.unseen[0])) == 1
    assert model.predict(torch.from_numpy(world.unseen[0])).shape == (1,)


def test_rows_that_are_not_of_unit_norm_are_scaled_and_told(world: World, model) -> None:
    with pytest.warns(UserWarning, match="scaled to unit norm"):
        scaled = model.predict_proba(7 * world.unseen)
    assert scaled == pytest.approx(model.predict_proba(world.unseen), abs=1e-6)


def bad(rows: np.ndarray, row: int, value: float) -> np.ndarray:
    rows = rows.copy()
    rows[row] = value
    return rows


def test_rows_without_a_direction_are_refused(world: World, model) -> None:
    for value in (np.nan, np.inf, 0.0):
        with pytest.raises(InputError, match="X: row 3 is NaN, infinite or all zeros"):
            model.explain(bad(world.unseen, 3, value))
        with pytest.raises(InputError, match="X: row 5 is NaN"):
            InformationPursuitClassifier(world.texts, world.embeddings).fit(
                bad(world.X, 5, value), world.y
            )
        with pytest.raises(InputError, match="text_embeddings: row 2 is NaN"):
            InformationPursuitClassifier(world.texts, bad(world.embeddings, 2, value)).fit(
                world.X, world.y
            )


def test_widths_and_counts_must_fit(world: World, model) -> None:
    with pytest.raises(InputError, match=r"X has 47 columns; .* width 48"):
        model.predict(unit(world.unseen[:, 1:]))
    with pytest.raises(InputError, match="X has 48 columns and text_embeddings 40"):
        world.fitted(text_embeddings=unit(world.embeddings[:, :40]))
    with pytest.raises(InputError, match="1 names for 3 images"):
        model.explain(world.unseen[:3], names=["one"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        InformationPursuitClassifier(world.texts, world.embeddings).fit(world.X, world.y[:-1])
    with pytest.raises(InputError, match="19 rows for 20 texts"):
        InformationPursuitClassifier(world.texts, world.embeddings[1:]).fit(world.X, world.y)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("four legs", "texts is 'four legs'; expected a list"),
        (3, "texts is 3; expected a list"),
        ([], "texts is empty"),
        (["a", "b", "a"], "row 2 repeats 'a' of row 0"),
        (["a", None, "b"], "row 1 is None"),
        (["a", " ", "b"], "row 1 is ' '"),
    ],
)
def test_texts_are_checked(world: World, texts: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        world.fitted(texts=texts, text_embeddings=world.embeddings[:3])


def test_texts_and_embeddings_come_together(world: World) -> None:
    with pytest.raises(InputError, match="text_embeddings is missing"):
        InformationPursuitClassifier(world.texts).fit(world.X, world.y)
    with pytest.raises(InputError, match="text_embeddings come without texts"):
        InformationPursuitClassifier(text_embeddings=world.embeddings).fit(world.X, world.y)


def test_pictures_need_a_clip_and_a_list(model) -> None:
    with pytest.raises(InputError, match="is a string; expected a list of pictures"):
        model.explain("photo.png")
    for pictures in (["photo.png"], [Path("photo.png")], b"GIF", np.zeros((2, 8, 8, 3), np.uint8)):
        with pytest.raises(InputError, match="does not know where its CLIP is"):
            model.explain(pictures)


def test_numbers_are_wanted(model) -> None:
    for rows in ([["a", "b"]], np.array([1 + 2j]), torch.zeros(2, 48, dtype=torch.long)):
        with pytest.raises(InputError, match="expected"):
            model.predict(rows)
