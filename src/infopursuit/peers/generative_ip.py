"""Generative Information Pursuit on binary answers.

Chattopadhyay, Slocum, Haeffele, Vidal and Geman, "Interpretable by Design: Learning Predictors by
Composing Interpretable Queries", TPAMI 2022. The next query has the largest mutual information with
the class given the history, and the class is read off the posterior, both from a
generative model of answers and class.

What differs from the authors' code. Their model of binary attributes is a variational auto-encoder
whose mutual information is estimated by sampling. In discrete form answers are independent given
the class, with rates that are counted (one yes and one no added to each: Laplace), and the mutual
information is exact. All texts may be asked. Ours (`pursuit_classifier.py`) differs from this in
its answers, its choice of texts, its rates and its tempering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from infopursuit.answers.table import AnswerTable
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.pursuits import PursuitPeer
from infopursuit.pursuit.pursuit import Pursuit


class GenerativeIP(PursuitPeer):
    """Counted rates of binary answers, exact information gain.

    Args:
        texts: m texts.
        text_embeddings: (m, d) of them.
        threshold: `median` or `informative`: where an answer turns to yes.
        added: how many a yes and a no are added to the counts of each class.
        budgets: numbers of questions.
    """

    threshold: Threshold

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        threshold: Threshold = "median",
        added: float = 1.0,
        budgets: Sequence[int] = BUDGETS,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.threshold, self.added, self.budgets = threshold, added, budgets

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        rule = fit_answers(X, labels, texts, self.threshold)
        members = functional.one_hot(labels).double()
        totals = members.sum(dim=0)
        yes = answers_of(rule, X).double().T @ members  # (m, c)
        rate = (yes + self.added) / (totals + 2 * self.added)
        likelihood = torch.stack([1 - rate, rate]).log().float()
        table = AnswerTable(likelihood, (totals / totals.sum()).log().float())
        self.pursuit_ = Pursuit(
            tuple(self.texts_),
            tuple(str(label) for label in self.classes_),
            rule,
            InformationGain(table),
            NaiveBayes(table),
        )
        self.budgets_ = tuple(sorted(t for t in self.budgets if t <= len(texts)))
