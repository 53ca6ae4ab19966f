"""Ways to fit a pursuit on the questions of any source, each under the word that settings have.

A way of your own is a class with a `kind` and one method, `fit`: estimators and params.yaml take it
by that word once its module is imported (docs/contributing.md). Its querier and its classifier have
kinds, too, by which saved models name them (`pursuit.parts`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.pursuit.parts import Kinds
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.source import QuestionSource
from infopursuit.texts.knowledge import KnowledgeTable

PURSUITS = Kinds(
    "pursuit",
    gaussian="infopursuit.questions.gaussian",
    naive_bayes="infopursuit.questions.fitting",
)
# Held-out rows that accuracy is measured on. With a thousand classes one of them takes 0.1 s.
MEASURED = 1024


class Split(NamedTuple):
    """Training rows, and those that calibrate.

    Attributes:
        train: to learn from.
        held_out: that calibrate; None if there are none.
        facts: for the provenance.
        may_hold_out: whether rows to learn from may calibrate, too.
    """

    train: TrainingSet
    held_out: InMemorySet | None
    facts: dict[str, Any]
    may_hold_out: bool

    @classmethod
    def of(cls, data: TrainingSet, share: float, given: InMemorySet | None = None) -> Split:
        """Return the rows to learn from, and those given to calibrate on, or a share of them."""
        train, held_out = data.split(0.0 if given is not None else share)
        held_out = held_out if given is None else given
        return cls(train, held_out, data.facts(held_out), given is None and share > 0)

    def facts_at_stop(self, pursuit: Pursuit, stop: StoppingRule, seed: int) -> dict[str, float]:
        """Return accuracy and mean confidence on rows held out, as frequent as the classes are.

        Nothing without such rows.
        """
        if self.held_out is None:
            return {}
        shown = self.held_out.sample(MEASURED, seed)
        ending = pursuit.ask_until(pursuit.answers(shown.rows.tensor()), stop)
        highest, predicted = ending.posterior.double().max(dim=1)
        weights = self.train.weighed(shown)
        both = {"accuracy": (predicted == shown.labels).double(), "confidence": highest}
        return {
            f"held_out_{key}": float(weights @ each / weights.sum()) for key, each in both.items()
        }


@dataclass(frozen=True)
class Fitted:
    """A fitted pursuit.

    Attributes:
        pursuit: with calibrated evidence.
        facts: for the provenance: how many rows there were, and what tells them from others.
        knowledge: what was known of classes and questions; None if nothing was.
        counts: what more rows are added to; None if none can be.
    """

    pursuit: Pursuit
    facts: dict[str, Any]
    knowledge: KnowledgeTable | None
    counts: Any = None


@dataclass(frozen=True)
class PursuitMethod(ABC):
    """A way to fit a pursuit; its fields are its settings, in Python and in params.yaml.

    Attributes:
        kind: the word by which settings name it.
        knowledge: whether it is fitted with the knowledge table.
    """

    kind: ClassVar[str]
    knowledge = False  # no annotation: it is a field of those that have it as a setting

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        PURSUITS.register(cls)

    @abstractmethod
    def fit(
        self,
        source: QuestionSource,
        constraints: QuestionConstraints,
        split: Split,
        seed: int,
        stop: StoppingRule,
    ) -> Fitted:
        """Choose the questions and fit what asks them, and what concludes.

        Args:
            source: of the questions.
            constraints: which there are to be.
            split: rows to learn from, and those held out.
            seed: of all samples.
            stop: the rule by which rows will be asked.

        Raises:
            InputError: a constraint cannot be met, or the source is none for this pursuit.
        """


def pursuit_method(
    setting: str | PursuitMethod | dict[str, Any], rates: str = "auto", usual: str = "gaussian"
) -> PursuitMethod:
    """Return the method of a word, or of settings with its `kind`; `rates` are of naive Bayes.

    `auto` is the `usual` one.

    Raises:
        InputError: there is none of that name.
    """
    if isinstance(setting, PursuitMethod):
        return setting
    settings = dict(setting) if isinstance(setting, dict) else {"kind": setting}
    if settings.get("kind") == "auto":
        settings["kind"] = usual
    try:
        method = PURSUITS.of(str(settings.pop("kind", None)))
    except ValueError as error:
        raise InputError(str(error)) from error
    if method.kind == "naive_bayes":
        return method(**{"rates": rates, **settings})
    if rates != "auto":
        raise InputError(f"rates is {rates!r}, and {method.kind} has none; expected 'auto'")
    return method(**settings)
