"""Made-up embeddings of any size that behave like CLIP's: clustered, with a common mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.datasets.labelled_images import SHARD_ROWS, Shard
from infopursuit.pursuit.vip.training import TrainingImages


class Problem(NamedTuple):
    """Images with labels, a universe (u, d) float16, and the rows the dictionary starts from."""

    images: TrainingImages
    universe: Tensor
    initial: Tensor


def problem(
    images: int, u: int, k: int, d: int = 768, classes: int = 10, topics: int = 2000, seed: int = 0
) -> Problem:
    """Draw texts around topics, with cosines of about 0.65 between any two; images near classes."""
    mean, centres, universe = _texts(u, d, topics, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    labels = torch.arange(images) % classes
    points = noise(generator, d) + 0.6 * noise(generator, classes, d)
    points = points + 0.4 * centres[torch.arange(classes) % len(centres)] + 0.2 * mean
    embeddings = normalize(points[labels] + 0.6 * noise(generator, images, d), dim=1)
    initial = torch.randperm(u, generator=generator)[:k]
    return Problem(TrainingImages(embeddings, labels, classes), universe, initial)


@lru_cache(maxsize=1)
def _texts(u: int, d: int, topics: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean of all texts (d,), the centres of the topics, and u texts around them."""
    generator = torch.Generator().manual_seed(seed)
    mean, centres = noise(generator, d), noise(generator, min(topics, u), d)
    universe = torch.empty(u, d, dtype=torch.float16)
    for start in range(0, u, 65536):
        rows = min(65536, u - start)
        topic = torch.randint(len(centres), (rows,), generator=generator)
        texts = 1.4 * mean + 0.8 * centres[topic] + 0.6 * noise(generator, rows, d)
        universe[start : start + rows] = normalize(texts, dim=1).half()
    return mean, centres, universe


def noise(generator: torch.Generator, *shape: int) -> Tensor:
    """Draw Gaussian vectors of about unit norm."""
    return torch.randn(*shape, generator=generator) / shape[-1] ** 0.5


PROPERTIES, PROPERTIES_OF_A_CLASS = 1000, 20
NOISE = 1.2
BLOCK = 8192


def _properties(width: int, seed: int = 0) -> Float32[np.ndarray, "p d"]:
    """Return directions that classes are made of, and that texts name."""
    generator = np.random.default_rng((seed, 1))
    return generator.standard_normal((PROPERTIES, width), dtype=np.float32)


def write_texts(path: Path, u: int, width: int, kind: type = np.float16) -> None:
    """Write u text embeddings, a third of which name what the classes of the shards are made of."""
    generator = np.random.default_rng(4)
    texts = np.lib.format.open_memmap(path, "w+", kind, shape=(u, width))
    named = _properties(width)
    for start in range(0, u, 65536):
        rows = generator.standard_normal((min(65536, u - start), width), dtype=np.float32)
        third = slice(0, len(rows), 3)
        numbers = np.arange(start, start + len(rows))[third] % PROPERTIES
        rows[third] = 0.5 * rows[third] + named[numbers]
        texts[start : start + len(rows)] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    texts.flush()


@dataclass(frozen=True)
class GeneratedShards:
    """n images of c classes, each the mean of its class and noise; row i has the label i mod c.

    Attributes:
        images: n.
        classes: c.
        width: d.
        seed: the seed of everything that is drawn.
        rows: images in a shard.
    """

    images: int
    classes: int = 100
    width: int = 512
    seed: int = 0
    rows: int = SHARD_ROWS
    clip: str | None = None

    @property
    def where(self) -> str:
        """Return the name of these images in messages."""
        return f"{self.images} made-up images"

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of all classes, in their order."""
        return tuple(f"class {label:05d}" for label in range(self.classes))

    @property
    def counts(self) -> Int64[np.ndarray, " c"]:
        """Return the number of images of each class."""
        each, left = divmod(self.images, self.classes)
        return np.full(self.classes, each) + (np.arange(self.classes) < left)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of images of each shard."""
        full, left = divmod(self.images, self.rows)
        return (self.rows,) * full + ((left,) if left else ())

    def read(self, number: int) -> Shard:
        """Draw a shard; float16."""
        generator = np.random.default_rng((self.seed, 2, number))
        start = number * self.rows
        labels = np.arange(start, start + self.sizes[number]) % self.classes
        embeddings = np.empty((len(labels), self.width), dtype=np.float16)
        means = torch.from_numpy(self._means())
        for begin in range(0, len(labels), BLOCK):
            place = slice(begin, begin + BLOCK)
            # Uniform whole numbers from -128 to 127 are drawn ten times as fast as normal ones.
            drawn = generator.integers(-128, 128, embeddings[place].shape, dtype=np.int8)
            noise = torch.from_numpy(drawn).float()
            noise *= NOISE / 73.9  # which is their standard deviation
            noise += means[torch.from_numpy(labels[place])]
            embeddings[place] = normalize(noise, dim=1).half().numpy()
        return Shard(embeddings, labels.astype(np.int64))

    def _means(self) -> Float32[np.ndarray, "c d"]:
        directions = _properties(self.width, self.seed)
        generator = np.random.default_rng((self.seed, 3))
        of_class = generator.integers(0, PROPERTIES, (self.classes, PROPERTIES_OF_A_CLASS))
        means = directions[of_class].sum(axis=1) / PROPERTIES_OF_A_CLASS**0.5
        shared = generator.standard_normal(self.width, dtype=np.float32)
        return (means + shared).astype(np.float32)
