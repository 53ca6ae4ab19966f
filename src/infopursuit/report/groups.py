"""Runs that differ only in their seed, and what they come to together.

A group's figures are means over seeds. Their 95 % intervals come from a two-level bootstrap that
draws seeds and test images anew; every group of a data set is measured on the same draws, so that
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
from infopursuit.evaluation.bootstrap import Interval, SeedMeans, seed_means, two_level_intervals
from infopursuit.evaluation.budget_curves import area_under_curve
from infopursuit.evaluation.predictions import (
    Predictions,
    read_predictions,
    require_same_images,
)
from infopursuit.report.methods import is_paper_method
from infopursuit.report.runs import DatasetResults, Run

# The initial dictionaries of the paper.
PAPER_INITS = ("llm", "random", "medoids")
AUC = 0  # in place of a budget: Acc@0 is no part of the tables


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
        """The initial dictionary."""
        return self.runs[0].key.init

    @property
    def method(self) -> str:
        """The method."""
        return self.runs[0].key.method

    @property
    def settings(self) -> Mapping[str, Any]:
        """Of the method, the same for all seeds."""
        return self.runs[0].settings

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the runs."""
        return tuple(run.key.seed for run in self.runs)

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
        """Mean over seeds."""
        return float(np.mean([measure(run) for run in self.runs]))

    def minus(self, other: Group) -> dict[int, Interval]:
        """Each measure less that of another group: the seeds both have, paired.

        Raises:
            InputError: they have no seed in common.
        """
        seeds = [seed for seed in self.seeds if seed in other.seeds]
        if not seeds:
            raise InputError(
                f"{self.runs[0].key.name} and {other.runs[0].key.name}: no seed in common; "
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
    """Runs that differ only in their seed, by initial dictionary and method, in order."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.key.init, run.key.method), []).append(run)
    return groups


def measured_groups(
    results: DatasetResults, budgets: Sequence[int], resamples: int
) -> tuple[Group, ...]:
    """The groups of a data set with their means on the test images.

    Args:
        results: its runs.
        budgets: whose accuracy is wanted, where T reaches them; T itself is always there.
        resamples: of seeds and test images.

    Raises:
        InputError: two runs are of different test images or budgets.
    """
    first = results.runs[0]
    pattern = read_predictions(first.predictions)
    longest = pattern.predicted.shape[1] - 1
    measures = (AUC, *sorted({t for t in budgets if 0 < t < longest} | {longest}))
    found = []
    for runs in grouped(results.runs).values():
        values = np.stack([_of_images(run, measures, first, pattern) for run in runs])
        found.append(Group(tuple(runs), measures, seed_means(values, resamples)))
    return tuple(found)


def best_validated(groups: Iterable[Group]) -> Group | None:
    """The group with the highest validation AUC; the test images play no part."""
    return max(groups, key=lambda group: group.validation_auc, default=None)


def reference(groups: Iterable[Group]) -> Group | None:
    """The paper's best: `fixed` or `alternating`, from its dictionaries, by validation AUC."""
    return best_validated(
        group
        for group in groups
        if group.init in PAPER_INITS
        and any(is_paper_method(group.settings, kind) for kind in ("fixed", "alternating"))
    )


def _of_images(
    run: Run, measures: Sequence[int], first: Run, pattern: Predictions
) -> Float[np.ndarray, "n m"]:
    """Each image's own area under the curve, and whether it is right after t queries."""
    found = read_predictions(run.predictions)
    require_same_images(run.predictions, found, first.predictions, pattern)
    correct = found.correct.astype(np.float64)
    columns = [area_under_curve(correct) if t == AUC else correct[:, t] for t in measures]
    return np.stack(columns, axis=1)
