"""Classes of several kinds: how probable each answer is in each subclass of each class.

Within a class answers hang together: some spam sells drugs, some sells shares. If a class is a
mixture of subclasses, and answers are independent given the subclass, then

    P(a_1, ..., a_t | y) = sum over subclasses z of y of P(z | y) P(a_1 | z) ... P(a_t | z)

and what an answer says of the class depends on the answers before it. Calibration divides
log P(a_i | z), and the log-prior of the classes: P(z | y) stays whole, so that an answer that tells
nothing moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.parts import Expected, Sizes

# Logarithms of probabilities are not infinite.
TINY = 1e-300


@dataclass(frozen=True)
class SubclassTable(AnswerTable):
    """How probable each answer is in each of s subclasses, which take the place of the classes.

    Attributes:
        of: the class 0..c-1 of each subclass, ascending; each class has one at least.
    """

    classifier: ClassVar[str] = "subclasses"
    of: Int[Tensor, " s"] = field(kw_only=True)

    @cached_property
    def _groups(self) -> tuple[Int[Tensor, " m"], ...]:
        """The subclasses of each class."""
        numbers = torch.arange(len(self.of), device=self.of.device)
        return numbers.split(self.of.bincount().tolist())

    def pooled(self, logits: Float[Tensor, "*b s"]) -> Float[Tensor, "*b c"]:
        """Return the logits of the classes from those of their subclasses."""
        of = self.of.expand(logits.shape)
        most = logits.new_full((*logits.shape[:-1], len(self._groups)), -torch.inf)
        most = most.scatter_reduce(-1, of, logits, "amax")
        shares = (logits - most.gather(-1, of)).exp()
        return most + torch.zeros_like(most).scatter_add(-1, of, shares).log()

    @cached_property
    def class_prior(self) -> Float[Tensor, " c"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """log P(class)."""
        return self.pooled(self.log_prior)

    @cached_property
    def _within(self) -> Float[Tensor, " s"]:
        return self.log_prior - self.class_prior[self.of]  # log P(subclass | class)

    def logits(self, evidence: Float[Tensor, "*b s"], divisor: Any) -> Float[Tensor, "*b c"]:
        """Return the logits of the classes if the evidence of answers is divided by `divisor`.

        P(subclass | class) stays whole: what is divided is evidence, and the prior of the classes.
        """
        said = self.pooled(self._within + evidence / divisor)
        return self.class_prior / divisor**self.prior_exponent + said

    @property
    def of_classes(self) -> None:
        """Nothing: the evidence of answers does not add up class by class."""
        return None

    @property
    def marginal(self) -> AnswerTable:
        """How probable each answer is in each class before any other answer, uncalibrated."""
        joint = self.log_likelihood + self.log_prior
        prior = self.class_prior
        return AnswerTable(self.pooled(joint) - prior, prior.log_softmax(dim=0))

    def gain_of(self) -> Callable[[Float[Tensor, "b s"]], Float[Tensor, "b k"]]:
        """Return the function that turns posteriors of subclasses into gains about the class."""
        return partial(_class_gain, self.log_likelihood.exp(), self._groups)

    def for_classes(self, classes: Int[Tensor, " m"]) -> SubclassTable:
        """Return the table of m of its classes, whose priors sum to one."""
        kept = [self._groups[each] for each in classes.tolist()]
        of = torch.arange(len(kept), device=self.of.device)
        of = of.repeat_interleave(torch.tensor(list(map(len, kept)), device=of.device))
        return cast(SubclassTable, replace(super().for_classes(torch.cat(kept)), of=of))

    def to(self, device: torch.device | str) -> SubclassTable:
        """Return the same table on a device."""
        return cast(SubclassTable, replace(super().to(device), of=self.of.to(device)))

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of rates, calibration and classes."""
        of = tensors["of"]
        expected = super().shapes(sizes._replace(c=of.numel()), tensors)
        return {**expected, "of": Expected((of.numel(),), torch.long, least=0, most=sizes.c - 1)}

    def tensors(self) -> dict[str, Tensor]:
        """Return the table, by name."""
        return {**super().tensors(), "of": self.of}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> SubclassTable:
        """Return the table that `tensors` gave.

        Raises:
            ValueError: subclasses are not in the order of the classes, or a class has none.
        """
        of = tensors["of"]
        if (of.diff() < 0).any() or len(of.unique()) != int(of.max()) + 1:
            raise ValueError("of: expected the classes 0, 1, 2, ... in this order, all of them")
        plain: Any = vars(AnswerTable.from_tensors(tensors))
        return cls(**plain, of=of)


def _class_gain(
    likelihood: Float[Tensor, "v k s"], spans: Sequence[Tensor], posterior: Float[Tensor, "b s"]
) -> Float[Tensor, "b k"]:
    """Return I(Y; A_i | S) of each query, H(A_i) + H(Y) - H(A_i, Y), given the history."""
    shape = len(posterior), *likelihood.shape[:2]
    answers = posterior.new_zeros(shape)
    gain = posterior.new_zeros(shape[0], shape[2])
    for some in spans:
        share = posterior[:, some]
        joint = torch.einsum("bs,vks->bvk", share, likelihood[:, :, some])
        answers += joint
        gain -= _entropy(joint)
        gain += torch.special.entr(share.sum(dim=1, keepdim=True))
    return gain + _entropy(answers)


def _entropy(shares: Float[Tensor, "b v k"]) -> Float[Tensor, "b k"]:
    """Return the entropies of answers; three times as fast as `torch.special.entr`."""
    return -torch.linalg.vecdot(shares, shares.clamp_min(TINY).log(), dim=1)
