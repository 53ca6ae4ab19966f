"""The querier g and the classifier f: one architecture, two heads, no shared weights.

Implements appendix "Classifier and Querier Network Architecture": the same two layers act on the
answers and on the mask of a history; their outputs are concatenated and mapped by a linear head.

In a roll-out the histories of a batch grow query by query. One more query j with answer a adds
W[:, j] to the first layer's mask channel and a W[:, j] to its answer channel: no product with k
columns (W: the first layer's weight). Two classes go on from there, with equal results up to the
rounding of sums:

`DenseHistories` computes both channels of every history again. All shapes are fixed and nothing
depends on values, so that a GPU never waits and a roll-out can be captured as one graph. On a CPU,
small networks and batches take two thirds of the time: there is little to save.

`DistinctHistories` computes only what changed. An answer of 0 leaves the answer channel as it is.
The mask channel depends on the set of asked queries alone, and a querier asks many images the same
set: it is computed once for each distinct set. On a trained querier that leaves about a third of
the answer channel and a tenth to a half of the mask channel.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from infopursuit.core.errors import InputError
from infopursuit.pursuit.conformity import Conformity
from infopursuit.pursuit.parts import CLASSIFIERS, QUERIERS, Expected, Sizes
from infopursuit.pursuit.querier import Criterion

ANSWERS, MASK = 0, 1  # the channels of a history
# Up to so many products for a batch, all is computed again on a CPU, too.
FEW_PRODUCTS = 2**24


class Linear(nn.Linear):
    """A linear layer that adds its bias on its own on a GPU.

    At the sizes of these networks cuBLAS takes 1.4 to 1.6 times as long for a product together with
    its bias (H200).
    """

    def forward(self, input: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
        if input.is_cpu:
            return super().forward(input)
        return input @ self.weight.T + self.bias


class HistoryNetwork(nn.Module):
    """Maps a history over k queries to `outputs` logits (k for the querier, c for the classifier).

    Linear k -> h1, LayerNorm, ReLU, Linear h1 -> h2, LayerNorm, ReLU on both channels, then
    Linear 2 h2 -> outputs. Another architecture is a subclass with a `kind`, `layers` and `widths`
    of its own.
    """

    kind: ClassVar[str] = "networks"
    conformity: ClassVar[type[Conformity]] = Conformity
    criterion: Criterion = "querier probability"
    rounding = 0.0
    repeats: ClassVar[bool] = True
    table = exact = None  # of answers: networks know none

    def __init_subclass__(cls, **more: Any) -> None:
        """Remember the class by its kind."""
        super().__init_subclass__(**more)
        QUERIERS.register(cls)
        CLASSIFIERS.register(cls)

    def __init__(self, k: int, outputs: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        self.first = nn.Linear(k, hidden[0])
        self.rest = self.layers(hidden)
        self.head = Linear(2 * hidden[-1], outputs)

    @staticmethod
    def layers(hidden: tuple[int, int]) -> nn.Module:
        """Return what follows the first layer, on each channel."""
        return nn.Sequential(
            nn.LayerNorm(hidden[0]),
            nn.ReLU(),
            Linear(hidden[0], hidden[1]),
            nn.LayerNorm(hidden[1]),
            nn.ReLU(),
        )

    @classmethod
    def widths(cls, tensors: Mapping[str, Tensor]) -> tuple[int, int]:
        """Return `hidden` of the network that has these tensors."""
        shapes = [tuple(tensors[name].shape) for name in ("first.bias", "rest.2.bias")]
        if any(len(shape) != 1 for shape in shapes):
            raise ValueError(f"biases of the shapes {shapes}; expected one number for each unit")
        return shapes[0][0], shapes[1][0]

    def forward(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b outputs"]:
        """Return logits for the history that `mask` selects of all answers."""
        channels = torch.stack((answers * mask, mask), dim=1)
        return self.head(self.rest(self.first(channels)).flatten(1))

    def incremental(self, batch: int) -> DenseHistories | DistinctHistories:
        """Return `batch` empty histories, in the way that suits the device and the size."""
        products = batch * sum(each.numel() for each in self.rest.parameters())
        if self.head.weight.is_cpu and products > FEW_PRODUCTS:
            return DistinctHistories(self, batch)
        return DenseHistories(self, batch)

    def values(self, outputs: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return the probability that the querier gives to each query."""
        return outputs.softmax(dim=1)

    def select(self, columns: Int[Tensor, " m"]) -> HistoryNetwork:
        """Raise InputError: networks are trained on their whole dictionary."""
        raise InputError(
            "the networks of this model were trained on its whole dictionary; expected a naive "
            "Bayes model, whose queries can be left out"
        )

    def for_classes(self, classes: Int[Tensor, " m"]) -> HistoryNetwork:
        """Return the classifier of m of the classes: the others get no logits."""
        fewer = copy.copy(self)
        fewer._modules = dict(self._modules)  # the layers before the head are shared
        with torch.device("meta"):  # no weights are drawn
            fewer.head = Linear(self.head.in_features, len(classes))
        fewer.head.weight = nn.Parameter(self.head.weight.detach()[classes])
        fewer.head.bias = nn.Parameter(self.head.bias.detach()[classes])
        return fewer.eval()

    def for_classifier(self, classifier: object) -> HistoryNetwork:
        """Return the same querier: it chooses as it was trained, among all classes."""
        return self

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights."""
        return dict(self.state_dict())

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of the weights."""
        with torch.device("meta"):
            network = cls(sizes.k, sizes.outputs, cls.widths(tensors))
        return {name: Expected(tuple(each.shape)) for name, each in network.state_dict().items()}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], sizes: Sizes, classifier: object = None
    ) -> HistoryNetwork:
        """Return the network that `tensors` gave."""
        network = cls(sizes.k, sizes.outputs, cls.widths(tensors))
        network.load_state_dict(dict(tensors))
        return network.eval()


