"""The towers of a CLIP in float16, each checked against float32 by its first batch.

Rounding to 11 bits leaves a cosine of 1 - 3e-6 in the menagerie's CLIP; what this must catch is a
tower whose activations leave the range of float16 (beyond 65,504, or lost below 6e-8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from jaxtyping import Float

from infopursuit.core.embeddings import unit_rows
from infopursuit.core.errors import InputError

Tower = Literal["texts", "images"]

# Between what rounding does and what leaving the range does. An error of this size points anywhere
# in d = 512 dimensions, so it moves a cosine with another embedding by about
# sqrt(2 * (1 - 0.999) / 512) = 0.002.
MIN_COSINE = 0.999


class HalfPrecision:
    """Which towers of a model compute in float16 already."""

    def __init__(self, where: str) -> None:
        """`where` is the path of the model, for messages."""
        self._where = where
        self._halved: set[Tower] = set()

    def rows(
        self, tower: Tower, model: Any, encode: Callable[[torch.dtype], Float[torch.Tensor, "b d"]]
    ) -> Float[torch.Tensor, "b d"]:
        """A batch in float16. The first of a tower is made in float32 too, before it is converted.

        Args:
            tower: which tower `encode` uses.
            model: open_clip's model, in float32 but for the towers that were here before; after an
                error it is spoilt.
            encode: gives the rows with inputs of a precision.

        Raises:
            InputError: the two differ by more than rounding, or those in float32 are no directions.
        """
        if tower in self._halved:
            return encode(torch.float16)
        whole = encode(torch.float32)
        unit_rows(whole.cpu().numpy(), f"{self._where}: the first batch of {tower}")
        halve(model, tower)
        half = encode(torch.float16)
        self._check(tower, whole, half)
        self._halved.add(tower)
        return half

    def _check(self, tower: Tower, whole: torch.Tensor, half: torch.Tensor) -> None:
        cosines = torch.cosine_similarity(whole.float(), half.float())
        # NaN counts as the worst, and is what an overflow gives.
        found = cosines.nan_to_num(nan=-1.0).min().item()
        if found < MIN_COSINE:
            finite = bool(half.isfinite().all())
            told = f"a cosine of {found:.4f}" if finite else "numbers that are not finite"
            raise InputError(
                f"compute.half_precision: {self._where} does not keep its embeddings of {tower} in "
                f"float16; expected a cosine of at least {MIN_COSINE} to those in float32 in the "
                f"first batch, found {told}; set it to false"
            )


@torch.inference_mode(mode=False)
def halve(model: Any, tower: Tower) -> None:
    """Convert one tower of open_clip's model to float16, in place."""
    if tower == "images":
        model.visual.half()
        return
    for name, module in model.named_children():
        if name != "visual":
            module.half()
    # A CLIP keeps the ends of its text tower itself, beside the modules.
    for parameter in model.parameters(recurse=False):
        parameter.data = parameter.data.half()
    for name, buffer in list(model.named_buffers(recurse=False)):
        if buffer.is_floating_point():
            setattr(model, name, buffer.half())
