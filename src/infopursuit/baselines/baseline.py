"""What every baseline can do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits
from torch import Tensor

from infopursuit.datasets.labelled_images import LabelledImages

# Multiplications of a product of matrices that is not worth dividing among threads.
SMALL = 50_000_000


@runtime_checkable
class Baseline(Protocol):
    """A classifier of embedded images."""

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> Baseline:
        """Learn from `train`; choose by `held_out`, which has the same classes."""
        ...

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """The predicted label 0..c-1 of each image."""
        ...


@contextmanager
def threads_for(multiplications: int) -> Iterator[None]:
    """One thread inside where a step needs few multiplications, all threads where it needs many.

    Small products gain nothing from a second thread, and wait for it where the machine is busy.
    """
    if multiplications > SMALL:
        yield
        return
    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
