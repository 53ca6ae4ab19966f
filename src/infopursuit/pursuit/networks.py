"""The querier g and the classifier f: one architecture, two heads, no shared weights.

Implements appendix "Classifier and Querier Network Architecture": the same two layers act on the
answers and on the mask of a history; their outputs are concatenated and mapped by a linear head.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class HistoryNetwork(nn.Module):
    """Maps a history over k queries to `outputs` logits (k for the querier, c for the classifier).

    Linear k -> h1, LayerNorm, ReLU, Linear h1 -> h2, LayerNorm, ReLU on both channels, then
    Linear 2 h2 -> outputs.
    """

    def __init__(self, k: int, outputs: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        self.first = nn.Linear(k, hidden[0])
        self.rest = nn.Sequential(
            nn.LayerNorm(hidden[0]),
            nn.ReLU(),
            nn.Linear(hidden[0], hidden[1]),
            nn.LayerNorm(hidden[1]),
            nn.ReLU(),
        )
        self.head = nn.Linear(2 * hidden[1], outputs)

    def forward(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b outputs"]:
        """Logits for the history that `mask` selects of all answers."""
        return self.from_first(self.first(torch.stack((answers * mask, mask), dim=1)))

    def from_first(self, first: Float[Tensor, "b 2 hidden"]) -> Float[Tensor, "b outputs"]:
        """Logits from the pre-activations of the first layer (see `GrowingHistory`)."""
        return self.head(self.rest(first).flatten(1))


class GrowingHistory:
    """A network's first layer kept up to date while a history grows query by query.

    One more query j with answer a adds W[:, j] to the mask channel and a * W[:, j] to the answer
    channel, so that a step of a roll-out needs no product with k columns. Without gradients.
    """

    @torch.no_grad()
    def __init__(self, network: HistoryNetwork, batch: int) -> None:
        self.network = network
        self.columns = network.first.weight.T.contiguous()  # (k, hidden)
        self.first = network.first.bias.expand(batch, 2, -1).clone()

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query and its answer to each of the first r histories."""
        columns = self.columns[queries]
        rows = len(queries)
        self.first[:rows, 0] += answers.unsqueeze(1) * columns
        self.first[:rows, 1] += columns

    @torch.no_grad()
    def logits(self, rows: int) -> Float[Tensor, "r outputs"]:
        """Logits of the first `rows` histories."""
        return self.network.from_first(self.first[:rows])
