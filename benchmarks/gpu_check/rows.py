"""Rows of the table, and the two files that are written anew after each of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from infopursuit.core.files import write_text

HEADER = ("what", "measured", "goal", "met", "exact")
NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: was done.
        measured: the outcome, in words.
        goal: what was to be reached; `NOT_APPLICABLE` where the goal is for a GPU, or for full
            size, and this is neither; empty where there is none.
        met: whether it was; None where there is no goal.
        exact: whether the results are those of the CPU; None where that was not asked.
        failed: whether something broke, or was not run for want of time.
        figures: the numbers behind the words.
    """

    what: str
    measured: str
    goal: str = ""
    met: bool | None = None
    exact: bool | None = None
    failed: bool = False
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Nothing broke, the goal is met, the results are exact; as far as these were asked."""
        return not self.failed and self.met is not False and self.exact is not False

    def line(self) -> str:
        """The line in Markdown."""
        cells = (self.what, self.measured, self.goal or "–", _word(self.met), _word(self.exact))
        return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


@dataclass
class Report:
    """All rows so far, and the parts that are still to come.

    Attributes:
        folder: of the two files.
        about: the machine, the device and the size.
        waiting: titles of parts that have not ended.
        rows: of those that have.
    """

    folder: Path
    about: dict[str, Any]
    waiting: list[str]
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Take a row up, and write both files."""
        self.rows.append(row)
        self.write()

    def ended(self, title: str) -> None:
        """A part has ended; write both files."""
        self.waiting.remove(title)
        self.write()

    def write(self) -> None:
        """Write gpu_check.json and gpu_check.md: what was there before is replaced as a whole."""
        content = {
            **self.about,
            "complete": not self.waiting,
            "not_run": self.waiting,
            "rows": [asdict(row) for row in self.rows],
        }
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        write_text(self.folder / "gpu_check.json", text)
        write_text(self.folder / "gpu_check.md", self.markdown())

    def markdown(self) -> str:
        """The table, and above it what was run on what."""
        waiting = [Row(title, "not run, or cut off").line() for title in self.waiting]
        size = "tiny sizes, which show that it runs and not how fast" if self.about["tiny"] else ""
        about = [self.about["machine"], f"device {self.about['device']}", size]
        lines = [
            ". ".join(filter(None, about)) + ".",
            "",
            f"| {' | '.join(HEADER)} |",
            f"|{'---|' * len(HEADER)}",
            *(row.line() for row in self.rows),
            *waiting,
        ]
        return "\n".join(lines) + "\n"


def _word(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "**no**"
