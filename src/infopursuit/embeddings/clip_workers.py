"""The CLIP of a stage in the workers of a cluster: the same weights, device and threads as here."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from infopursuit.embeddings.clip import Clip
from infopursuit.errors import InputError


@dataclass(frozen=True)
class SameClip:
    """What a worker is sent in the place of a CLIP.

    Attributes:
        stamp: what the numbers of the CLIP in the stage's own process depend on.
        threads: how many threads torch has there; sums in another order end in other bits.
    """

    stamp: str
    threads: int

    def check(self, clip: Clip) -> Clip:
        """Set the threads of this process, and see that `clip` gives the numbers of the stage's.

        Raises:
            InputError: it would not: there are other weights, another torch or another device.
        """
        torch.set_num_threads(self.threads)
        if clip.stamp != self.stamp:
            raise InputError(
                f"compute.ray: a worker has the CLIP {clip.stamp!r}, the process of the stage has "
                f"{self.stamp!r}; expected the same files and the same torch on all machines, and "
                "a GPU for the stage where compute.ray.gpus_per_worker gives the workers one"
            )
        return clip


def same_clip(clip: Clip) -> SameClip:
    """What workers are to compare their CLIP with."""
    return SameClip(clip.stamp, torch.get_num_threads())
