"""Rows of the table, and the two files that are written again after each of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from infopursuit.core.files import write_text
from infopursuit.core.numbers import table

HEADER = ("what", "measured", "goal", "met", "exact")
NOT_APPLICABLE = "not applicable"
WORDS = {None: "–", True: "yes", False: "**no**"}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: the work.
        measured: the outcome, in words.
        goal: the goal; `NOT_APPLICABLE` if it is for a GPU or for full size, and this is not; empty
            if there is none.
        met: whether the goal is reached; None if there is none.
        exact: whether the results are those of the CPU; None if they were not compared.
        figures: the numbers behind the words.
    """

    what: str
    measured: str
    goal: str = ""
    met: bool | None = None
    exact: bool | None = None
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Return whether no goal is missed and no result differs."""
        return self.met is not False and self.exact is not False

    def cells(self) -> list[str]:
        """Return the cells of the line."""
        texts = (self.what, self.measured, self.goal or "–", WORDS[self.met], WORDS[self.exact])
        return [text.replace("|", "/") for text in texts]


def write(folder: Path, about: dict[str, Any], rows: list[Row]) -> str:
    """Write gpu_check.json and gpu_check.md, machine and rows; return the latter."""
    text = f"{about['machine']}. device {about['device']}."
    if about["tiny"]:
        text += " tiny sizes, which show that it runs and not how fast."
    text += f"\n\n{table(HEADER, [each.cells() for each in rows])}\n"
    write_text(folder / "gpu_check.md", text)
    content = {**about, "rows": [asdict(each) for each in rows]}
    as_json = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_text(folder / "gpu_check.json", as_json)
    return text
