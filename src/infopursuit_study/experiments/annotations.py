"""What labels of single photographs win: dermatologists' labels of moles, and the embedded world.

    python -m infopursuit_study.experiments.annotations moles FOLDER
    python -m infopursuit_study.experiments.annotations world

The folder has images.parquet, labels.parquet and texts.parquet; of the world 2,880 pictures are
drawn first.

Prints accuracy by the number of questions, how often answers are right by people, and AUROC within
classes, all on test images.
"""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from infopursuit import InformationPursuitClassifier, StoppingRule
from infopursuit.estimators.truth_by_people import truth_by_people
from infopursuit.explorer.annotating import worth_answering

logger = logging.getLogger("benchmarks")

SEEDS, LABELLED, BUDGETS = 5, (20, 50, 100, 300), (1, 3, 5, 8, 32)
MOLES = {
    "atypical network": ("pigment network", "atypical"),
    "typical network": ("pigment network", "typical"),
    "irregular streaks": ("streaks", "irregular"),
    "regular streaks": ("streaks", "regular"),
    "irregular dots": ("dots and globules", "irregular"),
    "regular dots": ("dots and globules", "regular"),
    "blue-whitish veil": ("blue-whitish veil", True),
    "regression structures": ("regression structures", True),
}


def unit(column: Any) -> np.ndarray:
    """Return embeddings of unit norm."""
    rows = np.array(column, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def report(name: str, model: Any, X: np.ndarray, y: np.ndarray, said: dict[str, Any]) -> None:
    """Print the figures of one model."""
    budgets = [each for each in BUDGETS if each <= len(model.queries_)]
    by_budget = model.accuracy_by_budget(X, y, max(budgets))
    measured = truth_by_people(model, X, y, said)
    right = sum(each.yes.right + each.no.right for each in measured)
    given = sum(each.yes.given + each.no.given for each in measured)
    yes = [each.yes for each in measured]
    within = ", ".join(f"{each.auroc_within or np.nan:.2f}" for each in measured)
    logger.info(
        "%s: accuracy %s; answers right %.1f %%, yes right %.1f %%; AUROC within classes %s",
        name,
        ", ".join(f"{100 * by_budget[each]:.1f} after {each}" for each in budgets),
        100 * right / max(given, 1),
        100 * sum(each.right for each in yes) / max(sum(each.given for each in yes), 1),
        within or "-",
    )


def moles(folder: Path) -> None:
    """Measure on moles: without labels, with all, and with a few."""
    tables = {
        name: pq.read_table(folder / f"{name}.parquet").to_pydict()
        for name in ("images", "labels", "texts")
    }
    X, y = unit(tables["images"]["embedding"]), np.array(tables["images"]["class_name"])
    train = np.array(tables["images"]["split"]) == "train"
    texts, rows = tables["texts"]["text"], unit(tables["texts"]["embedding"])
    labels = {
        name: np.array([each == value for each in tables["labels"][column]], np.float64)
        for name, (column, value) in MOLES.items()
    }
    of_test = {name: values[~train] for name, values in labels.items()}
    plain = InformationPursuitClassifier(texts, rows, 32).fit(X[train], y[train])
    report("no labels", plain, X[~train], y[~train], of_test)
    for answers in ("three_valued", "five_valued"):
        said = {name: values[train] for name, values in labels.items()}
        model = InformationPursuitClassifier(texts, rows, 8, answers=answers).fit(
            X[train], y[train], annotations=said, certified=True
        )
        report(f"all labels, {answers}", model, X[~train], y[~train], of_test)
    for count in LABELLED:
        accuracies = []
        for seed in range(SEEDS):
            shown = np.random.default_rng(seed).permutation(int(train.sum()))[:count]
            said = {}
            for name, values in labels.items():
                said[name] = np.full(int(train.sum()), np.nan)
                said[name][shown] = values[train][shown]
            model = InformationPursuitClassifier(texts, rows, 8, answers="five_valued").fit(
                X[train], y[train], annotations=said
            )
            accuracies.append(100 * model.accuracy_by_budget(X[~train], y[~train], 8)[8])
        logger.info(
            "%d labelled photographs: %.1f %% after 8 questions (%.1f to %.1f, %d draws)",
            count, np.mean(accuracies), min(accuracies), max(accuracies), SEEDS,
        )  # fmt: skip


def drawn_world() -> tuple[Any, ...]:
    """Draw pictures of the embedded world.

    Returns:
        The texts that name an attribute; and by split the pictures, their embeddings, their
        classes, and of each text what is true; last the embeddings of the texts.
    """
    from infopursuit.clip.embed import embed_pictures, embed_texts
    from infopursuit.clip.towers import load_clip
    from menagerie.pictures import ATTRIBUTE_NAMES, draw_pictures
    from menagerie.species import CLASS_NAMES
    from menagerie.truths import CLAIMS

    clip = load_clip("stages/menagerie/clip", "cpu")
    drawn = {
        split: draw_pictures(count * len(CLASS_NAMES), 0, split, 64, 1)
        for split, count in (("train", 120), ("test", 60))
    }
    X = {split: embed_pictures(clip, [p.png for p in each]) for split, each in drawn.items()}
    y = {split: np.array([CLASS_NAMES[p.label] for p in each]) for split, each in drawn.items()}
    texts = list(CLAIMS)
    truth = {}
    for split, each in drawn.items():
        held = np.array([picture.truth for picture in each], bool)
        truth[split] = {
            text: (held[:, ATTRIBUTE_NAMES.index(claim.attribute)] == claim.holds).astype(float)
            for text, claim in CLAIMS.items()
        }
    pictures = {split: [p.png for p in each] for split, each in drawn.items()}
    return texts, pictures, X, y, truth, embed_texts(clip, texts, cache=False)


def world() -> None:
    """Measure in the embedded world: 300 answers to 20 texts by its truth."""
    texts, _, X, y, truth, rows = drawn_world()
    shares = {text: values.mean() for text, values in truth["train"].items()}
    fair = [text for text in texts if 0.1 <= shares[text] <= 0.9]
    chosen = list(np.random.default_rng(0).permutation(fair)[:20])
    of_test = {text: truth["test"][text] for text in chosen}
    generator = np.random.default_rng(1)

    def fitted(name: str, cells: list[tuple[str, int]]) -> InformationPursuitClassifier:
        said = {text: np.full(len(y["train"]), np.nan) for text in chosen}
        for text, row in cells:
            said[text][row] = truth["train"][text][row]
        model = InformationPursuitClassifier(texts, rows, queries=chosen).fit(
            X["train"], y["train"], annotations=said if cells else None
        )
        report(name, model, X["test"], y["test"], of_test)
        return model

    plain = fitted("no answers", []).pursuit_
    for count in (300, 1000, 4000):
        spread = [
            (chosen[place % len(chosen)], int(generator.integers(len(y["train"]))))
            for place in range(count)
        ]
        fitted(f"{count} answers, as many of each text", spread)
    images, kinds = torch.from_numpy(X["train"]), [(False, seed) for seed in range(3)]
    for unsure, seed in (*kinds, (True, 0)):
        cells = worth_answering(plain, images, StoppingRule(stability=None), unsure, seed)
        for count in (300, 1000):
            asked = [(plain.queries[cell.query], cell.picture) for cell in cells[:count]]
            fitted(f"{count} as annotate{' --unsure' * unsure} asks, seed {seed}", asked)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["world"]:
        world()
    else:
        moles(Path(sys.argv[2]))
