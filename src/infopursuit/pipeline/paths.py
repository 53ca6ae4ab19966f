"""Where stages write texts and data sets: below artifacts/, relative to the project.

What belongs to runs is in `run_paths`: a new path there embeds nothing again.
"""

from __future__ import annotations

from pathlib import Path

ARTIFACTS = Path("artifacts")
# The texts by source: a folder for each corpus, dictionaries and lists by data set.
QUERIES = ARTIFACTS / "queries"
CLASSES = ARTIFACTS / "classes"
# The texts of the universe, its control and counts; and the embeddings of both.
UNIVERSE_FOLDER = ARTIFACTS / "universe"
TEXTS = UNIVERSE_FOLDER / "texts.parquet"
UNIVERSE = ARTIFACTS / "embeddings" / "universe.parquet"
CONTROL = ARTIFACTS / "embeddings" / "control.parquet"


def classes(dataset: str) -> Path:
    """Return the list of the class names of a data set."""
    return CLASSES / f"{dataset}.txt"


def images(dataset: str, part: str = "") -> Path:
    """Return the embedded images of a data set, or a part such as `classes` or `rejected`."""
    name = ".".join(filter(None, ("images", part)))
    return ARTIFACTS / "datasets" / dataset / f"{name}.parquet"


def knowledge(dataset: str, ending: str = ".parquet") -> Path:
    """Return the knowledge table of a data set, or a file beside it."""
    return ARTIFACTS / "datasets" / dataset / f"knowledge{ending}"


def people(dataset: str) -> Path:
    """Return what people say of the images of a data set."""
    return ARTIFACTS / "datasets" / dataset / "annotations.csv"


def reference_labels(dataset: str, of: str) -> Path:
    """Return the reference labels of each `question` or `answer` on a data set."""
    return ARTIFACTS / "reference_labels" / dataset / f"{of}.parquet"
