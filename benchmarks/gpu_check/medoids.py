"""k-medoids of a universe, and a naive-Bayes model of ImageNet's size."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.estimator import SIZES, Size, make
from benchmarks.gpu_check.rows import NOT_APPLICABLE, Row
from benchmarks.made_up import deviation, write_universe
from infopursuit.datasets.labelled_images import even_sample
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.directions import TextDirections
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.answers.thresholds import ThresholdFit
from infopursuit.pursuit.dictionary.medoids import MedoidSearch, k_medoids
from infopursuit.pursuit.naive_bayes.fit import calibration_images, fit_independence, fit_table
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.naive_bayes.selection import (
    CandidateTexts,
    informative_rows,
)
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from infopursuit.pursuit.rollout import roll_out

# What two cores of a CPU need for the same (docs/speed.md), and the deviation they reached.
CPU_MEDOIDS_SECONDS, CPU_DEVIATION = 65.0, 225_807.0
CPU_FIT_SECONDS = 227.0
# Deviations that differ by no more than this share are equally good.
AS_GOOD = 1.01
# Thresholds are fitted on so many images, as the estimator does; every tenth image is held out.
THRESHOLD_IMAGES, HELD_OUT = 32_768, 10
BUDGET = 128


def medoids(device: str, tiny: bool) -> Iterator[Row]:
    """k-medoids of the made-up universe of the benchmark on CPUs."""
    u, d, k = (3000, 16, 20) if tiny else (300_000, 768, 824)
    search = MedoidSearch(distances=40) if tiny else MedoidSearch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "universe.npy"
        write_universe(path, u, d)
        points = np.load(path, mmap_mode="c")
        started = time.perf_counter()
        found = k_medoids(points, k, 0, search, device)
        taken = time.perf_counter() - started
        reached = deviation(points, found)
        known = deviation(points, k_medoids(points, k, 0, search)) if tiny else CPU_DEVIATION
    full = not tiny and device != "cpu"
    yield Row(
        f"k-medoids of {u:,} x {d}, k = {k}",
        f"{taken:.1f} s, deviation {reached:,.0f} (on a CPU {known:,.0f})",
        f"{CPU_MEDOIDS_SECONDS:g} s, as on two CPU cores" if full else NOT_APPLICABLE,
        taken <= CPU_MEDOIDS_SECONDS if full else None,
        len(set(found.tolist())) == k and reached <= AS_GOOD * known,
        figures={"seconds": taken, "deviation": reached, "cpu_deviation": known},
    )


def naive_bayes(device: str, tiny: bool) -> Iterator[Row]:
    """A naive-Bayes model from many images. No part of this fit uses a GPU, and the row says so."""
    size = Size(1500, 32, 5, 400, 12) if tiny else SIZES["imagenet"]
    with tempfile.TemporaryDirectory() as folder:
        make(size, Path(folder))
        X, texts = (np.load(Path(folder) / f"{name}.npy", mmap_mode="c") for name in ("X", "texts"))
        labels = torch.from_numpy(np.load(Path(folder) / "y.npy"))
        started = time.perf_counter()
        right = fitted_accuracy(UnitMatrix(X, "images"), labels, UnitMatrix(texts, "texts"), size.k)
        taken = time.perf_counter() - started
    full = not tiny and device != "cpu"
    yield Row(
        f"naive-Bayes model: {size.images:,} x {size.width} images, {size.classes:,} classes, "
        f"{size.texts:,} texts, k = {size.k}",
        f"{taken:.1f} s on {torch.get_num_threads()} CPU threads (the fit uses no GPU); "
        f"{100 * right:.1f} % of held-out images right",
        f"{CPU_FIT_SECONDS:g} s, as on two CPU cores" if full else NOT_APPLICABLE,
        taken <= CPU_FIT_SECONDS if full else None,
        figures={"seconds": taken, "held_out_accuracy": right, "threads": torch.get_num_threads()},
    )


def fitted_accuracy(images: UnitMatrix, labels: Tensor, texts: UnitMatrix, k: int) -> float:
    """Choose k texts, fit and calibrate, by the steps of `InformationPursuitClassifier.fit`.

    Returns:
        The share of some held-out images whose class the model tells.
    """
    places = torch.arange(len(labels))
    held = places[::HELD_OUT]
    kept = places[places % HELD_OUT > 0]
    train, truth = images.subset(kept), labels[kept]
    moments = class_moments(train.blocks(), truth)
    candidates = CandidateTexts(texts, TextDirections(texts, moments.within), ThresholdFit(True))
    classes = np.arange(int(truth.max()) + 1)
    chosen = informative_rows(candidates, InMemorySet(train, truth, None, classes), k, 0)
    sample = even_sample(truth, THRESHOLD_IMAGES, torch.Generator().manual_seed(0))
    shown = train.take(sample)
    rule, _ = candidates.answer_rule(chosen, shown, truth[sample], None)
    table = fit_table(rule, train.blocks(), truth, moments=moments)
    budget = min(BUDGET, k)
    held = held[: calibration_images(budget, len(moments.weights))]
    answers = rule.answers(images.take(held))
    independent, _ = fit_independence(InformationGain(table), answers, labels[held], budget)
    table = replace(table, independent_answers=independent)
    rolled = roll_out(InformationGain(table), NaiveBayes(table), answers, budget)
    right = rolled.posteriors[:, -1].argmax(dim=1) == labels[held]
    return right.double().mean().item()
