"""A planted world: eight classes that embedded texts tell apart, small enough to train in seconds.

Its pipeline needs no CLIP and draws no picture: texts and images come with their embeddings. Images
are their class's signs (half of all concepts) plus noise.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from tests.repro.world import World

CLASSES = 8
CONCEPTS = 12
WIDTH = 16
K = 8
RUN = "planted-llm-naive_bayes-0"
CLIP = "planted"


def write_inputs(folder: Path) -> None:
    """Write texts.parquet, images.parquet, classes.txt and dictionary.txt."""
    generator = np.random.default_rng(0)
    directions = np.linalg.qr(generator.normal(size=(WIDTH, WIDTH)))[0][:CONCEPTS]
    texts = [f"sign number {number}" for number in range(CONCEPTS)]
    write_table(
        folder / "texts.parquet",
        EMBEDDED_TEXTS,
        {"text": texts, "source": ["planted"] * CONCEPTS, "embedding": directions},
        CLIP,
    )
    signs = np.array([generator.permutation(CONCEPTS) < CONCEPTS // 2 for _ in range(CLASSES)])
    rows = [
        (split, label)
        for split, count in (("train", 20), ("test", 5))
        for label in range(CLASSES)
        for _ in range(count)
    ]
    names = [f"class {label}" for _, label in rows]
    labels = [label for _, label in rows]
    noise = 0.1 * generator.normal(size=(len(rows), WIDTH))
    write_table(
        folder / "images.parquet",
        EMBEDDED_IMAGES,
        {
            "id": [f"image {row}" for row in range(len(rows))],
            "split": [split for split, _ in rows],
            "label": labels,
            "class_name": names,
            "embedding": signs[labels] @ directions + noise,
        },
        CLIP,
    )
    classes = "".join(f"class {label}\n" for label in range(CLASSES))
    (folder / "classes.txt").write_text(classes, encoding="utf-8")
    queries = "".join(f"{text}\n" for text in texts[:K])
    (folder / "dictionary.txt").write_text(queries, encoding="utf-8")


def plant(world: World) -> None:
    """Put the inputs into the world's `data`, tracked by DVC, and set its parameters to them."""
    folder = world.folder / "data"
    folder.mkdir()
    write_inputs(folder)
    world.edit(
        {
            ("run",): {
                "datasets": ["planted"],
                "inits": ["llm"],
                "methods": ["naive_bayes"],
                "seeds": [0],
                "truth": [],
            },
            ("clip",): "data/texts.parquet",
            ("queries", "corpora"): {"planted": "data/texts.parquet"},
            ("queries", "dictionaries"): {"planted": "data/dictionary.txt"},
            ("datasets",): {
                "planted": {
                    "images": "data/images.parquet",
                    "classes": "data/classes.txt",
                    "knowledge": "params/no_knowledge.jsonl",
                    "judge": "params/no_knowledge.jsonl",
                    "strict": "params/no_knowledge.jsonl",
                    "annotations": "params/no_annotations.csv",
                    "k": K,
                    "budget": None,
                    "max_rejected": 0.0,
                    "variational": {},
                }
            },
            ("evaluate", "bootstrap_resamples"): 100,
            ("explain", "images"): 1,
            ("compute", "threads"): 1,
        }
    )
    world.do("dvc", "add", "data")
