"""What each part of a method is worth: accuracy over budgets on the test split, seeds 0 to 4.

    python -m tests.benchmarks.methods run OUT.npz --images IMAGES.parquet --texts TEXTS.parquet \
        [--llm LIST.txt] [--control WORDS.parquet] [--classes NAMES.txt] [--k 128] [--seeds 5] \
        [--skip-test 960]
    python -m tests.benchmarks.methods show OUT.npz ...

`run` trains every row below on embedded images and texts, in one process, and keeps whether each
test image was classified correctly after each budget. A file that exists goes on where it ended.
WORDS.parquet holds embedded words that say nothing of images, for the rows of words
(artifacts/universe/control_embeddings.parquet is such a table). In the rows "words" they take the
place of the dictionary and all else stays: answers are relative to the universe as before. In the
rows "words alone" they are the whole universe. With --classes, texts that contain one of these
names are left out of the universe; with --skip-test, so many test images, the first.

`show` prints means over seeds with paired intervals: seeds and test images are resampled
together, the same for all rows; and what concepts gain over words.

The reference of a data set is the row of the paper's methods with the best mean AUC on held-out
training images; nothing is chosen on test images.
"""

from __future__ import annotations

import argparse
import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from infopursuit.dictionary.medoids import k_medoids
from infopursuit.dictionary.universe import Universe, load_universe
from infopursuit.evaluation.black_box import (
    BlackBoxSettings,
    correct_predictions,
    train_black_box,
)
from infopursuit.evidence.informative import informative_rows
from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.evidence_training import fit_evidence
from infopursuit.pursuit.images import LabelledImages, hold_out, load_images
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.training import Trained, Trainer
from infopursuit.text_lists import read_text_list
from infopursuit.texts.normalization import normalize

logger = logging.getLogger("methods")

# The paper's method at the sizes of params/vitb32-precomputed.yaml.
PAPER = Recipe(
    hidden=(256, 128),
    random_updates=500,
    biased_updates=400,
    learning_rate=1e-3,
    dictionary_learning_rate=3e-3,
    schedule="cosine",
    weight_decay=0.01,
    temperature=(1.0, 0.2),
    validate_every=100,
)
LEARNED = replace(PAPER, dictionary="alternating")
THRESHOLD = replace(PAPER, answers="threshold")
EVIDENCE = replace(THRESHOLD, networks="evidence")


class Row(NamedTuple):
    """A dictionary to start from, and how to train on it."""

    init: str
    recipe: Recipe


ROWS = {
    "evidence, informative": Row("informative", EVIDENCE),
    "evidence, llm": Row("llm", EVIDENCE),
    "evidence, random": Row("random", EVIDENCE),
    "evidence, medoids": Row("medoids", EVIDENCE),
    "evidence on minmax, llm": Row("llm", replace(EVIDENCE, answers="minmax")),
    "fixed, llm": Row("llm", PAPER),
    "alternating, llm": Row("llm", LEARNED),
    "alternating, medoids": Row("medoids", LEARNED),
    "alternating, random": Row("random", LEARNED),
    "fixed, random": Row("random", PAPER),
    "fixed, medoids": Row("medoids", PAPER),
    "joint, llm": Row("llm", replace(PAPER, dictionary="joint")),
    "soft answers, llm": Row("llm", replace(LEARNED, answers="soft")),
    "free queries, llm": Row("llm", replace(LEARNED, quantize_queries=False)),
    "fixed, informative": Row("informative", PAPER),
    "threshold, informative": Row("informative", THRESHOLD),
    "evidence, words": Row("words", EVIDENCE),
    "evidence, words alone": Row("words alone", EVIDENCE),
    "evidence, words chosen": Row("words chosen", EVIDENCE),
    "fixed, words": Row("words", PAPER),
    "alternating, words": Row("words", LEARNED),
}
PAPERS = tuple(
    f"{method}, {init}"
    for method in ("fixed", "alternating")
    for init in ("llm", "random", "medoids")
)
OURS = "evidence, informative"
# Rows with concepts, and the same method with random words.
GAINS = (
    (OURS, "evidence, words"),
    (OURS, "evidence, words alone"),
    ("fixed, llm", "fixed, words"),
    ("alternating, llm", "fixed, words"),
    ("alternating, llm", "alternating, words"),
)
BUDGETS = (5, 10, 20, 50)
BLACK_BOX = BlackBoxSettings(512, 800, 256, 1e-3, 0.01, 0)


