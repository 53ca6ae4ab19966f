"""Check all settings and inputs before anything runs, as `infopursuit check` does.

    python stages/check.py

A language model behind a server is asked one question if the run will ask it more, and what came
back is logged.

Writes which code each script runs to artifacts/code, and which settings and which of that code each
stage has to artifacts/settings. Stages depend on these files: they come after this one, and a stage
runs again if its own code or settings have changed.

Outputs of earlier settings move from the folders that stages read whole to .scratch/leftovers.
"""

from infopursuit.core.stage import CODE, KNOWN_CODE, SETTINGS, RowCounts, run

from pathlib import Path

from infopursuit.core.code_used import write_listings
from infopursuit.core.files import atomic_folder
from infopursuit.core.settings import Section, read_yaml
from infopursuit.core.settings_used import write_settings
from infopursuit.pipeline.check import check
from infopursuit.pipeline.leftovers import move_leftovers, read_outputs

STAGES = Path("stages")


class Settings(Section):
    """Nothing by itself: `check` reads all of params.yaml."""


def main(settings: Settings) -> RowCounts:
    inputs = check(ask_server=False)  # all its answers may be kept
    scripts = sorted(STAGES.glob("*.py"))
    with atomic_folder(CODE) as folder:
        write_listings(scripts, folder, KNOWN_CODE)
    outputs = read_outputs()
    move_leftovers(outputs)
    params = read_yaml("params.yaml")
    with atomic_folder(SETTINGS) as folder:
        for stage, (script, keys) in outputs.settings.items():
            if script.stem != "check":
                noted, listing = folder / f"{stage}.json", CODE / f"{script.stem}.txt"
                write_settings(noted, keys, params, listing)
    return RowCounts(read=inputs, written=len(scripts) + len(outputs.settings))


if __name__ == "__main__":
    run(main)
