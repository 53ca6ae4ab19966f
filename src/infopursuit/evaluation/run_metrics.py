"""The numbers of one run: its curve over budgets, and a flat list of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from infopursuit.evaluation.bootstrap import Interval, percentiles, resampled_means
from infopursuit.evaluation.budget_curves import accuracy_curve, area_under_curve
from infopursuit.evaluation.calibration import expected_calibration_error
from infopursuit.evaluation.posteriors import PosteriorSummary
from infopursuit.evaluation.stopping import stopped
from infopursuit.explanation.stopping import StoppingRule

# Budgets whose accuracy stands in the metrics, where T reaches them.
BUDGETS = (5, 10, 20, 50)
# Budgets whose calibration stands there.
CALIBRATION_BUDGETS = (10, 20)
# The budget over which the use of queries is counted: with T = k, all T are all queries.
USAGE_BUDGET = 10


class BudgetCurve(NamedTuple):
    """Measures after t = 0..T queries; `low` and `high` bound the accuracy with 95 % confidence."""

    accuracy: Float[np.ndarray, " t"]
    low: Float[np.ndarray, " t"]
    high: Float[np.ndarray, " t"]
    nll: Float[np.ndarray, " t"]
    ece: Float[np.ndarray, " t"]
    mean_max_probability: Float[np.ndarray, " t"]

    def rows(self) -> list[tuple[int | float, ...]]:
        """One row a budget: t, then the measures in the order of the fields."""
        return [(t, *row) for t, row in enumerate(np.stack(self, axis=1).tolist())]


def budget_curve(
    summary: PosteriorSummary, bins: int, resamples: int
) -> tuple[BudgetCurve, Interval]:
    """The measures at every budget, and the AUC with its 95 % interval.

    Args:
        summary: of the test images' posteriors at t = 0..T, T >= 1.
        bins: intervals of the calibration error.
        resamples: of the test images, for the confidence intervals; the same for every run.
    """
    correct = summary.correct
    accuracy = accuracy_curve(correct)
    samples = resampled_means(correct, resamples)
    low, high = percentiles(samples)
    auc_low, auc_high = percentiles(area_under_curve(samples))
    curve = BudgetCurve(
        accuracy,
        low,
        high,
        summary.nll.mean(axis=0, dtype=np.float64),
        expected_calibration_error(summary.max_probability, correct, bins),
        summary.max_probability.mean(axis=0, dtype=np.float64),
    )
    return curve, Interval(float(area_under_curve(accuracy)), float(auc_low), float(auc_high))


def usage_metrics(usage: Int[np.ndarray, "t k"]) -> dict[str, float]:
    """How the querier spreads its questions over the dictionary, from (T, k) counts.

    `share_of_queries_...` is the share of k that any image was asked, `usage_entropy...` the
    entropy in nats of which query an ask is, and `usage_perplexity...` its exponential: how many
    queries asked equally often would be as varied, 1 to k. Over all T queries of each image,
    and `_in_first_10` over its first 10 (T, where that is less): with T = k, all T are all k.
    """
    every, early = usage.sum(axis=0), usage[:USAGE_BUDGET].sum(axis=0)
    entropy, early_entropy = _entropy(every), _entropy(early)
    return {
        "share_of_queries_ever_asked": float((every > 0).mean()),
        "share_of_queries_in_first_10": float((early > 0).mean()),
        "usage_entropy": entropy,
        "usage_entropy_in_first_10": early_entropy,
        "usage_perplexity": float(np.exp(entropy)),
        "usage_perplexity_in_first_10": float(np.exp(early_entropy)),
    }


def _entropy(counts: Int[np.ndarray, " k"]) -> float:
    """Entropy in nats of counts, of which one at least is positive."""
    share = counts[counts > 0] / counts.sum()
    return max(0.0, float(-(share * np.log(share)).sum()))


def run_metrics(
    summary: PosteriorSummary,
    usage: Int[np.ndarray, "t k"],
    curve: BudgetCurve,
    auc: Interval,
    queries: Sequence[str],
    stop: StoppingRule,
) -> dict[str, Any]:
    """The flat metrics of a run: shares in [0, 1], lengths in queries, nll in nats.

    Args:
        summary: of the test images' posteriors at t = 0..T.
        usage: how often each query was asked at each step.
        curve, auc: what `budget_curve` gave.
        queries: the dictionary.
        stop: the rule that ends explanations; `stop_...` repeats it, `..._at_stop` is measured
            where it holds.
    """
    budget = len(curve.accuracy) - 1
    end = stopped(summary, stop)
    at_budgets = {f"accuracy_at_{t}": float(curve.accuracy[t]) for t in BUDGETS if t <= budget}
    calibration = {
        f"{name}_at_{t}": float(values[t])
        for name, values in (("ece", curve.ece), ("nll", curve.nll))
        for t in CALIBRATION_BUDGETS
        if t <= budget
    }
    return {
        "auc": auc.value,
        "auc_low": auc.low,
        "auc_high": auc.high,
        **at_budgets,
        **calibration,
        "accuracy_at_T": float(curve.accuracy[-1]),
        "ece_at_T": float(curve.ece[-1]),
        "nll_at_T": float(curve.nll[-1]),
        "budget": budget,
        "test_images": len(summary.labels),
        "mean_length_at_stop": end.mean_length,
        "accuracy_at_stop": end.accuracy,
        "share_confident_at_stop": end.confident,
        **{f"stop_{name}": value for name, value in stop._asdict().items()},
        "queries": len(queries),
        "distinct_queries": len(set(queries)),
        **usage_metrics(usage),
    }
