"""Stage scripts called as the frame calls them: with the sections of params.yaml that they name."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infopursuit.core.settings import Section
from infopursuit.core.stage import RowCounts
from infopursuit.pipeline.params import Params

ROOT = Path(__file__).parents[1]


def stage(name: str) -> Callable[..., RowCounts]:
    """The `main` of a stage, given all parameters: it sees no section that it does not name."""
    script = runpy.run_path(str(ROOT / "stages" / f"{name}.py"))
    kind: type[Section] = script["Settings"]

    def run(params: Params, *keys: Any) -> RowCounts:
        sections = params.model_dump(include=set(kind.model_fields))
        return script["main"](kind.model_validate(sections), *keys)

    return run
