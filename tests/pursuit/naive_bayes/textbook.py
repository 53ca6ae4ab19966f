"""Naive Bayes and information gain for any number of answers, one image and one query at a time."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from infopursuit.pursuit.answers.table import AnswerTable


def table(levels: int = 2, k: int = 9, classes: int = 4, worth: float = 3.0) -> AnswerTable:
    """Drawn, in double precision."""
    generator = torch.Generator().manual_seed(levels)
    likelihood = torch.rand(levels, k, classes, generator=generator, dtype=torch.float64) + 0.05
    prior = torch.rand(classes, generator=generator, dtype=torch.float64) + 0.2
    return AnswerTable(
        (likelihood / likelihood.sum(dim=0)).log(), (prior / prior.sum()).log(), worth
    )


def answers(levels: int = 2, count: int = 40, k: int = 9) -> Tensor:
    """(count, k), each level as probable as any other."""
    generator = torch.Generator().manual_seed(count)
    return torch.randint(levels, (count, k), generator=generator).double() / (levels - 1)


def posterior(
    of: AnswerTable,
    heard: dict[int, float],
    worth: float = math.inf,
    asked: int | None = None,
    counts: float = 1.0,
    growth: float = 1.0,
    ratio: float = 1.0,
    exponent: float = 0.0,
) -> list[float]:
    """Return the posterior after the answers heard, calibrated for `asked` questions."""
    count = len(heard) if asked is None else asked
    if not count:
        return of.log_prior.softmax(dim=0).tolist()
    both = []
    for times in (1 / ratio, ratio):
        divisor = (1 + count / worth) ** growth / counts * times
        logits = []
        for label, log_prior in enumerate(of.log_prior.tolist()):
            total = log_prior / divisor**exponent
            for query, answer in heard.items():
                level = round(answer * (of.levels - 1))
                total += float(of.log_likelihood[level, query, label]) / divisor
            logits.append(total)
        powers = [math.exp(each - max(logits)) for each in logits]
        both.append([power / sum(powers) for power in powers])
    return [(sharp + flat) / 2 for sharp, flat in zip(*both, strict=True)]


def entropy(probabilities: list[float]) -> float:
    """In nats."""
    return -sum(p * math.log(p) for p in probabilities if p > 0)


def gain(of: AnswerTable, heard: dict[int, float], query: int) -> float:
    """Entropy of the class now, less what is expected of it after the answer to a query."""
    now = posterior(of, heard)
    expected = 0.0
    for level in range(of.levels):
        chances = of.log_likelihood[level, query].exp().tolist()
        joint = [p * chance for p, chance in zip(now, chances, strict=True)]
        expected += sum(joint) * entropy([each / sum(joint) for each in joint])
    return entropy(now) - expected


def asked(of: AnswerTable, given: Tensor, budget: int) -> list[int]:
    """The queries asked of an image with these answers (k,); they do not depend on calibration."""
    heard: dict[int, float] = {}
    for _ in range(budget):
        left = [query for query in range(len(given)) if query not in heard]
        best = max(left, key=lambda query: gain(of, heard, query))
        heard[best] = float(given[best])
    return list(heard)


def posteriors(of: AnswerTable, given: Tensor, order: list[int]) -> list[list[float]]:
    """The posterior of an image with these answers (k,) before and after each query."""
    calibration = {"worth": of.independent_answers, "counts": of.evidence_weight}
    calibration |= {"growth": of.growth, "ratio": of.temperature_ratio}
    calibration["exponent"] = of.prior_exponent
    heard = [{query: float(given[query]) for query in order[:t]} for t in range(len(order) + 1)]
    return [posterior(of, each, **calibration) for each in heard]


def pursue(of: AnswerTable, given: Tensor, budget: int) -> tuple[list[int], list[list[float]]]:
    """The queries asked of an image with these answers (k,), and the posterior after each."""
    order = asked(of, given, budget)
    return order, posteriors(of, given, order)
