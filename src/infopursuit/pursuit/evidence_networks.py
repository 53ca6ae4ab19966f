"""Classifier and querier without hidden layers, tied to each other by what each class answers.

With `rates` (c, k), the probability of a yes to each query in each class, every answer is evidence
for or against each class, and evidence adds up (naive Bayes). The querier asks what would tell
most of the class given the evidence so far: the definition of Information Pursuit, eq. (ip),
computed in place of learned. Each query brings its own column of the table and nothing else, so
queries can be left out of a trained model, and others added, without training it anew.
"""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from infopursuit.evidence.information import information_gain


class EvidenceTable(nn.Module):
    """Log-likelihoods of a yes and a no in each class, and the prior of the classes."""

    of_no: Tensor  # (k, c)
    of_yes: Tensor  # (k, c)
    log_prior: Tensor  # (c,)

    def __init__(self, rates: Float[Tensor, "c k"], prior: Float[Tensor, " c"]) -> None:
        super().__init__()
        self.register_buffer("of_no", (1 - rates).log().T.contiguous())
        self.register_buffer("of_yes", rates.log().T.contiguous())
        self.register_buffer("log_prior", prior.log())

    def total(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Log-prior plus the evidence of the answers that `mask` selects."""
        said = answers * mask
        return self.log_prior + said @ self.of_yes + (mask - said) @ self.of_no


class EvidenceClassifier(EvidenceTable):
    """f: the posterior from added evidence.

    Answers are not quite independent given the class, so that their sum is too sure of itself, the
    more the more were asked: t answers, each correlated alike with every other, are worth about
    t / (1 + t / patience) independent ones. So the sum is divided by 1 + t / patience, with the one
    number `patience` fitted on held-out images. The most probable class stays the same.
    """

    patience: Tensor  # ()

    def __init__(
        self, rates: Float[Tensor, "c k"], prior: Float[Tensor, " c"], patience: float = torch.inf
    ) -> None:
        super().__init__(rates, prior)
        self.register_buffer("patience", torch.tensor(patience))

    def forward(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Class logits of the history that `mask` selects of all answers."""
        return self.tempered(self.total(answers, mask), mask.sum(dim=1, keepdim=True))

    def tempered(
        self, evidence: Float[Tensor, "b c"], asked: Float[Tensor, "b 1"] | int
    ) -> Float[Tensor, "b c"]:
        """Logits from the evidence of so many answers."""
        return evidence / (1 + asked / self.patience)

    def grow(self, batch: int) -> GrowingEvidence:
        """`batch` empty histories."""
        return GrowingEvidence(self, batch)


class InformationGain(EvidenceTable):
    """g: the expected information of each query's answer about the class, in nats."""

    def forward(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b k"]:
        """The gain of every query after the history that `mask` selects of all answers."""
        return self.gains(self.total(answers, mask))

    def gains(self, evidence: Float[Tensor, "b c"]) -> Float[Tensor, "b k"]:
        """The gain of every query, given the evidence."""
        return information_gain(evidence.softmax(dim=1), self.of_yes.exp().T)

    def grow(self, batch: int) -> GrowingEvidence:
        """`batch` empty histories."""
        return GrowingEvidence(self, batch)


Table = TypeVar("Table", InformationGain, EvidenceClassifier)


def selected(table: Table, columns: Int[Tensor, " m"]) -> Table:
    """The same table for m of its queries."""
    fewer = copy.deepcopy(table)
    fewer.of_no, fewer.of_yes = table.of_no[columns], table.of_yes[columns]
    return fewer


class GrowingEvidence:
    """The evidence of b histories that start empty and grow by one answer at a time."""

    @torch.no_grad()
    def __init__(self, network: EvidenceClassifier | InformationGain, batch: int) -> None:
        self.network = network
        self.evidence = network.log_prior.expand(batch, -1).clone()
        self.asked = 0

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query and its answer to each of the first r histories."""
        said = answers.unsqueeze(1)
        table = self.network
        self.evidence[: len(queries)] += torch.lerp(
            table.of_no[queries], table.of_yes[queries], said
        )
        self.asked += 1

    @torch.no_grad()
    def logits(self, rows: int) -> Float[Tensor, "r outputs"]:
        """Logits of the first `rows` histories, all of which have grown alike."""
        evidence = self.evidence[:rows]
        if isinstance(self.network, InformationGain):
            return self.network.gains(evidence)
        return self.network.tempered(evidence, self.asked)