def run(given: argparse.Namespace) -> None:
    universe = without_names(load_universe(given.texts), given.classes)
    images, test = load_images(given.images, "train"), load_images(given.images, "test")
    test = test.subset(torch.arange(given.skip_test, len(test.ids)))
    kept = dict(np.load(given.out)) if given.out.exists() else {}
    control = None if given.control is None else load_universe(given.control)
    dictionaries = Dictionaries(universe, control, given.llm, given.k)
    for seed in range(given.seeds):
        train, held_out = hold_out(images, 0.1, seed)
        if f"black box/{seed}" not in kept:
            network, _ = train_black_box(train, held_out, replace(BLACK_BOX, seed=seed))
            kept[f"black box/{seed}"] = correct_predictions(network, test).numpy()
        for name, row in ROWS.items():
            wanted = name in given.rows if given.rows else dictionaries.can_start(row.init)
            if not wanted or f"{name}/{seed}/correct" in kept:
                continue
            started = time.perf_counter()
            texts, initial = dictionaries.start(row.init, train, seed)
            reference = torch.from_numpy(universe.embeddings) if row.init == "words" else None
            trained = fit(row.recipe, train, held_out, texts, initial, seed, reference)
            seconds = time.perf_counter() - started
            answers = trained.rule.answers(trained.rule.scores(test.embeddings))
            posteriors = roll_out(trained.querier, trained.classifier, answers, given.k).posteriors
            correct = (posteriors.argmax(dim=2) == test.labels.unsqueeze(1)).numpy()
            confidence = posteriors.amax(dim=2).numpy()
            kept[f"{name}/{seed}/correct"] = correct
            kept[f"{name}/{seed}/facts"] = np.array(
                [
                    seconds,
                    trained.selected["validation_auc"],
                    len(trained.rows["final"].unique()),
                    np.abs(confidence.mean(axis=0) - correct.mean(axis=0))[1:].mean(),
                ]
            )
            np.savez(given.out, **kept)
            logger.info("%s, seed %d: AUC %.1f, %.1f s", name, seed, area(correct), seconds)


def without_names(universe: Universe, classes: Path | None) -> Universe:
    """The universe without texts that contain the name of a class, where names are given."""
    if classes is None:
        return universe
    names = [f" {normalize(name)} " for name in read_text_list(classes)]
    rows = [
        row
        for row, text in enumerate(universe.texts)
        if not any(name in f" {normalize(text)} " for name in names)
    ]
    return Universe(
        tuple(universe.texts[row] for row in rows), universe.embeddings[rows], universe.clip
    )


