"""The paper's tables: found by settings, at the paper's budgets, left out where empty."""

from infopursuit_study.evaluation.run_metrics import BUDGETS
from infopursuit_study.run_report.groups import measured_groups
from infopursuit_study.run_report.paper_tables import paper_tables, table_budgets
from tests.study.run_report.made_up_runs import METHODS, make_dataset


def groups(folder, dataset, methods, init="llm", **run):
    made = {"inits": [init], "methods": methods, "seeds": (0, 1), **run}
    results = make_dataset(folder, dataset, **made)
    budgets = (*BUDGETS, *table_budgets(dataset, len(results.runs[0].class_names)))
    return measured_groups(results, budgets, 100)


def texts(table, row=0):
    return [cell["value"] for cell in table["rows"][row]["cells"]]


def test_published_figures_stand_beside_ours(tmp_path):
    found = {
        "cifar10": groups(tmp_path, "cifar10", METHODS),
        "pets": groups(tmp_path, "pets", ("alternating", "joint")),
    }
    optimization, quantization, bottlenecks = paper_tables(found)
    by_method = {group.method: group for group in found["cifar10"]}
    here = {name: f"{100 * group.intervals[10].value:.2f}" for name, group in by_method.items()}
    assert [row["name"] for row in optimization["rows"]] == ["CIFAR-10", "pets"]
    expected = ["10", "a small clip", "95.12", here["alternating"], "87.00", here["joint"]]
    assert texts(optimization) == expected
    assert optimization["rows"][0]["cells"][3]["interval"].startswith("[")
    first, second = (f"{100 * group.intervals[10].value:.2f}" for group in found["pets"])
    assert texts(optimization, 1) == ["10", "a small clip", "–", first, "–", second]
    assert [row["name"] for row in quantization["rows"]] == ["CIFAR-10"]
    assert texts(quantization)[2:] == [
        "95.12", here["alternating"], "96.92", here["soft_answers"], "97.42", here["free_queries"],
    ]  # fmt: skip
    # T is 12 here, so the comparison stands at 12 and says so.
    longest = f"{100 * by_method['soft_answers'].intervals[12].value:.2f}"
    assert texts(bottlenecks) == [
        "128", "88.55", "12", "a small clip", longest, "82.08", "87.52", "86.77", "88.03",
    ]  # fmt: skip
