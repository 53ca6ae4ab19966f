"""A run on shards for torchrun: `python -m tests.pursuit.vip.sharded_run IMAGES FOLDER ANSWERS`.

Each process leaves FOLDER/read-RANK.json, the numbers of the shards whose embeddings it read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_array, table_writer
from infopursuit.datasets.labelled_images import EmbeddedShards, Shard, load_images
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pursuit.vip.distributed import Processes

WIDTH, IMAGES, SHARDS = 16, 400, 10
TEXTS = np.random.default_rng(0).normal(size=(30, WIDTH))


class Watched(EmbeddedShards):
    """Shards that note which of them are read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, rows=IMAGES // SHARDS)
        self.noted: list[int] = []

    def read(self, number: int) -> Shard:
        """The images of a shard."""
        self.noted.append(number)
        return super().read(number)


def write_images(path: Path) -> None:
    """Four classes, ten files."""
    generator = np.random.default_rng(1)
    labels = np.arange(IMAGES) % 4
    rows = TEXTS[labels] + generator.normal(size=(IMAGES, WIDTH))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    columns = {
        "id": [f"image {row}" for row in range(IMAGES)],
        "split": ["train"] * IMAGES,
        "label": labels.astype(np.int32),
        "class_name": [f"class {label}" for label in labels],
        "embedding": embedding_array(rows),
    }
    shards = IMAGES, IMAGES // SHARDS
    with table_writer(path, EMBEDDED_IMAGES, WIDTH, None, shards) as writer:
        writer.write_table(pa.table(columns, schema=writer.schema))


def main(path: Path, folder: Path, answers: str, in_shards: bool = True) -> None:
    """Train, and save the model in `folder` with what was read."""
    processes = Processes.join()
    model = VariationalInformationPursuit(
        [f"thing {row}" for row in range(30)],
        TEXTS / np.linalg.norm(TEXTS, axis=1, keepdims=True),
        8,
        queries=[f"thing {row}" for row in range(8)],
        hidden=(16, 8),
        dictionary="fixed" if answers == "threshold" else "alternating",
        answers=answers,
        random_updates=12,
        biased_updates=12,
        batch_size=20,
        validate_every=6,
        device="cpu",
    )
    if in_shards:
        shards = Watched(path)
        model.fit(shards, processes=processes)
        noted = json.dumps(shards.noted)
        (folder / f"read-{processes.rank}.json").write_text(noted, encoding="utf-8")
    else:
        images = load_images(path, "train")
        names = np.array(images.class_names)[images.labels.numpy()]
        model.fit(images.embeddings, names)
    if processes.rank == 0:
        model.save(folder / "model")
    processes.leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
