"""Check all settings and inputs before anything runs, as `infopursuit check` does.

    python stages/check.py

Writes what a stage may depend on in the place of settings: artifacts/settings/checked.txt, which
always says the same and brings this stage before all others, and artifacts/settings/methods/, what
the settings of each method come to for each data set. Outputs of earlier settings move from the
folders that stages read whole to .scratch/leftovers; artifacts/outputs.txt lists those that remain.
It is no part of DVC's cache: where it is that of other settings, this stage runs.
"""

from infopursuit.core.stage import SCRATCH, Rows, run

import json
import logging
from dataclasses import asdict
from pathlib import Path

from infopursuit.core.settings import Section
from infopursuit.core.whole_files import write_text
from infopursuit.pipeline.check import check
from infopursuit.pipeline.leftovers import move_leftovers, read_outputs
from infopursuit.pipeline.params import load_params

logger = logging.getLogger("infopursuit")

SETTINGS = Path("artifacts/settings")
OUTPUTS = Path("artifacts/outputs.txt")
CHECKED = "All settings and inputs are in order.\n"


class Settings(Section):
    """Nothing by itself: `check` reads all of params.yaml."""


def main(settings: Settings) -> Rows:
    looked = check()
    params = load_params()
    for dataset in params.run.datasets:
        for name in params.run.methods:
            method = {"method": params.kind(name), **asdict(params.method(name, dataset))}
            text = json.dumps(method, indent=2, sort_keys=True) + "\n"
            write_text(SETTINGS / "methods" / f"{dataset}-{name}.json", text)
    write_text(SETTINGS / "checked.txt", CHECKED)
    outputs = read_outputs()
    left = move_leftovers(outputs, Path(), SCRATCH / "leftovers")
    if left:
        logger.info("%d files of earlier settings moved to %s", len(left), SCRATCH / "leftovers")
    write_text(OUTPUTS, "".join(f"{path.as_posix()}\n" for path in outputs.named))
    return Rows(read=looked, written=len(outputs.named))


if __name__ == "__main__":
    run(main)
