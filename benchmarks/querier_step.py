"""What one question costs as classes and questions grow, for naive Bayes and the paper's networks.

    python -m benchmarks.querier_step        half a minute

Writes artifacts/benchmarks/querier_step.md. A step chooses the next question of each of IMAGES
images and hears its answer. Each history is another one: what networks gain by sharing equal
histories is left out. One core.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from infopursuit.benchmark.tables import table
from infopursuit.core.files import write_text
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings

OUT = Path("artifacts/benchmarks/querier_step.md")
IMAGES, STEPS, LEVELS = 256, 12, 3
CLASSES, QUESTIONS = (125, 250, 500, 1000), (64, 128, 256, 512)


class Step(NamedTuple):
    """Milliseconds of one step of an image.

    Attributes:
        gain: of the querier of naive Bayes: add an answer, compute every gain.
        posterior: of its classifier: add an answer, compute the posterior.
        anew: of the querier, where the evidence is added up anew.
        networks: of the paper's querier.
        judge: of the paper's classifier.
    """

    gain: float
    posterior: float
    anew: float
    networks: float
    judge: float


def measure(classes: int, questions: int) -> Step:
    """Medians over the steps of one pursuit with made-up tables and weights."""
    generator = torch.Generator().manual_seed(0)
    rates = torch.rand(LEVELS, questions, classes, generator=generator) + 0.05
    prior = torch.full((classes,), -math.log(classes))
    made = AnswerTable((rates / rates.sum(dim=0)).log(), prior)
    hidden = VariationalSettings().hidden
    querier, classifier = InformationGain(made), NaiveBayes(made)
    network = HistoryNetwork(questions, questions, hidden)
    judge = HistoryNetwork(questions, classes, hidden)
    orders = torch.rand(IMAGES, questions, generator=generator).argsort(dim=1)[:, :STEPS]
    levels = torch.randint(LEVELS, (IMAGES, questions), generator=generator) / (LEVELS - 1)
    binary = levels.round()
    found = [
        _grown(asks, orders, answers)
        for asks, answers in (
            (querier, levels), (classifier, levels), (network, binary), (judge, binary),
        )
    ]  # fmt: skip
    mask = torch.zeros(IMAGES, questions).scatter_(1, orders, 1.0)
    anew = [_seconds(partial(querier, levels, mask)) for _ in range(STEPS)]
    gain, posterior, networks, judged = (1000 * each / IMAGES for each in found)
    return Step(gain, posterior, 1000 * statistics.median(anew) / IMAGES, networks, judged)


def _grown(asks: Any, orders: Tensor, answers: Tensor) -> float:
    """Median seconds of one more question and the outputs that follow; the first step warms up."""
    histories = asks.incremental(len(answers))

    def step(queries: Tensor) -> None:
        histories.add(queries, answers.gather(1, queries.unsqueeze(1)).squeeze(1))
        histories.outputs(len(answers))

    return statistics.median([_seconds(partial(step, queries)) for queries in orders.T][1:])


def _seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def floor(classes: int, questions: int) -> float:
    """Milliseconds of the products of one step of an image at this core's best rate in float64."""
    left, right = torch.rand(512, 1024).double(), torch.rand(1024, 512).double()
    took = min(_seconds(partial(torch.mm, left, right)) for _ in range(8))
    return 1000 * took * LEVELS * classes * questions / (512 * 1024 * 512)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of the line through logarithms: the power of the size that the cost grows with."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def tables() -> str:
    """Both sweeps with their exponents, and the products alone of the largest step."""
    measure(CLASSES[0], QUESTIONS[0])  # libraries start
    found = {(c, QUESTIONS[-1]): measure(c, QUESTIONS[-1]) for c in CLASSES}
    found |= {(CLASSES[-1], k): measure(CLASSES[-1], k) for k in QUESTIONS[:-1]}
    sweeps = (
        ("c", CLASSES, [found[c, QUESTIONS[-1]] for c in CLASSES]),
        ("k", QUESTIONS, [found[CLASSES[-1], k] for k in QUESTIONS]),
    )
    rows = [
        [f"{c:,}", str(k), *(f"{value:.3f}" for value in found[c, k])] for c, k in sorted(found)
    ]
    for name, sizes, steps in sweeps:
        columns = zip(*steps, strict=True)
        rows.append(
            [f"grows as {name} to the", "", *(f"{exponent(sizes, x):.2f}" for x in columns)]
        )
    header = [
        "classes", "questions", "naive Bayes asks", "and judges", "asks, evidence added up anew",
        "the paper's querier", "its classifier",
    ]  # fmt: skip
    largest = floor(CLASSES[-1], QUESTIONS[-1])
    return (
        f"{table(header, rows)}\n\nMilliseconds of a step of an image, one core, {IMAGES} images "
        f"together. The products alone of the largest step take {largest:.3f} ms.\n"
    )


def main() -> None:
    """Measure and write."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    write_text(OUT, tables())
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
