"""When to ask no more.

Three conditions: the largest posterior probability is at least p, the entropy of the posterior is
at most h nats (section 3 of the paper), or the predicted class has not changed for m questions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError


class StoppingRule(NamedTuple):
    """Stop at the first condition that holds, or after `max_queries` questions.

    Attributes:
        probability: stop once a class is at least this probable; None for never. A class that had
            more than a half before any question has to be surer (`needed`).
        max_queries: ask at most this many questions; None for as many as the dictionary has.
        entropy: stop once the posterior has at most this entropy, in nats; None for never.
        stability: stop once this many questions left the predicted class as it was; None for never.
    """

    probability: float | None = 0.95
    max_queries: int | None = None
    entropy: float | None = None
    stability: int | None = None

    def checked(self) -> StoppingRule:
        """Return the rule itself.

        Raises:
            InputError: a value is out of its range.
        """
        if self.probability is not None and not 0 < self.probability <= 1:
            raise InputError(
                f"stop at probability {self.probability!r}; expected more than 0, at most 1"
            )
        if self.entropy is not None and not self.entropy >= 0:
            raise InputError(f"stop at entropy {self.entropy!r}; expected 0 nats or more")
        for name, value, least in (
            ("stability", self.stability, 1),
            ("max_queries", self.max_queries, 0),
        ):
            if value is None:
                continue
            if isinstance(value, bool) or value != int(value) or value < least:
                raise InputError(f"{name} is {value!r}; expected a whole number from {least} on")
        return self

    def budget(self, k: int) -> int:
        """Return the most questions asked of a dictionary of k."""
        return k if self.max_queries is None else min(self.max_queries, k)

    def needed(
        self, predicted: Int[Tensor, " n"], first: Int[Tensor, "*n"], before: Float[Tensor, "*n"]
    ) -> Float[Tensor, " n"]:
        """Return how probable the predicted class has to be, by `probability`.

        A class that had a probability of b > 1/2 before any question may be in doubt 2 (1 - b)
        times as much as others. Otherwise an image in which a disease is rare would get no
        question: it is healthy, 99 %, before the first.

        Args:
            predicted: the most probable class now.
            first: the most probable class before any question.
            before: its probability then.
        """
        assert self.probability is not None
        rarer = torch.where(predicted == first, 2 * (1 - before), 1.0).clamp(max=1.0)
        return torch.where(rarer < 1, 1 - (1 - self.probability) * rarer, self.probability)

    def holds(
        self,
        posterior: Float[Tensor, "n c"],
        unchanged: Int[Tensor, " n"],
        prior: Float[Tensor, "m c"],
    ) -> Bool[Tensor, " n"]:
        """Whether a condition holds now.

        Args:
            posterior: after the questions so far.
            unchanged: how many of the last questions left the predicted class as it was.
            prior: the posterior before any question, of each image or one row for all.
        """
        entropy = None if self.entropy is None else posterior_entropy(posterior)
        return self._met(posterior.max(dim=1), entropy, unchanged, prior.max(dim=1))

    def steps(
        self, posteriors: Float[Tensor, "n T1 c"]
    ) -> tuple[Int[Tensor, " n"], Bool[Tensor, " n"]]:
        """Return after how many of T questions each image stops, and if a condition held then."""
        entropy = None if self.entropy is None else posterior_entropy(posteriors)
        highest, predicted = posteriors.max(dim=2)
        return self.steps_of(predicted, highest, entropy)

    def steps_of(
        self,
        predicted: Int[Tensor, "n T1"],
        highest: Float[Tensor, "n T1"],
        entropy: Float[Tensor, "n T1"] | None,
    ) -> tuple[Int[Tensor, " n"], Bool[Tensor, " n"]]:
        """Do the same with what is left of posteriors that are too large to keep.

        Args:
            predicted: the most probable class after t = 0..T questions.
            highest: its probability.
            entropy: of the posterior, in nats; None if the rule does not look at it.
        """
        longest, first = self.budget(predicted.shape[1] - 1), (highest[:, 0], predicted[:, 0])
        unchanged = torch.zeros(len(predicted), dtype=torch.long, device=predicted.device)
        counts, done = torch.full_like(unchanged, longest), torch.zeros_like(unchanged).bool()
        for t in range(longest + 1):
            if t:
                unchanged = torch.where(predicted[:, t] == predicted[:, t - 1], unchanged + 1, 0)
            now = highest[:, t], predicted[:, t]
            met = self._met(now, None if entropy is None else entropy[:, t], unchanged, first)
            counts[met & ~done] = t
            done |= met
        return counts, done

    def _met(
        self,
        now: tuple[Tensor, Tensor],
        entropy: Tensor | None,
        unchanged: Tensor,
        first: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Return whether a condition holds; the one place that knows the conditions.

        `now` and `first` are the largest probability and its class, now and before any question.
        """
        highest, predicted = now
        met = torch.zeros(len(highest), dtype=torch.bool, device=highest.device)
        if self.probability is not None:
            before, leader = first
            met |= highest >= self.needed(predicted, leader, before).to(highest.dtype)
        if self.entropy is not None and entropy is not None:
            met |= entropy <= self.entropy
        if self.stability is not None:
            met |= unchanged >= self.stability
        return met


# The rule of the library, the command line and the pipeline. Sure enough for predictions within
# about two points of those from all answers; and when asking is of no more use: of the images whose
# class stays the same for this long, few change it later (docs/findings.md, "When to stop").
DEFAULT_STOP = StoppingRule(probability=0.95, max_queries=None, stability=20)


def posterior_entropy(posterior: Float[Tensor, "*b c"]) -> Float[Tensor, "*b"]:
    """Return the entropy of each posterior, in nats; a probability of 0 adds nothing."""
    return torch.special.entr(posterior).sum(dim=-1)
