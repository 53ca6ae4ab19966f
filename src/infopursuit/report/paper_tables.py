"""The paper's tables as it prints them, its figures beside those of the runs at hand.

A run takes its place by its settings, whatever its method is called, and starts from the dictionary
of a language model as in the paper. A data set that the paper has is known by its key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from infopursuit.core.numbers import NOTHING, decimal, interval
from infopursuit.report.groups import Group, best_validated
from infopursuit.report.methods import is_paper_method
from infopursuit.report.published import (
    ABLATIONS,
    BOTTLENECKS,
    BUDGET_FOR_FEW,
    BUDGET_FOR_MANY,
    FEW_CLASSES,
)

INIT = "llm"
# The paper's methods as (dictionary, answers, queries are texts).
ALTERNATING, JOINT = ("alternating", "minmax", True), ("joint", "minmax", True)
SOFT_ANSWERS, FREE_QUERIES = ("alternating", "soft", True), ("alternating", "minmax", False)


class Cell(NamedTuple):
    """A figure with its interval, either may be empty; `tested` where selected on test."""

    value: str
    interval: str = ""
    tested: bool = False


class Head(NamedTuple):
    """A column, or several below one heading."""

    name: str
    columns: tuple[str, ...] = ()


class PaperRow(NamedTuple):
    """One data set."""

    name: str
    cells: list[Cell]


class PaperTable(NamedTuple):
    """One of the paper's tables."""

    key: str
    title: str
    caption: str
    heads: list[Head]
    rows: list[PaperRow]


def paper_tables(datasets: Mapping[str, Sequence[Group]]) -> list[PaperTable]:
    """The tables that have something to show.

    Args:
        datasets: the measured groups of each data set.
    """
    every = (
        _ablation(
            datasets,
            "optimization",
            "Alternating or joint optimisation",
            "Accuracy in % after a fixed budget of queries; the paper's with CLIP ViT-L/14.",
            {"Alternating": ("alternating", ALTERNATING), "Joint": ("joint", JOINT)},
            (ALTERNATING, JOINT),
        ),
        _ablation(
            datasets,
            "quantization",
            "What quantisation costs",
            "Accuracy in % after a fixed budget of queries; the paper's with CLIP ViT-L/14. "
            "Without quantised answers, an answer is the soft value itself; without quantised "
            "queries, a query may lie between texts.",
            {
                "Full method": ("alternating", ALTERNATING),
                "Soft answers": ("soft_answers", SOFT_ANSWERS),
                "Free queries": ("free_queries", FREE_QUERIES),
            },
            (SOFT_ANSWERS, FREE_QUERIES),
        ),
        _bottlenecks(datasets),
    )
    return [table for table in every if table.rows]


def table_budgets(dataset: str, classes: int) -> tuple[int, ...]:
    """The budgets that the tables read of a data set."""
    return tuple(
        {
            _budget(dataset, classes),
            *([BOTTLENECKS[dataset].budget] if dataset in BOTTLENECKS else []),
        }
    )


def _budget(dataset: str, classes: int) -> int:
    """τ of the paper's tables."""
    if dataset in ABLATIONS:
        return ABLATIONS[dataset].budget
    return BUDGET_FOR_FEW if classes <= FEW_CLASSES else BUDGET_FOR_MANY


def _ablation(
    datasets: Mapping[str, Sequence[Group]],
    key: str,
    title: str,
    caption: str,
    columns: Mapping[str, tuple[str, tuple[str, str, bool]]],
    needed: Sequence[tuple[str, str, bool]],
) -> PaperTable:
    """A row for each data set that has one of the methods `needed`."""
    rows = []
    for dataset, groups in datasets.items():
        if not any(_recognised(groups, method) for method in needed):
            continue
        printed = ABLATIONS.get(dataset)
        budget = _budget(dataset, groups[0].runs[0].classes)
        cells = [Cell(str(budget)), Cell(_clip(groups))]
        for published, method in columns.values():
            figure = getattr(printed, published) if printed else None
            cells += [Cell(decimal(figure, 2)), _here(_recognised(groups, method), budget)]
        rows.append(PaperRow(printed.name if printed else dataset, cells))
    heads = [Head("Budget τ"), Head("CLIP here")]
    heads += [Head(name, ("paper", "here")) for name in columns]
    return PaperTable(key, title, caption, heads, rows)


def _bottlenecks(datasets: Mapping[str, Sequence[Group]]) -> PaperTable:
    """Soft answers, at the paper's budget or at the largest that was measured."""
    rows = []
    for dataset, groups in datasets.items():
        group = _recognised(groups, SOFT_ANSWERS)
        if group is None:
            continue
        printed = BOTTLENECKS.get(dataset)
        longest = max(group.measures)
        budget = min(printed.budget, longest) if printed else longest
        cells = [
            Cell(str(printed.budget) if printed else NOTHING),
            Cell(decimal(printed.learned if printed else None, 2)),
            Cell(str(budget)),
            Cell(_clip(groups)),
            _here(group, budget),
        ]
        others = printed[3:] if printed else (None,) * 4
        cells += [Cell(decimal(figure, 2)) for figure in others]
        rows.append(PaperRow(printed.name if printed else dataset, cells))
    return PaperTable(
        "bottlenecks",
        "Beside concept bottleneck models",
        "Accuracy in % with soft answers to all queries, or to as many as were measured here. The "
        "paper's figures are with CLIP RN50; those of other models are as the paper cites them.",
        [
            Head("V-IP, paper", ("budget τ", "accuracy")),
            Head("V-IP, here", ("budget", "CLIP", "accuracy")),
            Head("Concept bottleneck models", ("PCBM", "LaBo", "Label-free", "Res-CBM")),
        ],
        rows,
    )


def _recognised(groups: Sequence[Group], method: tuple[str, str, bool]) -> Group | None:
    """The group of a paper's method; of several the best in validation."""
    return best_validated(
        group for group in groups if group.init == INIT and is_paper_method(group.settings, *method)
    )


def _here(group: Group | None, budget: int) -> Cell:
    """The accuracy of a group at a budget; a dash where it was not measured."""
    found = group.intervals.get(budget) if group else None
    if group is None or found is None:
        return Cell(NOTHING)
    value = decimal(100 * found.value, 2)
    return Cell(value, interval(found.low, found.high), group.selected_on_test)


def _clip(groups: Sequence[Group]) -> str:
    return groups[0].runs[0].clip or "not stated"
