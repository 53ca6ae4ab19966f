"""Check all settings and inputs before anything runs, as `infopursuit check` does.

    python stages/check.py

A language model behind a server is asked one question if the run will ask it more, and what came
back is logged.

Writes which code each stage runs to artifacts/code, a file for each script, on which its stages
depend: they come after this one, and a stage runs again if its own code has changed.

Outputs of earlier settings move from the folders that stages read whole to .scratch/leftovers.
artifacts/outputs.txt lists the outputs that these settings have: if it belongs to other settings,
this stage runs.
"""

from infopursuit.core.stage import CODE, KNOWN_CODE, SCRATCH, RowCounts, run

import logging
from pathlib import Path

from infopursuit.core.code_used import write_listings
from infopursuit.core.files import atomic_folder, write_text
from infopursuit.core.settings import Section
from infopursuit.pipeline import paths
from infopursuit.pipeline.check import check
from infopursuit.pipeline.leftovers import move_leftovers, read_outputs

logger = logging.getLogger("infopursuit")

STAGES = Path("stages")


class Settings(Section):
    """Nothing by itself: `check` reads all of params.yaml."""


def main(settings: Settings) -> RowCounts:
    inputs = check(ask_server=False)  # all its answers may be kept
    folders = [STAGES, *(path for path in sorted(STAGES.iterdir()) if path.is_dir())]
    scripts = [
        path
        for folder in folders
        if not (folder / "__init__.py").exists()
        for path in sorted(folder.glob("*.py"))
    ]
    with atomic_folder(CODE) as folder:
        write_listings(scripts, folder, KNOWN_CODE)
    outputs = read_outputs()
    moved = move_leftovers(outputs, Path(), SCRATCH / "leftovers")
    if moved:
        logger.info("%d files of earlier settings moved to %s", len(moved), SCRATCH / "leftovers")
    names = "".join(f"{path.as_posix()}\n" for path in outputs.named)
    write_text(paths.OUTPUTS, names)
    return RowCounts(read=inputs, written=len(scripts) + len(outputs.named))


if __name__ == "__main__":
    run(main)
