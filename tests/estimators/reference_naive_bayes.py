"""Naive Bayes and information gain, one image and one question at a time, as in a textbook."""

from __future__ import annotations

import math
from collections.abc import Sequence


def logits(
    answers: dict[int, int],
    rates: Sequence[Sequence[float]],
    prior: Sequence[float],
    worth: float,
) -> list[float]:
    """Tempered log-posteriors, without their constant, of some answers 0 or 1 by question."""
    found = []
    for label, share in enumerate(prior):
        total = math.log(share)
        for query, answer in answers.items():
            rate = rates[query][label]
            total += math.log(rate if answer else 1 - rate)
        found.append(total / (1 + len(answers) / worth))
    return found


def softmax(values: Sequence[float]) -> list[float]:
    """Probabilities in proportion to exp of the values."""
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def entropy(probabilities: Sequence[float]) -> float:
    """In nats."""
    return -sum(p * math.log(p) for p in probabilities if p > 0)


def gain(
    query: int, answers: dict[int, int], rates: Sequence[Sequence[float]], prior: Sequence[float]
) -> float:
    """Entropy of the class now, less what is expected of it after one more answer."""
    now = softmax(logits(answers, rates, prior, math.inf))
    expected = 0.0
    for answer in (0, 1):
        chance = [p * (r if answer else 1 - r) for p, r in zip(now, rates[query], strict=True)]
        after = [each / sum(chance) for each in chance]
        expected += sum(chance) * entropy(after)
    return entropy(now) - expected


def chain(
    answers: Sequence[int],
    rates: Sequence[Sequence[float]],
    prior: Sequence[float],
    worth: float,
    probability: float,
) -> tuple[list[int], list[float]]:
    """The questions asked until a class is so probable, and the posterior then."""
    heard: dict[int, int] = {}
    posterior = softmax(logits(heard, rates, prior, worth))
    while max(posterior) < probability and len(heard) < len(rates):
        left = [query for query in range(len(rates)) if query not in heard]
        best = max(left, key=lambda query: gain(query, heard, rates, prior))
        heard[best] = answers[best]
        posterior = softmax(logits(heard, rates, prior, worth))
    return list(heard), posterior
