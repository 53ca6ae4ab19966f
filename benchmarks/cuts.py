"""What the cuts between answers, the number of answers and the number of images are worth.

    python -m benchmarks.cuts                  on held-out quarters of the training images
    python -m benchmarks.cuts --test           on the test images, with the seeds of the tables

A yes has to be true, so its threshold is high and few images say it. Bins of equal size tell more
of the class, whatever a yes means then. Each row has other cuts or other images and is otherwise
the default, without a knowledge table: accuracy after 5, 10 and 128 questions, AUC, and the
precision of yes by the strict lists (a yes is an answer above the middle one), means over seeds, in
percent. `fewest` is the mean number of questions of the rule of stopping that asks least of those
that lose a point at most. It is chosen, and its tempering, on the very images that are asked: no
rule that is chosen before can be expected to ask less. Needs ../shared/data, which is not part of
the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import torch
from comparison.entries import named
from jaxtyping import Float
from torch import Tensor

from benchmarks.meaning import ROOT, TASKS, Task, load_task, strict_truth
from infopursuit import InformationPursuitClassifier
from infopursuit.core.numbers import table
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.estimators.naive_bayes import TextQuestions, training_set
from infopursuit.meaning.truth import truth_of_answers
from infopursuit.pursuit.answers.rules import AnswerRule, ThresholdAnswers
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.answers.thresholds import ThresholdFit, Thresholds
from infopursuit.pursuit.naive_bayes.fit import Tempering
from infopursuit.pursuit.naive_bayes.model import NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import images_at_once
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.text_table import TextTable

K, HELD_OUT, QUARTER = 128, 0.1, 0.25
# Seeds of the held-out quarters differ from those of the tables.
FIRST_SEED = 50
TITLES = {
    "three": "three answers",
    "five": "five answers: the default",
    "below": "the same yes, three equal bins below it",
    "lower": "the same yes, five equal bins below it",
    "fifths": "five equal bins",
    "sevenths": "seven equal bins",
    "fifteenths": "fifteen equal bins",
    "chosen": "five equal bins, texts chosen by three equal bins",
    "texts": "the default, texts chosen by three equal bins",
    "half": "the default, half of the training images",
    "wide": "the default, 512 questions to ask 128 of",
}
# Rows that ask the same texts.
TEXTS = (tuple(TITLES)[:7], ("chosen", "texts"), ("half",), ("wide",))
BINS = {"fifths": 5, "sevenths": 7, "fifteenths": 15, "chosen": 5}
BELOW = {"below": 3, "lower": 5}
WIDE = 512
# What `fewest` chooses from: m, s and p of the tempering, stops, and what may be lost.
TEMPERINGS = [Tempering(*each, 1.2) for each in product((4.0, 16.0), (0.5, 0.8, 1.2), (0.5, 0.75))]
PROBABILITIES = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99)
PATIENCE = (6, 8, 10, 12, 14, 16, 20, 25, 32, None)
STOPS = [StoppingRule(p, None, None, m) for p, m in product(PROBABILITIES, PATIENCE)]
MAY_LOSE = 0.01


@dataclass(frozen=True)
class Bins(ThresholdAnswers):
    """Threshold answers with any number of cuts, (k, q) ascending."""

    ends: Float[Tensor, "k q"] | None = None

    @property
    def cuts(self) -> list[Float[Tensor, " k"]]:
        assert self.ends is not None
        return list(self.ends.T)


class EqualThirds(ThresholdFit):
    """Two thresholds that a third of the images exceed, and two thirds."""

    def fit(
        self, rows: Tensor, scores: Tensor, labels: Tensor, weights: Tensor | None = None
    ) -> Thresholds:
        lower, upper = equal_bins(scores, 3).T
        return Thresholds(lower, torch.zeros_like(lower), upper)


def equal_bins(scores: Float[Tensor, "n k"], count: int) -> Float[Tensor, "k q"]:
    """Return the cuts between bins that hold equally many images; NaN is no score."""
    shares = torch.arange(1, count, dtype=scores.dtype) / count
    return torch.nanquantile(scores, shares, dim=0).T.contiguous()


def with_cuts(rule: AnswerRule, title: str, images: Float[Tensor, "n d"]) -> ThresholdAnswers:
    """Return the rule of five answers with other cuts, fitted on training images."""
    assert isinstance(rule, ThresholdAnswers)
    scores = rule.scores(images)
    if title == "three":
        return replace(rule, certain=None)
    if title in BINS:
        return Bins(rule.directions, rule.thresholds, ends=equal_bins(scores, BINS[title]))
    if title in BELOW:
        assert rule.upper is not None and rule.certain is not None
        lower = equal_bins(scores.masked_fill(scores > rule.upper, torch.nan), BELOW[title])
        ends = torch.cat([lower, rule.upper.unsqueeze(1), rule.certain[:, 1:]], dim=1)
        return Bins(rule.directions, rule.thresholds, ends=ends)
    return rule


@torch.no_grad()
def accuracy_and_fewest(
    pursuit: Pursuit, images: LabelledImages
) -> tuple[Float[np.ndarray, " t"], float]:
    """Return the accuracy after t = 0..K questions, and `fewest`.

    The classes are those of the images.
    """
    size = images_at_once(K, len(images.class_names))
    posteriors = [pursuit.roll_out(rows, K).posteriors for rows in images.embeddings.split(size)]
    predicted = torch.cat([each.argmax(dim=2) for each in posteriors])
    right = (predicted == images.labels.unsqueeze(1)).double()
    assert isinstance(pursuit.classifier, NaiveBayes)
    table, least = pursuit.classifier.table, float(K)
    for tempering in TEMPERINGS:
        highest = torch.cat([stated(tempering.of(table), each) for each in posteriors])
        for rule in STOPS:
            lengths, _ = rule.steps_of(predicted, highest, None)
            at_stop = right.gather(1, lengths.unsqueeze(1)).mean()
            if right[:, -1].mean() - at_stop <= MAY_LOSE:
                least = min(least, lengths.double().mean().item())
    return right.mean(dim=0).numpy(), least


def stated(table: AnswerTable, posteriors: Float[Tensor, "n t c"]) -> Float[Tensor, "n t"]:
    """Return the largest probability after t = 0..T answers, tempered as the table is."""
    evidence = posteriors.clamp_min(torch.finfo(posteriors.dtype).tiny).log()
    counts = torch.arange(evidence.shape[1]).repeat(len(evidence)).unsqueeze(1).float()
    tempered = table.tempered(evidence.flatten(0, 1), counts)
    return tempered.softmax(dim=1).amax(dim=1).view(evidence.shape[:2])


def figures(
    task: Task, images: LabelledImages, judged_on: LabelledImages, rows: Sequence[str], seed: int
) -> Iterator[tuple[str, list[float]]]:
    """Yield the figures of each row."""
    universe = TextTable.from_arrays(task.texts, task.embeddings.numpy())
    model = InformationPursuitClassifier(task.texts, task.embeddings, K, random_state=seed)
    strict_texts, truth = strict_truth(TASKS[task.name][2], task.classes)
    strict = universe.rows(strict_texts)
    half, _ = hold_out(images, 0.5, seed)
    for titles in ([title for title in each if title in rows] for each in TEXTS):
        if not titles:
            continue
        train = half if "half" in titles else images
        X, y = named(train)
        model.n_queries = WIDE if "wide" in titles else K
        questions = TextQuestions(model, universe, training_set(UnitMatrix(X, "X"), y))
        if titles[0] in TEXTS[1]:
            questions.candidates = replace(questions.candidates, thresholds=EqualThirds(3))
        places = questions.chosen(seed)
        asked = tuple(task.texts[row] for row in places.tolist())
        fitted = [questions.answered(which, seed)[0] for which in (places, strict)]
        for title in titles:
            rule, of_strict = (with_cuts(each, title, train.embeddings) for each in fitted)
            querier = questions.querier(rule, places, None, seed)
            pursuit = Pursuit(asked, task.classes, rule, querier, NaiveBayes(querier.table))
            found, least = accuracy_and_fewest(pursuit, judged_on)
            # What is above the yes of five answers is a yes, however many bins are below.
            said = fitted[1] if title in BELOW else of_strict
            answers = said.answers(judged_on.embeddings).numpy()
            true = truth_of_answers(answers, truth, judged_on.labels.numpy()).precision_of_yes
            measured = [found[5], found[10], found[-1], found[1:].mean(), true or np.nan]
            yield title, [*(100 * value for value in measured), least]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--test", action="store_true", help="read the test split")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--rows", nargs="+", choices=TITLES, default=[*TITLES])
    parser.add_argument("--seeds", type=int, help="by default 2, with --test 5")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    given = parser.parse_args()
    torch.set_num_threads(1)
    lines = []
    for name in given.tasks:
        task, runs = load_task(name, given.data), {}
        for seed in range(given.seeds or (5 if given.test else 2)):
            images, judged_on = task.train, task.test
            if not given.test:
                images, judged_on = hold_out(images, QUARTER, FIRST_SEED + seed)
            train, _ = hold_out(images, HELD_OUT, seed)
            for title, values in figures(task, train, judged_on, given.rows, seed):
                runs.setdefault(title, []).append(values)
                print(name, seed, title, *(f"{value:.1f}" for value in values), flush=True)
        for title, values in runs.items():
            means = np.mean(values, axis=0)
            lines.append([name, TITLES[title], *(f"{value:.1f}" for value in means)])
    print(table(["task", "answers", "5", "10", str(K), "AUC", "precision of yes", "fewest"], lines))


if __name__ == "__main__":
    main()
