"""Whether an image looks like any of the classes, by its answers.

An image of none of the classes answers as no class does: however its answers are explained, all of
them together are unlikely. How unlikely is compared with images held out from the fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.rules import GAP
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.parts import Expected, Sizes

# Held-out images that are kept for the comparison.
KEPT = 1024
# Likelihoods that differ by less, in nats, are equal: sums in another order differ in their last
# bits, and an image must conform alike in any batch.
ROUNDING = 1e-3
NOT_KNOWN = 255


@dataclass(frozen=True)
class Conformity:
    """The likelihood of all answers under the class that explains them best, calibrated.

    Attributes:
        table: how probable each answer is in each class.
        held_out: (m, k) answers of held-out images, in [0, 1].
    """

    table: AnswerTable
    held_out: Float[Tensor, "m k"]

    def p_values(self, answers: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Return the conformal p-value of each image, in (0, 1].

        Of images like the training images a share p has a value of at most p; a value near zero
        says that the image looks like none of the classes.
        """
        likelihood = self._likelihood(answers) + ROUNDING
        below = torch.searchsorted(self.ordered, likelihood, right=True)
        return (1 + below.float()) / (1 + len(self.ordered))

    @cached_property
    def ordered(self) -> Float[Tensor, " m"]:
        """The likelihoods of the held-out images, ascending."""
        return self._likelihood(self.held_out).sort().values

    def _likelihood(self, answers: Tensor) -> Tensor:
        mask = torch.ones_like(answers)
        return (self.table.evidence(answers, mask) - self.table.log_prior).amax(dim=1)

    def select(self, columns: Int[Tensor, " m"]) -> Conformity:
        """Return the same for m of the queries."""
        return Conformity(self.table.select(columns), self.held_out[:, columns])

    def to(self, device: torch.device | str) -> Conformity:
        """Return the same on a device."""
        return Conformity(self.table.to(device), self.held_out.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """Return table and answers, by name; the answers as levels 0..v-1 of one byte.

        255 is an answer between no and yes, of two.
        """
        levels = self.table.level_of(self.held_out).to(torch.uint8)
        if self.table.levels == 2:
            levels = levels.masked_fill(self.held_out == GAP, NOT_KNOWN)
        return {**self.table.tensors(), "held_out": levels}

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of the table and the answers."""
        held_out = tensors["held_out"].shape[:1] if "held_out" in tensors else ()
        most = sizes.levels - 1
        answers = Expected((*held_out, sizes.k), None, least=0, most=most, but=NOT_KNOWN)
        return {**AnswerTable.shapes(sizes, tensors), "held_out": answers}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Conformity:
        """Return what `tensors` gave."""
        table = AnswerTable.from_tensors(tensors)
        levels = tensors["held_out"]
        answers = levels.float() / (table.levels - 1)
        return cls(table, answers.masked_fill(levels == NOT_KNOWN, GAP))
