"""What one question costs as classes and questions grow, for naive Bayes and the paper's networks.

    python -m benchmarks.querier_step        half a minute

Writes artifacts/benchmarks/querier_step.md. A step chooses the next question of each of IMAGES
images and gets its answer. All histories differ: what networks gain by sharing equal histories is
left out. One core.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.core.files import write_text
from infopursuit.core.numbers import table
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings

OUT = Path("artifacts/benchmarks/querier_step.md")
IMAGES, STEPS, LEVELS = 256, 12, 3
CLASSES, QUESTIONS = (125, 250, 500, 1000), (64, 128, 256, 512)
# Naive Bayes computes gains and posteriors from kept evidence, then gains from evidence that is
# added up again; then the paper's querier and classifier.
COLUMNS = (
    "naive Bayes asks", "and judges", "asks, evidence added up anew", "the paper's querier",
    "its classifier",
)  # fmt: skip


def measure(classes: int, questions: int) -> list[float]:
    """Return COLUMNS in milliseconds an image: medians over the steps, with made-up weights."""
    generator = torch.Generator().manual_seed(0)
    rates = torch.rand(LEVELS, questions, classes, generator=generator) + 0.05
    prior = torch.full((classes,), -math.log(classes))
    answer_table = AnswerTable((rates / rates.sum(dim=0)).log(), prior)
    hidden = VariationalSettings().hidden
    querier, classifier = InformationGain(answer_table), NaiveBayes(answer_table)
    orders = torch.rand(IMAGES, questions, generator=generator).argsort(dim=1)[:, :STEPS]
    levels = torch.randint(LEVELS, (IMAGES, questions), generator=generator) / (LEVELS - 1)
    networks = [HistoryNetwork(questions, outputs, hidden) for outputs in (questions, classes)]
    naive_bayes = [_step_seconds(model, orders, levels) for model in (querier, classifier)]
    neural = [_step_seconds(network, orders, levels.round()) for network in networks]
    mask = torch.zeros(IMAGES, questions).scatter_(1, orders, 1.0)
    again = statistics.median(_seconds(partial(querier, levels, mask)) for _ in range(STEPS))
    return [1000 * value / IMAGES for value in (*naive_bayes, again, *neural)]


def _step_seconds(model: Any, orders: Tensor, answers: Tensor) -> float:
    """Return median seconds of one more question and its outputs; the first step warms up."""
    histories = model.incremental(len(answers))

    def step(queries: Tensor) -> None:
        histories.add(queries, answers.gather(1, queries.unsqueeze(1)).squeeze(1))
        histories.outputs(len(answers))

    return statistics.median([_seconds(partial(step, queries)) for queries in orders.T][1:])


def _seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def floor(classes: int, questions: int) -> float:
    """Return milliseconds of the products of a step of an image at this core's best rate."""
    left, right = torch.rand(512, 1024).double(), torch.rand(1024, 512).double()
    took = min(_seconds(partial(torch.mm, left, right)) for _ in range(8))
    return 1000 * took * LEVELS * classes * questions / (512 * 1024 * 512)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the power of the size that the cost grows with: the slope between logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def tables() -> str:
    """Return both sweeps with their exponents, and the products alone of the largest step."""
    measure(CLASSES[0], QUESTIONS[0])  # libraries start
    most_classes, most_questions = CLASSES[-1], QUESTIONS[-1]
    sizes = {(c, most_questions) for c in CLASSES} | {(most_classes, k) for k in QUESTIONS}
    steps = {size: measure(*size) for size in sorted(sizes)}
    rows = [
        [f"{c:,}", str(k), *(f"{value:.3f}" for value in step)] for (c, k), step in steps.items()
    ]
    sweeps = {
        "c": (CLASSES, [steps[c, most_questions] for c in CLASSES]),
        "k": (QUESTIONS, [steps[most_classes, k] for k in QUESTIONS]),
    }
    for name, (values, sweep) in sweeps.items():
        powers = [f"{exponent(values, column):.2f}" for column in zip(*sweep, strict=True)]
        rows.append([f"grows as {name} to the", "", *powers])
    return (
        f"{table(['classes', 'questions', *COLUMNS], rows)}\n\nMilliseconds of a step of an image, "
        f"one core, {IMAGES} images together. The products alone of the largest step take "
        f"{floor(most_classes, most_questions):.3f} ms.\n"
    )


def main() -> None:
    """Measure and write."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    write_text(OUT, tables())
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
