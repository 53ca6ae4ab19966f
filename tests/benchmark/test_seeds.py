"""Seeds are measured, kept and written; side by side they give the same bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from infopursuit.benchmark import seeds
from infopursuit.benchmark.seeds import key_of, measure_peers
from infopursuit.benchmark.tables import read_result
from tests.benchmark.tasks import small_task

PEERS = ("selected_scores", "ours", "zero_shot")


def measured(folder: Path, processes: int = 0) -> dict[str, bytes]:
    """The files of two seeds of each peer, but for times."""
    task = small_task(noise=0.5, class_embeddings=None)
    wanted: dict[str, tuple[int, ...]] = dict.fromkeys(PEERS, (0, 1))
    assert measure_peers(folder, "zoo", task, wanted, 0.2, folder / "kept", processes) == 4
    found = [path for path in (folder / "zoo").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("peers")


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, bytes]:
    return measured(folder)


def test_seeds_side_by_side_give_the_same_bits(alone: dict[str, bytes], tmp_path: Path) -> None:
    assert measured(tmp_path, processes=2) == alone
    assert len(alone) == 3 + 2 * 2
    told = json.loads((tmp_path / "zoo.timings" / "ours.json").read_text())
    assert set(told) == {"0", "1"}


def test_a_seed_that_is_done_is_not_measured_again(
    alone: dict[str, bytes], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    once = seeds.measure_seed

    def spied(entry, task, seed, share):
        found.append(seed)
        return once(entry, task, seed, share)

    monkeypatch.setattr(seeds, "measure_seed", spied)
    task, wanted = small_task(noise=0.5), {"selected_scores": [0, 1, 2]}
    assert measure_peers(tmp_path, "zoo", task, wanted, 0.2, folder / "kept") == 3
    assert found == [2]
    first = read_result(folder, "zoo", "selected_scores")
    again = read_result(tmp_path, "zoo", "selected_scores")
    assert again.metrics[:2] == first.metrics
    assert again.seeds == ["0", "1", "2"]
    np.testing.assert_array_equal(again.correct[:2], first.correct)


def test_networks_begin_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, int]] = []

    def noted(work, jobs, processes):
        begun.extend(jobs)
        return iter(())

    monkeypatch.setattr(seeds, "side_by_side", noted)
    monkeypatch.setattr(seeds, "write_peer", lambda *_: None)
    monkeypatch.setattr(seeds, "_kept", lambda *_: None)
    wanted = {"probe": [0], "vip_medoids": [0, 1], "ours": [0]}
    measure_peers(tmp_path, "zoo", small_task(), wanted, 0.2, tmp_path)
    assert begun == [("vip_medoids", 0), ("vip_medoids", 1), ("probe", 0), ("ours", 0)]


def test_the_key_follows_settings_and_inputs(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text("a")
    key = key_of({"peer": "ours"}, [path])
    assert key == key_of({"peer": "ours"}, [path])
    assert key != key_of({"peer": "tree"}, [path])
    path.write_text("b")
    assert key != key_of({"peer": "ours"}, [path])
