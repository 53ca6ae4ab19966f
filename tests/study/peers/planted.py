"""Small problems: classes in planted directions, each named by one text; and three clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit_study.peers.black_boxes import EmbeddingProbe
from infopursuit_study.peers.codes import IPOMP, SpLiCE
from infopursuit_study.peers.linear import LabelFreeCBM, LaBo, SparseLogistic, ZeroShot
from infopursuit_study.peers.peer import Peer
from infopursuit_study.peers.pursuits import GenerativeIP, Ours, PaperNetworks
from infopursuit_study.peers.trees import AnswerTree
from tests.planted import unit

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


def blobs(n: int, seed: int, noise: float = 0.05) -> LabelledImages:
    """Three clusters of embeddings, one a class."""
    centres = unit(np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]))
    labels = torch.arange(n) % 3
    noises = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed)).numpy()
    points = torch.from_numpy(unit(centres[labels] + noise * noises))
    return LabelledImages(tuple(map(str, range(n))), labels, points, ("cat", "dog", "owl"))


NAMES = ("cat", "dog", "emu", "fox")
SMALL = (2, 4)
DESCRIBED = {name: [f"concept {i}", "noise 0", "noise 1"] for i, name in enumerate(NAMES)}
PEERS: dict[str, Callable[[Planted], Peer]] = {
    "sparse_logistic": lambda data: SparseLogistic(data.texts, data.embeddings, budgets=SMALL),
    "label_free": lambda data: LabelFreeCBM(data.texts, data.embeddings, budgets=SMALL),
    "ip_omp": lambda data: IPOMP(data.texts, data.embeddings, budgets=SMALL),
    "splice": lambda data: SpLiCE(data.texts, data.embeddings, budgets=SMALL),
    "labo": lambda data: LaBo(data.texts, data.embeddings, DESCRIBED, budgets=SMALL),
    "generative_ip": lambda data: GenerativeIP(
        data.texts, data.embeddings, "informative", budgets=SMALL
    ),
    "ours": lambda data: Ours(data.texts, data.embeddings, 8, budgets=SMALL),
    "networks": lambda data: PaperNetworks(
        data.texts, data.embeddings, data.texts[:8], patience=50, updates=(300, 200), budgets=SMALL
    ),
    "tree": lambda data: AnswerTree(data.texts, data.embeddings, budgets=SMALL),
    "zero_shot": lambda data: ZeroShot(NAMES, data.embeddings[:4]),
    "probe": lambda data: EmbeddingProbe(),
}


def made(name: str, data: Planted) -> Peer:
    return PEERS[name](data)
