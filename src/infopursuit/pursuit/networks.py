"""The querier g and the classifier f: one architecture, two heads, no shared weights.

Implements appendix "Classifier and Querier Network Architecture": the same two layers act on the
answers and on the mask of a history; their outputs are concatenated and mapped by a linear head.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
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
        channels = torch.stack((answers * mask, mask), dim=1)
        return self.head(self.rest(self.first(channels)).flatten(1))
