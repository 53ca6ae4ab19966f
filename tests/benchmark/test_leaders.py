"""The table of leaders says what the tables of the tasks say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from infopursuit.benchmark.leaders import leaders, results_of, tasks_of
from infopursuit.benchmark.tables import Result
from infopursuit.benchmark.titles import TITLES
from infopursuit.peers.budgets import BUDGETS
from tests.stage_scripts import ROOT


def result(
    peer: str,
    at_5: float,
    at_10: float,
    at_20: float,
    true: float | None = None,
    bounded: bool = True,
) -> Result:
    metrics = {"accuracy_at_5": at_5, "accuracy_at_10": at_10, "accuracy_at_20": at_20}
    metrics |= {} if true is None else {"claims_true": true}
    nothing = np.zeros((1, 0, len(BUDGETS) + 1), dtype=bool)
    return Result(peer, None, ["0"], [metrics if bounded else {}], [{}], nothing, bounded)


def test_a_cell_names_the_leader_and_the_best_of_the_other_side() -> None:
    found = leaders(
        {
            "Zoo": [
                result("tree", 0.6, 0.65, 0.7, true=0.1),
                result("generative_ip", 0.5, 0.7, 0.7),
                result("ours", 0.55, 0.8, 0.9, true=0.4),
                result("ours_knowing", 0.58, 0.9, 0.8),
                result("sparse_logistic", 0.9, 0.9, 0.9),
                result("probe", 0.99, 0.99, 0.99),
                result("zero_shot", 0.98, 0.98, 0.98, bounded=False),
            ]
        }
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines()]
    assert rows[2:] == [
        [
            "questions",
            "Zoo",
            "decision tree 60.0; ours, knowing 58.0",
            "**ours, knowing 90.0**; generative IP 70.0",
            "**ours 90.0**; decision tree 70.0",
            "**ours 40.0**; decision tree 10.0",
        ],
        ["weights a class", "Zoo", *["sparse logistic regression 90.0"] * 3, "–"],
    ]


def test_the_tasks_of_a_page_are_titled_by_the_heading_before_their_tables() -> None:
    page = "# A\n\n## Tables\n\n### One task\n\ntext\n\n<!-- tables one -->\n\n<!-- end -->\n"
    page += "\n### Other\n\n<!-- tables two -->\n<!-- end -->\n"
    assert tasks_of(page) == {"one": "One task", "two": "Other"}


def test_the_page_of_this_repository_has_the_leaders_of_its_records() -> None:
    """Each cell is checked against the tables of the page, which come from the same records."""
    text = (ROOT / "docs/benchmark.md").read_text(encoding="utf-8")
    rows = table_rows(text.partition("<!-- tables leaders -->")[2])[2:]
    titles = {title: name for name, title in tasks_of(text).items()}
    for unit, task, *cells in rows:
        tables = text.partition(f"<!-- tables {titles[task]} -->\n")[2]
        by_peer: dict[str, list[list[str]]] = {}
        for row in table_rows(tables):
            by_peer.setdefault(re.sub(r", \d seeds?$", "", row[0]), []).append(row)
        for column, cell in enumerate(cells):
            for told in cell.split("; "):
                peer, _, share = told.rpartition(" ")
                accuracies, _, claims, *_ = by_peer[peer]
                assert accuracies[2] == unit
                assert [*accuracies[3:6], claims[1]][column] == share, (unit, task, told)
    assert len(rows) >= 16
    assert len({unit for unit, *_ in rows}) == 4


def table_rows(text: str) -> list[list[str]]:
    """The cells of all tables up to the end of what is between marks, without bold."""
    lines = text.partition("<!-- end -->")[0].replace("*", "").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]


def test_records_give_results_of_the_peers_that_were_measured() -> None:
    found = results_of(ROOT / "docs/records/food10-vitb32.parquet")
    assert {each.peer for each in found} <= set(TITLES)
    assert all(each.seeds for each in found)
    assert len(found) > 15


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "infopursuit.benchmark.leaders", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_writes_into_the_page_or_says_what_is_missing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    task = "### Food\n\n<!-- tables food10-vitb32 -->\n<!-- end -->\n"
    page.write_text(f"<!-- tables leaders -->\n<!-- end -->\n\n{task}", encoding="utf-8")
    records = str(ROOT / "docs/records")
    assert run(str(page), records).returncode == 0
    assert re.search(r"\| questions \| Food \| .*generative IP", page.read_text(encoding="utf-8"))
    assert task in page.read_text(encoding="utf-8")
    for arguments, told in (
        ((str(page),), "leaders: expected: PAGE RECORDS"),
        ((str(page), str(tmp_path)), f"leaders: {tmp_path}: no record of any of"),
        ((str(tmp_path / "no.md"), records), "no.md"),
    ):
        failed = run(*arguments)
        assert failed.returncode == 1
        assert told in failed.stderr
        assert len(failed.stderr.splitlines()) == 1


def test_a_page_without_marks_is_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("### Food\n\n<!-- tables food10-vitb32 -->\n<!-- end -->\n", encoding="utf-8")
    before = page.read_bytes()
    failed = run(str(page), str(ROOT / "docs/records"))
    assert failed.returncode == 1
    assert "<!-- tables leaders -->" in failed.stderr
    assert page.read_bytes() == before
