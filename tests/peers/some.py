"""Every peer as the tests of their common face make it."""

from __future__ import annotations

from collections.abc import Callable

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
from infopursuit.peers.pursuit_classifier import Ours
from infopursuit.peers.res_cbm import ResCBM
from infopursuit.peers.rule_list import RuleList
from infopursuit.peers.selected_texts import SelectedTexts
from infopursuit.peers.sparse_logistic import SparseLogistic
from infopursuit.peers.splice import SpLiCE
from infopursuit.peers.zero_shot import DescriptionEnsemble
from tests.peers.planted import Planted

NAMES = ("cat", "dog", "emu", "fox")
SMALL = (2, 4)
PEERS: dict[str, Callable[[Planted], Peer]] = {
    "sparse_logistic": lambda data: SparseLogistic(data.texts, data.embeddings, budgets=SMALL),
    "label_free": lambda data: LabelFreeCBM(data.texts, data.embeddings, budgets=SMALL),
    "pcbm": lambda data: PCBM(data.texts, data.embeddings, budgets=SMALL),
    "pcbm_h": lambda data: HybridPCBM(data.texts, data.embeddings, budgets=SMALL),
    "ip_omp": lambda data: IPOMP(data.texts, data.embeddings, budgets=SMALL),
    "ip_omp_means": lambda data: IPOMP(data.texts, data.embeddings, learned=False, budgets=SMALL),
    "splice": lambda data: SpLiCE(data.texts, data.embeddings, budgets=SMALL),
    "selected_answers": lambda data: SelectedTexts(data.texts, data.embeddings, budgets=SMALL),
    "selected_scores": lambda data: SelectedTexts(
        data.texts, data.embeddings, answers=None, budgets=SMALL
    ),
    "labo": lambda data: LaBo(data.texts, data.embeddings, pool=6, budgets=SMALL),
    "generative_ip": lambda data: GenerativeIP(
        data.texts, data.embeddings, "informative", budgets=SMALL
    ),
    "ours": lambda data: Ours(data.texts, data.embeddings, 8, budgets=SMALL),
    "networks": lambda data: PaperNetworks(
        data.texts, data.embeddings, data.texts[:8], patience=50, updates=(300, 200), budgets=SMALL
    ),
    "tree": lambda data: AnswerTree(data.texts, data.embeddings, budgets=SMALL),
    "rules": lambda data: RuleList(data.texts, data.embeddings, budgets=SMALL),
    "res_cbm": lambda data: ResCBM(data.texts, data.embeddings, begin=1, budgets=SMALL),
    "lm4cv": lambda data: LM4CV(data.texts, data.embeddings, budgets=SMALL),
    "zero_shot": lambda data: DescriptionEnsemble(NAMES, data.embeddings[:4]),
    "descriptions": lambda data: DescriptionEnsemble(
        data.texts, data.embeddings, {name: [f"concept {i}"] for i, name in enumerate(NAMES)}
    ),
    "probe": lambda data: EmbeddingProbe(),
    "mlp": lambda data: EmbeddingMLP(hidden=16, updates=300, learning_rate=1e-2),
}


def made(name: str, data: Planted) -> Peer:
    return PEERS[name](data)
