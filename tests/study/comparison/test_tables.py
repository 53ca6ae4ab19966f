"""Tables and pictures say what the files say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from infopursuit_study.comparison.pictures import draw_curves, draw_truth, look
from infopursuit_study.comparison.results import Result, read_result
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


def result(peer: str, accuracy: float, true: float | None, bounded: bool = True) -> Result:
    correct = np.zeros((1, 100, len(BUDGETS) + 1), dtype=bool)
    correct[:, : int(100 * accuracy)] = True
    metrics = {"accuracy": accuracy, "claims_true": true, "claims_in_model": 9 * (true is not None)}
    if bounded:
        metrics |= {"accuracy_at_10": accuracy}
    return Result(peer, None, ["0"], [metrics], [{}], correct, bounded)


RESULTS = [
    result("probe", 0.9, None, bounded=False),
    result("sparse_logistic", 0.8, 0.3),
    result("tree", 0.5, 0.4),
    result("ours", 0.7, 0.9),
    Result("zero_shot", "needs names", [], [], [], np.zeros((0, 0, 7), dtype=bool), False),
]


def texts(path: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", path.read_text(encoding="utf-8"))


def test_each_meaning_of_t_has_a_panel_with_its_peers_and_ours(tmp_path: Path) -> None:
    path = tmp_path / "curves.svg"
    draw_curves(path, "zoo", RESULTS)
    told = texts(path)
    assert "zoo: accuracy by the number of texts" in told
    assert "t questions" in told
    assert "t weights a class on average" in told
    assert "the same t texts for all images" not in told
    assert (told.count("decision tree"), told.count("sparse logistic regression")) == (1, 1)
    assert told.count("ours") == told.count("linear probe (black box)") == 2
    assert "zero-shot" not in told
    draw_truth(path, "zoo", RESULTS)
    order = ["sparse logistic regression", "ours", "decision tree"]  # the most accurate first
    assert [name for name in texts(path) if name in order] == order
    assert len({look(place) for place in range(64)}) == 64
