"""The first lines of the page: what was reached, and who is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from infopursuit.core.numbers import decimal, share
from infopursuit.report.report_charts import BASELINES
from infopursuit.report.report_tables import FIXED_ORDER
from infopursuit.report.runs import DatasetResults, Run

NB = "\N{NO-BREAK SPACE}"


class Verdict(NamedTuple):
    """What one data set comes to, in words.

    Attributes:
        run: its dictionary and method.
        reached: accuracy and questions of the run that is shown.
        ahead: the baselines that are more accurate than the run where its questions stop; empty
            for none.
        still: which of them are so after all questions.
        behind: the others.
    """

    dataset: str
    run: str
    reached: str
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
    reached = (
        f"{share(explained)}{NB}% of test images are right when the questions stop, after "
        f"{decimal(found['mean_length_at_stop'])} questions on average; {share(every)}{NB}% after "
        f"{found['budget']:g} questions"
    )
    still = [name for name, accuracy in ahead if accuracy > every]
    return Verdict(
        results.name,
        f"{run.key.init}, {run.key.method}",
        reached,
        _listed(ahead),
        _still(still, len(ahead)),
        _listed(behind),
    )


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
    return (
        "even after all questions"
        if len(names) == ahead
        else (f"and even after all questions {' and '.join(names)}")
    )


def _listed(baselines: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} ({share(accuracy)}{NB}%)" for name, accuracy in baselines)
