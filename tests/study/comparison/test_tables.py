"""Tables say what the files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from infopursuit_study.comparison.results import read_result
from infopursuit_study.comparison.tables import markdown
from infopursuit_study.evaluation.bootstrap import accuracy_interval
from infopursuit_study.peers.peer import BUDGETS
from tests.study.comparison.conftest import PEERS


def results(folder: Path) -> list:
    return [read_result(folder, "zoo", peer) for peer in PEERS]


def row_of(table: str, start: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_accuracies_in_the_table_are_those_of_the_predictions(folder: Path) -> None:
    found = results(folder)
    table = markdown("zoo", found, 200).split("\n\n")[0]
    for each, title in ((found[0], "SpLiCE"), (found[1], "**ours**")):
        cells = [cell.strip("*") for cell in row_of(table, title)[3:7]]
        of_seeds = each.correct.mean(axis=1)  # rounded as the table is
        at = {t: of_seeds[:, place].mean() for place, t in enumerate(BUDGETS)}
        assert cells == [f"{100 * at[t]:.1f}" for t in (5, 10, 20, 30)]
    assert row_of(table, "linear probe (black box)")[3:7] == ["–"] * 4


def test_differences_are_paired(folder: Path) -> None:
    found = results(folder)
    parts = markdown("zoo", found, 500).split("\n\n")
    cells = row_of(parts[1], "SpLiCE")
    ours, other = found[1].correct[:, :, 0], found[0].correct[:, :, 0]
    less = 100 * (other.mean() - ours.mean())
    assert float(cells[1].split(" [")[0]) == pytest.approx(less, abs=0.051)
    low, high = (float(each) for each in cells[1].split("[")[1].rstrip("]").split(","))
    # Paired intervals are narrower than the sum of two that are not.
    widths = [accuracy_interval(each[0], 500) for each in (ours, other)]
    assert high - low < 100 * sum(each.high - each.low for each in widths)
    assert low <= less <= high
