"""The first lines of the page: what was reached, and who is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from infopursuit.core.numbers import NOTHING, decimal, share
from infopursuit.explanation.text import stops_when
from infopursuit.report.meaning_tables import of_100
from infopursuit.report.report_charts import BASELINES
from infopursuit.report.report_tables import FIXED_ORDER
from infopursuit.report.runs import DatasetResults, Run

NB = "\N{NO-BREAK SPACE}"
# What the share of true yes is of, by who says what is true.
TRUE_YES = {
    None: "nobody has said what is true of these classes",
    "pictures": "times that it says yes, the picture shows it",
    "strict": "times that it says yes, it is true of the class",
    "knowledge": "times that it says yes, the knowledge table agrees (no independent source)",
}


class Figure(NamedTuple):
    """One of the three figures that come first: how good, how true, how short."""

    asked: str
    number: str
    unit: str
    meaning: str


class Verdict(NamedTuple):
    """What one data set comes to, of the run that is shown.

    Attributes:
        run: its dictionary and method.
        figures: how good, how true, how short.
        ahead: the baselines that are more accurate than the run where its questions stop; empty
            for none.
        still: which of them are so after all questions.
        behind: the others.
    """

    dataset: str
    run: str
    figures: list[Figure]
    ahead: str
    still: str
    behind: str


def verdict(results: DatasetResults, run: Run) -> Verdict:
    """Compare one run with every baseline, by accuracy where its questions stop and at the end."""
    found = run.metrics
    explained, every = found["accuracy_at_stop"], found["accuracy_at_T"]
    others = sorted(baseline_accuracies(results).items(), key=lambda each: -each[1])
    ahead = [each for each in others if each[1] > explained]
    behind = [each for each in others if each[1] <= explained]
    still = [name for name, accuracy in ahead if accuracy > every]
    return Verdict(
        results.name,
        f"{run.key.init}, {run.key.method}",
        figures(run),
        _listed(ahead),
        _still(still, len(ahead)),
        _listed(behind),
    )


def figures(run: Run) -> list[Figure]:
    """How good, how true and how short a run is, a number each."""
    found = run.metrics
    most = min(int(found["budget"]), len(run.evolution["final"]))
    true, chance = run.meaning.true_yes, run.meaning.chance_yes
    by_chance = "" if chance is None else f"; by chance {of_100(chance)}"
    return [
        Figure(
            "How good?",
            share(found["accuracy_at_stop"]),
            "%",
            "of test images are named right when the questions stop; "
            f"{share(found['accuracy_at_T'])}{NB}% after all {most} questions",
        ),
        Figure(
            "How true?",
            NOTHING if true is None else of_100(true),
            "" if true is None else "of 100",
            TRUE_YES[run.meaning.truth_by] + by_chance,
        ),
        Figure(
            "How short?",
            decimal(found["mean_length_at_stop"]),
            "questions",
            f"on average; they stop {stops_when(run.stop)}",
        ),
    ]


def baseline_accuracies(results: DatasetResults) -> dict[str, float]:
    """The accuracy of each baseline by its name: on embeddings, and on answers in fixed order."""
    measured = results.baselines
    found = {name: measured[key] for key, (name, *_) in BASELINES.items() if key in measured}
    found |= {
        f"{name} in a fixed order": measured[f"{key}_at_T"]
        for key, (name, _) in FIXED_ORDER.items()
        if f"{key}_at_T" in measured
    }
    return found


def _still(names: Sequence[str], ahead: int) -> str:
    """Which of the baselines ahead are so after all questions."""
    if not names:
        return "but none of them after all questions"
    if len(names) == ahead:
        return "even after all questions"
    *others, last = names
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"and even after all questions {listed}"


def _listed(baselines: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} ({share(accuracy)}{NB}%)" for name, accuracy in baselines)
