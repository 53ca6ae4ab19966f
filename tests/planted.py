"""The world whose truth is planted, for the tests of all packages, and what it is made of.

planted         embedded images of a few classes, and texts: one is true of each class, the
                others are noise; as arrays
write_planted   the same as files that the pipeline reads
write_folder    photos of three colours in folders; PHOTO_TEXTS are texts about them
params          a fixture: one run of the pipeline, a model and all that later stages read
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from infopursuit.core.files import write_text_list
from infopursuit.core.tables import (
    EMBEDDED_CLASSES,
    EMBEDDED_IMAGES,
    EMBEDDED_TEXTS,
    IMAGES,
    UNIVERSE,
    write_table,
)
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline.params import Params, load_params
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_tables import write_knowledge
from tests.stage_scripts import ROOT, stage


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def png(color: str = "red", width: int = 8, height: int = 8) -> bytes:
    """A picture of one colour, encoded."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), color).save(buffer, "PNG")
    return buffer.getvalue()


def split_columns(count: int, classes: Sequence[str]) -> dict[str, list]:
    """Images of test and train in turn, and of all classes in turn; no embeddings or pictures."""
    rows = range(count)
    labels = [row // 2 % len(classes) for row in rows]
    return {
        "id": [f"image/{row}" for row in rows],
        "split": ["train" if row % 2 else "test" for row in rows],
        "label": labels,
        "class_name": [classes[label] for label in labels],
    }


def edited(params: Params, section: str, **values: object) -> Params:
    return params.model_copy(update={section: getattr(params, section).model_copy(update=values)})


# Images of classes in planted directions, each named by one text.

NAMES = ("cat", "dog", "emu", "fox", "gnu", "hen", "ibis", "jay")


class Planted(NamedTuple):
    """Images of c classes; text i < c is true of class i alone, the others are noise.

    Attributes:
        X, y: training images, and names of their classes.
        X_test, y_test: others.
        texts, embeddings: the texts.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    texts: list[str]
    embeddings: np.ndarray


def planted(
    per_class: int = 40,
    noise: float = 0.25,
    seed: int = 0,
    classes: int = 4,
    width: int = 24,
    others: int = 20,
) -> Planted:
    """Classes come in turn; all embeddings share a direction, as those of CLIP do."""
    draw = np.random.default_rng(seed)
    shared, directions = np.eye(width)[-1], np.eye(width)[:classes]
    idle = draw.normal(size=(others, width))
    idle[:, :classes] *= 0.1
    embeddings = unit(np.concatenate([directions, unit(idle)]) + shared)

    def images(seed: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(classes * per_class) % classes
        noises = np.random.default_rng(seed).normal(size=(len(labels), width))
        return unit(directions[labels] + shared + noise * noises), np.array(NAMES)[labels]

    texts = [f"concept {i}" for i in range(classes)] + [f"noise {i}" for i in range(others)]
    return Planted(*images(seed + 1), *images(seed + 2), texts, embeddings)


def write_planted(folder: Path, data: Planted, tests: int, queries: int, clip: str) -> None:
    """Write texts.parquet, images.parquet, classes.txt and dictionary.txt."""
    names = list(dict.fromkeys(data.y))
    rows = np.concatenate([data.X, data.X_test[:tests]])
    of_rows = [*data.y, *data.y_test[:tests]]
    texts = {"text": data.texts, "source": ["planted"] * len(data.texts)}
    texts["embedding"] = data.embeddings
    write_table(folder / "texts.parquet", EMBEDDED_TEXTS, texts, clip)
    images = {
        "id": [f"image {row}" for row in range(len(rows))],
        "split": ["train"] * len(data.X) + ["test"] * tests,
        "label": [names.index(name) for name in of_rows],
        "class_name": of_rows,
        "embedding": rows,
    }
    write_table(folder / "images.parquet", EMBEDDED_IMAGES, images, clip)
    write_text_list(folder / "classes.txt", names)
    write_text_list(folder / "dictionary.txt", data.texts[:queries])


# Photos of three colours, and texts about them.

COLORS = {"blue": (20, 30, 220), "green": (30, 200, 40), "red": (230, 20, 10)}
PHOTO_TEXTS = ["red", "green grass", "blue sky", "a dark stripe", "four legs", "a wooden table"]


def picture(name: str, seed: int) -> Image.Image:
    """A noisy picture of one color."""
    noise = np.random.default_rng(seed).normal(0, 12, (40, 36, 3))
    return Image.fromarray((np.array(COLORS[name]) + noise).clip(0, 255).astype(np.uint8))


def write_folder(root: Path, count: int = 8, first: int = 0) -> Path:
    """A folder CLASS/IMAGE; other images from another number on."""
    for name in COLORS:
        (root / name).mkdir(parents=True)
        for number in range(count):
            picture(name, first + number).save(root / name / f"{number}.png")
    return root


# One run of the pipeline: a model, and all that the stages after its training read.

KEY = ("menagerie", "llm", "gaussian", 0)
RUN = "menagerie-llm-gaussian-0"
IMAGES_OF = "artifacts/datasets/menagerie/images.parquet"
N, K, WIDTH = 60, 12, 16
CLASSES = ["cat", "dog", "bus"]
TEXTS = [f"text {number}" for number in range(K)]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Write a model and all that the stages read below a temporary folder, and work there."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    columns = split_columns(N, CLASSES)
    centres = draw.normal(size=(3, WIDTH))
    embeddings = unit(centres[columns["label"]] + draw.normal(size=(N, WIDTH)))
    embedded = columns | {"embedding": embeddings}
    write_table("artifacts/datasets/menagerie/images.parquet", EMBEDDED_IMAGES, embedded)
    write_class_embeddings(centres)
    save_model(embeddings, columns["class_name"])
    texts = {"text": TEXTS, "source": ["corpus/given"] * K, "embedding": np.eye(K, WIDTH)}
    write_table("artifacts/embeddings/universe.parquet", EMBEDDED_TEXTS, texts)
    universe = {"text": TEXTS, "sources": [["corpus/given"]] * K, "caption_ids": [[]] * K}
    write_table("artifacts/universe/texts.parquet", UNIVERSE, universe)
    write_text_list("artifacts/classes/menagerie.txt", CLASSES)
    known = draw.choice([0.0, 0.5, 1.0], (3, K)).astype(np.float32)
    table = KnowledgeTable(tuple(CLASSES), tuple(TEXTS), known)
    write_knowledge("artifacts/datasets/menagerie/knowledge.parquet", table)
    pictures = columns | {"image": [png("red", 400, 200)] * N}
    write_table("pictures.parquet", IMAGES, pictures)
    params = edited(load_params(ROOT / "params.yaml"), "run", truth=[], methods=["gaussian"])
    return with_files(edited(params, "explain", ids={}))


def save_model(embeddings: np.ndarray, labels: list[str]) -> None:
    model = InformationPursuitClassifier(TEXTS, np.eye(K, WIDTH), queries=TEXTS)
    model = model.fit(embeddings, labels).with_class_names(CLASSES)
    settings = {
        "method": "gaussian",
        "knowledge": False,
        "select_on": "held_out",
        "validation_fraction": 0.1,
    }
    model.provenance_ = RunProvenance(
        "menagerie", "llm", "gaussian", 0, settings, 5, "clip", {}
    ).as_values()
    model.save(f"artifacts/models/{RUN}")


def write_class_embeddings(embeddings: np.ndarray) -> None:
    labels = list(range(len(embeddings)))
    columns = {"label": labels, "class_name": CLASSES[: len(labels)], "embedding": embeddings}
    write_table("artifacts/datasets/menagerie/images.classes.parquet", EMBEDDED_CLASSES, columns)


def with_files(params: Params, **files: str) -> Params:
    """The same with other files of the data set, and its reference labels read."""
    nothing = str(ROOT / "params/no_knowledge.csv")
    classes = "artifacts/classes/menagerie.txt"
    sources = {
        "question_reference": nothing,
        "answer_reference": nothing,
        "annotations": str(ROOT / "params/no_annotations.csv"),
        "images": "pictures.parquet",
        "classes": classes,
    }
    dataset = params.datasets["menagerie"].model_copy(update={"k": K, **sources, **files})
    params = params.model_copy(update={"datasets": {"menagerie": dataset}})
    stage("read_dataset")(params, "menagerie")
    return params
