"""A source of one's own: answers from a dictionary, with nothing else changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import infopursuit
from infopursuit import InformationPursuitClassifier, VariationalInformationPursuit
from infopursuit.cli.command_line import main
from infopursuit.core.errors import InputError
from infopursuit.estimators.base import load_fitted
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.source import Questions, QuestionSource

FACTS = {
    "can it fly": {"bat": 1, "frog": 0, "swan": 1, "trout": 0, "wren": 1, "newt": 0},
    "does it swim": {"bat": 0, "frog": 1, "swan": 1, "trout": 1, "wren": 0, "newt": 1},
    "has it feathers": {"bat": 0, "frog": 0, "swan": 1, "trout": 0, "wren": 1, "newt": 0},
    "has it legs": {"bat": 1, "frog": 1, "swan": 1, "trout": 0, "wren": 1, "newt": 1},
}
ANIMALS = sorted(FACTS["can it fly"])
KIND = {"bat": "mammal", "frog": "amphibian", "swan": "bird", "trout": "fish", "wren": "bird",
        "newt": "amphibian"}  # fmt: skip


@dataclass(frozen=True)
class LookedUp(AnswerRule):
    """The first column of a row is the number of an animal, whose answers are known."""

    kind: ClassVar[str] = "looked up"
    noun: ClassVar[str] = "row"
    of_tables: ClassVar[bool] = True
    known: Tensor  # (k, animals)

    def scores(self, images: Tensor) -> Tensor:
        return self.known[:, images[:, 0].long()].T

    def of_scores(self, scores: Tensor) -> Tensor:
        return scores


class Dictionary(QuestionSource):
    """What a dictionary says of animals."""

    of_tables = True

    def choose(self, data: Any, constraints: QuestionConstraints, seed: int) -> Questions:
        asked = [each for each in FACTS if each not in constraints.ban][: constraints.n_queries]
        known = [[float(FACTS[each][animal]) for animal in ANIMALS] for each in asked]
        return Questions(asked, LookedUp(torch.tensor(known)))


def rows(count: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    numbers = np.random.default_rng(0).integers(len(ANIMALS), size=count)
    X = pd.DataFrame({"animal": numbers.astype(float), "weight": numbers[::-1].astype(float)})
    return X, np.array([KIND[ANIMALS[number]] for number in numbers])


def test_a_source_of_ones_own_fits_explains_saves_and_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = rows()
    model = InformationPursuitClassifier(Dictionary()).fit(X, y)
    assert model.queries_ == tuple(FACTS)
    assert model.score(X, y) == 1
    (explained,) = model.explain(X[:1])
    for step in explained.steps:
        assert step.answer == FACTS[step.query][ANIMALS[int(X["animal"].iloc[0])]]
    assert (
        InformationPursuitClassifier(Dictionary(), ban=["has it legs"]).fit(X, y).queries_
        == (tuple(FACTS)[:3])
    )
    model.save(tmp_path / "model")
    for again in (infopursuit.load(tmp_path / "model"), load_fitted(tmp_path / "model")):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.explain(X[:9]) == model.explain(X[:9])
    page = model.explore(X[:9], y[:9])._repr_html_()
    assert "has it feathers" in page
    X[:9].to_csv(tmp_path / "new.csv", index=False)
    command = ["--model", str(tmp_path / "model"), str(tmp_path / "new.csv")]
    assert main(["predict", *command, "--out", str(tmp_path / "classes.csv")]) == 0
    found = pd.read_csv(tmp_path / "classes.csv")
    assert set(y[:9]) <= set(found.to_numpy().ravel())
    capsys.readouterr()
    assert main(["explain", *command, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)


class InOrder(InformationGain):
    """Asks the questions as they come, whatever they tell."""

    kind: ClassVar[str] = "in order"

    def gains(self, evidence: Tensor, late: Tensor | None = None) -> Tensor:
        k = self.table.log_likelihood.shape[1]
        return torch.arange(k, 0, -1).double().repeat(len(evidence), 1)


class Nameless(InOrder):
    """One without a kind of its own."""


@dataclass
class Asked(Dictionary):
    """The same dictionary, with a querier of one's own."""

    querier: type[InformationGain]

    def choose(self, data: Any, constraints: QuestionConstraints, seed: int) -> Questions:
        return replace(super().choose(data, constraints, seed), querier=self.querier)


def test_a_querier_of_ones_own_asks_wherever_the_model_goes(tmp_path: Path) -> None:
    X, y = rows()
    model = InformationPursuitClassifier(Asked(InOrder)).fit(X, y)
    model.save(tmp_path / "model")
    loaded = infopursuit.load(tmp_path / "model")
    some = [load_fitted(tmp_path / "model"), model.given(classes=["bird", "fish"])]
    for each in (model, loaded, model.with_class_names(list("abcd")), *some):
        assert (each.roll_out(X).order == torch.arange(4)).all()
        assert each.explain(X[:1])[0].questions[0] == "can it fly"
    for each in (model, loaded):
        fewer = each.without("does it swim").given(classes=["bird", "mammal"])
        assert (fewer.roll_out(X).order == torch.arange(3)).all()
    with pytest.raises(InputError, match="its in order asks; expected `infopursuit serve`"):
        loaded.explore(X[:9])
    nameless = InformationPursuitClassifier(Asked(Nameless)).fit(X, y)
    with pytest.raises(InputError, match="the querier of this model is a Nameless, which `load`"):
        nameless.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(ValueError, match="another querier has the kind 'networks'"):
        type("Own", (InOrder,), {"kind": "networks"})


def test_networks_ask_what_any_source_asks(tmp_path: Path) -> None:
    X, y = rows()
    new = X.assign(flies=[KIND[ANIMALS[int(number)]] == "bird" for number in X["animal"]])
    few = {"hidden": (16, 8), "random_updates": 500, "biased_updates": 200, "batch_size": 64}
    for texts in (Dictionary(), None):
        model = VariationalInformationPursuit(texts, dictionary="fixed", device="cpu", **few)
        model.set_params(learning_rate=0.01).fit(new, y)
        assert model.score(new, y) > 0.9
        model.save(tmp_path / "model")
        again = infopursuit.load(tmp_path / "model", device="cpu")
        assert np.array_equal(again.predict_proba(new), model.predict_proba(new))
        assert again.explain(new[:3]) == model.explain(new[:3])
        with pytest.raises(InputError, match="dictionary is 'joint', and only texts can be"):
            VariationalInformationPursuit(texts, dictionary="joint").fit(X, y)
