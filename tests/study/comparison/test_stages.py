"""The stages peers and compare on small inputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.stage import RowCounts
from infopursuit.core.tables import EMBEDDED_TEXTS, write_table
from infopursuit.pipeline.params import Params
from tests.planted import WIDTH, edited, with_files
from tests.planted import params as params
from tests.stage_scripts import stage

PEERS = ["splice", "ours", "zero_shot"]


def test_peers_are_measured_and_put_side_by_side(params: Params) -> None:
    nothing = {"text": [], "source": [], "embedding": np.zeros((0, WIDTH))}
    write_table("artifacts/embeddings/control.parquet", EMBEDDED_TEXTS, nothing)
    Path("labels.csv").write_text("class,text 0,text 1\ncat,1,0\ndog,0.5,0\nbus,0,0\n")
    params = with_files(params, question_reference="labels.csv")
    compared = {"datasets": ["menagerie"], "peers": PEERS, "seeds": [0, 1]}
    params = edited(params, "benchmark", **compared)
    with pytest.raises(InputError, match="peers"):
        stage("compare")(params, "menagerie")
    assert stage("peers")(params, "menagerie") == RowCounts(60, 6)
    assert stage("compare")(params, "menagerie") == RowCounts(3, 15)
    told = Path("artifacts/benchmark/menagerie/tables.md").read_text()
    assert "| **ours** |" in told
    metrics = json.loads(Path("artifacts/peers/menagerie/ours.json").read_text())
    assert set(metrics["seeds"]) == {"0", "1"}
    assert "random_words_accuracy" not in metrics["seeds"]["0"]
    assert 0 < metrics["seeds"]["0"]["claims_plausible"] < 1
