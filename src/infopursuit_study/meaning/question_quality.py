"""Quality of the questions that images are asked, by a table of what fits which class.

The table is of reference labels: (c, k), 1 where a query is true of a class, 0.5 where it often is,
0 where it is not. NaN counts as 0. `asked` is `model.roll_out(X, 10)`, for the first ten questions.

A reader knows this table, and nothing of how images answer. It hears the questions and answers of
an explanation and adds up evidence by naive Bayes: a query that is true of a class gets a yes with
probability 0.9, one that often is 0.5, any other 0.1. An answer between yes and no says nothing.
How often the reader names the right class is how far words alone lead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infopursuit.pursuit.answers.rules import NOT_SURE, AnswerRule
from infopursuit.pursuit.rollout import RollOut
from infopursuit_study.evaluation.agreement import claimed

# A query fits a class from this value on.
FITS = 0.5
TRUE, OFTEN, OTHERWISE = 0.9, 0.5, 0.1
# Sums of evidence closer than this are a tie.
TIE = 1e-9


def plausible_questions(asked: RollOut, reference: Float[np.ndarray, "c k"]) -> float:
    """Return the share of the questions asked that fit at least one class."""
    fits_some = np.any(reference >= FITS, axis=0)
    return float(fits_some[asked.order.cpu().numpy()].mean())


def supported_yes(asked: RollOut, reference: Float[np.ndarray, "c k"]) -> float | None:
    """Return the share of yes that fit the class predicted at the end; None without a yes."""
    order = asked.order.cpu().numpy()
    predicted = asked.posteriors[:, -1].argmax(dim=1).cpu().numpy()
    yes = asked.answers.cpu().numpy() == 1
    fits = (reference >= FITS)[predicted[:, None], order]
    return float(fits[yes].mean()) if yes.any() else None


def reader_accuracy(
    asked: RollOut, reference: Float[np.ndarray, "c k"], labels: Int[np.ndarray, " n"]
) -> float:
    """Return how often the reader is right; of m classes that tie, each is 1 / m right."""
    order, answers = asked.order.cpu().numpy(), asked.answers.cpu().numpy()
    says_yes = np.where(reference == 1, TRUE, np.where(reference == 0.5, OFTEN, OTHERWISE)).T
    evidence = np.zeros((len(labels), len(reference)))
    for step in range(order.shape[1]):
        of_query = says_yes[order[:, step]]  # n, c
        answer = answers[:, step, None]
        evidence += np.where(answer == 1, np.log(of_query), 0)
        evidence += np.where(answer == 0, np.log(1 - of_query), 0)
    best = evidence >= evidence.max(axis=1, keepdims=True) - TIE
    return float((best[np.arange(len(labels)), labels] / best.sum(axis=1)).mean())


def hard_answers(rule: AnswerRule, asked: RollOut) -> RollOut:
    """Return a roll-out whose answers are what they claim (`claimed`)."""
    return asked._replace(answers=claimed(rule, asked.answers, asked.order))


def quality_of_questions(
    asked: RollOut, reference: Float[np.ndarray, "c k"], labels: Int[np.ndarray, " n"]
) -> dict[str, Any]:
    """Measure the quality of the questions; shares in [0, 1].

    `plausible`, `supported_yes` and `reader` are those of the functions above, `accuracy` is how
    often the model is right after the same questions. `yes` and `not_sure` are shares of the
    answers.
    """
    predicted = asked.posteriors[:, -1].argmax(dim=1).cpu().numpy()
    answers = asked.answers.cpu().numpy()
    return {
        "questions": asked.order.shape[1],
        "plausible": plausible_questions(asked, reference),
        "supported_yes": supported_yes(asked, reference),
        "reader": reader_accuracy(asked, reference, labels),
        "accuracy": float((predicted == labels).mean()),
        "yes": float((answers == 1).mean()),
        "not_sure": float((answers == NOT_SURE).mean()),
    }
