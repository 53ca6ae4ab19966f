"""One small world for the stages that choose a dictionary and train on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.files import write_text_list
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.pipeline.params import Params, load_params
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_tables import write_knowledge
from tests.stage_scripts import ROOT

WIDTH = 8
UNIVERSE = "artifacts/embeddings/universe.parquet"
CONTROL = "artifacts/embeddings/control.parquet"
IMAGES = "artifacts/datasets/menagerie/images.parquet"
CLASSES = [f"class {label}" for label in range(4)]
SOURCES = {
    **dict.fromkeys((5, 6), "dictionary/menagerie,corpus/a"),
    **dict.fromkeys((7, 8), "dictionary/menagerie,list/menagerie"),
    **dict.fromkeys((9, 10), "dictionary/menagerie"),
    12: "dictionary/menagerie2,list/menagerie,corpus/a",
    13: "list/menagerie_x",
}


def write_texts(path: str, prefix: str, rows: np.ndarray) -> np.ndarray:
    """Write rows of unit norm; return them."""
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    numbers = range(len(rows))
    columns = {
        "text": [f"{prefix} {row}" for row in numbers],
        "source": [SOURCES.get(row, prefix) if prefix == "concept" else prefix for row in numbers],
        "embedding": rows,
    }
    write_table(path, EMBEDDED_TEXTS, columns, "a clip")
    return rows


def write_words() -> np.ndarray:
    """Write the control: 12 texts with a mean that is not the universe's."""
    rows = np.random.default_rng(1).normal(size=(12, WIDTH))
    rows[:, 0] += 1
    return write_texts(CONTROL, "word", rows)


def write_concepts() -> np.ndarray:
    """Write the universe: texts 0 to 3 are the classes, the others say nothing about them."""
    rows = np.random.default_rng(0).normal(size=(30, WIDTH))
    rows[:4], rows[4:, :4] = np.eye(4, WIDTH), 0
    return write_texts(UNIVERSE, "concept", rows)


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """A universe, control texts, images and two initial dictionaries, in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    for folder in ("universe", "images", "initial", "knowledge"):
        Path("artifacts", folder).mkdir(parents=True)
    universe = write_concepts()
    write_words()
    labels = np.arange(100) % 4
    rows = universe[labels] + 0.5 * np.random.default_rng(3).normal(size=(100, WIDTH))
    columns = {
        "id": [f"image {row}" for row in range(100)],
        "split": ["train"] * 80 + ["test"] * 20,
        "label": labels,
        "class_name": [CLASSES[label] for label in labels],
        "embedding": rows / np.linalg.norm(rows, axis=1, keepdims=True),
    }
    write_table(IMAGES, EMBEDDED_IMAGES, columns, "a clip")
    for init, prefix in (("llm", "concept"), ("random_words", "word")):
        texts = [f"{prefix} {row}" for row in range(6)]
        write_text_list(f"artifacts/initial/menagerie-{init}-0.txt", texts)
    known = KnowledgeTable(tuple(CLASSES), ("concept 0",), np.eye(4, 1, dtype=np.float32))
    write_knowledge("artifacts/datasets/menagerie/knowledge.parquet", known)
    raw = load_params(ROOT / "params.yaml").model_dump()
    raw["datasets"]["menagerie"] |= {"k": 6, "knowledge": "known.csv"}
    raw["compute"] |= {"device": "cpu"}
    raw["clip"] = UNIVERSE
    return Params.model_validate(raw)
