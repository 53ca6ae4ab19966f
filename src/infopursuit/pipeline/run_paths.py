"""Where stages write what they made and measured of runs: below artifacts/.

A run is a `core.run_name.RunName`, or its text.
"""

from __future__ import annotations

from pathlib import Path

from infopursuit.pipeline.paths import ARTIFACTS

MODELS = ARTIFACTS / "models"
REPORT = ARTIFACTS / "report"
PEERS, BENCHMARK = ARTIFACTS / "peers", ARTIFACTS / "benchmark"


def initial(dataset: str, init: str, seed: int) -> Path:
    """Return the initial dictionary of a data set."""
    return ARTIFACTS / "initial" / f"{dataset}-{init}-{seed}.txt"


def baselines(dataset: str) -> Path:
    """Return the metrics of the baselines on a data set."""
    return ARTIFACTS / "baselines" / f"{dataset}.json"


def model(run: object) -> Path:
    """Return the folder of the model of a run."""
    return MODELS / str(run)


def training(run: object) -> Path:
    """Return the log of the training of a run."""
    return model(run) / "training.csv"


def evaluation(run: object) -> Path:
    """Return the folder of all that is measured of a run."""
    return ARTIFACTS / "evaluation" / str(run)


def explanations(dataset: str, run: object = "") -> Path:
    """Return the folder of the explanations of a data set, or of one of its runs."""
    return ARTIFACTS / "explanations" / dataset / str(run)
