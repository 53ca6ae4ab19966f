"""Where stages write: folders and files below artifacts/, relative to the project.

Every stage depends on this file, so it imports nothing of the project.
"""

from __future__ import annotations

from pathlib import Path

ARTIFACTS = Path("artifacts")
OUTPUTS = ARTIFACTS / "outputs.txt"
ANSWERS = ARTIFACTS / "answers"
QUERIES = ARTIFACTS / "queries"
CLASSES = ARTIFACTS / "classes"
KNOWLEDGE = ARTIFACTS / "knowledge"
PEERS, BENCHMARK = ARTIFACTS / "peers", ARTIFACTS / "benchmark"
# The texts of the universe, their embeddings, and those of its control.
UNIVERSE_FOLDER = ARTIFACTS / "universe"
TEXTS = UNIVERSE_FOLDER / "texts.parquet"
UNIVERSE = UNIVERSE_FOLDER / "embeddings.parquet"
CONTROL = UNIVERSE_FOLDER / "control_embeddings.parquet"


def classes(dataset: str) -> Path:
    """Return the list of the class names of a data set."""
    return CLASSES / f"{dataset}.txt"


def images(dataset: str, part: str = "") -> Path:
    """Return the embedded images of a data set, or a part such as `classes` or `rejected`."""
    return ARTIFACTS / "images" / f"{'.'.join(filter(None, (dataset, part)))}.parquet"


def knowledge(dataset: str) -> Path:
    """Return the knowledge table of a data set."""
    return KNOWLEDGE / f"{dataset}.parquet"


def reference_labels(dataset: str, of: str) -> Path:
    """Return the reference labels of each `question` or `answer` on a data set."""
    return ARTIFACTS / "reference_labels" / f"{dataset}.{of}.parquet"


def people(dataset: str) -> Path:
    """Return what people say of the images of a data set."""
    return ARTIFACTS / "annotations" / f"{dataset}.csv"


def initial(dataset: str, init: str, seed: int) -> Path:
    """Return the initial dictionary of a data set."""
    return ARTIFACTS / "initial" / f"{dataset}-{init}-{seed}.txt"


def baselines(dataset: str) -> Path:
    """Return the metrics of the baselines on a data set."""
    return ARTIFACTS / "baselines" / f"{dataset}.json"


def model(run: object) -> Path:
    """Return the folder of the model of a run (`core.run_name.RunName`)."""
    return ARTIFACTS / "models" / str(run)


def training(run: object) -> Path:
    """Return the log of the training of a run."""
    return ARTIFACTS / "training" / f"{run}.csv"


def evaluation(run: object, part: str = "") -> Path:
    """Return the folder of the evaluation of a run, or a file beside it."""
    return ARTIFACTS / "evaluation" / f"{run}{part}"


def meaning(run: object, part: str = "") -> Path:
    """Return the folder of the answers to look at of a run, or a file or folder beside it."""
    return ARTIFACTS / "meaning" / f"{run}{part}"


def explanations(run: object) -> Path:
    """Return the folder of the explanations of a run."""
    return ARTIFACTS / "explanations" / str(run)
