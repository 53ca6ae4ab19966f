"""Truth of answers and question quality, on embeddings of real photographs.

    python -m infopursuit_study.experiments.meaning
    python -m infopursuit_study.experiments.meaning --seeds 1 --tasks food10 pets

Models are fitted without and with the knowledge table of params/precomputed/knowledge. What is
measured is defined in lab/meaning.md; what is true comes from
params/precomputed/reference_labels. Only test images are measured; a seed draws the tenth of the
training images that calibrates, and the classes that are left out together. Needs ../shared/data,
which is not part of the repository; a task without its files is skipped. Writes
artifacts/benchmarks/meaning.json and meaning.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch
from jaxtyping import Float, Int
from sklearn.metrics import roc_auc_score
from torch.nn.functional import normalize

from infopursuit import InformationPursuitClassifier
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.pipeline import paths
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit_study.comparison.entries import named
from infopursuit_study.experiments.meaning_tables import markdown
from infopursuit_study.meaning.measures import (
    FIRST,
    Shuffles,
    claims_of_images,
    mean,
    quality_measures,
    shuffled_names,
    truth_measures,
)
from infopursuit_study.meaning.question_quality import FITS, hard_answers
from infopursuit_study.meaning.truth import truth_of_answers

ROOT = Path(__file__).parents[3]
OUT = ROOT / paths.ARTIFACTS / "benchmarks"
REFERENCE = ROOT / "params/precomputed/reference_labels"
# The folder of the CLIP, the data set and the reference labels of answers of each task.
TASKS = {
    "caltech": ("clip_vitb32", "caltech101", "caltech101-vitb32"),
    "food10": ("clip_vitb32", "food10", "food10-vitb32"),
    "pets": ("clip_vitb32", "oxford_pets", "oxford_pets-vitb32"),
    "rn50": ("clip_rn50", "caltech101", "caltech101-rn50"),
    "cars": ("clip_vitb32", "stanford_cars", "stanford_cars-vitb32"),
}
# The task with attributes, which must also hold on classes that nothing was fitted on.
ATTRIBUTES = {"rn50": "caltech101-rn50-attributes"}
# What is measured: whether models are fitted with T.
ROWS = {"gaussian": False, "gaussian, T": True}
N_QUERIES, HELD_OUT, FOLDS = 128, 0.1, 5

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Task:
    """One data set in the space of one CLIP: u texts, images, T and reference labels."""

    name: str
    texts: list[str]
    embeddings: torch.Tensor
    train: LabelledImages
    test: LabelledImages
    knowledge: KnowledgeTable
    reference: KnowledgeTable

    @property
    def classes(self) -> tuple[str, ...]:
        """Return c names, sorted, as a fitted model has them."""
        return self.train.class_names

    @cached_property
    def labels(self) -> np.ndarray:
        """Return the labels of the test images, 0..c-1."""
        return self.test.labels.numpy()


def load_task(name: str, data: Path) -> Task:
    """Read a task.

    Raises:
        FileNotFoundError: a file of the data is missing.
    """
    space, dataset, _ = TASKS[name]
    texts = pq.read_table(data / space / "texts.parquet")
    images = pq.read_table(data / space / f"{dataset}.parquet")
    words = texts.column("text").to_pylist()
    classes = tuple(sorted(set(images.column("class_name").to_pylist())))
    known = ROOT / f"params/precomputed/knowledge/{dataset}.csv"
    splits = [
        split_of(images.filter(np.array(images.column("split")) == split), classes)
        for split in ("train", "test")
    ]
    return Task(
        name,
        words,
        rows_of(texts),
        *splits,
        open_knowledge(known if known.is_file() else ROOT / "params/no_knowledge.csv"),
        open_knowledge(REFERENCE / f"questions/{dataset}.csv"),
    )


def split_of(table: Any, classes: tuple[str, ...]) -> LabelledImages:
    """Return images whose labels number the sorted class names."""
    labels = torch.tensor([classes.index(name) for name in table.column("class_name").to_pylist()])
    ids = tuple(map(str, table.column("id").to_pylist()))
    return LabelledImages(ids, labels, rows_of(table), classes)


def rows_of(table: Any) -> torch.Tensor:
    """Return the column `embedding` as rows of unit norm."""
    return normalize(torch.tensor(np.array(table.column("embedding").to_pylist())).float(), dim=1)


def fitted(
    task: Task,
    knows: bool,
    seed: int,
    queries: Sequence[str] | None = None,
    without: Sequence[int] = (),
) -> InformationPursuitClassifier:
    """Fit a model of a task on training images of all classes except those `without`."""
    left_out = torch.tensor(list(without), dtype=torch.long)
    train, held_out = (
        images.subset((~torch.isin(images.labels, left_out)).nonzero().squeeze(1))
        for images in hold_out(task.train, HELD_OUT, seed)
    )
    model = InformationPursuitClassifier(
        task.texts,
        task.embeddings,
        N_QUERIES,
        queries=queries,
        knowledge=task.knowledge if knows else None,
        random_state=seed,
    )
    return model.fit(*named(train), validation=named(held_out))


def measured(task: Task, knows: bool, seed: int) -> Figures:
    """Measure all figures of one row on one task with one seed."""
    model = fitted(task, knows, seed)
    shuffles = shuffled_names(len(task.classes), seed)
    curve = model.accuracy_by_budget(*named(task.test))
    figures: Figures = {
        "auc": curve[1:].mean(),
        "accuracy_at_5": curve[5],
        "accuracy_at_10": curve[10],
        "accuracy_of_all": curve[-1],
        **quality(task, model, shuffles),
        **truth(task, knows, seed, shuffles),
    }
    if task.name in ATTRIBUTES:
        figures |= unseen_classes(task, knows, seed)
    return figures


def reference_truth(name: str, classes: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return the texts of reference labels and their truth, (c, q)."""
    table = open_knowledge(REFERENCE / f"answers/{name}.csv")
    return list(table.texts), table.for_classes_and_texts(classes, table.texts)


