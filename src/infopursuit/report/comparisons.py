"""Paired comparisons of groups: with the paper's best, with their start, with random words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from infopursuit.core.numbers import points
from infopursuit.evaluation.bootstrap import Interval
from infopursuit.report.charts import interval_bar
from infopursuit.report.groups import AUC, Group, best_validated, reference
from infopursuit.report.methods import CONTROL, dictionary_of

# The budget that is compared beside the AUC, where T reaches it.
EARLY = 10


class Difference(NamedTuple):
    """A group less another: the AUC, and the accuracy after a few questions.

    `other` is the other group's method.
    """

    init: str
    method: str
    other: str
    seeds: int
    auc: str
    auc_interval: str
    bar: Markup
    early: str
    early_interval: str
    verdict: str
    selected_on_test: bool


class Comparisons(NamedTuple):
    """The tables of differences of a data set; each may be empty.

    Attributes:
        reference: name of the paper's best, empty where there is none.
        early: the budget beside the AUC.
        against_reference: every group less the reference.
        learned: groups that learn their dictionary, less those that keep the same start.
        concepts: every group less the same method on random words.
    """

    reference: str
    early: int
    against_reference: list[Difference]
    learned: list[Difference]
    concepts: list[Difference]

    @property
    def any(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self.against_reference or self.learned or self.concepts)


def comparisons(groups: Sequence[Group]) -> Comparisons:
    """All paired differences of a data set.

    Raises:
        InputError: two groups to compare have no seed in common.
    """
    early = EARLY if EARLY in groups[0].measures else max(groups[0].measures)
    real = [group for group in groups if group.init != CONTROL]
    best = reference(groups)
    pairs = [(group, best) for group in real if best is not None and group is not best]
    learned = [(group, start) for group in real if (start := _start(group, groups)) is not None]
    concepts = [(group, words) for group in real if (words := _words(group, groups)) is not None]
    return Comparisons(
        f"{best.init}, {best.method}" if best else "",
        early,
        *(_rows(each, early) for each in (pairs, learned, concepts)),
    )


def _start(group: Group, groups: Sequence[Group]) -> Group | None:
    """The group that keeps the dictionary which this one learns to better."""
    settings = group.settings
    if dictionary_of(settings) == "fixed":
        return None
    return best_validated(
        other
        for other in groups
        if other.init == group.init
        and dictionary_of(other.settings) == "fixed"
        and all(other.settings[name] == settings[name] for name in ("answers", "method"))
    )


def _words(group: Group, groups: Sequence[Group]) -> Group | None:
    """The same method's control."""
    return next(
        (other for other in groups if (other.init, other.method) == (CONTROL, group.method)), None
    )


def _rows(pairs: Sequence[tuple[Group, Group]], early: int) -> list[Difference]:
    found = [(group, other, group.minus(other)) for group, other in pairs]
    edges = [edge for *_, less in found for edge in less[AUC]]
    least, most = min([-0.005, *edges]), max([0.005, *edges])
    return [
        Difference(
            group.init,
            group.method,
            other.method,
            len(set(group.seeds) & set(other.seeds)),
            points(less[AUC].value),
            _between(less[AUC]),
            interval_bar(less[AUC], least, most),
            points(less[early].value),
            _between(less[early]),
            _verdict(less[AUC]),
            group.selected_on_test or other.selected_on_test,
        )
        for group, other, less in found
    ]


def _verdict(found: Interval) -> str:
    return "better" if found.low > 0 else "worse" if found.high < 0 else "not told apart"


def _between(found: Interval) -> str:
    return f"[{points(found.low)}, {points(found.high)}]"
