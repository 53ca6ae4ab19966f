"""The numbers of a run (curve over budgets, stopping rules, metrics), and of the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from infopursuit.pursuit.stopping import CERTAIN, HOLDING, StoppingRule
from infopursuit_study.evaluation.bootstrap import (
    Interval,
    accuracy_interval,
    percentiles,
    resampled_means,
)
from infopursuit_study.evaluation.measurement import PosteriorSummary

# Budgets whose accuracy is in the metrics, if T reaches them.
BUDGETS = (5, 10, 20, 50)
# Budgets whose calibration is.
CALIBRATION_BUDGETS = (10, 20)
# The budget over which the use of queries is counted: with T = k, all T are all queries.
USAGE_BUDGET = 10
# Each condition of a stopping rule alone, without a limit to the questions.
CONDITIONS = {
    "max_probability": lambda p: StoppingRule(probability=p, stability=None),
    "entropy": lambda h: StoppingRule(probability=None, entropy=h, stability=None),
    "stability": lambda m: StoppingRule(probability=None, stability=int(m)),
}


def area_under_curve(accuracies: Float[np.ndarray, "*many t"]) -> Float[np.ndarray, "*many"]:
    """Return the mean of Acc@t over t = 1..T (T >= 1), without the guess before any query."""
    return np.asarray(accuracies[..., 1:].mean(axis=-1))


def expected_calibration_error(
    confidence: Float[np.ndarray, "n t"], correct: Bool[np.ndarray, "n t"], bins: int
) -> Float[np.ndarray, " t"]:
    """Return the ECE after t = 0..T queries (Guo et al. 2017, equation 3).

    Images are sorted into `bins` equal intervals ((i - 1) / bins, i / bins] of confidence; the
    error is the mean over images of |accuracy - mean confidence| of their interval.
    """
    images, budgets = confidence.shape
    confidence = confidence.astype(np.float64)
    edges = np.linspace(0.0, 1.0, bins + 1)
    # Rounding can push a float32 probability a little over 1; it belongs to the last interval.
    interval = np.clip(np.digitize(confidence, edges, right=True) - 1, 0, bins - 1)
    cell = (interval + np.arange(budgets) * bins).ravel()
    gap = np.bincount(
        cell, weights=(correct - confidence).ravel(), minlength=budgets * bins
    ).reshape(budgets, bins)
    return np.abs(gap).sum(axis=1) / images


class Stopped(NamedTuple):
    """The mean number of questions of a stopping rule, and shares of images.

    `accuracy` is of those whose predicted class at the stop is right, `confident` of those for
    which the probability or the entropy was reached.
    """

    mean_length: float
    accuracy: float
    confident: float


class StoppingPoint(NamedTuple):
    """One condition (a key of `CONDITIONS`) at one threshold, and what it gives."""

    rule: str
    threshold: float
    mean_length: float
    accuracy: float


def _stop_steps(
    summary: PosteriorSummary, rule: StoppingRule
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return after how many questions (at most T) each image stops, and if it is certain then."""
    predicted, highest, entropy = (
        torch.from_numpy(values)
        for values in (summary.predicted, summary.max_probability, summary.entropy)
    )
    counts, held = rule.checked().steps_of(predicted, highest, entropy)
    certain = np.isin(held.numpy(), [HOLDING.index(each) for each in CERTAIN])
    return counts.numpy(), certain


def predicted_at_stop(summary: PosteriorSummary, rule: StoppingRule) -> Int[np.ndarray, " n"]:
    """Return the most probable class of each image when its questions stop."""
    return summary.predicted[np.arange(len(summary.labels)), _stop_steps(summary, rule)[0]]


def stopped(summary: PosteriorSummary, rule: StoppingRule) -> Stopped:
    """Return mean length and accuracy if each image stops after its own number of questions."""
    steps, confident = _stop_steps(summary, rule)
    correct = summary.correct[np.arange(len(steps)), steps]
    return Stopped(float(steps.mean()), float(correct.mean()), float(confident.mean()))


def sweep(
    summary: PosteriorSummary, thresholds: Mapping[str, Sequence[int | float]]
) -> list[StoppingPoint]:
    """Try every condition (a key of `CONDITIONS`) at every threshold, in the order given."""
    return [
        StoppingPoint(name, float(value), *stopped(summary, CONDITIONS[name](value))[:2])
        for name, values in thresholds.items()
        for value in values
    ]


class BudgetCurve(NamedTuple):
    """Measures after t = 0..T queries; `low` and `high` bound the accuracy with 95 % confidence."""

    accuracy: Float[np.ndarray, " t"]
    low: Float[np.ndarray, " t"]
    high: Float[np.ndarray, " t"]
    nll: Float[np.ndarray, " t"]
    ece: Float[np.ndarray, " t"]
    mean_max_probability: Float[np.ndarray, " t"]

    def rows(self) -> list[tuple[int | float, ...]]:
        """Return one row a budget: t, then the measures in the order of the fields."""
        return [(t, *row) for t, row in enumerate(np.stack(self, axis=1).tolist())]


def budget_curve(
    summary: PosteriorSummary, bins: int, resamples: int
) -> tuple[BudgetCurve, Interval]:
    """Return the measures at every budget, and the AUC with its 95 % bootstrap interval."""
    correct = summary.correct
    accuracy = correct.mean(axis=0)
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
    """Measure how the querier spreads its questions over the dictionary, from (T, k) counts.

    `share_of_queries_...` is the share of k that any image was asked, `usage_entropy...` the
    entropy in nats of which query an ask is, and `usage_perplexity...` its exponential: how many
    queries asked equally often would be as varied, 1 to k. Over all T queries of each image,
    and `_in_first_10` over its first 10 (T, if that is less): with T = k, all T are all k.
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
    """Return the flat metrics of a run: shares in [0, 1], lengths in queries, nll in nats.

    `stop_...` repeats the rule that ends explanations; `..._at_stop` is measured when it holds.
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


def accuracy_metrics(
    correct: Mapping[str, Bool[np.ndarray, " n"]], resamples: int
) -> dict[str, float]:
    """Return `NAME_accuracy` in [0, 1], with the edges of its 95 % interval over test images.

    `correct` says by the name of a baseline whether it is right about each image.
    """
    metrics: dict[str, float] = {}
    for name, hits in correct.items():
        value, low, high = accuracy_interval(hits, resamples)
        key = f"{name}_accuracy"
        metrics |= {key: value, f"{key}_low": low, f"{key}_high": high}
    return metrics
