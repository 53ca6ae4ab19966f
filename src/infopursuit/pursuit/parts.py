"""What the parts of a model are called in saved models, and say of the tensors saved there.

A rule, a querier, a classifier and what goes with them have

    kind             the word by which a saved model names the part
    shapes(...)      what is expected of each tensor, by name
    tensors()        the tensors
    from_tensors()   the part again, from tensors that are as expected
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infopursuit.core.errors import InputError


class Kinds:
    """The classes of one part of a model, each by the word that saved models have for it.

    Args:
        part: what it is called in messages.
        elsewhere: modules that are imported when a model first needs a kind, by its word.
    """

    def __init__(self, part: str, **elsewhere: str) -> None:
        self.part, self._elsewhere = part, elsewhere
        self._known: dict[str, type] = {}
        self._places = sorted(set(elsewhere.values()))

    def __iter__(self) -> Any:
        return iter(dict.fromkeys([*self._known, *self._elsewhere]))

    def register(self, kind: type) -> type:
        """Remember a class by its own `kind`; a class that shares its parent's is another one.

        Raises:
            ValueError: another class has this word.
        """
        word, place = vars(kind).get("kind"), f"{kind.__module__}.{kind.__qualname__}"
        if word is not None:
            taken = self._known.setdefault(word, kind)
            home = self._elsewhere.get(word, kind.__module__)
            if f"{taken.__module__}.{taken.__qualname__}" != place or home != kind.__module__:
                raise ValueError(f"{place}: another {self.part} has the kind {word!r}")
            self._known[word] = kind  # a notebook may define it again
        return kind

    def of(self, word: str) -> Any:
        """Return the class of a word.

        Raises:
            ValueError: there is none; the class of a model of one's own has to be imported first.
        """
        if word not in self._known:  # a module may have kinds beside the one that it is named for
            for place in {self._elsewhere[word]} if word in self._elsewhere else self._places:
                import_module(place)
        if word not in self._known:
            raise ValueError(f"{self.part}: expected one of {', '.join(self)}, found {word!r}")
        return self._known[word]

    def known(self, word: str) -> str:
        """Return a word that a class has; ValueError for any other."""
        self.of(word)
        return word

    def word(self, holder: object) -> str:
        """Return the word of a part of a model.

        Raises:
            InputError: a saved model would come back with another class, or not at all.
        """
        own = type(holder)
        word = str(getattr(own, "kind", None))
        if self._known.get(word) is not own:
            raise InputError(
                f"the {self.part} of this model is a {own.__name__}, which `load` would not find; "
                "expected a class with a `kind` of its own"
            )
        return word


# By their full names, so that what loads a model depends on them.
NETWORKS, GAUSSIAN = "infopursuit.pursuit.vip.networks", "infopursuit.pursuit.gaussian.model"
BAYES = "infopursuit.pursuit.naive_bayes.model"
RULES = Kinds("rule", levels="infopursuit.pursuit.gaussian.levels")
QUERIERS = Kinds(
    "querier",
    information_gain=BAYES,
    gaussian=GAUSSIAN,
    networks=NETWORKS,
)
CLASSIFIERS = Kinds(
    "classifier",
    gaussian=GAUSSIAN,
    naive_bayes=BAYES,
    subclasses="infopursuit.pursuit.naive_bayes.subclasses",
    networks=NETWORKS,
)


class Sizes(NamedTuple):
    """What a description claims of the sizes of a model.

    Attributes:
        k: questions.
        c: classes.
        d: width of the rows.
        levels: v, how many answers there are.
        outputs: of a network.
    """

    k: int
    c: int
    d: int
    levels: int = 2
    outputs: int = 1


class Expected(NamedTuple):
    """What is expected of a tensor; nothing of a size that is only claimed is allocated.

    Attributes:
        shape: its shape.
        dtype: its type; None for any integers.
        optional: whether it may be missing.
        least: of its numbers.
        most: of its numbers.
        above: what its numbers exceed.
        infinite: whether they may be infinite.
        but: a number that stands for none, whatever the others are.
        covariance: whether it is the covariance of something.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype | None = torch.float32
    optional: bool = False
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    infinite: bool = False
    but: int | None = None
    covariance: bool = False

    def check(self, name: str, tensor: Tensor) -> None:
        """Raise ValueError unless a tensor is so."""
        if tuple(tensor.shape) != self.shape:
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)}; expected {self.shape}")
        if self.dtype is None and tensor.is_floating_point():
            raise ValueError(f"{name} is {tensor.dtype}; expected integers")
        if self.dtype is not None and tensor.dtype != self.dtype:
            raise ValueError(f"{name} is {tensor.dtype}; expected {self.dtype}")
        if tensor.is_floating_point() and not (self.infinite or torch.isfinite(tensor).all()):
            raise ValueError(f"{name} holds NaN or infinity; expected finite numbers")
        counted = tensor if self.but is None else tensor[tensor != self.but]
        if not counted.numel():
            return
        if self.covariance:
            symmetric = torch.allclose(tensor, tensor.T, rtol=1e-3, atol=1e-6)
            if not symmetric or torch.linalg.cholesky_ex(tensor.double()).info:
                raise ValueError(f"{name} is no covariance; expected a positive definite matrix")
        low, high = counted.min().item(), counted.max().item()
        found = f"is {low}" if not tensor.ndim else f"holds {low} to {high}"
        if not low > self.above:
            raise ValueError(f"{name} {found}; expected more than {self.above:g}")
        if not self.least <= low <= high <= self.most:
            most = "more" if self.most == math.inf else f"{self.most:g}"
            raise ValueError(f"{name} {found}; expected {self.least:g} to {most}")


def check_tensors(
    part: str, tensors: Mapping[str, Tensor], expected: Mapping[str, Expected]
) -> None:
    """Raise ValueError unless the tensors of a part are as expected, all and no others."""
    for name, each in expected.items():
        if name in tensors:
            each.check(f"{part}.{name}", tensors[name])
        elif not each.optional:
            raise ValueError(f"no tensor {part}.{name}")
    for name in tensors:
        if name not in expected:
            raise ValueError(f"a tensor {part}.{name}, which such a model has not")
