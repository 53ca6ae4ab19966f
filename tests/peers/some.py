"""Every peer as the tests of their common face make it."""

from __future__ import annotations

from collections.abc import Callable

from infopursuit.peers.peer import Peer
from infopursuit.peers.sparse_logistic import SparseLogistic
from tests.peers.planted import Planted

SMALL = (2, 4)
PEERS: dict[str, Callable[[Planted], Peer]] = {
    "sparse_logistic": lambda data: SparseLogistic(data.texts, data.embeddings, budgets=SMALL),
}


def made(name: str, data: Planted) -> Peer:
    return PEERS[name](data)
