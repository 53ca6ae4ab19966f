"""The learnable dictionary: k points theta in embedding space, each standing for its nearest text.

Implements the parameterisation of sec. "K-Learned Queries" (eq. nearest_neighbor) with the
straight-through estimator.
"""

from __future__ import annotations

import copy
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from infopursuit.pursuit.dictionary.nearest_texts import DeviceNearestTexts, LazyNearestTexts


class LearnableDictionary(nn.Module):
    """k thetas that start at given texts of the universe.

    Args:
        universe: (u, d) embeddings of all texts, on the device of theta; kept as they are, and
            shared by copies of the dictionary.
        initial: (k,) rows of the universe.
        quantize: snap each theta to its nearest text; False uses normalize(theta) itself.
    """

    rows: Int[Tensor, " k"]

    def __init__(
        self,
        universe: Float[Tensor, "u d"],
        initial: Int[Tensor, " k"],
        quantize: bool = True,
    ) -> None:
        super().__init__()
        self.universe = universe
        self.quantize = quantize
        self.theta = nn.Parameter(universe[initial].float())
        # A buffer, so that a checkpoint carries it: exact ties may start at a higher row.
        self.register_buffer("rows", initial.clone())
        # Made when it is first needed: a dictionary that never learns need not read all texts.
        self._nearest: LazyNearestTexts | DeviceNearestTexts | None = None

    def forward(self) -> Float[Tensor, "k d"]:
        """Return unit-norm query embeddings; their gradient reaches theta (straight-through)."""
        if not self.quantize:
            return functional.normalize(self.theta, dim=1)
        texts = functional.normalize(self.universe[self.rows].to(self.theta.dtype), dim=1)
        return texts + (self.theta - self.theta.detach())

    def snap(self) -> None:
        """Find the nearest text of each theta; call after every update of theta.

        Raises:
            ValueError: a theta holds NaN or infinity (not looked for on a GPU).
        """
        if self._nearest is None and self.theta.is_cpu:
            self._nearest = LazyNearestTexts(self.universe)
        elif self._nearest is None:
            self._nearest = DeviceNearestTexts(self.universe, self.theta.dtype)
        self.rows.copy_(self._nearest.search(self.theta))

    @property
    def full_search_share(self) -> float:
        """Share of all searched thetas for which the whole universe was searched.

        0.0 before the first search; 1.0 on a GPU, where no other search is made.
        """
        if not self.theta.is_cpu:
            return 1.0
        if not isinstance(self._nearest, LazyNearestTexts) or self._nearest.searches == 0:
            return 0.0
        return self._nearest.full_searches / self._nearest.searches

    def __deepcopy__(self, memo: dict[int, Any]) -> LearnableDictionary:
        """Return a copy of everything but the universe, which is shared."""
        memo[id(self.universe)] = self.universe
        duplicate = self.__class__.__new__(self.__class__)
        memo[id(self)] = duplicate
        duplicate.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return duplicate
