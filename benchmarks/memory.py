"""Peak memory of training from a universe on disk, in a process that does nothing else.

python -m benchmarks.memory --u 3000000      needs 10 GB of disk, about 10 minutes
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from benchmarks.harness import in_own_process, peak_mb
from benchmarks.made_up import problem
from infopursuit.core.tables import EMBEDDED_TEXTS, embedding_array, table_writer
from infopursuit.pursuit.vip.distributed import Execution
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.training import InitialDictionary, Trainer, TrainingImages
from infopursuit.texts.text_table import TextTable

BLOCK = 16384


def write_universe(path: Path, u: int, d: int = 768) -> None:
    """Write an embedded universe of u texts, row group by row group."""
    with table_writer(path, EMBEDDED_TEXTS, d) as writer:
        for start in range(0, u, BLOCK):
            rows = min(BLOCK, u - start)
            matrix = problem(1, rows, 1, d, classes=1, seed=start).universe.numpy()
            texts = [f"text {row}" for row in range(start, start + rows)]
            columns = {"text": texts, "source": ["made up"] * rows}
            columns["embedding"] = embedding_array(matrix)
            writer.write_table(pa.table(columns, schema=writer.schema))


def train(path: Path, k: int, batches: int, device: str) -> None:
    """Train some batches of each phase, as the train stage would; print the peak in MB."""
    universe = TextTable.from_parquet(path, path.parent)
    made = problem(10_000, 1000, k)
    settings = VariationalSettings(
        dictionary="alternating", random_updates=4 * batches, biased_updates=4 * batches
    )
    rows = np.random.default_rng(0).choice(len(universe.texts), k, replace=False)
    trainer = Trainer(
        made.images,
        TrainingImages(made.images.embeddings[:500], made.images.labels[:500], made.images.classes),
        InitialDictionary(torch.from_numpy(universe.embeddings), torch.from_numpy(rows)),
        settings,
        min(128, k),
        execution=Execution(device),
    )
    for _ in range(2 * batches):
        trainer.train_on_batch()
    print(peak_mb())


def peak_memory(u: int, k: int, device: str = "cpu", batches: int = 4) -> int:
    """Return the peak resident memory (MB) of training, file pages included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "universe.parquet"
        write_universe(path, u)
        arguments = ["--train", str(path), "--k", str(k), "--batches", str(batches)]
        return int(in_own_process("memory", "--device", device, *arguments))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--u", type=int, default=300_000)
    parser.add_argument("--k", type=int, default=128)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--train", type=Path, help="train on this universe and print the peak")
    given = parser.parse_args()
    if given.train:
        train(given.train, given.k, given.batches, given.device)
    else:
        print(f"{peak_memory(given.u, given.k, given.device, given.batches)} MB")


if __name__ == "__main__":
    main()
