"""Pictures show what the tables say, and repeat to the byte."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from infopursuit.benchmark.pictures import draw_curves, draw_truth
from infopursuit.benchmark.tables import Result
from infopursuit.peers.budgets import BUDGETS


def result(peer: str, accuracy: float, true: float | None, bounded: bool = True) -> Result:
    correct = np.zeros((1, 100, len(BUDGETS) + 1), dtype=bool)
    correct[:, : int(100 * accuracy)] = True
    metrics = {
        "accuracy": accuracy,
        "claims_true": true,
        "claims_in_model": 0 if true is None else 9,
    }
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


def test_judged_peers_stand_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "truth.svg"
    draw_truth(path, "zoo", RESULTS)
    told = texts(path)
    # The legend goes from the most accurate to the least.
    named = [
        name for name in told if name in ("sparse logistic regression", "ours", "decision tree")
    ]
    assert named == ["sparse logistic regression", "ours", "decision tree"]
    assert "linear probe (black box)" not in told
    draw_truth(path, "zoo", [RESULTS[0]])
    assert "no claims were judged" in texts(path)


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    for draw in (draw_curves, draw_truth):
        first, second = tmp_path / "a.svg", tmp_path / "b.svg"
        draw(first, "zoo", RESULTS)
        draw(second, "zoo", RESULTS)
        assert first.read_bytes() == second.read_bytes()
