"""A planted problem: classes differ in a few directions, each of which one text names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CLASSES, D, NOISE_TEXTS = 4, 24, 20


class Planted(NamedTuple):
    """Images of four classes; text i < 4 is true of class i, the others are noise.

    Attributes:
        X, y: training images and labels.
        X_test, y_test: others.
        texts, embeddings: 24 texts.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    texts: list[str]
    embeddings: np.ndarray


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def planted(per_class: int = 40, noise: float = 0.25, seed: int = 0) -> Planted:
    draw = np.random.default_rng(seed)
    # All embeddings share a direction, as those of CLIP do.
    shared = np.eye(D)[-1]
    directions = np.eye(D)[:CLASSES]
    others = draw.normal(size=(NOISE_TEXTS, D))
    others[:, :CLASSES] *= 0.1
    embeddings = unit(np.concatenate([directions, unit(others)]) + shared)

    def images(seed: int) -> tuple[np.ndarray, np.ndarray]:
        draw = np.random.default_rng(seed)
        labels = np.arange(CLASSES * per_class) % CLASSES
        rows = directions[labels] + shared + noise * draw.normal(size=(len(labels), D))
        return unit(rows), np.array(["cat", "dog", "emu", "fox"])[labels]

    texts = [f"concept {i}" for i in range(CLASSES)] + [f"noise {i}" for i in range(NOISE_TEXTS)]
    return Planted(*images(seed + 1), *images(seed + 2), texts, embeddings)
