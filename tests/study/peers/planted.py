"""Small problems: classes in planted directions, each named by one text; and three clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit_study.peers.black_boxes import EmbeddingProbe
from infopursuit_study.peers.codes import IPOMP, SpLiCE
from infopursuit_study.peers.linear import LabelFreeCBM, LaBo, SparseLogistic, ZeroShot
from infopursuit_study.peers.peer import Peer
from infopursuit_study.peers.pursuits import GenerativeIP, Ours, PaperNetworks
from infopursuit_study.peers.trees import AnswerTree
from tests.planted import NAMES, Planted, unit
from tests.planted import planted as planted


def blobs(n: int, seed: int, noise: float = 0.05) -> LabelledImages:
    """Three clusters of embeddings, one a class."""
    centres = unit(np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]))
    labels = torch.arange(n) % 3
    noises = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed)).numpy()
    points = torch.from_numpy(unit(centres[labels] + noise * noises))
    return LabelledImages(tuple(map(str, range(n))), labels, points, ("cat", "dog", "owl"))


SMALL = (2, 4)
DESCRIBED = {name: [f"concept {i}", "noise 0", "noise 1"] for i, name in enumerate(NAMES[:4])}
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
    "zero_shot": lambda data: ZeroShot(NAMES[:4], data.embeddings[:4]),
    "probe": lambda data: EmbeddingProbe(),
}


def made(name: str, data: Planted) -> Peer:
    return PEERS[name](data)
