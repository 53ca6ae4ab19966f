"""How each peer is made, and the settings that it may try; `titles.py` has the names.

Every peer may try at most TRIES settings. Those that have nothing to choose (the penalty follows
from the number of texts) have one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from infopursuit.benchmark.task import Task
from infopursuit.peers.black_boxes import EmbeddingMLP, EmbeddingProbe
from infopursuit.peers.decision_tree import AnswerTree
from infopursuit.peers.generative_ip import GenerativeIP
from infopursuit.peers.ip_omp import IPOMP
from infopursuit.peers.label_free import LabelFreeCBM
from infopursuit.peers.labo import LaBo
from infopursuit.peers.lm4cv import LM4CV
from infopursuit.peers.paper_networks import PaperNetworks
from infopursuit.peers.pcbm import PCBM, HybridPCBM
from infopursuit.peers.peer import Peer
from infopursuit.peers.pursuit_classifier import Ours, OursDecisive
from infopursuit.peers.res_cbm import ResCBM
from infopursuit.peers.rule_list import RuleList
from infopursuit.peers.selected_texts import SelectedTexts
from infopursuit.peers.sparse_logistic import SparseLogistic
from infopursuit.peers.splice import SpLiCE
from infopursuit.peers.zero_shot import DescriptionEnsemble

TRIES = 4
Given = Sequence[str]
Make = Callable[[Task, Sequence[str], Any], Peer | None]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A peer in the comparison.

    Attributes:
        make: from a task, texts and their embeddings; None where the task lacks something.
        tries: settings to choose from; the first of equally good ones is taken.
        lacks: what is missing where `make` gives None.
        controlled: whether words that say nothing can take the place of the texts.
        network: whether it trains networks for minutes, and has seeds of its own number.
    """

    make: Make
    tries: tuple[Settings, ...] = ({},)
    lacks: str = ""
    controlled: bool = True
    network: bool = False


