"""Check all settings and inputs before anything runs, as `infopursuit check` does.

    python stages/check.py

Writes which code each stage runs to artifacts/code, a file for each script, on which its stages
depend: they come after this one, and a stage runs again if its own code has changed.
"""

from infopursuit.core.stage import CODE, KNOWN_CODE, RowCounts, run

from pathlib import Path

from infopursuit.core.code_used import write_listings
from infopursuit.core.files import atomic_folder
from infopursuit.core.settings import Section
from infopursuit.pipeline.check import check

STAGES = Path("stages")


class Settings(Section):
    """Nothing by itself: `check` reads all of params.yaml."""


def main(settings: Settings) -> RowCounts:
    inputs = check()
    folders = [STAGES, *(path for path in sorted(STAGES.iterdir()) if path.is_dir())]
    scripts = [
        path
        for folder in folders
        if not (folder / "__init__.py").exists()
        for path in sorted(folder.glob("*.py"))
    ]
    with atomic_folder(CODE) as folder:
        write_listings(scripts, folder, KNOWN_CODE)
    return RowCounts(read=inputs, written=len(scripts))


if __name__ == "__main__":
    run(main)
