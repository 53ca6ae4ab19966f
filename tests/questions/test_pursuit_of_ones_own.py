"""A pursuit of one's own: a fixed order of questions, logistic regression on the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from torch import Tensor

import infopursuit
from infopursuit import InformationPursuitClassifier, InputError
from infopursuit.core.files import write_text
from infopursuit.estimators.methods import build_method
from infopursuit.pipeline.params import Params
from infopursuit.pursuit.parts import CLASSIFIERS, QUERIERS, Expected, Sizes
from infopursuit.pursuit.pursuit import Pursuit, other_labels
from infopursuit.pursuit.querier import PlainHistories
from infopursuit.questions.constraints import Rates
from infopursuit.questions.pursuits import PURSUITS, Fitted, PursuitMethod, pursuit_method
from tests.planted import planted
from tests.pursuit.vip.stage_world import params as params
from tests.stage_scripts import stage


class Part:
    """What both parts do alike: their one tensor has a row, or a column, for each question."""

    def __init__(self, weights: Tensor) -> None:
        self.weights, self.k = weights, weights.shape[-1]

    def incremental(self, batch: int) -> PlainHistories:
        return PlainHistories(self, batch, self.k)

    def select(self, columns: Tensor) -> Any:
        return type(self)(self.weights[..., columns])

    def to(self, device: Any) -> Any:
        return type(self)(self.weights.to(device))

    def tensors(self) -> dict[str, Tensor]:
        return {"weights": self.weights}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], *_: Any) -> Any:
        return cls(tensors["weights"])


@QUERIERS.register
class Order(Part):
    kind, criterion, rounding, repeats = "order", "querier probability", 0.0, False

    def __call__(self, answers: Tensor, mask: Tensor) -> Tensor:
        return self.weights.repeat(len(answers), 1)

    def values(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(dim=1)

    def for_classifier(self, classifier: Any) -> Order:
        return self

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        return {"weights": Expected((sizes.k,))}


@CLASSIFIERS.register
class Logistic(Part):
    kind, table, exact = "logistic", None, None

    def __call__(self, answers: Tensor, mask: Tensor) -> Tensor:
        return ((answers - 0.5) * mask) @ self.weights.T

    def for_classes(self, classes: Tensor) -> Logistic:
        return Logistic(self.weights[classes])

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        return {"weights": Expected((sizes.c, sizes.k))}


@dataclass(frozen=True)
class FixedOrder(PursuitMethod):
    kind: ClassVar[str] = "fixed_order"
    strength: float = 1.0

    def fit(self, source: Any, constraints: Any, split: Any, seed: int, stop: Any) -> Fitted:
        train = split.train
        chosen = source.choose(train, constraints, seed)
        answers = chosen.rule.answers(train.rows.tensor())
        model = LogisticRegression(C=self.strength, fit_intercept=False)
        model.fit(answers.numpy() - 0.5, train.labels.numpy())
        pursuit = Pursuit(
            tuple(chosen.queries),
            tuple(map(str, train.classes)),
            chosen.rule,
            Order(-torch.arange(answers.shape[1]).float()),
            Logistic(torch.tensor(model.coef_).float()),
            labels=other_labels(train.classes),
            words=chosen.words,
        )
        return Fitted(pursuit, split.facts, None)


def assert_works(model: Any, X: Any, y: Any, folder: Path) -> Any:
    """It learns, asks in its order, explains, and comes back from a folder."""
    assert model.accuracy_by_budget(X, y)[-1] > 0.9
    model.save(folder)
    again = infopursuit.load(folder)
    assert pursuit_method(again.pursuit) == FixedOrder(2.0)
    for each in (model, again, model.without(model.queries_[0])):
        assert (each.roll_out(X).order == torch.arange(len(each.queries_))).all()
        assert each.explain(X[:1])[0].questions[0] == each.queries_[0]
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-6)
    some = list(model.classes_[:2])
    assert set(model.given(classes=some).predict(X)) <= set(some)
    return again


def test_it_works_on_texts_and_on_a_table(tmp_path: Path) -> None:
    world = planted()
    texts = InformationPursuitClassifier(world.texts, world.embeddings, 8, pursuit=FixedOrder(2.0))
    assert_works(texts.fit(world.X, world.y), world.X_test, world.y_test, tmp_path / "texts")
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = InformationPursuitClassifier(pursuit=FixedOrder(2.0)).fit(X, y)
    again = assert_works(table, X, y.to_numpy(), tmp_path / "table")
    assert again.fit(X, y).pursuit_.querier.kind == "order"
    with pytest.raises(InputError, match=r"pursuit: expected one of .*naive_bayes.*, found 'fixd'"):
        InformationPursuitClassifier(pursuit="fixd").fit(X, y)
    with pytest.raises(InputError, match="rates is 'counted', and fixed_order has none"):
        InformationPursuitClassifier(pursuit="fixed_order", rates="counted").fit(X, y)


def test_it_is_a_method_of_the_pipeline(params: Params) -> None:
    write_text(Path("artifacts/datasets/menagerie/annotations.csv"), "image,text,answer\n")
    methods = {**params.methods, "own": {"method": "fixed_order", "strength": 3.0}}
    stage("train")(params.model_copy(update={"methods": methods}), "menagerie", "llm", "own", 0)
    model = infopursuit.load("artifacts/models/menagerie-llm-own-0")
    assert model.provenance_["settings"]["method"] == "fixed_order"
    assert pursuit_method(model.pursuit) == FixedOrder(3.0)


def test_estimators_and_params_take_the_same_words() -> None:
    for kind in (*(set(PURSUITS) - {"naive_bayes"}), "other"):  # tables are no data of the pipeline
        model = InformationPursuitClassifier(["red"], pursuit=kind)
        if kind == "other":
            with pytest.raises(InputError, match="other"):
                build_method({"method": kind}, {}, "methods.m")
            with pytest.raises(InputError, match="other"):
                model.check_before_fit([0, 1])
        else:
            assert build_method({"method": kind}, {}, "methods.m").kind == kind
            model.check_before_fit([0, 1])
    for rates in (*get_args(Rates), "other"):
        table = InformationPursuitClassifier(["red"], pursuit="naive_bayes", rates=rates)
        if rates == "other":
            with pytest.raises(InputError, match="other"):
                table.check_before_fit([0, 1])
        else:
            table.check_before_fit([0, 1])