QUERIERS.register(HistoryNetwork)
CLASSIFIERS.register(HistoryNetwork)


class DenseHistories:
    """Both channels of every history, computed again at every step."""

    @torch.no_grad()
    def __init__(self, network: HistoryNetwork, batch: int) -> None:
        self.network = network
        self.columns = network.first.weight.T.contiguous()  # (k, hidden)
        self.first = network.first.bias.expand(batch, 2, -1).clone()
        # What a column counts in each channel: its answer, and 1.
        self.factors = torch.ones_like(self.first[:, :, :1])

    @torch.no_grad()
    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        mask = known.to(answers)
        self.first = self.network.first(torch.stack((answers * mask, mask), dim=1))

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        rows = len(queries)
        self.factors[:rows, ANSWERS, 0] = answers
        self.first[:rows].addcmul_(self.factors[:rows], self.columns[queries].unsqueeze(1))

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r outputs"]:
        return self.network.head(self.network.rest(self.first[:rows]).flatten(1))

    @torch.no_grad()
    def keep(self, rows: Int[Tensor, " r"]) -> None:
        self.first, self.factors = self.first[rows], self.factors[rows]


class DistinctHistories:
    """Each distinct mask, and each answer channel that changed, computed once a step.

    Sets of asked queries are identified by the exclusive or of random 64-bit keys, one a query
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
        # The head is linear in the concatenation of both channels: each adds its own logits.
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
    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        mask = known.to(answers)
        self.answer_first = self.network.first(answers * mask)
        self.answer_logits = self._answer_logits(self.answer_first)
        self.asked = known.clone()
        for query, key in enumerate(self.keys.tolist()):
            self.key_of ^= known[:, query] * key
        distinct, self.set_of = torch.unique(mask, dim=0, return_inverse=True)
        self.mask_first = self.network.first(distinct)
        self.mask_logits = self._mask_logits(self.mask_first)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        self._add_answers(queries, answers)
        self._add_to_masks(queries)

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r outputs"]:
        return self.mask_logits[self.set_of[:rows]].add_(self.answer_logits[:rows])

    @torch.no_grad()
    def keep(self, rows: Int[Tensor, " r"]) -> None:
        self.answer_first, self.answer_logits = self.answer_first[rows], self.answer_logits[rows]
        self.set_of, self.key_of = self.set_of[rows], self.key_of[rows]
        self.asked = self.asked[rows]

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
    distinct, number = torch.unique(keys, return_inverse=True)
    rows = torch.arange(len(keys))
    first = torch.full_like(distinct, len(keys)).scatter_reduce_(0, number, rows, "amin")
    return first, number