def _grid(**values: Sequence[Any]) -> tuple[Settings, ...]:
    """All combinations of the choices of each name, those of the last name one after another."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def _zero_shot(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    if task.class_embeddings is None:
        return None
    return DescriptionEnsemble(task.train.class_names, task.class_embeddings)


def _descriptions(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    told = task.descriptions()
    return None if told is None else DescriptionEnsemble(texts, embeddings, told)


def _knowing(ours: type[Ours]) -> Make:
    """Ours with the task's knowledge table."""

    def make(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
        return None if task.knowledge is None else ours(texts, embeddings, knowledge=task.knowledge)

    return make


def _labo_candidates(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
    told = task.descriptions()
    return None if told is None else LaBo(texts, embeddings, told)


# A rate of 3e-3 is ahead in a short try and behind when training ends: it is not among them.
NETWORK_TRIES: tuple[Settings, ...] = (
    {},
    {"learning_rate": 3e-4},
    {"weight_decay": 1.0},
    {"temperature": (1.0, 1.0)},
)
# How many questions it may choose among: with 100 classes more are better, with 37 fewer are.
OUR_TRIES = _grid(n_queries=(128, 512))
# Whose answers are all given before some are chosen may have more questions.
SHORT_TRIES = _grid(n_queries=(512, 1024), rates=("counted", "fitted"))

LIST = "a list of texts for the task"


def _network(dictionary: str, listed: bool = True) -> Entry:
    """The paper's method, from the task's list of texts or from medoids."""

    def make(task: Task, texts: Sequence[str], embeddings: Any) -> Peer | None:
        if listed and task.listed is None:
            return None
        queries = task.listed if listed else None
        return PaperNetworks(texts, embeddings, queries, dictionary)

    lacks = LIST if listed else ""
    return Entry(make, NETWORK_TRIES, lacks, controlled=False, network=True)


THRESHOLDS = ("median", "informative")
TABLE = "a knowledge table"
KNOWLEDGE = "a knowledge table with a text for each class"
ENTRIES: dict[str, Entry] = {
    "probe": Entry(
        lambda *_: EmbeddingProbe(),
        _grid(strength=(1.0, 10.0, 100.0, 1000.0)),
        controlled=False,
    ),
    "mlp": Entry(
        lambda *_: EmbeddingMLP(),
        _grid(learning_rate=(3e-4, 1e-3, 3e-3, 1e-2)),
        controlled=False,
    ),
    "zero_shot": Entry(_zero_shot, lacks="embeddings of the class names", controlled=False),
    "descriptions": Entry(_descriptions, lacks=KNOWLEDGE, controlled=False),
    "sparse_logistic": Entry(
        lambda _, texts, rows: SparseLogistic(texts, rows),
        _grid(ridge=(3e-2, 3e-3, 3e-4, 3e-5)),
    ),
    "label_free": Entry(lambda _, texts, rows: LabelFreeCBM(texts, rows)),
    "pcbm": Entry(lambda _, texts, rows: PCBM(texts, rows)),
    "pcbm_h": Entry(
        lambda _, texts, rows: HybridPCBM(texts, rows),
        _grid(ridge=(3e-3, 3e-4, 3e-5, 3e-6)),
    ),
    "labo": Entry(
        lambda _, texts, rows: LaBo(texts, rows),
        _grid(coverage=(0.1, 1.0), learning_rate=(0.03, 0.1)),
    ),
    "labo_knowing": Entry(
        _labo_candidates,
        _grid(coverage=(0.1, 1.0), learning_rate=(0.03, 0.1)),
        lacks=KNOWLEDGE,
        controlled=False,
    ),
    "ip_omp": Entry(
        lambda _, texts, rows: IPOMP(texts, rows),
        _grid(centre=(True, False), strength=(10.0, 100.0)),
    ),
    "ip_omp_means": Entry(
        lambda _, texts, rows: IPOMP(texts, rows, learned=False),
        _grid(centre=(True, False)),
    ),
    "splice": Entry(
        lambda _, texts, rows: SpLiCE(texts, rows),
        _grid(strength=(100.0, 1000.0)),
    ),
    "res_cbm": Entry(
        lambda _, texts, rows: ResCBM(texts, rows),
        _grid(pull=(0.001, 0.01, 0.1, 1.0)),
    ),
    "lm4cv": Entry(
        lambda _, texts, rows: LM4CV(texts, rows),
        _grid(weight=(0.1, 1.0), learning_rate=(0.03, 0.1)),
    ),
    "selected_scores": Entry(
        lambda _, texts, rows: SelectedTexts(texts, rows, None),
        _grid(strength=(0.1, 1.0, 10.0, 100.0)),
    ),
    "selected_answers": Entry(
        lambda _, texts, rows: SelectedTexts(texts, rows),
        _grid(answers=THRESHOLDS, strength=(1.0, 10.0)),
    ),
    "tree": Entry(
        lambda _, texts, rows: AnswerTree(texts, rows),
        _grid(threshold=THRESHOLDS, min_samples_leaf=(1, 4)),
    ),
    "rule_list": Entry(
        lambda _, texts, rows: RuleList(texts, rows),
        _grid(threshold=THRESHOLDS, longest=(2, 4)),
    ),
    "generative_ip": Entry(
        lambda _, texts, rows: GenerativeIP(texts, rows),
        _grid(threshold=THRESHOLDS, added=(0.3, 1.0)),
    ),
    "vip_fixed": _network("fixed"),
    "vip_alternating": _network("alternating"),
    "vip_joint": _network("joint"),
    "vip_medoids": _network("alternating", listed=False),
    "ours": Entry(lambda _, texts, rows: Ours(texts, rows), OUR_TRIES),
    "ours_knowing": Entry(_knowing(Ours), OUR_TRIES, TABLE, controlled=False),
    "ours_decisive": Entry(lambda _, texts, rows: OursDecisive(texts, rows), SHORT_TRIES),
    "ours_decisive_knowing": Entry(_knowing(OursDecisive), SHORT_TRIES, TABLE, controlled=False),
}
