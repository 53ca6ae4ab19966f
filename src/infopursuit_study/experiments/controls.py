"""Controls: what five chosen answers prove, and how much accuracy words do not carry.

    python -m infopursuit_study.experiments.controls short
    python -m infopursuit_study.experiments.controls short --texts T.parquet --images I.parquet
    python -m infopursuit_study.experiments.controls words --tasks caltech food10 pets

`short` lets each model look at all texts of an image, and then chooses the five that alone bring
its posterior closest to that of all (`infopursuit.pursuit.naive_bayes.sufficient`). The evidence
of a text is what it adds to the scores of the classes. The same choice is made *for the runner-
up*: the goal is the posterior with its two most probable classes exchanged. Five texts suffice
for a class if it leads, and is as probable as the first class is after all texts, or 95 %.
Settings are fixed, the same on all tasks.

`words` fits ours on texts of which the judge and the knowledge table say that they fit no class.

Without `--images`, both read ../shared/data, which is not part of the repository; a task without
its files is skipped. Figures are means over seeds, in percent, of all test images.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor

from infopursuit.core.numbers import table
from infopursuit.datasets.labelled_images import hold_out, load_images
from infopursuit.estimators.sense import FITS
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.naive_bayes.sufficient import (
    full_posterior,
    sufficient_counts,
    sufficient_subset,
)
from infopursuit.texts.text_table import TextTable
from infopursuit_study.comparison.entries import Task, named
from infopursuit_study.experiments.meaning import ROOT, TASKS, load_task
from infopursuit_study.peers.codes import SpLiCE
from infopursuit_study.peers.heads import LinearHead, logistic_head
from infopursuit_study.peers.linear import SparseHeadPeer, SparseLogistic
from infopursuit_study.peers.peer import BUDGETS, Peer
from infopursuit_study.peers.pursuits import GenerativeIP, Ours, PursuitPeer

FEW, ENOUGH, HELD_OUT, BLOCK, STRENGTH = 5, 0.95, 0.1, 64, 0.01
K = 128
COLUMNS = ("all texts", "five", "suffice", "runner-up suffices", "runner-up leads")
Goal = Callable[[Tensor], Tensor]


@dataclass(eq=False, repr=False)
class AllWeights(SparseHeadPeer):
    """A logistic regression with a weight of each text for each class."""

    ratio: float = 0.0
    budgets: tuple[int, ...] = BUDGETS

    def _fit_heads(self, concepts: Tensor, labels: Tensor) -> dict[int, LinearHead]:
        head = logistic_head(concepts.double().numpy(), labels, STRENGTH)
        return {max(self.budgets): head}


MODELS: dict[str, Callable[[Task], Peer | None]] = {
    "ours, 512 questions": lambda task: Ours(task.texts, task.embeddings, 512),
    "ours, 512 questions, knowing": lambda task: (
        task.knowledge and Ours(task.texts, task.embeddings, 512, knowledge=task.knowledge)
    ),
    "generative IP": lambda task: GenerativeIP(task.texts, task.embeddings),
    "linear head, all weights": lambda task: AllWeights(task.texts, task.embeddings),
    "sparse logistic regression, 30 weights a class": lambda task: SparseLogistic(
        task.texts, task.embeddings
    ),
    "SpLiCE, 30 texts an image": lambda task: SpLiCE(task.texts, task.embeddings),
}


def exchanged(posterior: Tensor) -> Tensor:
    """Return posteriors (n, c) in which the two most probable classes have changed places."""
    first = posterior.topk(2).indices
    return posterior.scatter(1, first, posterior.gather(1, first.flip(1)))


def nearest_texts(values: Tensor, offset: Tensor, goal: Tensor, count: int) -> Tensor:
    """Return the posteriors (n, T + 1, c) of the `count` texts whose sum comes closest to a goal.

    The greedy choice of `sufficient_subset`, of what m texts add to scores, values (n, c, m).
    """
    rows = torch.arange(len(values))
    expected = torch.einsum("nc,ncm->nm", goal, values)
    largest = values.amax(dim=1)
    likely = (values - largest.unsqueeze(1)).exp()
    scores, taken = offset.clone(), torch.zeros_like(expected, dtype=torch.bool)
    posteriors = [scores.softmax(dim=1)]
    for _ in range(count):
        surprise = torch.einsum("nc,ncm->nm", posteriors[-1], likely).log() + largest
        chosen = (expected - surprise).masked_fill(taken, -torch.inf).argmax(dim=1)
        taken[rows, chosen] = True
        scores = scores + values[rows, :, chosen]
        posteriors.append(scores.softmax(dim=1))
    return torch.stack(posteriors, dim=1)


@torch.no_grad()
def chosen(model: Peer, X: np.ndarray, goal: Goal) -> tuple[Tensor, Tensor]:
    """Return the posteriors after 0..FEW texts (n, FEW + 1, c), and those of all texts (n, c)."""
    if isinstance(model, PursuitPeer):
        answers = model.pursuit_.answers(torch.from_numpy(X))
        classifier = cast(NaiveBayes, model.pursuit_.classifier)
        querier = cast(InformationGain, model.pursuit_.querier)
        few = sufficient_subset(
            classifier, answers, FEW, querier, lambda *given: goal(full_posterior(*given))
        )
        return few.posteriors.double(), full_posterior(classifier, answers)
    parts = []
    for start in range(0, len(X), BLOCK):
        told = model.explain(X[start : start + BLOCK])
        full = torch.from_numpy(told.scores).softmax(dim=1)
        evidence = torch.from_numpy(told.values), torch.from_numpy(told.offset)
        parts.append((nearest_texts(*evidence, goal(full), FEW), full))
    few, full = zip(*parts, strict=True)
    return torch.cat(few), torch.cat(full)


def short(task: Task, model: Peer, seed: int) -> list[float]:
    """Return COLUMNS of a model, as shares of the test images."""
    train, held_out = hold_out(task.train, HELD_OUT, seed)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    model.fit(*named(train), validation=named(held_out))
    X, y = named(task.test)
    few, full = chosen(model, X, lambda posterior: posterior)
    other, _ = chosen(model, X, exchanged)
    goal = exchanged(full)
    right = torch.from_numpy(np.searchsorted(model.classes_, y))
    shares = (
        full.argmax(dim=1) == right,
        few[:, -1].argmax(dim=1) == right,
        sufficient_counts(few, full, ENOUGH)[1],
        sufficient_counts(other, goal, ENOUGH)[1],
        other[:, -1].argmax(dim=1) == goal.argmax(dim=1),
    )
    return [float(share.double().mean()) for share in shares]


def dictionaries(task: Task, seed: int) -> Iterator[tuple[str, list[int]]]:
    """Yield universes of texts, by row; K are chosen of each."""
    names = task.train.class_names
    assert task.judged is not None and task.knowledge is not None
    judged = task.judged.for_classes_and_texts(names, task.texts) >= FITS
    known = task.knowledge.for_classes_and_texts(names, task.texts) >= FITS
    fits = judged.any(axis=0)
    none = np.flatnonzero(~fits & ~known.any(axis=0))
    draw = np.random.default_rng(seed)
    every = np.arange(len(fits))
    yield "chosen among all texts", every.tolist()
    same = draw.permutation(every)[: len(none)]
    yield f"chosen among as many as fit no class ({len(none)})", sorted(same.tolist())
    yield f"chosen among those that fit no class ({len(none)})", none.tolist()
    yield "drawn from all texts", draw.permutation(every)[:K].tolist()
    yield "drawn from those that fit no class", draw.permutation(none)[:K].tolist()


def words(task: Task, places: list[int], seed: int) -> list[float]:
    """Return accuracy after 5, 10 and K questions, and AUC."""
    train, held_out = hold_out(task.train, HELD_OUT, seed)
    texts = [task.texts[place] for place in places]
    model = Ours(texts, task.embeddings[places], K, random_state=seed)
    model.fit(*named(train), validation=named(held_out))
    curve = model.curve(*named(task.test), K)
    return [float(value) for value in (curve[5], curve[10], curve[-1], curve[1:].mean())]


def tasks(given: argparse.Namespace) -> Iterator[tuple[str, Task]]:
    """Yield the tasks, or the one of the files."""
    if given.images:
        texts = TextTable.from_parquet(given.texts)
        embeddings = torch.from_numpy(texts.embeddings).float().numpy()
        train, test = (load_images(given.images, split) for split in ("train", "test"))
        yield given.images.stem, Task(texts.texts, embeddings, train, test)
        return
    for name in given.tasks:
        try:
            read = load_task(name, given.data)
        except FileNotFoundError as error:
            print(f"{name}: skipped, since {error.filename} is missing", flush=True)
            continue
        yield name, Task(
            tuple(read.texts), read.embeddings.numpy(), read.train, read.test,
            knowledge=read.knowledge, judged=read.judged,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("short", "words"))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--images", type=Path, help="embeddings of images, with classes and splits")
    parser.add_argument("--texts", type=Path, help="embeddings of texts, of the same CLIP")
    given = parser.parse_args()
    if bool(given.images) != bool(given.texts) or (given.images and given.what == "words"):
        parser.error("--images and --texts: expected both or none, and `short`")
    torch.set_num_threads(1)
    figures: dict[str, dict[str, list[list[float]]]] = {}
    for name, task in tasks(given):
        runs = figures.setdefault(name, {})
        for seed in range(given.seeds):
            if given.what == "short":
                models = {title: make(task) for title, make in MODELS.items()}
                found = {t: short(task, model, seed) for t, model in models.items() if model}
            else:
                found = {t: words(task, rows, seed) for t, rows in dictionaries(task, seed)}
            for title, values in found.items():
                runs.setdefault(title, []).append(values)
                print(name, seed, title, *(f"{100 * value:.1f}" for value in values), flush=True)
    header = COLUMNS if given.what == "short" else ("5", "10", str(K), "AUC")
    rows = [
        [name, title, *(f"{100 * value:.1f}" for value in np.mean(values, axis=0))]
        for name, runs in figures.items()
        for title, values in runs.items()
    ]
    print(table(["task", given.what, *header], rows))


if __name__ == "__main__":
    main()
