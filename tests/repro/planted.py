"""The planted world as data of a pipeline: it needs no CLIP, and trains in seconds."""

from __future__ import annotations

from pathlib import Path

from tests.planted import planted, write_planted
from tests.repro.world import World

K = 8
RUN = "planted-llm-gaussian-0"
CLIP = "planted"


def write_inputs(folder: Path) -> None:
    """Write texts.parquet, images.parquet, classes.txt and dictionary.txt of eight classes."""
    data = planted(per_class=20, classes=8, width=16, others=4)
    write_planted(folder, data, 40, K, CLIP)


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
                "methods": ["gaussian"],
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
                    "knowledge": "params/no_knowledge.csv",
                    "question_reference": "params/no_knowledge.csv",
                    "answer_reference": "params/no_knowledge.csv",
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
