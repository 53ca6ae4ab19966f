"""Questions that are put off: nobody asks "a turtle?" after "a sea turtle? yes"."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# What the information of a question counts that is put off: it is asked after all others.
COUNTS = 1e-3


class PutOff:
    """Which of k questions are put off after which others.

    Attributes:
        after_any, after_yes: (k, k), 1 where the column is put off after the row was asked and got
            any answer, or a yes.

    Args:
        pairs: (p, 3): a question that was asked, one that is put off after it, and 1 where only
            after a yes, 0 after any answer.
        k: how many questions there are.
    """

    def __init__(self, pairs: Int[Tensor, "p 3"], k: int) -> None:
        self.pairs, self.k = pairs, k
        asked, other, after_yes = pairs.T.long()
        always = torch.zeros(k, k, device=pairs.device)
        always[asked[after_yes == 0], other[after_yes == 0]] = 1
        self.after_any, self.after_yes = always, always.clone()
        self.after_yes[asked, other] = 1

    def after(
        self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]
    ) -> Bool[Tensor, "r k"]:
        """What one more question and its answer put off."""
        said_yes = (answers == 1).unsqueeze(1)
        return torch.where(said_yes, self.after_yes[queries], self.after_any[queries]) > 0

    def of(self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]) -> Bool[Tensor, "b k"]:
        """What the history that `mask` selects puts off."""
        mask = mask.to(self.after_any.dtype)
        said_yes = mask * (answers == 1)
        return mask @ self.after_any + said_yes @ self.after_yes > 0

    def select(self, columns: Int[Tensor, " m"]) -> PutOff:
        """The same of m of the questions."""
        place = torch.full((self.k,), -1, device=self.pairs.device)
        place[columns] = torch.arange(len(columns), device=place.device)
        asked, other, after_yes = self.pairs.T
        pairs = torch.stack([place[asked], place[other], after_yes], dim=1)
        return PutOff(pairs[(pairs >= 0).all(dim=1)], len(columns))

    def to(self, device: torch.device | str) -> PutOff:
        """The same on a device."""
        return PutOff(self.pairs.to(device), self.k)
