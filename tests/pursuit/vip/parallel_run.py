"""A small training run for torchrun: `python -m tests.pursuit.vip.parallel_run FOLDER [BATCHES]`.

With BATCHES it ends after this many and leaves a checkpoint; without, it goes on to the end.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.distributed import Execution, Processes
from infopursuit.pursuit.vip.training import InitialDictionary, Trainer
from tests.pursuit.vip.planted import SETTINGS, K, planted


def trainer(processes: Processes) -> Trainer:
    train, universe = planted(250, seed=10)  # an odd share for each of two processes
    validation, _ = planted(61, seed=11)
    dictionary = InitialDictionary(universe, torch.arange(K))
    execution = Execution(processes=processes)
    return Trainer(train, validation, dictionary, SETTINGS, K, 0, execution)


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
