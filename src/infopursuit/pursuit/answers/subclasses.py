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
from functools import cached_property
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.parts import Expected, Sizes

# Logarithms of probabilities are not infinite; answers that no class gives are less probable.
TINY, NEVER_GIVEN = 1e-300, 1e-8


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
        return _class_gain(self.log_likelihood.exp(), self._groups)

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
    likelihood: Float[Tensor, "v k s"], spans: Sequence[Tensor]
) -> Callable[[Float[Tensor, "b s"]], Float[Tensor, "b k"]]:
    """Return the function I(Y; A_i | S) = H(A_i) + H(Y) - H(A_i, Y) of the posterior given S.

    Columns have fewer levels than the table: answers that no class gives are left out.
    """
    given = likelihood.amax(dim=2) > NEVER_GIVEN
    rates, query_of = likelihood[given], functional.one_hot(given.nonzero()[:, 1], given.shape[1])
    query_of = query_of.to(rates)

    def gain_of(posterior: Float[Tensor, "b s"]) -> Float[Tensor, "b k"]:
        answers = posterior.new_zeros(len(posterior), len(rates))
        joint_entropy, classes = torch.zeros_like(answers), posterior.new_zeros(len(posterior), 1)
        for some in spans:
            joint = posterior[:, some] @ rates[:, some].T
            answers += joint
            joint_entropy += _entropies(joint)
            classes += torch.special.entr(posterior[:, some].sum(dim=1, keepdim=True))
        return classes + (_entropies(answers) - joint_entropy) @ query_of

    return gain_of


def _entropies(shares: Float[Tensor, "b m"]) -> Float[Tensor, "b m"]:
    """Return -p log p; three times as fast as `torch.special.entr`."""
    return -shares * shares.clamp_min(TINY).log()
