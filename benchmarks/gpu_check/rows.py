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


def row(
    what: str, measured: str, goal: str | None, met: bool, exact: bool, figures: dict[str, Any]
) -> Row:
    """Return a measured row; without a goal nothing is met or missed."""
    if goal is None:
        return Row(what, measured, NOT_APPLICABLE, exact=exact, figures=figures)
    return Row(what, measured, goal, met, exact, figures=figures)


@dataclass
class Report:
    """All rows so far.

    Attributes:
        folder: the folder of the two files.
        about: the machine, the device and whether sizes are tiny.
        rows: the rows.
    """

    folder: Path
    about: dict[str, Any]
    rows: list[Row] = field(default_factory=list)

    def add(self, added: Row) -> None:
        """Add a row, and write gpu_check.json and gpu_check.md."""
        self.rows.append(added)
        content = {**self.about, "rows": [asdict(each) for each in self.rows]}
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        write_text(self.folder / "gpu_check.md", self.markdown())
        write_text(self.folder / "gpu_check.json", text)

    def markdown(self) -> str:
        """Return the table, and above it what was run on which machine."""
        about = f"{self.about['machine']}. device {self.about['device']}."
        if self.about["tiny"]:
            about += " tiny sizes, which show that it runs and not how fast."
        return f"{about}\n\n{table(HEADER, [each.cells() for each in self.rows])}\n"
