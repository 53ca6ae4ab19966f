"""What the pipeline ends with: a table that lines up, some metrics of each run, and images."""

import json

import numpy as np
import pytest

from infopursuit_study.run_report.charts import BASELINES
from infopursuit_study.run_report.runs import DatasetResults
from infopursuit_study.run_report.summary import write_metrics, write_summary
from tests.study.run_report.made_up_runs import KNOWN, MEANING, make_dataset


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> DatasetResults:
    folder = tmp_path_factory.mktemp("artifacts")
    return make_dataset(
        folder, inits=("llm", "informative"), methods=("fixed", "gaussian"), seeds=(0, 1),
        images=28, k=8, budget=6, truth=True, known=KNOWN, meaning=MEANING,
    )  # fmt: skip


def rows_of(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    assert len({len(line) for line in lines}) == 1, "columns line up"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_has_accuracy_questions_truth_and_baselines(results, tmp_path) -> None:
    path = tmp_path / "report" / "results.md"
    printed = write_summary(path, [results], 50)
    heads, _, *rows = rows_of(printed)
    assert heads == [
        "dictionary", "method", "accuracy at 6", "at the stop", "questions", "true yes",
        "supported yes", "false of first ten",
    ]  # fmt: skip
    assert [row[:2] for row in rows[:4]] == [
        ["llm", "fixed"], ["llm", "gaussian"], ["informative", "fixed"],
        ["informative", "gaussian"],
    ]  # fmt: skip
    runs = results.runs[:2]
    stop = np.mean([run.metrics["accuracy_at_stop"] for run in runs])
    questions = np.mean([run.metrics["mean_length_at_stop"] for run in runs])
    assert rows[0][3:5] == [f"{100 * stop:.1f}", f"{questions:.1f}"]
    assert rows[0][5:] == ["82.0", "85.1", "5.0"]
    assert ["baseline", "zero-shot", "62.0"] in [row[:3] for row in rows]
    assert len(rows) == 4 + 2
    assert path.read_text(encoding="utf-8") == printed
    before = path.read_bytes()
    write_summary(path, [results], 50)
    assert path.read_bytes() == before


def test_metrics_are_two_numbers_a_method_and_one_a_baseline(results, tmp_path) -> None:
    path = tmp_path / "metrics.json"
    write_metrics(path, [results])
    found = json.loads(path.read_text(encoding="utf-8"))
    assert {"linear_probe", "zero_shot"} < set(found)
    assert found["zero_shot"] == {"accuracy": 0.62}
    groups = {(run.name.init, run.name.method) for run in results.runs}
    assert len(found) == len(groups) + len(BASELINES)
    run = results.runs[3]
    of_method = found[f"{run.name.init}-{run.name.method}"]
    assert set(of_method) == {"at_stop", "supported_yes"}
    same = [each for each in results.runs if each.name[1:3] == run.name[1:3]]
    mean = sum(each.metrics["accuracy_at_stop"] for each in same) / len(same)
    assert of_method["at_stop"] == pytest.approx(mean)
