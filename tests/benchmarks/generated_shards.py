"""Made-up images in shards, drawn anew from a seed whenever one is read: none are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch.nn import functional

from infopursuit.datasets.image_shards import SHARD_ROWS, Shard

PROPERTIES_OF_A_CLASS = 20
NOISE = 1.2


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of unit norm."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def properties(count: int, width: int, seed: int = 0) -> Float32[np.ndarray, "p d"]:
    """Directions that classes are made of, and that texts name."""
    return np.random.default_rng((seed, 1)).standard_normal((count, width), dtype=np.float32)


@dataclass(frozen=True)
class GeneratedShards:
    """n images of c classes, each the mean of its class and noise; row i has the label i mod c.

    Attributes:
        images: n.
        classes: c.
        width: d.
        seed: of all of them.
        rows: of a shard.
    """

    images: int
    classes: int = 100
    width: int = 512
    seed: int = 0
    rows: int = SHARD_ROWS
    clip: str | None = None

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"{self.images} made-up images"

    @property
    def class_names(self) -> tuple[str, ...]:
        """Of all classes, in their order."""
        return tuple(f"class {label:05d}" for label in range(self.classes))

    @property
    def counts(self) -> Int64[np.ndarray, " c"]:
        """Images of each class."""
        whole, left = divmod(self.images, self.classes)
        return np.full(self.classes, whole) + (np.arange(self.classes) < left)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Images of each shard."""
        whole, left = divmod(self.images, self.rows)
        return (self.rows,) * whole + ((left,) if left else ())

    def read(self, number: int) -> Shard:
        """Draw a shard; float16."""
        generator = np.random.default_rng((self.seed, 2, number))
        start = number * self.rows
        labels = np.arange(start, start + self.sizes[number]) % self.classes
        embeddings = np.empty((len(labels), self.width), dtype=np.float16)
        means = torch.from_numpy(self._means())
        for begin in range(0, len(labels), 8192):
            place = slice(begin, begin + 8192)
            # Whole numbers from -128 to 127, evenly, are drawn ten times as fast as normal ones.
            drawn = generator.integers(-128, 128, embeddings[place].shape, dtype=np.int8)
            noise = torch.from_numpy(drawn).float()
            noise *= NOISE / 73.9  # which is their standard deviation
            noise += means[torch.from_numpy(labels[place])]
            embeddings[place] = functional.normalize(noise, dim=1).half().numpy()
        return Shard(embeddings, labels.astype(np.int64))

    def _means(self) -> Float32[np.ndarray, "c d"]:
        some = properties(PROPERTIES_OF_A_CLASS * 50, self.width, self.seed)
        generator = np.random.default_rng((self.seed, 3))
        of_class = generator.integers(0, len(some), (self.classes, PROPERTIES_OF_A_CLASS))
        means = some[of_class].sum(axis=1) / PROPERTIES_OF_A_CLASS**0.5
        shared = generator.standard_normal(self.width, dtype=np.float32)
        return (means + shared).astype(np.float32)
