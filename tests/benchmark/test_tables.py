"""Tables say what the files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infopursuit.benchmark.page import main, with_tables
from infopursuit.benchmark.seeds import measure_peers
from infopursuit.benchmark.tables import curve_rows, markdown, read_result
from infopursuit.core.errors import InputError
from infopursuit.evaluation.bootstrap import accuracy_interval
from infopursuit.peers.budgets import BUDGETS
from tests.benchmark.tasks import small_task

PEERS = ("selected_scores", "ours", "zero_shot", "descriptions", "probe")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("peers")
    task = small_task(noise=0.5, class_embeddings=None)
    measure_peers(folder, "zoo", task, dict.fromkeys(PEERS, (0, 1)), 0.2, folder / "kept")
    return folder


def results(folder: Path) -> list:
    return [read_result(folder, "zoo", peer) for peer in PEERS]


def row_of(table: str, start: str) -> list[str]:
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_accuracies_in_the_table_are_those_of_the_predictions(folder: Path) -> None:
    found = results(folder)
    table = markdown("zoo", found, 200).split("\n\n")[0]
    for each, title in ((found[0], "selected texts, scores"), (found[1], "**ours**")):
        cells = [cell.strip("*") for cell in row_of(table, title)[3:7]]
        at = {t: each.correct[:, :, place].mean() for place, t in enumerate(BUDGETS)}
        assert cells == [f"{100 * at[t]:.1f}" for t in (5, 10, 20, 30)]
    assert row_of(table, "linear probe (black box)")[3:7] == ["–"] * 4


def test_the_best_explained_peer_is_in_bold_and_no_black_box(folder: Path) -> None:
    table = markdown("zoo", results(folder), 200).split("\n\n")[0]
    at_5 = {row: row_of(table, row)[3] for row in ("selected texts, scores", "**ours**")}
    assert sum(cell.startswith("**") for cell in at_5.values()) >= 1
    assert not row_of(table, "linear probe (black box)")[8].startswith("**")


def test_differences_are_paired(folder: Path) -> None:
    found = results(folder)
    parts = markdown("zoo", found, 500).split("\n\n")
    cells = row_of(parts[1], "selected texts, scores")
    ours, other = found[1].correct[:, :, 0], found[0].correct[:, :, 0]
    assert cells[1].startswith(f"{100 * (other.mean() - ours.mean()):+.1f} [")
    low, high = (float(each) for each in cells[1].split("[")[1].rstrip("]").split(","))
    # Paired intervals are narrower than the sum of two that are not.
    widths = [accuracy_interval(each[0], 500) for each in (ours, other)]
    assert high - low < 100 * sum(each.high - each.low for each in widths)
    assert low <= 100 * (other.mean() - ours.mean()) <= high


def test_a_peer_that_the_task_cannot_have_is_named_with_the_reason(folder: Path) -> None:
    told = markdown("zoo", results(folder), 200)
    assert "Absent: zero-shot (needs embeddings of the class names)." in told
    assert json.loads((folder / "zoo" / "zero_shot.json").read_text())["seeds"] == {}
    assert "`artifacts/peers/zoo/PEER.json`" in told


def test_curves_have_a_row_for_each_number_of_texts(folder: Path) -> None:
    rows = curve_rows(results(folder))
    ours = [(t, accuracy) for peer, t, accuracy in rows if peer == "ours"]
    assert [t for t, _ in ours] == [*BUDGETS, ""]
    assert [t for peer, t, _ in rows if peer == "probe"] == [""]
    assert not [peer for peer, _, _ in rows if peer == "zero_shot"]


def test_a_peer_with_fewer_seeds_is_compared_over_those_of_both(
    folder: Path, tmp_path: Path
) -> None:
    task = small_task(noise=0.5, class_embeddings=None)
    measure_peers(tmp_path, "zoo", task, {"selected_scores": [1]}, 0.2, folder / "kept")
    ours = read_result(folder, "zoo", "ours")
    fewer = read_result(tmp_path, "zoo", "selected_scores")
    table = markdown("zoo", [fewer, ours], 20)
    assert "| selected texts, scores, 1 seed |" in table
    assert "Seeds: 2, where a row says no other number." in table
    less = 100 * (fewer.correct[0, :, -1].mean() - ours.correct[1, :, -1].mean())
    differences = table.partition("| less ours")[2].partition("\n\n")[0]
    assert row_of(differences, "selected texts, scores")[-1].startswith(f"{less:+.1f} [")


def test_a_missing_result_names_the_stage(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; the stage peers writes it"):
        read_result(tmp_path, "zoo", "ours")


def test_tables_are_put_between_their_marks(tmp_path: Path) -> None:
    page = "a\n<!-- tables x -->\nold\n<!-- end -->\nb\n<!-- tables y -->\n<!-- end -->\n"
    text = with_tables(page, "x", "| 1 |\n")
    assert text == (
        "a\n<!-- tables x -->\n\n| 1 |\n\n<!-- end -->\nb\n<!-- tables y -->\n<!-- end -->\n"
    )
    assert with_tables(text, "x", "| 1 |\n") == text
    with pytest.raises(InputError, match="no marks '<!-- tables z -->'"):
        with_tables(page, "z", "")
    open_ended = page.replace("<!-- end -->", "", 1)
    with pytest.raises(InputError, match="before other tables"):
        with_tables(open_ended, "x", "| 1 |\n")
    (tmp_path / "page.md").write_text(page)
    (tmp_path / "tables.md").write_text("| 2 |\n")
    (tmp_path / "tables.curves.svg").write_text("<svg/>", encoding="utf-8")
    (tmp_path / "other.curves.svg").write_text("other", encoding="utf-8")
    main(str(tmp_path / "page.md"), "y", str(tmp_path / "tables.md"))
    assert "| 2 |" in (tmp_path / "page.md").read_text()
    pictures = {path.name: path.read_text() for path in (tmp_path / "images").iterdir()}
    assert pictures == {"y-curves.svg": "<svg/>"}
