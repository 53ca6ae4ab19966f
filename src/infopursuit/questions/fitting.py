"""A pursuit of any source of questions: choose them, count the answers, calibrate the evidence."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from tqdm import tqdm

from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.conformity import KEPT, Conformity
from infopursuit.pursuit.naive_bayes.fit import (
    ASSUMED_CALIBRATION,
    FEW_HELD_OUT,
    FEWEST_OF_A_CLASS,
    FOLDS,
    HeldOut,
    calibration_images,
    expected_ratio,
    fit_calibration,
)
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.pursuit.parts import CLASSIFIERS
from infopursuit.pursuit.pursuit import Pursuit, other_labels
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule
from infopursuit.questions.constraints import QuestionConstraints, Rates
from infopursuit.questions.pursuits import Fitted, PursuitMethod, Split
from infopursuit.questions.source import Questions, QuestionSource

logger = logging.getLogger("infopursuit")

# Calibration looks at this many questions at most.
BUDGET = 128
# Rates other than counted ones are considered if there are this many different rows: of fewer they
# know little, and small tables are fitted often.
FEWEST_FITTED = 1000
# To choose among rates, this many of the FOLDS parts of the rows are predicted; and of each part
# this many rows.
TRIED, PREDICTED = 2, 256


@dataclass(frozen=True)
class NaiveBayesPursuit(PursuitMethod):
    """Naive Bayes: count the answers of each class, and calibrate the evidence on held-out rows.

    Attributes:
        rates: `counted`, of `subclasses`, or `auto` for the better ones.
    """

    kind: ClassVar[str] = "naive_bayes"
    rates: Rates = "auto"

    def fit(
        self,
        source: QuestionSource,
        constraints: QuestionConstraints,
        split: Split,
        seed: int,
        stop: StoppingRule = DEFAULT_STOP,
    ) -> Fitted:
        """Choose the questions, count the answers, calibrate the evidence on held-out rows."""
        train, held_out, classes = split.train, split.held_out, split.train.classes
        source, rates, crossed, chosen = best_candidate(
            source, self.rates, constraints, train, seed
        )
        questions = source.choose(train, constraints, seed)
        querier, k = _counted(questions, train, seed, rates), len(questions.queries)
        rule, table, noun = questions.rule, querier.table, questions.rule.noun
        predicted, conformity = list[HeldOut](), None
        if not k:
            warnings.warn(
                "no column of X differs between rows: all are constant, or gaps (NaN); the model "
                "has no question to ask, and says the most frequent class of every row",
                stacklevel=4,
            )
        if held_out is not None and k:
            count = calibration_images(min(BUDGET, k), len(classes))
            predicted.append(_answered(querier, rule, held_out.sample(count, seed)))
            kept = train.spread(held_out, KEPT).rows.tensor()
            conformity = Conformity(table.marginal, rule.answers(kept))
        few = held_out is None or len(np.unique(held_out.keys)) < FEW_HELD_OUT
        if few and split.may_hold_out:
            predicted += crossed or _crossed(source, rates, constraints, train, seed)
            if not predicted and k:
                warnings.warn(
                    f"{train.distinct} different {noun}s of {len(classes)} classes are too few to "
                    "calibrate: the probabilities are a guess; give at least "
                    f"{FEWEST_OF_A_CLASS} different {noun}s of each class",
                    stacklevel=4,
                )
        predicted = [each for each in predicted if each.answers.shape[1]]
        ratio = expected_ratio(train.total / len(classes))
        calibration = ASSUMED_CALIBRATION._replace(temperature_ratio=ratio)
        if predicted:
            calibration, _ = fit_calibration(predicted, BUDGET, ratio)
        table, names = calibration.of(table), tuple(str(each) for each in classes)
        pursuit = Pursuit(
            tuple(questions.queries),
            names,
            rule,
            questions.querier(table),
            CLASSIFIERS.of(table.classifier)(table),
            questions.first,
            conformity,
            other_labels(classes),
            questions.words,
            source.wording(questions.queries, names),
            source.note,
        )
        at_stop = split.facts_at_stop(pursuit, stop, seed)
        facts = {**split.facts, **source.facts(questions.queries), **chosen, **at_stop}
        known = questions.knowledge
        return Fitted(pursuit, facts, None if known is None else known())


class Candidate(NamedTuple):
    """How the questions are chosen and their evidence is fitted.

    Attributes:
        source: of the questions.
        rates: `counted`, or of `subclasses`.
        crossed: all parts of the training rows, predicted by fits on the others; None if these
            were not needed to choose.
        facts: for the provenance.
    """

    source: QuestionSource
    rates: str
    crossed: list[HeldOut] | None
    facts: dict[str, Any]


def best_candidate(
    source: QuestionSource,
    rates: str,
    constraints: QuestionConstraints,
    train: TrainingSet,
    seed: int,
) -> Candidate:
    """Return the variant of a source, and then the rates, with the least log-loss.

    Each part of the training rows is predicted by a fit on the others. Variants are compared by
    counted rates. Rates other than these need FEWEST_FITTED different rows.
    """
    options = [rates] if rates != "auto" else list(source.rates)
    variants = source.variants(train)
    if len(options) > 1 and len(np.unique(cast(InMemorySet, train).checksums)) < FEWEST_FITTED:
        options = options[:1]
    if len(options) == len(variants) == 1:
        facts = {"rates": options[0]} if rates == "auto" and len(source.rates) > 1 else {}
        return Candidate(variants[0], options[0], None, facts)
    if len(options) > 1:
        rows, columns = cast(InMemorySet, train).rows.tensor().shape
        logger.info(
            "fitting %d rows, %d columns, %d classes; counted rates and subclasses are tried, "
            "which takes some seconds",
            *(rows, columns, len(train.classes)),
        )
    ratio = expected_ratio(train.total / len(train.classes))
    losses, parts = dict[str, float](), FOLDS if len(options) == 1 else TRIED

    def evaluate(variant: QuestionSource, rates: str) -> tuple[float, Candidate]:
        crossed = _crossed(variant, rates, constraints, train, seed, parts)
        told = [each for each in crossed if each.answers.shape[1]]
        loss = fit_calibration(told, BUDGET, ratio)[1] if told else math.inf
        losses[" ".join([rates, variant.facts([]).get("gaps", "")]).rstrip()] = loss
        whole = crossed if parts == FOLDS else None
        return loss, Candidate(variant, rates, whole, {"rates": rates, "log_losses": losses})

    first = itemgetter(0)
    best = min((evaluate(each, "counted") for each in variants), key=first)
    if len(options) > 1:
        others = [evaluate(best[1].source, each) for each in options if each != "counted"]
        return min([best, *others], key=first)[1]
    if options != ["counted"]:  # as they were asked for; variants are compared by counted rates
        return Candidate(
            best[1].source, options[0], None, {"rates": options[0], "log_losses": losses}
        )
    return best[1]


def _crossed(
    source: QuestionSource,
    rates: str,
    constraints: QuestionConstraints,
    train: TrainingSet,
    seed: int,
    parts: int = FOLDS,
) -> list[HeldOut]:
    crossed = []
    folds = islice(train.folds(FOLDS, FEWEST_OF_A_CLASS), parts)
    hidden = True if rates == "counted" else None  # quick; else shown on a terminal
    for rest, others in tqdm(folds, f"trying {rates}", total=parts, unit="fit", disable=hidden):
        asked = source.choose(rest, constraints, seed)
        shown = others.sample(PREDICTED, seed)
        querier = _counted(asked, rest, seed, rates, trial=parts < FOLDS)
        crossed.append(_answered(querier, asked.rule, shown))
    return crossed


def _counted(
    questions: Questions, data: TrainingSet, seed: int, rates: str, trial: bool = False
) -> InformationGain:
    querier = questions.querier(data.table(questions.rule))
    if rates == "counted" or not len(questions.queries):
        return querier
    from infopursuit.pursuit.naive_bayes.subclasses import FITTED_ON, TRIAL, fit_subclasses

    shown = data.sample(FITTED_ON, seed)
    answers = questions.rule.answers(shown.rows.tensor())
    of_rows = answers, shown.labels, data.weighed(shown)
    share = TRIAL if trial else 1.0
    return fit_subclasses(querier, *of_rows, seed, not questions.rule.has_gaps, share)


def _answered(querier: InformationGain, rule: AnswerRule, rows: InMemorySet) -> HeldOut:
    return HeldOut(querier, rule.answers(rows.rows.tensor()), rows.labels, rows.weights)
