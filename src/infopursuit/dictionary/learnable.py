"""The learnable dictionary: k points theta in embedding space, each standing for its nearest text.

Implements the parameterisation of sec. "K-Learned Queries" (eq. nearest_neighbor) with the
straight-through estimator.
"""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from infopursuit.dictionary.nearest_texts import nearest_texts


class LearnableDictionary(nn.Module):
    """k thetas that start at given texts of the universe.

    Args:
        universe: (u, d) embeddings of all texts; kept as they are, on the device of theta.
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

    def forward(self) -> Float[Tensor, "k d"]:
        """Unit-norm query embeddings; their gradient reaches theta (straight-through)."""
        if not self.quantize:
            return functional.normalize(self.theta, dim=1)
        texts = functional.normalize(self.universe[self.rows].float(), dim=1)
        return texts + (self.theta - self.theta.detach())

    def snap(self) -> None:
        """Find the nearest text of each theta anew; call after every update of theta."""
        self.rows.copy_(nearest_texts(self.theta, self.universe))
