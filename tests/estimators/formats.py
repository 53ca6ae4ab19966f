"""A small model of each format that a release wrote: tests load it and predict what it did.

    python -m tests.estimators.formats

writes the models of today's format, where there are none yet. Those that are there stay as they
are: they stand for what people have on their disks.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.description import FORMAT
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.variational import VariationalInformationPursuit

FOLDER = Path(__file__).parent / "kept_models"
RECORDED = "recorded.json"
TEXTS = ["fur", "feathers", "stripes", "wheels", "a beak", "four legs", "a tail", "windows"]
CLASSES = ["bus", "parrot", "zebra"]
WIDTH = 8


def made() -> dict[str, PursuitClassifier]:
    """A fitted model of each kind, by name."""
    X, y = images(240)
    embeddings = np.eye(WIDTH, dtype=np.float32)
    classifier = InformationPursuitClassifier(TEXTS, embeddings, n_queries=6)
    networks = VariationalInformationPursuit(
        TEXTS,
        embeddings,
        n_queries=6,
        hidden=(8, 4),
        random_updates=60,
        biased_updates=60,
        batch_size=32,
    )
    table = InformationPursuitClassifier(n_queries=6)
    return {
        "naive_bayes": classifier.fit(X, y),
        "networks": networks.fit(X, y),
        "table": table.fit(X.astype(np.float64), y),
    }


def images(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings (count, WIDTH) and their classes."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, len(CLASSES), count)
    means = np.random.default_rng(9).random((len(CLASSES), WIDTH))
    rows = means[labels] + 0.15 * generator.standard_normal((count, WIDTH))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32), np.array(CLASSES)[labels]


def recorded(model: PursuitClassifier, rows: np.ndarray) -> dict:
    """What a model says of images, as JSON."""
    return {
        "images": np.round(rows, 4).tolist(),
        "classes": model.classes_.tolist(),
        "probabilities": model.predict_proba(np.round(rows, 4).astype(rows.dtype)).tolist(),
        "questions": [
            list(each.questions) for each in model.explain(np.round(rows, 4).astype(rows.dtype))
        ],
    }


def main() -> int:
    """Write the models of today's format."""
    folder = FOLDER / f"format_{FORMAT}"
    if folder.exists():
        sys.stderr.write(f"{folder}: it is there; remove it if no release wrote that format\n")
        return 1
    rows, _ = images(5, seed=1)
    for name, model in made().items():
        model.save(folder / name)
        of_type = rows.astype(np.float64 if name == "table" else np.float32)
        text = json.dumps(recorded(model, of_type), indent=1) + "\n"
        (folder / name / RECORDED).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
