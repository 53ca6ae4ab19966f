"""Logits of a network while the histories of a batch grow query by query, without gradients.

One more query j with answer a adds W[:, j] to the first layer's mask channel and a W[:, j] to its
answer channel: no product with k columns (W: the first layer's weight). Two ways to go on from
there, with equal results up to the rounding of sums:

`DenseHistories` computes both channels of every history anew. All shapes are fixed and nothing
depends on values, so that a GPU never waits and a roll-out can be captured as one graph.

`DistinctHistories` computes only what changed. An answer of 0 leaves the answer channel as it is.
The mask channel depends on the set of asked queries alone, and a querier asks many images the same
set: it is computed once for each distinct set. On a trained querier that leaves about a third of
the answer channel and a tenth to a half of the mask channel.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.evidence_networks import EvidenceClassifier, InformationGain
from infopursuit.pursuit.networks import HistoryNetwork

ANSWERS, MASK = 0, 1  # the channels of a history


@runtime_checkable
class GrowingHistories(Protocol):
    """b histories over k queries that start empty; rows are only ever dropped from the end."""

    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query, not asked before, and its answer to each of the first r histories."""
        ...

    def logits(self, rows: int) -> Float[Tensor, "r outputs"]:
        """Logits of the first `rows` histories."""
        ...


# What can ask or classify, one answer after the other.
Querier = HistoryNetwork | InformationGain
Classifier = HistoryNetwork | EvidenceClassifier


def growing_histories(network: Querier | Classifier, batch: int) -> GrowingHistories:
    """`batch` empty histories, in the way that suits the network and its device."""
    if not isinstance(network, HistoryNetwork):
        return network.grow(batch)
    if network.head.weight.is_cpu:
        return DistinctHistories(network, batch)
    return DenseHistories(network, batch)


class DenseHistories:
    """Both channels of every history computed anew at every step."""

    @torch.no_grad()
    def __init__(self, network: HistoryNetwork, batch: int) -> None:
        self.network = network
        self.columns = network.first.weight.T.contiguous()  # (k, hidden)
        self.first = network.first.bias.expand(2, batch, -1).clone()

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        rows = len(queries)
        columns = self.columns[queries]
        self.first[ANSWERS, :rows] += answers.unsqueeze(1) * columns
        self.first[MASK, :rows] += columns

    @torch.no_grad()
    def logits(self, rows: int) -> Float[Tensor, "r outputs"]:
        both = self.network.rest(self.first[:, :rows])
        return self.network.head(torch.cat((both[ANSWERS], both[MASK]), dim=1))


class DistinctHistories:
    """Each distinct mask, and each answer channel that changed, computed once a step.

    Sets of asked queries are told apart by the exclusive or of random 64-bit keys, one a query
    (Zobrist hashing), and the masks themselves are compared, so that a collision of keys costs
    time and never a wrong logit.
    """

    @torch.no_grad()
    def __init__(
        self, network: HistoryNetwork, batch: int, keys: Int[Tensor, " k"] | None = None
    ) -> None:
        k = network.first.in_features
        bias = network.first.bias.detach().unsqueeze(0)
        self.network = network
        self.columns = network.first.weight.T.contiguous()  # (k, hidden)
        self.answer_first = bias.repeat(batch, 1)
        # The head is linear in the concatenation of both channels: each adds logits of its own.
        self.heads = [half.T.contiguous() for half in network.head.weight.chunk(2, dim=1)]
        self.answer_logits = self._answer_logits(bias).repeat(batch, 1)
        # The mask channel of the g distinct sets, and the set of each history.
        self.mask_first = bias
        self.mask_logits = self._mask_logits(bias)
        self.set_of = torch.zeros(batch, dtype=torch.long)
        self.asked = torch.zeros(batch, k, dtype=torch.bool)
        self.keys = _random_keys(k) if keys is None else keys
        self.key_of = torch.zeros(batch, dtype=torch.long)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        self._add_answers(queries, answers)
        self._add_to_masks(queries)

    @torch.no_grad()
    def logits(self, rows: int) -> Float[Tensor, "r outputs"]:
        return self.mask_logits[self.set_of[:rows]].add_(self.answer_logits[:rows])

    def _add_answers(self, queries: Tensor, answers: Tensor) -> None:
        changed = answers.nonzero().squeeze(1)
        added = self.columns[queries[changed]].mul_(answers[changed].unsqueeze(1))
        first = self.answer_first[changed].add_(added)
        self.answer_first[changed] = first
        self.answer_logits[changed] = self._answer_logits(first)

    def _add_to_masks(self, queries: Tensor) -> None:
        rows = len(queries)
        self.asked[torch.arange(rows), queries] = True
        self.key_of[:rows] ^= self.keys[queries]
        example, set_of = _distinct(self.key_of[:rows])
        if not torch.equal(self.asked[example[set_of]], self.asked[:rows]):
            example = set_of = torch.arange(rows)
        before = self.mask_first[self.set_of[example]]
        self.mask_first = before.add_(self.columns[queries[example]])
        self.mask_logits = self._mask_logits(self.mask_first)
        self.set_of = set_of

    def _answer_logits(self, first: Tensor) -> Tensor:
        return torch.addmm(self.network.head.bias, self.network.rest(first), self.heads[ANSWERS])

    def _mask_logits(self, first: Tensor) -> Tensor:
        return torch.mm(self.network.rest(first), self.heads[MASK])


def _random_keys(k: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-(2**63), 2**63 - 1, (k,), generator=generator)


def _distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """The first row that holds each distinct key (g,), and the number of each row's key (r,)."""
    distinct, number = torch.unique(keys, return_inverse=True)
    rows = torch.arange(len(keys))
    first = torch.full_like(distinct, len(keys)).scatter_reduce_(0, number, rows, "amin")
    return first, number
