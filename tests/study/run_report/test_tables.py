"""The tables of the report: read from files, averaged over seeds, put in words."""

from dataclasses import replace

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.run_name import RunName
from infopursuit_study.evaluation.files import METRICS, TRUTH, write_json
from infopursuit_study.evaluation.run_metrics import BUDGETS
from infopursuit_study.run_report.groups import measured_groups
from infopursuit_study.run_report.meaning_tables import COLUMNS, meaning_section
from infopursuit_study.run_report.runs import read_dataset, read_run
from infopursuit_study.run_report.tables import dependence_rows, evolution, results_table, verdict
from tests.study.run_report.made_up_runs import MEANING, make_dataset


def read(folder, methods=("fixed", "gaussian"), seeds=(0,), **made):
    made = {"images": 20, "k": 8, "budget": 6, **made}
    return make_dataset(folder, "pets", methods=methods, seeds=seeds, **made)


def groups_of(results):
    return measured_groups(results, (5, *BUDGETS), 20)


def test_results_are_means_over_seeds_with_intervals(tmp_path) -> None:
    results = read(tmp_path, ("fixed", "alternating"), (0, 1))
    groups = groups_of(results)
    table = results_table(results, groups)
    assert table["budgets"] == ["5", "6"]
    assert len(table["runs"]) == 4
    assert [row["seed"] for row in table["means"]] == ["2", "2"]
    for row, group in zip(table["means"], groups, strict=True):
        areas = [run.metrics["auc"] for run in group.runs]
        assert float(row["auc"]["value"]) == pytest.approx(50 * sum(areas), abs=0.051)
        assert row["auc"]["interval"].startswith("[")
        assert len(row["accuracies"]) == 2
    assert sum(row["best"] for row in table["means"]) == 1


def test_one_row_shows_dependence_exactly(tmp_path) -> None:
    results = read(tmp_path, ("alternating", "gaussian"), (0, 1), images=60, k=12, budget=12)
    groups = groups_of(results)
    learned, bayes = dependence_rows(groups)
    assert learned["tests"] == ("4.13", "8.71", "0.27")
    assert bayes["tests"] == ("0", "0", "0")
    assert bayes["overlap"] == "1.00"
    # All texts but the last are the same with both seeds.
    alike = len(set(groups[0].runs[0].evolution["final"])) - 1
    assert learned["overlap"] == f"{alike / (alike + 2):.2f}"


@pytest.mark.parametrize(
    ("at_stop", "at_last", "ahead", "still", "behind"),
    [
        (0.95, 0.97, [], None, ["linear probe", "zero-shot"]),
        (0.90, 0.97, ["linear"], "but none of them after all questions", ["zero-shot"]),
        (0.50, 0.60, ["linear", "zero-shot"], "even after all questions", []),
        (0.50, 0.70, ["linear", "zero-shot"], "and even after all questions linear probe", []),
    ],
)
def test_the_first_lines_say_who_is_ahead(tmp_path, at_stop, at_last, ahead, still, behind) -> None:
    results = read(tmp_path)
    run = results.runs[0]
    metrics = {**run.metrics, "accuracy_at_stop": at_stop, "accuracy_at_T": at_last}
    shown = verdict(results, replace(run, metrics=metrics))
    assert all(name in shown["ahead"] for name in ahead)
    assert bool(shown["ahead"]) == bool(ahead)
    assert all(name in shown["behind"] for name in behind)
    assert still is None or shown["still"] == still
    assert shown["figures"][0]["number"] == f"{100 * at_stop:.1f}"


def test_the_table_of_meaning_has_every_run_and_chance(tmp_path) -> None:
    results = read(tmp_path, meaning=MEANING)
    section = meaning_section(groups_of(results), results.runs[0].meaning)
    assert [row["method"] for row in section["rows"]] == ["fixed", "gaussian"]
    shares = ["41.2", "90.0", "68.0", "95.4", "96.0", "85.1", "52.0", "79.0"]
    assert section["rows"][0]["shares"] == shares
    assert dict(zip(COLUMNS, section["chance"], strict=True))["true_yes"] == "3.0"
    assert "written beforehand" in section["sources"][0]
    assert "reference labels say" in section["sources"][1]


def test_missing_files_and_two_stopping_rules_are_reported(tmp_path) -> None:
    name = RunName("pets", "llm", "fixed", 0)
    results = read(tmp_path, ("fixed",), truth=True)
    path = tmp_path / "evaluation" / str(name) / METRICS
    write_json(path, {**results.runs[0].metrics, "stop_probability": 0.9})
    with pytest.raises(InputError, match=r"expected one stopping rule: `dvc repro` makes both"):
        read_run(tmp_path, name)
    for missing in (path, path.with_name(TRUTH)):
        content = missing.read_bytes()
        missing.unlink()
        with pytest.raises(InputError, match=rf"{missing.name}: no such file; `dvc repro` makes"):
            read_dataset(tmp_path, "pets", [name], truth=True)
        missing.write_bytes(content)


def test_evolution_puts_the_most_changed_first(tmp_path) -> None:
    (run,) = read(tmp_path, ("alternating",)).runs
    shown = evolution(run)
    changes = [len(set(texts)) for texts in shown["rows"] if texts[0] != texts[-1]]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == shown["changed"]
    assert sorted(texts[0] for texts in shown["rows"]) == sorted(run.evolution["initial"])
    assert shown["distinct"] == len(set(run.evolution["final"]))
