"""Measure other people's explained classifiers, and ours, by the protocol that all share.

python stages/peers.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, code_key, run

from typing import Annotated

import torch
from pydantic import Field

from infopursuit.core.files import settings_sha256, table_sha256
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import load_images
from infopursuit.pipeline import paths, run_paths
from infopursuit.pipeline.benchmark_settings import BenchmarkSettings
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit.texts.text_table import TextTable
from infopursuit_study.comparison.entries import ENTRIES, Task
from infopursuit_study.comparison.seeds import measure_peers
from infopursuit_study.peers.black_boxes import load_class_embeddings

# Fewer words are not a control: a table of precomputed texts has a handful of them by chance.
WORDS = 100


class Settings(Section):
    benchmark: BenchmarkSettings
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    images, classes = paths.images(dataset), paths.images(dataset, "classes")
    known = paths.knowledge(dataset)
    labels = paths.reference_labels(dataset, "question")
    universe = TextTable.from_parquet(paths.UNIVERSE, SCRATCH / "universe")
    train, test = (load_images(images, split, settings.max_images) for split in ("train", "test"))
    check_same_space(paths.UNIVERSE, images)
    names = load_class_embeddings(classes)
    words = TextTable.from_parquet(paths.CONTROL)
    knowledge = read_knowledge(known)
    reference = read_knowledge(labels)
    sources = universe.sources_of(universe.texts)
    listed = tuple(
        text for text in universe.texts if f"dictionary/{dataset}" in sources[text].split(",")
    )
    task = Task(
        universe.texts,
        torch.from_numpy(universe.embeddings).float().numpy(),
        train,
        test,
        None if names is None else names.numpy(),
        (words.texts, words.embeddings.astype("float32")) if len(words.texts) >= WORDS else None,
        knowledge if len(knowledge.classes) else None,
        reference if reference.texts else None,
        listed or None,
    )
    wanted = settings.benchmark
    seeds = {
        peer: wanted.network_seeds if ENTRIES[peer].network else wanted.seeds
        for peer in wanted.peers
    }
    share = settings.validation_fraction
    inputs = [paths.UNIVERSE, paths.CONTROL, images, classes, known, labels]
    files = {str(path): table_sha256(path) for path in inputs}
    facts = {"share": share, "max_images": settings.max_images, "files": files}
    key = settings_sha256({**facts, "code": code_key(__file__)})[:16]
    one_device = settings.compute.torch_device() == "cuda"
    # One process holds the GPU; on a CPU each seed has a process, whose peak of memory is its own.
    processes = 0 if one_device else settings.compute.threads
    done = measure_peers(
        run_paths.PEERS, dataset, task, seeds, share, SCRATCH / "peers" / key, processes
    )
    return RowCounts(read=len(train.ids) + len(test.ids), written=done)


if __name__ == "__main__":
    run(main)
