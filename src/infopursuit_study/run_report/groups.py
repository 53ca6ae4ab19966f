"""Runs that differ only in their seed, measured together, and paired comparisons of such groups.

A group's figures are means over seeds. Their 95 % intervals come from a two-level bootstrap that
draws seeds and test images; every group of a data set is measured on the same draws, so that
differences between two groups are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import points
from infopursuit.report.figures import interval_bar
from infopursuit_study.evaluation.bootstrap import (
    Interval,
    SeedMeans,
    seed_means,
    two_level_intervals,
)
from infopursuit_study.evaluation.files import read_predictions
from infopursuit_study.evaluation.run_metrics import area_under_curve
from infopursuit_study.run_report.methods import CONTROL, answers_of, dictionary_of, is_paper_method
from infopursuit_study.run_report.runs import DatasetResults, Run

# The initial dictionaries of the paper.
PAPER_INITS = ("llm", "random", "medoids")
AUC = 0  # instead of a budget: Acc@0 is not in the tables
# The budget that is compared next to the AUC, if T reaches it.
EARLY = 10


@dataclass(frozen=True)
class Group:
    """The runs of an initial dictionary and a method.

    Attributes:
        runs: one a seed.
        measures: what the columns of `means` are: `AUC`, or the budget t of Acc@t.
        means: over images, for each seed.
    """

    runs: tuple[Run, ...]
    measures: tuple[int, ...]
    means: SeedMeans

    @property
    def init(self) -> str:
        return self.runs[0].name.init

    @property
    def method(self) -> str:
        return self.runs[0].name.method

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.runs[0].settings

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.name.seed for run in self.runs)

    @property
    def validation_auc(self) -> float:
        """Mean over seeds of the AUC on the validation images."""
        return float(np.mean([run.validation_auc for run in self.runs]))

    @property
    def selected_on_test(self) -> bool:
        """Whether any run was selected on the test images."""
        return any(run.selected_on_test for run in self.runs)

    @cached_property
    def intervals(self) -> dict[int, Interval]:
        """Each measure with its interval."""
        return dict(zip(self.measures, two_level_intervals(self.means), strict=True))

    def mean(self, measure: Callable[[Run], float]) -> float:
        """Average over seeds."""
        return float(np.mean([measure(run) for run in self.runs]))

    def minus(self, other: Group) -> dict[int, Interval]:
        """Subtract each measure of another group: the seeds both have, paired."""
        seeds = [seed for seed in self.seeds if seed in other.seeds]
        if not seeds:
            raise InputError(
                f"{self.runs[0].name} and {other.runs[0].name}: no seed in common; "
                "expected one at least to compare the two"
            )
        one, two = (
            SeedMeans(group.means.measured[rows], group.means.resampled[:, rows])
            for group in (self, other)
            for rows in [[group.seeds.index(seed) for seed in seeds]]
        )
        difference = SeedMeans(one.measured - two.measured, one.resampled - two.resampled)
        return dict(zip(self.measures, two_level_intervals(difference), strict=True))

    @property
    def overlap(self) -> float | None:
        """Mean Jaccard index of the final texts over all pairs of seeds; None for one seed."""
        texts = [set(run.evolution["final"]) for run in self.runs]
        shares = [len(one & two) / len(one | two) for one, two in combinations(texts, 2)]
        return float(np.mean(shares)) if shares else None


def grouped(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Group runs that differ only in their seed, by initial dictionary and method, in order."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.name.init, run.name.method), []).append(run)
    return groups


def measured_groups(
    results: DatasetResults, budgets: Sequence[int], resamples: int
) -> tuple[Group, ...]:
    """Measure the groups of a data set on the test images."""
    longest = int(results.runs[0].metrics["budget"])
    measures = (AUC, *sorted({t for t in budgets if 0 < t < longest} | {longest}))
    groups = []
    for runs in grouped(results.runs).values():
        values = np.stack([_of_images(run, measures) for run in runs])
        groups.append(Group(tuple(runs), measures, seed_means(values, resamples)))
    return tuple(groups)


def best_validated(groups: Iterable[Group]) -> Group | None:
    """Return the group with the highest validation AUC, without a look at the test images."""
    return max(groups, key=lambda group: group.validation_auc, default=None)


def reference(groups: Iterable[Group]) -> Group | None:
    """Return the paper's best: `fixed` or `alternating`, from its dictionaries, by validation."""
    return best_validated(
        group
        for group in groups
        if group.init in PAPER_INITS
        and any(is_paper_method(group.settings, kind) for kind in ("fixed", "alternating"))
    )


def _of_images(run: Run, measures: Sequence[int]) -> Float[np.ndarray, "n m"]:
    correct = read_predictions(run.predictions).correct.astype(np.float64)
    columns = [area_under_curve(correct) if t == AUC else correct[:, t] for t in measures]
    return np.stack(columns, axis=1)


def comparisons(groups: Sequence[Group]) -> dict[str, Any]:
    """Compare the groups of a data set in pairs, in three tables; each may be empty.

    `against_reference` has every group less `reference`, the paper's best; `learned` the groups
    that learn their dictionary less those that keep the same start; `concepts` every group less the
    same method on random words. They compare the AUC and the accuracy at the budget `early`.
    """
    early = EARLY if EARLY in groups[0].measures else max(groups[0].measures)
    real = [group for group in groups if group.init != CONTROL]
    best = reference(groups)
    pairs = [(group, best) for group in real if best is not None and group is not best]
    learned = [(group, start) for group in real if (start := _start(group, groups)) is not None]
    concepts = [(group, words) for group in real if (words := _words(group, groups)) is not None]
    tables = {"against_reference": pairs, "learned": learned, "concepts": concepts}
    return {
        "reference": f"{best.init}, {best.method}" if best else "",
        "early": early,
        "any": any(tables.values()),
        **{name: _rows(table, early) for name, table in tables.items()},
    }


def _start(group: Group, groups: Sequence[Group]) -> Group | None:
    settings = group.settings
    if dictionary_of(settings) == "fixed":
        return None
    return best_validated(
        other
        for other in groups
        if other.init == group.init
        and dictionary_of(other.settings) == "fixed"
        and other.settings["method"] == settings["method"]
        and answers_of(other.settings) == answers_of(settings)
    )


def _words(group: Group, groups: Sequence[Group]) -> Group | None:
    return next(
        (other for other in groups if (other.init, other.method) == (CONTROL, group.method)), None
    )


def _rows(pairs: Sequence[tuple[Group, Group]], early: int) -> list[dict[str, Any]]:
    differences = [group.minus(other) for group, other in pairs]
    edges = [edge for less in differences for edge in less[AUC]]
    least, most = min([-0.005, *edges]), max([0.005, *edges])
    return [
        {
            "init": group.init,
            "method": group.method,
            "other": other.method,
            "seeds": len(set(group.seeds) & set(other.seeds)),
            "auc": points(less[AUC].value),
            "auc_interval": _between(less[AUC]),
            "bar": interval_bar(less[AUC], least, most),
            "early": points(less[early].value),
            "early_interval": _between(less[early]),
            "verdict": _verdict(less[AUC]),
            "selected_on_test": group.selected_on_test or other.selected_on_test,
        }
        for (group, other), less in zip(pairs, differences, strict=True)
    ]


def _verdict(less: Interval) -> str:
    return "better" if less.low > 0 else "worse" if less.high < 0 else "no clear difference"


def _between(less: Interval) -> str:
    return f"[{points(less.low)}, {points(less.high)}]"
