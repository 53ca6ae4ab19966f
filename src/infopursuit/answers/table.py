"""How probable each answer to each query is in each class, and evidence that adds up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

# An answer this close to a level, in steps between levels, is that level.
LEVEL = 1e-4


@dataclass(frozen=True)
class AnswerTable:
    """How probable each answer to each query is in each class.

    Answers are v levels in [0, 1]: 0, 1 for no and yes; 0, 0.5, 1 for no, not sure and yes. Between
    two levels an answer is one or the other, as probable as it is near: 0.5 of no and yes tells
    nothing.

    Attributes:
        log_likelihood: (v, k, c), log P(answer | class); the answers of a query sum to one.
        log_prior: (c,), log P(class).
        independent_answers: infinitely many answers are worth so many independent ones. Answers
            are not quite independent given the class, so that their sum is too sure of itself, the
            more the more were asked: t answers, each correlated alike with every other, are worth
            about t / (1 + t / m) independent ones. The logits are the sum divided by 1 + t / m;
            the most probable class stays the same.
    """

    log_likelihood: Float[Tensor, "v k c"]
    log_prior: Float[Tensor, " c"]
    independent_answers: float = torch.inf

    @property
    def levels(self) -> int:
        """v, how many answers there are."""
        return len(self.log_likelihood)

    def level_of(self, answers: Float[Tensor, "*b"]) -> Int[Tensor, "*b"]:
        """The number 0..v-1 of the level nearest to each answer in [0, 1]."""
        return (answers * (self.levels - 1)).round().long()

    def told(
        self, queries: Int[Tensor, " m"], answers: Float[Tensor, " m"]
    ) -> Float[Tensor, "m c"]:
        """The evidence of m answers, one by one: log P(answer | class)."""
        level = self.level_of(answers)
        at_level = self.log_likelihood[level, queries]
        off = answers * (self.levels - 1) - level
        if not (off.abs() >= LEVEL).any():
            return at_level
        other = (level + off.sign().long()).clamp(0, self.levels - 1)
        ratio = (self.log_likelihood[other, queries] - at_level).exp()
        share = off.abs().unsqueeze(1)
        return at_level + torch.log1p(share * (ratio - 1))

    def evidence(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Log-prior plus the evidence of the answers that `mask` selects."""
        level = self.level_of(answers)
        mask = mask.to(self.log_prior.dtype)
        total = self.log_prior.expand(len(answers), -1)
        for number, table in enumerate(self.log_likelihood):
            total = total + (mask * (level == number)) @ table
        between = mask * ((answers * (self.levels - 1) - level).abs() >= LEVEL)
        rows, queries = between.nonzero(as_tuple=True)
        if not len(rows):
            return total
        given = answers[rows, queries]
        more = self.told(queries, given) - self.log_likelihood[level[rows, queries], queries]
        return total.index_add(0, rows, more.to(total.dtype))

    def tempered(
        self, evidence: Float[Tensor, "b c"], asked: Float[Tensor, "b 1"] | int
    ) -> Float[Tensor, "b c"]:
        """Logits from the evidence of so many answers."""
        return evidence / (1 + asked / self.independent_answers)

    def select(self, columns: Int[Tensor, " m"]) -> AnswerTable:
        """The table of m of its queries."""
        return replace(self, log_likelihood=self.log_likelihood[:, columns])

    def to(self, device: torch.device | str) -> AnswerTable:
        """The same table on a device."""
        return replace(
            self,
            log_likelihood=self.log_likelihood.to(device),
            log_prior=self.log_prior.to(device),
        )

    def double(self) -> AnswerTable:
        """The same numbers in float64, for sums in which nothing is lost."""
        return replace(
            self,
            log_likelihood=self.log_likelihood.double(),
            log_prior=self.log_prior.double(),
        )

    def tensors(self) -> dict[str, Tensor]:
        """The table, by name."""
        return {
            "log_likelihood": self.log_likelihood,
            "log_prior": self.log_prior,
            "independent_answers": torch.tensor(self.independent_answers, dtype=torch.float64),
        }

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor]) -> AnswerTable:
        """The table that `tensors` gave."""
        return cls(
            tensors["log_likelihood"], tensors["log_prior"], float(tensors["independent_answers"])
        )
