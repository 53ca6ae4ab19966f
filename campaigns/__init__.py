"""Campaigns that try to break what the project promises.

Each campaign is a module NAME.py here, with a long form, `python -m campaigns.NAME`, that
writes its tables to artifacts/campaigns/NAME.md. Its short form is test_NAME.py and runs in
`make test`. `make campaign` runs every long form.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infopursuit.core.files import write_text
from infopursuit.core.numbers import table

CAMPAIGNS: tuple[str, ...] = (
    "kills",
    "bad_inputs",
    "fuzz",
    "findings",
    "capacity",
)


def tables_of(name: str) -> Path:
    """Return the file of the tables of a campaign."""
    return Path("artifacts/campaigns") / f"{name}.md"


def write_tables(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> None:
    """Write a table in Markdown, and a note under it.

    A campaign calls it after each row: one that is cut off leaves what it saw.
    """
    write_text(tables_of(name), "\n\n".join(filter(None, [table(header, rows), note])) + "\n")
