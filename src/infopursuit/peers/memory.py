"""What fits on the same images have in common, so that tries of settings share it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

Value = TypeVar("Value")


class Memory:
    """Results by what they follow from.

    A peer takes one as its parameter `memory`, as scikit-learn's pipelines do. Peers with one
    memory that differ in other settings compute once what does not depend on these; what they fit
    is the same to the bit.
    """

    def __init__(self) -> None:
        self.kept: dict[tuple[Any, ...], Any] = {}

    def get(self, make: Callable[[], Value], *given: Any) -> Value:
        """What `make` returned when it was first called for `given`: tensors and plain values."""
        key = tuple(_digest(each) if isinstance(each, Tensor) else each for each in given)
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def __deepcopy__(self, memo: dict[int, Any]) -> Memory:
        """Itself: peers that are cloned go on sharing it."""
        return self


def remembered(memory: Memory | None, make: Callable[[], Value], *given: Any) -> Value:
    """What a memory has for `given`; without a memory, what `make` returns."""
    return make() if memory is None else memory.get(make, *given)


def _digest(values: Tensor) -> tuple[Any, ...]:
    raw = values.contiguous().view(torch.uint8).numpy()
    digest = hashlib.sha256(raw)  # pyright: ignore[reportArgumentType]  # an array is a buffer
    return tuple(values.shape), str(values.dtype), digest.hexdigest()