def truth(task: Task, knows: bool, seed: int, shuffles: Shuffles) -> Figures:
    """Measure how true the answers to all reference texts are (M3), and under shuffled names."""
    texts, table = reference_truth(TASKS[task.name][2], task.classes)
    rule = fitted(task, knows, seed, texts).pursuit_.rule
    answers = claims_of_images(rule, task.test.embeddings)
    measures = truth_measures(answers, table, task.labels, shuffles)
    return {f"reference_{name}": value for name, value in measures.items()}


def quality(task: Task, model: InformationPursuitClassifier, shuffles: Shuffles) -> Figures:
    """Measure the first ten questions (M5, M6), by labels, and with shuffled names."""
    opening = model.roll_out(task.test.embeddings.numpy(), FIRST)
    answers = hard_answers(model.pursuit_.rule, opening)
    reference = task.reference.for_classes_and_texts(task.classes, model.queries_)
    measures = quality_measures(answers, reference, task.labels, shuffles)
    names = ("plausible", "supported_yes", "shuffled_supported_yes")
    return {
        **{name: measures[name] for name in names},
        **{name: measures[name] / measures["accuracy"] for name in ("reader", "shuffled_reader")},
        "fit_of_all": (reference >= FITS).any(axis=0).mean(),
        "first_yes": measures["yes"],
        "first_not_sure": measures["not_sure"],
    }


def unseen_classes(task: Task, knows: bool, seed: int) -> Figures:
    """Measure attributes on images of classes left out of the fit (M4), a fifth at a time.

    Scores are compared among images that are left out together. *Class memory* is how much better a
    model that has seen all classes ranks the same pairs.
    """
    texts, table = reference_truth(ATTRIBUTES[task.name], task.classes)
    shuffled = np.random.default_rng(seed).permutation(len(task.classes))
    fold_of_class = np.empty(len(shuffled), dtype=np.int64)
    fold_of_class[shuffled] = np.arange(len(shuffled)) % FOLDS
    folds = fold_of_class[task.labels]
    images = task.test.embeddings
    scores = np.empty((len(images), len(texts)), dtype=np.float32)
    answers = np.empty((len(images), len(texts)), dtype=np.float32)
    for fold in range(FOLDS):
        left_out = np.flatnonzero(fold_of_class == fold).tolist()
        rule = fitted(task, knows, seed, texts, left_out).pursuit_.rule
        rows = torch.tensor(folds == fold)
        scores[rows] = rule.scores(images[rows]).numpy()
        answers[rows] = claims_of_images(rule, images[rows])
    seen = fitted(task, knows, seed, texts).pursuit_.rule.scores(images).numpy()
    auroc = auroc_of_texts(scores, table, task.labels, folds)
    seen_auroc = auroc_of_texts(seen, table, task.labels, folds)
    of_answers = truth_of_answers(answers, table, task.labels)
    return {
        "attributes_auroc": float(np.nanmean(auroc)),
        "attributes_memory": float(np.nanmean(seen_auroc - auroc)),
        **{f"attributes_{name}": value for name, value in of_answers._asdict().items()},
    }


def auroc_of_texts(
    scores: Float[np.ndarray, "n q"],
    table: Float[np.ndarray, "c q"],
    labels: Int[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " q"]:
    """Return the area under the ROC curve of each text, over the pairs of images of one group.

    That is the share of pairs (a text is true of one image and not of the other) in which the first
    has the larger score; ties count half; NaN without such pairs. Scores of different models
    compare within a group alone. `table` has 1 for true, 0 for not, else a class does not tell.
    """
    truth = table[labels]
    areas = np.full(scores.shape[1], np.nan)
    for text in range(scores.shape[1]):
        ranked = pairs = 0.0
        for group in np.unique(groups):
            rows = (groups == group) & np.isin(truth[:, text], (0.0, 1.0))
            facts = truth[rows, text]
            of_group = facts.sum() * (1 - facts).sum()
            if of_group:
                ranked += of_group * roc_auc_score(facts, scores[rows, text])
                pairs += of_group
        if pairs:
            areas[text] = ranked / pairs
    return areas


def plain(figures: Mapping[str, Any]) -> Figures:
    """Return numbers that JSON can hold."""
    return {name: None if value is None else float(value) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    arguments = parser.parse_args()
    compute_repeatably()
    all_figures: dict[str, Any] = {}
    for name in arguments.tasks:
        try:
            task = load_task(name, arguments.data)
        except FileNotFoundError as error:
            print(f"{name}: skipped, since {error.filename} is missing", flush=True)
            continue
        written = bool(task.knowledge.texts)  # nobody wrote what is true of the cars
        rows = [title for title in arguments.rows if written or not ROWS[title]]
        all_figures[name] = {}
        for title in rows:
            seeds = [plain(measured(task, ROWS[title], seed)) for seed in range(arguments.seeds)]
            all_figures[name][title] = seeds
            print(f"{name}: {title}: AUC {mean([s['auc'] for s in seeds]):.3f}", flush=True)
        OUT.mkdir(parents=True, exist_ok=True)
        text = json.dumps(all_figures, indent=2, sort_keys=True) + "\n"
        (OUT / "meaning.json").write_text(text, encoding="utf-8")
        (OUT / "meaning.md").write_text(markdown(all_figures), encoding="utf-8")
    if all_figures:
        print(markdown(all_figures))


if __name__ == "__main__":
    main()
