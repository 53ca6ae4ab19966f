"""Four peers, measured once for all tests of a process that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infopursuit_study.comparison.seeds import measure_peers
from tests.study.comparison.tasks import small_task

PEERS = ("splice", "ours", "zero_shot", "probe")
SEEDS = dict.fromkeys(PEERS, (10, 2))


def measured(
    folder: Path, processes: int = 0, peers: Mapping[str, Sequence[int]] = SEEDS
) -> dict[str, bytes]:
    """The files of the seeds of each peer, but for times."""
    task = small_task(noise=0.5, class_embeddings=None)
    measure_peers(folder, "zoo", task, peers, 0.2, folder / "kept", processes)
    found = [path for path in (folder / "zoo").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where they are; tests must not change it."""
    folder = tmp_path_factory.mktemp("peers")
    measured(folder)
    return folder
