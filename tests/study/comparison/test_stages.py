"""The stages peers and compare on small inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.stage import RowCounts
from infopursuit.core.tables import EMBEDDED_CLASSES, EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.pipeline.params import Params, load_params
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_tables import write_knowledge
from tests.planted import edited
from tests.stage_scripts import ROOT, stage
from tests.study.comparison.tasks import NAMES, small_task

PEERS = ["splice", "ours", "zero_shot"]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Write the inputs below a temporary folder and work there."""
    monkeypatch.chdir(tmp_path)
    task = small_task()
    parts = [("train", task.train), ("test", task.test)]
    columns = {
        "id": [each for _, images in parts for each in images.ids],
        "split": [split for split, images in parts for _ in images.ids],
        "label": [label for _, images in parts for label in images.labels.tolist()],
        "class_name": [NAMES[label] for _, images in parts for label in images.labels.tolist()],
        "embedding": np.concatenate([images.embeddings.numpy() for _, images in parts]),
    }
    write_table("artifacts/datasets/menagerie/images.parquet", EMBEDDED_IMAGES, columns)
    assert task.class_embeddings is not None
    assert task.knowledge is not None
    names = {"label": list(range(4)), "class_name": list(NAMES)}
    write_table(
        "artifacts/datasets/menagerie/images.classes.parquet",
        EMBEDDED_CLASSES,
        {**names, "embedding": task.class_embeddings},
    )
    for name, texts, rows in (
        ("universe", task.texts, task.embeddings),
        ("control", (), np.zeros((0, 24))),
    ):
        columns = {"text": list(texts), "source": ["menagerie"] * len(texts), "embedding": rows}
        write_table(f"artifacts/embeddings/{name}.parquet", EMBEDDED_TEXTS, columns)
    write_knowledge("artifacts/datasets/menagerie/knowledge.parquet", task.knowledge)
    values = np.zeros((len(NAMES), len(task.texts)), np.float32)
    values[:2, 0] = 1, 0.5
    reference = KnowledgeTable(tuple(NAMES), tuple(task.texts), values)
    write_knowledge("artifacts/reference_labels/menagerie/question.parquet", reference)
    settings = load_params(ROOT / "params.yaml")
    compared = {"datasets": ["menagerie"], "peers": PEERS, "seeds": [0, 1]}
    return edited(settings, "benchmark", **compared)


def test_peers_are_measured_and_put_side_by_side(params: Params) -> None:
    with pytest.raises(InputError, match="peers"):
        stage("compare")(params, "menagerie")
    assert stage("peers")(params, "menagerie") == RowCounts(240, 6)
    assert stage("compare")(params, "menagerie") == RowCounts(3, 15)
    told = Path("artifacts/benchmark/menagerie/tables.md").read_text()
    assert "| **ours** |" in told
    metrics = json.loads(Path("artifacts/peers/menagerie/ours.json").read_text())
    assert set(metrics["seeds"]) == {"0", "1"}
    assert "random_words_accuracy" not in metrics["seeds"]["0"]
    assert 0 < metrics["seeds"]["0"]["claims_plausible"] < 1