class Dictionaries:
    """The texts and the rows of them that runs start from."""

    def __init__(
        self, universe: Universe, control: Universe | None, llm: Path | None, k: int
    ) -> None:
        self.universe, self.control, self.llm, self.k = universe, control, llm, k
        self.medoids = torch.from_numpy(k_medoids(universe.embeddings, k, seed=0))

    def can_start(self, init: str) -> bool:
        """Whether what an initial dictionary is made of was given."""
        if init.startswith("words"):
            return self.control is not None
        return init != "llm" or self.llm is not None

    def start(
        self, init: str, train: LabelledImages, seed: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings of all texts (u, d), and the k rows."""
        universe = self.control if init.startswith("words") else self.universe
        assert universe is not None
        texts = torch.from_numpy(universe.embeddings)
        if init == "medoids":
            return texts, self.medoids
        if init == "llm":
            return texts, torch.from_numpy(
                universe.indices(read_text_list(str(self.llm)), str(self.llm))
            )
        if init in ("informative", "words chosen"):
            rows = informative_rows(texts, train.embeddings, train.labels, self.k, seed)
            return texts, rows
        generator = torch.Generator().manual_seed(seed)
        return texts, torch.randperm(len(texts), generator=generator)[: self.k].sort().values


def fit(
    recipe: Recipe,
    train: LabelledImages,
    held_out: LabelledImages,
    texts: torch.Tensor,
    initial: torch.Tensor,
    seed: int,
    reference: torch.Tensor | None,
) -> Trained:
    if recipe.networks == "evidence":
        return fit_evidence(train, held_out, texts, initial, recipe, len(initial), reference)
    trainer = Trainer(train, held_out, texts, initial, recipe, len(initial), seed)
    return trainer.train(Checkpoint(Path("never"), seconds=1e9))


def area(correct: np.ndarray) -> float:
    """AUC in percent of (n, T + 1) correct predictions."""
    return 100 * float(correct[:, 1:].mean())


def measures(correct: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """AUC and accuracies in percent, (seeds, n, T + 1) weighted by (r, seeds, n)."""
    budgets = [t for t in BUDGETS if t < correct.shape[2]]
    values = np.stack([correct[..., 1:].mean(axis=2), *(correct[..., t] for t in (*budgets, -1))])
    return 100 * np.einsum("msn,rsn->rm", values.astype(np.float64), weights)


def show(paths: list[Path], resamples: int = 1000) -> None:
    for path in paths:
        kept = dict(np.load(path))
        seeds = sorted({int(key.split("/")[1]) for key in kept if key.startswith("evidence, inf")})
        rows = [name for name in ROWS if all(f"{name}/{s}/correct" in kept for s in seeds)]
        correct = {name: np.stack([kept[f"{name}/{s}/correct"] for s in seeds]) for name in rows}
        facts = {name: np.mean([kept[f"{name}/{s}/facts"] for s in seeds], axis=0) for name in rows}
        black_box = 100 * np.mean([kept[f"black box/{s}"].mean() for s in seeds])
        images = correct[OURS].shape[1]
        draw = np.random.default_rng(0)
        weights = np.full((1 + resamples, len(seeds), images), 1 / (len(seeds) * images))
        for r in range(1, 1 + resamples):
            of_seeds = np.bincount(draw.integers(len(seeds), size=len(seeds)), minlength=len(seeds))
            of_images = np.bincount(draw.integers(images, size=images), minlength=images)
            weights[r] = np.outer(of_seeds / len(seeds), of_images / images)
        found = {name: measures(correct[name], weights) for name in rows}
        reference = max((n for n in PAPERS if n in rows), key=lambda name: facts[name][1])
        print(f"\n{path.stem}: {len(seeds)} seeds, {images} test images, black box {black_box:.1f}")
        print(f"reference: {reference}; differences to it with 95 % intervals\n")
        last = correct[OURS].shape[2] - 1
        budgets = [*(t for t in BUDGETS if t < last), last]
        header = "| row | AUC | " + " | ".join(f"Acc@{t}" for t in budgets)
        print(f"{header} | gap at {last} | held-out AUC | calibration | distinct | seconds |")
        print("|---" * (len(budgets) + 7) + "|")
        for name in rows:
            cells = []
            differences = found[name] - found[reference]
            for place, value in enumerate(found[name][0]):
                low, high = np.quantile(differences[1:, place], [0.025, 0.975])
                against = f" ({differences[0, place]:+.1f} [{low:+.1f}, {high:+.1f}])"
                cells.append(f"{value:.1f}{'' if name == reference or place > 2 else against}")
            seconds, held_out, distinct, calibration = facts[name]
            gap = black_box - found[name][0][-1]
            print(
                f"| {name} | {' | '.join(cells)} | {gap:.1f} | {100 * held_out:.1f} | "
                f"{100 * calibration:.1f} | {distinct:.0f} | {seconds:.1f} |"
            )

        show_gains({pair: found[pair[0]] - found[pair[1]] for pair in GAINS if {*pair} <= {*rows}})


def show_gains(gains: dict[tuple[str, str], np.ndarray]) -> None:
    """What concepts gain over words, and how much more that is with our method."""

    def cell(values: np.ndarray) -> str:
        low, high = np.quantile(values[1:], [0.025, 0.975])
        return f"{values[0]:.2f} [{low:.2f}, {high:.2f}]"

    ours = [pair for pair in gains if pair[0] == OURS]
    if gains:
        heads = ["gain in AUC", "", *(f"ours over {pair[1]}: more by" for pair in ours)]
        print(f"\n| {' | '.join(heads)} |")
        print("|---" * (len(ours) + 2) + "|")
    for pair, values in gains.items():
        more = [cell((gains[our] - values)[:, 0]) if pair not in ours else "" for our in ours]
        print(f"| {pair[0]} - {pair[1]} | {cell(values[:, 0])} | {' | '.join(more)} |")


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("--images", type=Path, required=True)
    running.add_argument("--texts", type=Path, required=True)
    running.add_argument("--llm", type=Path)
    running.add_argument("--control", type=Path)
    running.add_argument("--k", type=int, default=128)
    running.add_argument("--classes", type=Path, help="leave texts with these names out")
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--skip-test", type=int, default=0, help="leave so many test images out")
    running.add_argument("--rows", nargs="+", choices=ROWS, help="only these")
    showing = commands.add_parser("show")
    showing.add_argument("paths", type=Path, nargs="+")
    given = parser.parse_args()
    run(given) if given.command == "run" else show(given.paths)


if __name__ == "__main__":
    main()
