"""Fitted rates in the place of counted ones, on a sample where there are many rows."""

from __future__ import annotations

from infopursuit.answers.rules import AnswerRule
from infopursuit.estimators.sharded_rows import ShardedRows
from infopursuit.estimators.training_rows import TrainingRows
from infopursuit.naive_bayes.fitted import FITTED_ON, fit_rates
from infopursuit.naive_bayes.model import InformationGain


def with_fitted_rates(
    counted: InformationGain, rule: AnswerRule, data: TrainingRows | ShardedRows, seed: int
) -> InformationGain:
    """The querier with rates that are fitted on at most FITTED_ON rows.

    Args:
        counted: the querier with the counted table.
        rule: how rows answer.
        data: the training rows.
        seed: of the sample and of the histories.
    """
    shown = data.sample(FITTED_ON, seed)
    answers = rule.answers(shown.rows.tensor())
    table = fit_rates(counted, answers, shown.labels, shown.weights, seed)
    return InformationGain(table, counted.worth, counted.put_off)
