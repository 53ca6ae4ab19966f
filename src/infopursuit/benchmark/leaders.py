"""Who leads: the best explained peers on all tasks of a page, by what a number of texts means.

    python -m infopursuit.benchmark.leaders docs/benchmark.md docs/records

The tasks are those whose tables the page has (`infopursuit.benchmark.page`) and whose results are
in docs/records/NAME.parquet. The table goes between `<!-- tables leaders -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from infopursuit.benchmark.page import with_tables
from infopursuit.benchmark.records import give
from infopursuit.benchmark.tables import Result, percent, read_result, table
from infopursuit.benchmark.titles import TITLES, Unit
from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import write_text

# Columns, and the metric behind each.
COLUMNS = {
    **{f"at {t}": f"accuracy_at_{t}" for t in (5, 10, 20)},
    "true claims at 10": "claims_true",
}
OURS = "ours"
USAGE = "expected: PAGE RECORDS"


def leaders(tasks: Mapping[str, Sequence[Result]]) -> str:
    """A table with a row for each meaning of a number of texts and each task.

    A cell names the best explained peer, with its accuracy or its share of true claims in percent,
    then the best of the others: of all but ours where ours leads, of ours where somebody else leads
    and ours is there. Of equals the first leads.

    Args:
        tasks: the results of each, by its title.
    """
    rows = []
    for unit in get_args(Unit):
        for title, results in tasks.items():
            there = [
                each
                for each in results
                if each.bounded and TITLES[each.peer].explained and TITLES[each.peer].unit == unit
            ]
            if there:
                rows.append([unit, title, *(_cell(there, name) for name in COLUMNS.values())])
    return table(["a text is", "task", *COLUMNS], rows)


def _cell(results: Sequence[Result], name: str) -> str:
    """The leader and the best of the other side by a metric; a dash where nobody has it."""
    measured = [each for each in results if each.mean(name) is not None]
    if not measured:
        return "–"
    found = sorted(measured, key=lambda each: -(each.mean(name) or 0))
    is_ours = found[0].peer.startswith(OURS)
    others = [each for each in found if each.peer.startswith(OURS) != is_ours]
    told = [
        f"{TITLES[each.peer].title.replace('*', '')} {percent(each.mean(name))}"
        for each in (found[0], *others[:1])
    ]
    return "; ".join([f"**{told[0]}**" if is_ours else told[0], *told[1:]])


def tasks_of(page: str) -> dict[str, str]:
    """The titles of the tasks of a page by the names of their tables, in order.

    A title is the heading before the tables.
    """
    found, heading = {}, ""
    for line in page.splitlines():
        if told := re.fullmatch(r"#+ (.*)", line):
            heading = told[1]
        elif told := re.fullmatch(r"<!-- tables (\S+) -->", line):
            found[told[1]] = heading
    return found


def results_of(record: Path) -> list[Result]:
    """The results of a record, in the order of TITLES; peers without figures are left out.

    Raises:
        InputError: the record is missing or malformed.
    """
    with TemporaryDirectory() as folder:
        peers = give(record, record.stem, Path(folder))
        results = [read_result(Path(folder), record.stem, peer) for peer in peers]
    return [each for each in results if not each.absent]


def main(arguments: Sequence[str]) -> None:
    """Write the table into a page."""
    if len(arguments) != 2:
        raise InputError(USAGE)
    page, records = map(Path, arguments)
    text = page.read_text(encoding="utf-8")
    titles = tasks_of(text)
    there = [name for name in titles if (records / f"{name}.parquet").is_file()]
    if not there:
        raise InputError(f"{records}: no record of any of {[*titles]}; expected NAME.parquet")
    told = leaders({titles[name]: results_of(records / f"{name}.parquet") for name in there})
    write_text(page, with_tables(text, "leaders", told))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, FileNotFoundError) as error:
        sys.exit(f"leaders: {error}")
