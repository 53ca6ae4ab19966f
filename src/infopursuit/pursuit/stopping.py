"""When to ask no more.

Three conditions: the largest posterior probability is at least p, the entropy of the posterior is
at most h nats (section 3 of the paper), or the predicted class has not changed for m questions.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError

# Why questions end: a condition of the rule held, as many were asked as it allows, none is left, or
# a person stopped.
Ended = Literal["probability", "entropy", "stability", "maximum", "questions", "unfinished"]
# The conditions of a rule, by the numbers that `StoppingRule.steps` gives them; the first is none.
HOLDING: tuple[Ended | None, ...] = (None, "probability", "entropy", "stability")
# The conditions that make a prediction certain. That it did not change does not.
CERTAIN: tuple[Ended, ...] = ("probability", "entropy")


class StoppingRule(NamedTuple):
    """Stop at the first condition that holds, or after `max_queries` questions.

    Without arguments it is the rule of the library, the command line and the pipeline: sure enough
    for predictions within about two points of those from all answers; and when asking is of no more
    use: of the images whose class stays the same for so long, few change it later
    (lab/findings.md, "When to stop").

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
    stability: int | None = 20

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

    def ended(self, condition: int, asked: int, k: int) -> Ended:
        """Say why questions ended: by the number of a condition, or by how many of k were asked."""
        out = self.max_queries is not None and asked >= self.max_queries < k
        run_out: Ended = "maximum" if out else "questions"
        return HOLDING[condition] or run_out

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
        return self._met(posterior.max(dim=1), entropy, unchanged, prior.max(dim=1)) > 0

    def now(self, posteriors: Float[Tensor, "T1 c"]) -> int:
        """Return which condition holds after T questions, as `steps` does."""
        predicted = posteriors.argmax(dim=1)
        unchanged = (predicted == predicted[-1]).flip(0).int().cumprod(dim=0).sum(dim=0) - 1
        entropy = None if self.entropy is None else posterior_entropy(posteriors[-1:])
        first, last = posteriors[:1].max(dim=1), posteriors[-1:].max(dim=1)
        return int(self._met(last, entropy, unchanged.unsqueeze(0), first))

    def steps(
        self, posteriors: Float[Tensor, "n T1 c"]
    ) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """Return after how many of T questions each image stops, and which condition held then.

        Conditions are places in `HOLDING`; 0 if none held.
        """
        entropy = None if self.entropy is None else posterior_entropy(posteriors)
        highest, predicted = posteriors.max(dim=2)
        return self.steps_of(predicted, highest, entropy)

    def steps_of(
        self,
        predicted: Int[Tensor, "n T1"],
        highest: Float[Tensor, "n T1"],
        entropy: Float[Tensor, "n T1"] | None,
    ) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
        """Do the same with what is left of posteriors that are too large to keep.

        Args:
            predicted: the most probable class after t = 0..T questions.
            highest: its probability.
            entropy: of the posterior, in nats; None if the rule does not look at it.
        """
        longest, first = self.budget(predicted.shape[1] - 1), (highest[:, 0], predicted[:, 0])
        unchanged = torch.zeros(len(predicted), dtype=torch.long, device=predicted.device)
        counts, held = torch.full_like(unchanged, longest), torch.zeros_like(unchanged)
        for t in range(longest + 1):
            if t:
                unchanged = torch.where(predicted[:, t] == predicted[:, t - 1], unchanged + 1, 0)
            now = highest[:, t], predicted[:, t]
            met = self._met(now, None if entropy is None else entropy[:, t], unchanged, first)
            first_met = (met > 0) & (held == 0)
            counts[first_met] = t
            held = torch.where(first_met, met, held)
        return counts, held

    def _met(
        self,
        now: tuple[Tensor, Tensor],
        entropy: Tensor | None,
        unchanged: Tensor,
        first: tuple[Tensor, Tensor],
    ) -> Tensor:
        """Return the first condition that holds, or 0; the one place that knows the conditions.

        `now` and `first` are the largest probability and its class, now and before any question.
        """
        highest, predicted = now
        met = torch.zeros_like(predicted)
        if self.stability is not None:
            met[unchanged >= self.stability] = HOLDING.index("stability")
        if self.entropy is not None and entropy is not None:
            met[entropy <= self.entropy] = HOLDING.index("entropy")
        if self.probability is not None:
            before, leader = first
            needed = self.needed(predicted, leader, before).to(highest.dtype)
            met[highest >= needed] = HOLDING.index("probability")
        return met


DEFAULT_STOP = StoppingRule()


def posterior_entropy(posterior: Float[Tensor, "*b c"]) -> Float[Tensor, "*b"]:
    """Return the entropy of each posterior, in nats; a probability of 0 adds nothing."""
    return torch.special.entr(posterior).sum(dim=-1)
