"""Fitted rates in a classifier: on texts, on columns, on shards, and in a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

import infopursuit
from infopursuit import InformationPursuitClassifier, InputError
from infopursuit.naive_bayes.model import NaiveBayes
from tests.estimators.conftest import World
from tests.estimators.test_sharded_fit import NAMES, READ, model, write


def rates(of: InformationPursuitClassifier) -> torch.Tensor:
    return cast(NaiveBayes, of.pursuit_.classifier).table.log_likelihood.exp()


def test_rates_alone_are_different(world: World) -> None:
    counted, fitted = (world.fitted(rates=each) for each in ("counted", "fitted"))
    assert fitted.queries_ == counted.queries_
    np.testing.assert_array_equal(fitted.answer(world.unseen), counted.answer(world.unseen))
    assert 0.001 < (rates(fitted) - rates(counted)).abs().max() < 0.5
    assert fitted.score(world.unseen, world.unseen_y) > 0.8


def test_questions_about_columns_have_fitted_rates_too(world: World) -> None:
    settings = {"texts": None, "text_embeddings": None}
    counted, fitted = (world.fitted(rates=each, **settings) for each in ("counted", "fitted"))
    assert fitted.queries_ == counted.queries_
    assert not torch.equal(rates(fitted), rates(counted))


def test_a_fit_on_shards_is_the_fit_on_the_array(tmp_path: Path) -> None:
    expected = model(rates="fitted").fit(READ, NAMES)
    found = model(rates="fitted").fit_shards(write(tmp_path / "images.parquet", 100))
    torch.testing.assert_close(rates(found), rates(expected), atol=1e-3, rtol=0)
    np.testing.assert_array_equal(found.predict(READ), expected.predict(READ))


def test_a_saved_model_keeps_them(world: World, tmp_path: Path) -> None:
    fitted = world.fitted(rates="fitted")
    fitted.save(tmp_path / "model")
    loaded = infopursuit.load(tmp_path / "model")
    assert isinstance(loaded, InformationPursuitClassifier)
    assert loaded.rates == "fitted"
    assert torch.equal(rates(loaded), rates(fitted))


def test_other_rates_are_refused(world: World) -> None:
    with pytest.raises(InputError, match="rates is 'exact'; expected 'counted' or 'fitted'"):
        world.fitted(rates="exact")
