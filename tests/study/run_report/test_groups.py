"""Groups of seeds against plain loops over resamples, and what is compared with what."""

import numpy as np
import pytest

from infopursuit_study.evaluation.files import read_predictions
from infopursuit_study.run_report.groups import comparisons, measured_groups, reference
from tests.study.run_report.made_up_runs import METHODS, make_dataset

BUDGETS = (5, 10, 20)


def measured(folder, seeds=(0, 1, 2), **run):
    return measured_groups(make_dataset(folder, "pets", seeds=seeds, **run), BUDGETS, 500)


def test_interval_agrees_with_drawing_seeds_and_images_one_by_one(tmp_path):
    fixed, learned = measured(tmp_path)
    one, two = (
        np.stack([read_predictions(run.predictions).correct for run in group.runs])[:, :, 10]
        for group in (learned, fixed)
    )
    draw, samples = np.random.default_rng(5), []
    for _ in range(3000):
        seeds, images = draw.integers(3, size=3), draw.integers(60, size=60)
        samples.append((one * 1.0 - two)[seeds][:, images].mean())
    found = learned.minus(fixed)[10]
    assert found.value == pytest.approx(one.mean() - two.mean())
    assert (found.low, found.high) == pytest.approx(np.quantile(samples, [0.025, 0.975]), abs=0.02)


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    inits = "llm", "random_words"
    return measured(folder, (0,), inits=inits, methods=tuple(METHODS), images=30, k=12)


def test_reference_is_the_papers_best_by_validation(every):
    found = reference(every)
    candidates = [each for each in every if each.init == "llm"][:2]
    assert found in candidates
    assert found.validation_auc == max(each.validation_auc for each in candidates)
    assert reference([each for each in every if each.method == "gaussian"]) is None


def test_comparisons_pair_what_belongs_together(every):
    found = comparisons(every)
    best = reference(every)
    assert found["reference"] == f"llm, {best.method}"
    names = [row["method"] for row in found["against_reference"]]
    assert names == [method for method in METHODS if method != best.method]
    assert {row["init"] for row in found["against_reference"]} == {"llm"}
    learned = [(row["method"], row["other"]) for row in found["learned"]]
    # No fixed dictionary has soft answers, so nothing says what learning one is worth.
    assert learned == [("alternating", "fixed"), ("joint", "fixed"), ("free_queries", "fixed")]
    assert [(row["method"], row["other"]) for row in found["concepts"]] == [
        (name, name) for name in METHODS
    ]
    for row in found["concepts"]:
        edges = row["auc_interval"].strip("[]").split(", ")
        verdict = "better" if edges[0][0] == "+" else "worse" if edges[1][0] != "+" else ""
        assert row["verdict"] == (verdict or "no clear difference")
