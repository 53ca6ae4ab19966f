"""The paper's tables as it prints them, with its figures next to those of our runs.

The paper's figures are in `paper.toml`. A run is found by its settings, whatever its method is
called, and starts from the dictionary of a language model as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infopursuit.core.files import packaged_toml
from infopursuit.core.numbers import NOTHING, decimal, interval
from infopursuit_study.run_report.groups import Group, best_validated
from infopursuit_study.run_report.methods import is_paper_method

PAPER = packaged_toml("infopursuit_study.run_report", "paper.toml")
ABLATIONS, BOTTLENECKS = PAPER["ablations"], PAPER["bottlenecks"]
# The budget for data sets that the paper does not have: with few classes, and with many.
FEW_CLASSES, BUDGET_FOR_FEW, BUDGET_FOR_MANY = 16, 10, 50

INIT = "llm"
# The paper's methods as (dictionary, answers, queries are texts).
METHODS = {
    "alternating": ("alternating", "minmax", True),
    "joint": ("joint", "minmax", True),
    "soft_answers": ("alternating", "soft", True),
    "free_queries": ("alternating", "minmax", False),
}


def paper_tables(datasets: Mapping[str, Sequence[Group]]) -> list[dict[str, Any]]:
    """Return the tables that have a row."""
    every = [*(_ablation(datasets, **words) for words in PAPER["tables"]), _bottlenecks(datasets)]
    return [table for table in every if table["rows"]]


def table_budgets(dataset: str, classes: int) -> tuple[int, ...]:
    """Return the budgets that the tables need of a data set."""
    return tuple(
        {
            _budget(dataset, classes),
            *([BOTTLENECKS[dataset]["budget"]] if dataset in BOTTLENECKS else []),
        }
    )


def _budget(dataset: str, classes: int) -> int:
    if dataset in ABLATIONS:
        return ABLATIONS[dataset]["budget"]
    return BUDGET_FOR_FEW if classes <= FEW_CLASSES else BUDGET_FOR_MANY


def _ablation(
    datasets: Mapping[str, Sequence[Group]],
    key: str,
    title: str,
    caption: str,
    columns: Mapping[str, str],
    needed: Sequence[str],
) -> dict[str, Any]:
    rows = []
    for dataset, groups in datasets.items():
        printed = ABLATIONS.get(dataset)
        here = {method: _recognised(groups, method) for method in columns.values()}
        figures = sum(group is not None for group in here.values())
        if not any(here[method] for method in needed) or (printed is None and figures < 2):
            continue
        budget = _budget(dataset, len(groups[0].runs[0].class_names))
        cells = [_cell(str(budget)), _cell(_clip(groups))]
        for method in columns.values():
            figure = printed[method] if printed else None
            cells += [_cell(decimal(figure, 2)), _here(here[method], budget)]
        rows.append({"name": printed["name"] if printed else dataset, "cells": cells})
    heads = [("Budget τ", ()), ("CLIP here", ())]
    heads += [(name, ("paper", "here")) for name in columns]
    return {"key": key, "title": title, "caption": caption, "heads": heads, "rows": rows}


def _bottlenecks(datasets: Mapping[str, Sequence[Group]]) -> dict[str, Any]:
    """Take soft answers at the paper's budget, or at the largest that was measured."""
    rows = []
    for dataset, groups in datasets.items():
        group = _recognised(groups, "soft_answers")
        if group is None:
            continue
        printed = BOTTLENECKS.get(dataset)
        longest = max(group.measures)
        budget = min(printed["budget"], longest) if printed else longest
        cells = [
            _cell(str(printed["budget"]) if printed else NOTHING),
            _cell(decimal(printed["learned"] if printed else None, 2)),
            _cell(str(budget)),
            _cell(_clip(groups)),
            _here(group, budget),
        ]
        others = ("pcbm", "labo", "label_free", "res_cbm")
        cells += [_cell(decimal(printed[name] if printed else None, 2)) for name in others]
        rows.append({"name": printed["name"] if printed else dataset, "cells": cells})
    return {
        "key": "bottlenecks",
        "title": "Compared with concept bottleneck models",
        "caption": "Accuracy in % with soft answers to all queries, or to as many as were "
        "measured here. The paper's figures are with CLIP RN50; those of other models are as the "
        "paper cites them.",
        "heads": [
            ("V-IP, paper", ("budget τ", "accuracy")),
            ("V-IP, here", ("budget", "CLIP", "accuracy")),
            ("Concept bottleneck models", ("PCBM", "LaBo", "Label-free", "Res-CBM")),
        ],
        "rows": rows,
    }


def _recognised(groups: Sequence[Group], method: str) -> Group | None:
    return best_validated(
        group
        for group in groups
        if group.init == INIT and is_paper_method(group.settings, *METHODS[method])
    )


def _here(group: Group | None, budget: int) -> dict[str, Any]:
    measured = group.intervals.get(budget) if group else None
    if group is None or measured is None:
        return _cell(NOTHING)
    value = decimal(100 * measured.value, 2)
    return _cell(value, interval(measured.low, measured.high), group.selected_on_test)


def _cell(value: str, interval: str = "", tested: bool = False) -> dict[str, Any]:
    return {"value": value, "interval": interval, "tested": tested}


def _clip(groups: Sequence[Group]) -> str:
    return groups[0].runs[0].clip or "not stated"
