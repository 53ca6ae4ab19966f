"""Texts as questions: which are chosen, how images answer them, and what their answers count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.answers.rules import AnswerRule, MinMaxAnswers, ThresholdAnswers
from infopursuit.answers.text_directions import TextDirections
from infopursuit.answers.thresholds import ThresholdFit
from infopursuit.datasets.rows import UnitRows
from infopursuit.estimators.class_knowledge import ClassKnowledge
from infopursuit.estimators.dictionary import (
    Texts,
    check_among,
    check_room,
    fixed_rows,
    not_banned,
    refuse_banned,
)
from infopursuit.estimators.fitted_rates import with_fitted_rates
from infopursuit.estimators.sharded_rows import THRESHOLD_IMAGES, ShardedRows
from infopursuit.estimators.training_rows import TrainingRows
from infopursuit.executors import RayCluster
from infopursuit.naive_bayes.model import InformationGain
from infopursuit.naive_bayes.put_off import PutOff
from infopursuit.naive_bayes.screening import TextSource
from infopursuit.naive_bayes.selection import informative_rows
from infopursuit.queries.related import related_texts


class Answered(NamedTuple):
    """How images answer the chosen texts.

    Attributes:
        rule: the answer rule.
        auroc: how well scores rank images (`Directions.auroc`); None where nothing is known of the
            classes.
    """

    rule: AnswerRule
    auroc: Float[Tensor, " k"] | None


class TextQuestions:
    """The texts of a universe, measured on training images.

    Args:
        texts: the universe.
        reference: the texts that scores are relative to.
        data: training images.
        known: of classes and texts; None where nothing is.
        answers: `three_valued`, `threshold` or `minmax`.
        source: where workers find the texts; None where none are asked.
        cluster: whose workers screen the texts; None for this process.
    """

    def __init__(
        self,
        texts: Texts,
        reference: UnitRows,
        data: TrainingRows | ShardedRows,
        known: ClassKnowledge | None,
        answers: str,
        source: TextSource | None = None,
        cluster: RayCluster | None = None,
    ) -> None:
        self.source, self.cluster = source, cluster
        self.texts, self.data, self.known, self.answers = texts, data, known, answers
        self.directions = TextDirections(
            reference, data.moments.within, None if known is None else known.truth
        )
        shares = None if known is None else known.true_shares(data.moments.prior)
        self.thresholds = ThresholdFit(answers != "threshold", shares)

    def chosen(
        self,
        queries: Sequence[str] | None,
        ban: Sequence[str],
        first: str | None,
        keep: Sequence[str],
        k: int,
        seed: int,
    ) -> Int[Tensor, " k"]:
        """The rows of the questions given, or of the most informative ones and those to keep.

        Args:
            queries: the questions given; None to choose k.
            ban: texts or words that no question may contain.
            first: the first question; None for the querier's choice.
            keep: questions that are in the dictionary whatever is chosen.
            k: how many to choose.
            seed: of the samples of images, where there are many.

        Raises:
            InputError: a question is none of the texts or banned, or more than k are to be kept.
        """
        texts = self.texts
        allowed = not_banned(texts.texts, ban)
        fixed = fixed_rows(texts, first, keep, allowed)
        if queries is not None:
            rows = texts.rows(queries)
            refuse_banned([texts.texts[row] for row in rows.tolist()], allowed[rows])
            check_among(texts, fixed, rows)
            return rows
        check_room(len(fixed), k)
        count = min(k, int(allowed.sum()))
        chosen = self._informative(count, allowed, seed)
        others = chosen[~torch.isin(chosen, fixed)]
        if len(fixed) + len(others) > count:  # chosen anew, without those that are kept anyway
            allowed[fixed] = False
            room = count - len(fixed)
            others = self._informative(room, allowed, seed) if room else others[:0]
        return torch.cat([fixed, others]).sort().values

    def _informative(self, count: int, allowed: Bool[Tensor, " u"], seed: int) -> Tensor:
        images = self.data.to_screen()
        return informative_rows(
            self.texts.embeddings,
            images.rows,
            images.labels,
            images.weights,
            self.directions,
            self.data.moments,
            count,
            seed,
            self.thresholds,
            allowed,
            None if self.known is None else self.known.worth,
            self.source,
            self.cluster,
        )

    def answered(self, chosen: Int[Tensor, " k"], seed: int) -> Answered:
        """How images answer the chosen texts.

        Args:
            chosen: their rows.
            seed: of the sample of images, where there are many.
        """
        queries = self.texts.embeddings.take(chosen)
        if self.answers == "minmax":
            return Answered(MinMaxAnswers(queries), None)
        sample = self.data.sample(THRESHOLD_IMAGES, seed)
        images, labels, weights = sample.rows.tensor(), sample.labels, sample.weights
        directions, auroc = self.directions.fitted(chosen, queries, images, labels, weights)
        found = self.thresholds.of(chosen, images @ directions.T, labels, weights)
        rule = ThresholdAnswers(directions, found.values, found.upper)
        return Answered(rule, None if self.known is None else auroc)

    def querier(
        self,
        rule: AnswerRule,
        chosen: Int[Tensor, " k"],
        auroc: Float[Tensor, " k"] | None,
        rates: str,
        seed: int,
    ) -> InformationGain:
        """The querier of the chosen texts, with the table of their answers.

        Args:
            rule: how images answer them.
            chosen: their rows.
            auroc: how well their scores rank images; None where not measured.
            rates: `counted` or `fitted`.
            seed: of fitted rates.
        """
        table = self.data.table(rule)
        worth = None if self.known is None else self.known.worth(chosen, auroc, table)
        pairs = related_texts([self.texts.texts[row] for row in chosen.tolist()])
        put_off = PutOff(torch.tensor(pairs).long(), len(chosen)) if pairs else None
        counted = InformationGain(table, worth, put_off)
        return counted if rates == "counted" else with_fitted_rates(counted, rule, self.data, seed)
