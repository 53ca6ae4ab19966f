"""Check all settings and inputs before anything runs, as `infopursuit check` does.

    python stages/check.py

Outputs of earlier settings move from the folders that stages read whole to .scratch/leftovers.
artifacts/outputs.txt lists the outputs that these settings have. It is not part of DVC's cache: if
it belongs to other settings, this stage runs. artifacts/checked.txt always says the same; stages
depend on it so that this one comes first.
"""

from infopursuit.core.stage import SCRATCH, RowCounts, run

import logging
from pathlib import Path

from infopursuit.core.files import write_text
from infopursuit.core.settings import Section
from infopursuit.pipeline.check import check
from infopursuit.pipeline.leftovers import move_leftovers, read_outputs

logger = logging.getLogger("infopursuit")

ARTIFACTS = Path("artifacts")


class Settings(Section):
    """Nothing by itself: `check` reads all of params.yaml."""


def main(settings: Settings) -> RowCounts:
    inputs = check()
    write_text(ARTIFACTS / "checked.txt", "All settings and inputs are in order.\n")
    outputs = read_outputs()
    moved = move_leftovers(outputs, Path(), SCRATCH / "leftovers")
    if moved:
        logger.info("%d files of earlier settings moved to %s", len(moved), SCRATCH / "leftovers")
    names = "".join(f"{path.as_posix()}\n" for path in outputs.named)
    write_text(ARTIFACTS / "outputs.txt", names)
    return RowCounts(read=inputs, written=len(outputs.named))


if __name__ == "__main__":
    run(main)
