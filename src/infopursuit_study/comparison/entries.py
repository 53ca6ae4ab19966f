"""What every peer is given, how each is made, and the settings that it may try.

Every peer may try at most TRIES settings. Those with nothing to choose (the penalty follows from
the number of texts) have one. `infopursuit.pipeline.benchmark_settings` has the names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.texts.knowledge import TRUE, KnowledgeTable
from infopursuit_study.peers.black_boxes import DiscriminantProbe, EmbeddingProbe
from infopursuit_study.peers.codes import IPOMP, SpLiCE
from infopursuit_study.peers.greedy_selection import GreedySelection
from infopursuit_study.peers.linear import LabelFreeCBM, LaBo, SparseLogistic, ZeroShot
from infopursuit_study.peers.peer import Peer
from infopursuit_study.peers.pursuits import GenerativeIP, Ours, PaperNetworks
from infopursuit_study.peers.trees import AnswerTree

TRIES = 4
Settings = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One data set in the space of one CLIP.

    Attributes:
        texts: the u texts of the universe.
        embeddings: (u, d) of them.
        train: images to learn from and, a part of them, to choose settings by.
        test: images that are read once.
        class_embeddings: (c, d) of the names of the classes; None if CLIP cannot embed them.
        control: words that say nothing of images, with their embeddings, or None.
        knowledge: what is true of the classes, or None.
        reference: labels of what is true of them, to measure by, or None.
        listed: texts that a person or a language model listed for the task, or None.
    """

    texts: tuple[str, ...]
    embeddings: np.ndarray
    train: LabelledImages
    test: LabelledImages
    class_embeddings: np.ndarray | None = None
    control: tuple[tuple[str, ...], np.ndarray] | None = None
    knowledge: KnowledgeTable | None = None
    reference: KnowledgeTable | None = None
    listed: tuple[str, ...] | None = None

    def descriptions(self) -> dict[str, list[str]] | None:
        """Return the texts that are true of each class; None if a class has none."""
        if self.knowledge is None:
            return None
        names = self.train.class_names
        table = self.knowledge.for_classes_and_texts(names, self.texts) == TRUE
        if not table.any(axis=1).all():
            return None
        return {
            name: [self.texts[text] for text in np.flatnonzero(row)]
            for name, row in zip(names, table, strict=True)
        }


def named(images: LabelledImages) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (n, d), and the names of the classes (n,)."""
    return images.embeddings.numpy(), np.array(images.class_names)[images.labels.numpy()]


Make = Callable[[Task, Sequence[str], Any], Peer | None]


@dataclass(frozen=True)
class Entry:
    """A peer in the comparison.

    Attributes:
        make: makes it from a task, texts and their embeddings; None if the task lacks something.
        tries: settings to choose from; the first of equally good ones is taken.
        lacks: what is missing if `make` returns None.
        controlled: whether words that say nothing can take the place of the texts.
        network: whether it trains networks for minutes, and has its own number of seeds.
    """

    make: Make
    tries: tuple[Settings, ...] = ({},)
    lacks: str = ""
    controlled: bool = True
    network: bool = False


def _grid(**values: Sequence[Any]) -> tuple[Settings, ...]:
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def _on_texts(peer: Callable[..., Peer]) -> Make:
    return lambda _, texts, embeddings: peer(texts, embeddings)


def _labo(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    descriptions = task.descriptions()
    return None if descriptions is None else LaBo(texts, embeddings, descriptions)


def _zero_shot(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    if task.class_embeddings is None:
        return None
    return ZeroShot(task.train.class_names, task.class_embeddings)


def _knowing(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    return None if task.knowledge is None else Ours(texts, embeddings, knowledge=task.knowledge)


# A rate of 3e-3 is ahead in a short try and behind when training ends: it is not among them.
NETWORK_TRIES: tuple[Settings, ...] = (
    {},
    {"learning_rate": 3e-4},
    {"weight_decay": 1.0},
    {"temperature": (1.0, 1.0)},
)
LABO_TRIES = _grid(coverage=(0.1, 1.0), learning_rate=(0.03, 0.1))
LIST = "a list of texts for the task"
TABLE = "a knowledge table"
KNOWLEDGE = "a knowledge table with a text for each class"
THRESHOLDS = ("median", "informative")


def _network(dictionary: str) -> Entry:

    def make(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
        if task.listed is None:
            return None
        return PaperNetworks(texts, embeddings, task.listed, dictionary)

    return Entry(make, NETWORK_TRIES, LIST, controlled=False, network=True)


def _greedy(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    return None if task.listed is None else GreedySelection(texts, embeddings, task.listed)


ENTRIES: dict[str, Entry] = {
    "probe": Entry(
        lambda *_: EmbeddingProbe(), _grid(strength=(1.0, 10.0, 100.0, 1000.0)), controlled=False
    ),
    "gda": Entry(lambda *_: DiscriminantProbe(), controlled=False),
    "zero_shot": Entry(_zero_shot, lacks="embeddings of the class names", controlled=False),
    "sparse_logistic": Entry(_on_texts(SparseLogistic), _grid(ridge=(3e-2, 3e-3, 3e-4, 3e-5))),
    "label_free": Entry(_on_texts(LabelFreeCBM)),
    "labo_knowing": Entry(_labo, LABO_TRIES, KNOWLEDGE, controlled=False),
    "ip_omp": Entry(_on_texts(IPOMP), _grid(centre=(True, False), strength=(10.0, 100.0))),
    "splice": Entry(_on_texts(SpLiCE), _grid(strength=(100.0, 1000.0))),
    "tree": Entry(_on_texts(AnswerTree), _grid(threshold=THRESHOLDS, min_samples_leaf=(1, 4))),
    "generative_ip": Entry(_on_texts(GenerativeIP), _grid(threshold=THRESHOLDS, added=(0.3, 1.0))),
    "gdfs": Entry(_greedy, lacks=LIST, controlled=False, network=True),
    "vip_fixed": _network("fixed"),
    "vip_alternating": _network("alternating"),
    "vip_joint": _network("joint"),
    "ours": Entry(_on_texts(Ours)),
    "ours_knowing": Entry(_knowing, lacks=TABLE, controlled=False),
}
