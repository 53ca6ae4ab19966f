"""open_clip's preprocessing of images in two parts, so that each runs where it is cheapest.

Resizing works on one image and runs in the threads that decode; scaling and normalising work on
numbers alone and run once for a batch, on the device, to which bytes are a fourth of the way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from PIL.Image import Image
from torchvision.transforms import Compose, Normalize, ToTensor


class Preprocessing:
    """The transform that open_clip makes for a CLIP; both parts together equal the whole.

    Attributes:
        whole: an image to its (3, h, w) float32 tensor.
    """

    def __init__(self, whole: Compose) -> None:
        *resizing, to_tensor, normalize = whole.transforms
        if not (isinstance(to_tensor, ToTensor) and isinstance(normalize, Normalize)):
            raise TypeError(
                f"expected a transform that ends in to-tensor and normalise, got {whole}"
            )
        self.whole: Callable[[Image], torch.Tensor] = whole
        self._resizing = Compose(resizing)
        self._mean, self._std = (
            torch.as_tensor(values, dtype=torch.float32).view(-1, 1, 1)
            for values in (normalize.mean, normalize.std)
        )

    def pixels(self, image: Image) -> UInt8[np.ndarray, "3 h w"]:
        """Resize and crop an image.

        No operation of torch: each would start a team of threads in every thread that decodes.
        """
        return np.asarray(self._resizing(image)).transpose(2, 0, 1).copy()

    def normalized(
        self, batch: UInt8[torch.Tensor, "b 3 h w"] | Float[torch.Tensor, "b 3 h w"]
    ) -> Float32[torch.Tensor, "b 3 h w"]:
        """Scale and normalise a batch of `pixels` on its device; floats are ready, and stay."""
        if batch.is_floating_point():
            return batch.float()
        mean, std = self._mean.to(batch.device), self._std.to(batch.device)
        # The order and the divisions of torchvision, for the same last bits.
        return batch.float().div_(255).sub_(mean).div_(std)
