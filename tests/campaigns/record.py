"""The tables that a campaign leaves for docs/reliability.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infopursuit.benchmark.tables import table
from infopursuit.core.whole_files import write_text


def tables_of(name: str) -> Path:
    """Where the tables of a campaign are."""
    return Path("artifacts/campaigns") / f"{name}.md"


def write_tables(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> None:
    """Write a table in Markdown, and a note under it: what was run, for how long, what was found.

    A campaign calls it again as it goes on: one that is cut off still tells what it saw.
    """
    write_text(tables_of(name), "\n\n".join(filter(None, [table(header, rows), note])) + "\n")
