"""Seeds are written, kept and read; tables say what the files say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from infopursuit.benchmark import seeds
from infopursuit.benchmark.page import main, with_tables
from infopursuit.benchmark.seeds import key_of, measure_seeds
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
    for peer in PEERS:
        measure_seeds(folder, f"zoo-{peer}", peer, task, [0, 1], 0.2, folder / "kept" / peer)
    return folder


def results(folder: Path) -> list:
    return [read_result(folder, f"zoo-{peer}") for peer in PEERS]


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
    assert json.loads((folder / "zoo-zero_shot.json").read_text())["seeds"] == {}
    assert "`artifacts/peers/zoo-PEER.json`" in told


def test_curves_have_a_row_for_each_number_of_texts(folder: Path) -> None:
    rows = curve_rows(results(folder))
    ours = [(t, accuracy) for peer, t, accuracy in rows if peer == "ours"]
    assert [t for t, _ in ours] == [*BUDGETS, ""]
    assert [t for peer, t, _ in rows if peer == "probe"] == [""]
    assert not [peer for peer, _, _ in rows if peer == "zero_shot"]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that this process measures, in their order."""
    found: list[int] = []
    once = seeds.measure_seed

    def spied(entry, task, seed, share):
        found.append(seed)
        return once(entry, task, seed, share)

    monkeypatch.setattr(seeds, "measure_seed", spied)
    return found


def test_a_seed_that_is_done_is_not_measured_again(
    folder: Path, tmp_path: Path, measured: list[int]
) -> None:
    task = small_task(noise=0.5)
    kept = folder / "kept" / "selected_scores"
    assert measure_seeds(tmp_path, "zoo-x", "selected_scores", task, [0, 1, 2], 0.2, kept) == 3
    assert measured == [2]
    first = read_result(folder, "zoo-selected_scores")
    again = read_result(tmp_path, "zoo-x")
    assert again.metrics[:2] == first.metrics
    np.testing.assert_array_equal(again.correct[:2], first.correct)


def test_a_peer_with_fewer_seeds_is_compared_over_those_of_both(folder: Path) -> None:
    task = small_task(noise=0.5, class_embeddings=None)
    (folder / "fewer").mkdir()
    kept = folder / "kept" / "selected_scores"
    measure_seeds(folder / "fewer", "zoo-x", "selected_scores", task, [1], 0.2, kept)
    ours, fewer = read_result(folder, "zoo-ours"), read_result(folder / "fewer", "zoo-x")
    table = markdown("zoo", [fewer, ours], 20)
    assert "| selected texts, scores, 1 seed |" in table
    assert "Seeds: 2, where a row says no other number." in table
    less = 100 * (fewer.correct[0, :, -1].mean() - ours.correct[1, :, -1].mean())
    differences = table.partition("| less ours")[2].partition("\n\n")[0]
    assert row_of(differences, "selected texts, scores")[-1].startswith(f"{less:+.1f} [")


def test_seeds_side_by_side_give_the_same_bits(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "START", 0.0)  # the worker is waited for
    for peer in ("ours", "zero_shot"):
        task = small_task(noise=0.5, class_embeddings=None)
        measure_seeds(
            tmp_path, f"zoo-{peer}", peer, task, [0, 1], 0.2, tmp_path / peer, cores=2
        )  # fmt: skip
        alone, beside = folder / f"zoo-{peer}.json", tmp_path / f"zoo-{peer}.json"
        assert beside.read_bytes() == alone.read_bytes()
    for seed in ("0", "1"):
        name = f"zoo-ours/{seed}.parquet"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize(("start", "here"), [(0.0, 4), (600.0, 5)])
def test_this_process_measures_beside_its_workers(
    start: float,
    here: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    measured: list[int],
) -> None:
    monkeypatch.setattr(seeds, "START", start)
    task, kept = small_task(noise=0.5), tmp_path / "kept"
    wanted = [0, 1, 2, 3, 4]
    assert measure_seeds(tmp_path, "zoo-x", "probe", task, wanted, 0.2, kept, cores=2) == 5
    assert measured[0] == 4
    assert 1 <= len(measured) == len(set(measured)) <= here
    assert len(measured) == 5 or start == 0  # quick seeds start no worker
    assert {path.stem for path in kept.glob("*.json")} == {str(seed) for seed in wanted}
    told = json.loads((tmp_path / "zoo-x.json").read_text())
    assert list(told["seeds"]) == [str(seed) for seed in wanted]


WORKERS = """
import os, time
import joblib
from infopursuit.benchmark.seeds import end_with

def work(parent):
    end_with(parent)
    print(os.getpid(), flush=True)
    time.sleep(100)

joblib.Parallel(n_jobs=2)(joblib.delayed(work)(os.getpid()) for _ in range(2))
"""


def test_workers_end_with_a_stage_that_is_killed() -> None:
    stage = subprocess.Popen([sys.executable, "-c", WORKERS], stdout=subprocess.PIPE, text=True)
    assert stage.stdout is not None
    started = {stage.stdout.readline() for _ in range(2)}
    assert len(started) == 2
    stage.kill()
    stage.communicate(timeout=30)  # workers that live would hold the pipe


def test_the_key_follows_settings_and_inputs(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text("a")
    key = key_of({"peer": "ours"}, [path])
    assert key == key_of({"peer": "ours"}, [path])
    assert key != key_of({"peer": "tree"}, [path])
    path.write_text("b")
    assert key != key_of({"peer": "ours"}, [path])


def test_a_missing_result_names_the_stage(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; the stage peers writes it"):
        read_result(tmp_path, "zoo-ours")


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
