"""Readers of what others wrote, and valid inputs, which a kind of bad input changes."""

from __future__ import annotations

import json
import tempfile
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from benchmarks.made_up import unit
from campaigns.kinds import Reader, saved
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.core.files import read_text_list
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.embedded_files import read_embedded_images
from infopursuit.datasets.embedding_files import read_embedded_texts, read_embeddings
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.pinned_datasets import read_pinned_dataset
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.persistence import DESCRIPTION
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pipeline.params import load_params
from infopursuit.queries.class_knowledge import KnownTexts, Unusable, parse_knowledge
from infopursuit.queries.class_queries import read_dictionary
from infopursuit.queries.corpora import (
    given_corpus,
    read_captions,
)
from infopursuit.queries.language_models import Answer
from infopursuit.queries.language_models.openai_server import read_completion
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.templates import load_template
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.knowledge_lists import read_judge, read_strict
from infopursuit.texts.knowledge_tables import read_knowledge

ROOT = Path(__file__).parents[1]
TABLE = "table.parquet"  # the name of a table that `kinds.parquet` writes
CLASSES = ["cat", "dog", "owl"]
PHRASES = ["four legs", "feathers", "a long tail", "two wings"]
WIDTH = 4


# Valid inputs.


def _unit(rows: int, seed: int = 0, width: int = WIDTH) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, width))
    return unit(drawn).astype(np.float32)


def _embeddings(rows: int) -> pa.Array:
    values = pa.array(_unit(rows).astype(np.float16).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, WIDTH)


def picture(kind: str = "PNG", mode: str = "RGB", size: tuple[int, int] = (12, 10)) -> bytes:
    """Return a small picture, encoded."""
    pixels = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    return saved(lambda file: image.save(file, kind))


IMAGE_COLUMNS = {
    "id": [f"image {row}" for row in range(6)],
    "split": ["train", "test"] * 3,
    "label": pa.array([0, 1, 2] * 2, pa.int32()),
    "class_name": CLASSES * 2,
}
TEXT_TABLE = pa.table(
    {"text": PHRASES, "source": ["list"] * 4, "embedding": _embeddings(4)}
).replace_schema_metadata({"clip": "tiny"})
IMAGE_TABLE = pa.table({**IMAGE_COLUMNS, "image": [picture()] * 6})
EMBEDDED_TABLE = pa.table({**IMAGE_COLUMNS, "embedding": _embeddings(6)})
UNIVERSE_TABLE = pa.table(
    {"text": PHRASES, "sources": [["list"]] * 4, "caption_ids": pa.array([[1]] * 4)}
)
KNOWLEDGE_TABLE = pa.table(
    {
        "class": ["cat", "cat", "dog"],
        "text": PHRASES[:3],
        "value": pa.array([1, 0.5, 0], pa.float32()),
    }
)
ARRAYS = {
    "train_embeddings": _unit(4),
    "train_labels": np.array([0, 1, 2, 0]),
    "test_embeddings": _unit(3),
    "test_labels": np.array(["cat", "dog", "owl"]),
    "class_names": np.array(CLASSES),
}
LISTS = [
    {"complete": True},
    {"class": "cat", "yes": ["four legs"], "sometimes": []},
    {"class": "dog", "yes": ["a long tail"], "sometimes": ["four legs"]},
]
RECORDED = [
    {"template": "t", "text": "Concepts of {{ caption }}, at most {{ n }}"},
    {
        "template": "t",
        "variables": {"caption": "A dog.", "n": 3},
        "answer": "1. four legs",
        "finish_reason": "stop",
    },
]
CLIP_CONFIG = {"model_cfg": {"embed_dim": 8, "vision_cfg": {}, "text_cfg": {}}}
# Models: naive Bayes of texts, of columns, and networks.
TEXTS, COLUMNS, NETWORKS = ("texts", "columns", "networks")


@cache
def model_files(name: str) -> dict[str, bytes]:
    """Fit a model and return its files."""
    labels = np.arange(60) % 3
    rows = unit(_unit(60, 3, 8) + np.eye(8, dtype=np.float32)[labels])
    given: dict[str, Any] = {"texts": [f"text {row}" for row in range(8)]}
    given |= {"text_embeddings": np.eye(8), "n_queries": 4}
    if name == TEXTS:
        model = InformationPursuitClassifier(**given).fit(rows, labels)
    elif name == COLUMNS:
        model = InformationPursuitClassifier(n_queries=4).fit(rows[:, :3], labels)
    else:
        updates = {"random_updates": 2, "biased_updates": 2}
        model = VariationalInformationPursuit(**given, hidden=(5, 3), **updates).fit(rows, labels)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a model with their checksums."""
    description = json.loads(files[DESCRIPTION])
    others = {name: content for name, content in files.items() if name != DESCRIPTION}
    description["sha256"] = {name: sha256(each).hexdigest() for name, each in others.items()}
    return {**files, DESCRIPTION: json.dumps(description).encode()}


# Readers whose result takes more than a call.


def read_rows(path: Path) -> tuple[pa.Table, list[np.ndarray]]:
    """Read embedded images in both ways: as rows, and as blocks of embeddings."""
    assert has_embeddings(path) in (True, False)
    table = read_embedded_images(path, CLASSES, WIDTH, "tiny")
    return table.rows, list(table.blocks())


def read_reply(content: bytes) -> Answer:
    """Read the reply of a language-model server."""
    return read_completion(content.decode(errors="replace"), "http://localhost/v1")


def _known(answer: tuple[str, str]) -> KnownTexts | Unusable:
    return parse_knowledge(Answer(*answer), 4)


def _rendered(path: Path) -> str:
    template = load_template(path, ["caption"], ["max_concepts"])
    return template.render(caption="x", max_concepts=3)


PARAMS = (ROOT / "params.yaml").read_text(encoding="utf-8")

READERS: dict[str, Reader] = {
    "captions (JSON)": Reader(read_captions, "captions.json"),
    "text lists": Reader(read_text_list, "list.txt"),
    "dictionaries": Reader(partial(read_dictionary, k=2), "list.txt"),
    "corpora (CSV)": Reader(given_corpus, "c.csv"),
    "prompts": Reader(_rendered, "p.jinja"),
    "recorded answers": Reader(RecordedAnswers, "r.jsonl"),
    "answers: knowledge": Reader(_known),
    "replies of a server": Reader(read_reply),
    "knowledge (lists)": Reader(open_knowledge, "k.jsonl"),
    "knowledge (Parquet)": Reader(read_knowledge, TABLE),
    "judge's tables": Reader(partial(read_judge, classes=CLASSES, texts=PHRASES), "j.jsonl"),
    "strict lists": Reader(partial(read_strict, classes=CLASSES), "j.jsonl"),
    "params.yaml": Reader(load_params, "params.yaml"),
    "pinned data sets": Reader(read_pinned_dataset, "p.yaml"),
    "texts (Parquet)": Reader(PrecomputedTexts, TABLE),
    "embedded images (Parquet)": Reader(read_rows, TABLE),
    "images (Parquet)": Reader(partial(open_image_source, classes=CLASSES), TABLE),
    "images (CSV)": Reader(partial(open_image_source, classes=CLASSES), "set.csv"),
    "embedded images (.npz)": Reader(read_rows, "set.npz"),
    "command line: images (.npz)": Reader(read_embeddings, "set.npz"),
    "command line: images (Parquet)": Reader(read_embeddings, TABLE),
    "command line: texts (Parquet)": Reader(read_embedded_texts, TABLE),
    "pictures": Reader(to_rgb, refusal=UnreadableError),
}
