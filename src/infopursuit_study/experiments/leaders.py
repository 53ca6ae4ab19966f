"""Who leads: the best explained peers on all tasks of a page, by what a number of texts means.

    python -m infopursuit_study.experiments.leaders lab/benchmark.md docs/records

The tasks are those whose tables the page has (`experiments.page`) and whose results are in
docs/records/NAME.parquet. The table goes between `<!-- tables leaders -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.numbers import NOTHING, share, table
from infopursuit.pipeline.benchmark_settings import TITLES, Unit
from infopursuit_study.comparison.results import Result, read_result
from infopursuit_study.experiments.page import with_tables
from infopursuit_study.experiments.records import give

# Columns, and the metric behind each.
COLUMNS = {
    **{f"at {t}": f"accuracy_at_{t}" for t in (5, 10, 20)},
    "true claims at 10": "claims_true",
}
OURS = "ours"
USAGE = "expected: PAGE RECORDS"


def leaders(tasks: Mapping[str, Sequence[Result]]) -> str:
    """Return a table with a row for each meaning of a number of texts and each task.

    A cell names the best explained peer, with its accuracy or its share of true claims in percent.
    Then it names the best competitor: if ours leads, the best of the other peers; if another peer
    leads, the best of ours, if any. Of equal peers the first one leads.
    """
    rows = []
    for unit in get_args(Unit):
        for title, results in tasks.items():
            of_unit = [each for each in results if TITLES[each.peer].unit == unit]
            peers = [each for each in of_unit if each.bounded and TITLES[each.peer].explained]
            if peers:
                rows.append([unit, title, *(_cell(peers, name) for name in COLUMNS.values())])
    return table(["a text is", "task", *COLUMNS], rows)


def _cell(results: Sequence[Result], name: str) -> str:
    """Return the leader and its best competitor by a metric; a dash if no peer has it."""
    measured = [each for each in results if each.mean(name) is not None]
    if not measured:
        return NOTHING
    ranked = sorted(measured, key=lambda each: -(each.mean(name) or 0))
    ours_leads = ranked[0].peer.startswith(OURS)
    others = [each for each in ranked if each.peer.startswith(OURS) != ours_leads]
    parts = [
        f"{TITLES[each.peer].title.replace('*', '')} {share(each.mean(name))}"
        for each in (ranked[0], *others[:1])
    ]
    return "; ".join([f"**{parts[0]}**" if ours_leads else parts[0], *parts[1:]])


def tasks_of(page: str) -> dict[str, str]:
    """Return the headings before the tables of a page, by the names of the tables, in order."""
    titles, heading = {}, ""
    for line in page.splitlines():
        if match := re.fullmatch(r"#+ (.*)", line):
            heading = match[1]
        elif match := re.fullmatch(r"<!-- tables (\S+) -->", line):
            titles[match[1]] = heading
    return titles


def results_of(record: Path) -> list[Result]:
    """Return the results of a record, in the order of TITLES; absent peers are left out."""
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
    names = [name for name in titles if (records / f"{name}.parquet").is_file()]
    if not names:
        raise InputError(f"{records}: no record of any of {[*titles]}; expected NAME.parquet")
    tables = leaders({titles[name]: results_of(records / f"{name}.parquet") for name in names})
    write_text(page, with_tables(text, "leaders", tables))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (InputError, FileNotFoundError) as error:
        sys.exit(f"leaders: {error}")
