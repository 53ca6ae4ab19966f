"""A small training run for torchrun: `python -m tests.pursuit.parallel_run FOLDER [BATCHES]`.

With BATCHES it ends after so many and leaves a checkpoint; without, it goes on to the end.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.processes import Processes
from infopursuit.pursuit.training import Trainer
from tests.pursuit.test_training import RECIPE, K, planted


def trainer(processes: Processes) -> Trainer:
    train, universe = planted(250, seed=10)  # an odd share for each of two processes
    validation, _ = planted(61, seed=11)
    return Trainer(train, validation, universe, torch.arange(K), RECIPE, K, 0, "cpu", processes)


def main(folder: Path, batches: int | None) -> None:
    processes = Processes.join()
    run = trainer(processes)
    checkpoint = Checkpoint(folder / "checkpoint.pt", seconds=1e9)
    if batches is not None:
        for _ in range(batches):
            run.train_on_batch()
        if processes.rank == 0:
            checkpoint.save(run)
    else:
        trained = run.train(checkpoint)
        if processes.rank == 0:
            torch.save({"log": trained.log, "rows": trained.rows}, folder / "trained.pt")
    processes.leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
