"""A small task: the planted problem, with knowledge, reference labels, and empty words."""

from __future__ import annotations

import numpy as np
import torch

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit_study.comparison.entries import Task
from tests.planted import planted, unit

# Not in sorted order, as labels of a data set need not be.
NAMES = ("fox", "cat", "emu", "dog")


def images(X: np.ndarray, y: np.ndarray, split: str) -> LabelledImages:
    labels = torch.tensor([NAMES.index(name) for name in y])
    ids = tuple(f"{split}/{row}" for row in range(len(X)))
    return LabelledImages(ids, labels, torch.from_numpy(X), NAMES)


def small_task(noise: float = 0.3, **changes: object) -> Task:
    data = planted(noise=noise, per_class=30)
    # Text i is true of class i in sorted order, and of no other; the rest are true of none.
    table = np.zeros((4, 24), dtype=np.float32)
    table[np.arange(4), np.arange(4)] = 1
    told = KnowledgeTable(tuple(sorted(NAMES)), tuple(data.texts), table)
    words = unit(np.random.default_rng(5).normal(size=(24, 24)))
    given: dict = {
        "texts": tuple(data.texts),
        "embeddings": data.embeddings,
        "train": images(data.X, data.y, "train"),
        "test": images(data.X_test, data.y_test, "test"),
        "class_embeddings": data.embeddings[[3, 0, 2, 1]],
        "control": (tuple(f"word {i}" for i in range(24)), words),
        "knowledge": told,
        "reference": told,
    }
    return Task(**{**given, **changes})
