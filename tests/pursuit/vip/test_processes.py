"""Several processes train the same run as one, and their checkpoints are each other's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from infopursuit.datasets.labelled_images import held_out_by_seed
from infopursuit.pursuit.vip.distributed import Processes
from tests.pursuit.vip import parallel_run, sharded_run

ROOT = Path(__file__).parents[3]
TOGETHER = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def together(module: str, *arguments: object) -> None:
    """Run a module of these tests in two processes."""
    command = [*TOGETHER, "-m", module, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=300)


def trained(folder: Path) -> dict:
    return torch.load(folder / "trained.pt", weights_only=True)


def assert_same_run(found: dict, expected: dict) -> None:
    assert len(found["log"]) == len(expected["log"]) == 4
    for row, other in zip(found["log"], expected["log"], strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert row["validation_auc"] == pytest.approx(other["validation_auc"], abs=0.01)
        assert {**row, "loss": 0, "validation_auc": 0} == {**other, "loss": 0, "validation_auc": 0}
    for moment, rows in expected["rows"].items():
        assert torch.equal(found["rows"][moment], rows)


@pytest.mark.slow
def test_two_processes_train_what_one_trains_and_share_its_checkpoints(tmp_path: Path) -> None:
    one, split, joined = tmp_path / "one", tmp_path / "split", tmp_path / "joined"
    for folder in (one, split, joined):
        folder.mkdir()
    parallel_run.main(one, None)
    parallel_run.main(split, 8)
    together(parallel_run.__name__, split)  # two processes go on from one's checkpoint
    assert_same_run(trained(split), trained(one))
    together(parallel_run.__name__, joined, 8)
    parallel_run.main(joined, None)  # and one from that of two
    assert_same_run(trained(joined), trained(one))


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["minmax", "threshold"])
def test_two_processes_read_their_own_shards_alone_and_train_what_one_trains(
    tmp_path: Path, answers: str
) -> None:
    path = tmp_path / "images.parquet"
    sharded_run.write_images(path)
    alone, one, two = (tmp_path / name for name in ("alone", "one", "two"))
    for folder in (alone, one, two):
        folder.mkdir()
    sharded_run.main(path, alone, answers, in_shards=False)
    sharded_run.main(path, one, answers)
    expected = (alone / "model" / "weights.safetensors").read_bytes()
    assert (one / "model" / "weights.safetensors").read_bytes() == expected
    together(sharded_run.__name__, path, two, answers)
    trained = {folder: load_file(folder / "model" / "weights.safetensors") for folder in (one, two)}
    for name, tensor in trained[one].items():
        torch.testing.assert_close(trained[two][name], tensor, atol=1e-3, rtol=1e-3)
    labels = torch.arange(sharded_run.IMAGES) % 4
    both = held_out_by_seed(labels, ["a", "b", "c", "d"], 0.1, 0)  # to learn from, and held out
    for rank in range(2):
        read = json.loads((two / f"read-{rank}.json").read_text())
        own = [rows[Processes(rank, 2).share(len(rows))] for rows in both]
        size = sharded_run.IMAGES // sharded_run.SHARDS
        wanted = [sorted(set((rows // size).tolist())) for rows in own]
        assert read == [*wanted[0], *wanted[1]]
        # A half of each, and the shard in the middle.
        assert len(wanted[0]) <= sharded_run.SHARDS // 2 + 1
