"""The stage scripts on a small model and data set of random numbers."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import EMBEDDED_CLASSES, EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.evaluation.predictions import read_predictions
from infopursuit.pipeline.params import Params, load_params
from tests.stage_scripts import ROOT, stage

RUN = "menagerie-llm-naive_bayes-0"


@pytest.fixture
def params(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: InformationPursuitClassifier,
    images: LabelledImages,
) -> Params:
    """Write the inputs of both stages below a temporary folder and work there."""
    monkeypatch.chdir(tmp_path)
    Path("artifacts/images").mkdir(parents=True)
    names, labels = images.class_names, images.labels.tolist()
    columns = {
        "id": [f"{split}/{name}" for split in ("train", "test") for name in images.ids],
        "split": ["train"] * len(labels) + ["test"] * len(labels),
        "label": 2 * labels,
        "class_name": 2 * [names[label] for label in labels],
        "embedding": np.tile(images.embeddings.numpy(), (2, 1)),
    }
    write_table("artifacts/images/menagerie.parquet", EMBEDDED_IMAGES, columns)
    write_class_embeddings(np.eye(3, 5))
    texts = {"text": [f"text {i}" for i in range(60)], "source": ["menagerie"] * 60}
    rows = np.random.default_rng(0).normal(size=(60, 5))
    write_table(
        "artifacts/universe/embeddings.parquet", EMBEDDED_TEXTS, {**texts, "embedding": rows}
    )
    model.save(f"artifacts/models/{RUN}")
    settings = load_params(ROOT / "params.yaml")
    baselines = settings.baselines.model_copy(update={"hidden": 16, "updates": 40})
    return settings.model_copy(update={"baselines": baselines})


def write_class_embeddings(embeddings: np.ndarray) -> None:
    labels = list(range(len(embeddings)))
    names = ["cat", "dog", "owl"][: len(labels)]
    columns = {"label": labels, "class_name": names, "embedding": embeddings}
    write_table("artifacts/images/menagerie.classes.parquet", EMBEDDED_CLASSES, columns)


def contents(folder: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def read_csv(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_evaluate_writes_one_consistent_set_of_numbers(params: Params) -> None:
    rows = stage("evaluate")(params, "menagerie", "llm", "naive_bayes", 0)
    assert rows == Rows(20, 20)
    metrics = json.loads(Path(f"artifacts/evaluation/{RUN}.json").read_text())
    curve = read_csv(f"artifacts/evaluation/{RUN}/curve.csv")
    stopping = read_csv(f"artifacts/evaluation/{RUN}/stopping.csv")
    predictions = read_predictions(f"artifacts/evaluation/{RUN}/predictions.parquet")
    accuracies = predictions.correct.mean(axis=0)
    assert [float(row["accuracy"]) for row in curve] == accuracies.tolist()
    assert metrics["auc"] == pytest.approx(accuracies[1:].mean())
    assert metrics["selected_on"] == "held_out"
    assert (metrics["stop_probability"], metrics["stop_max_queries"]) == (0.85, 20)
    assert metrics["mean_length_at_stop"] <= metrics["budget"] == 5
    assert predictions.ids[0] == "test/0"
    settings = params.evaluate
    expected = [
        *(("max_probability", value) for value in settings.max_probability),
        *(("entropy", value) for value in settings.entropy_nats),
        *(("stability", value) for value in settings.stability_steps),
    ]
    assert [(row["rule"], float(row["threshold"])) for row in stopping] == expected


def test_baselines_reports_five_of_them(params: Params) -> None:
    assert stage("baselines")(params, "menagerie") == Rows(40, 5)
    metrics = json.loads(Path("artifacts/baselines/menagerie.json").read_text())
    for name in ("mlp", "linear_probe", "zero_shot"):
        accuracy = metrics[f"{name}_accuracy"]
        assert metrics[f"{name}_accuracy_low"] <= accuracy <= metrics[f"{name}_accuracy_high"]
    for name in ("random_texts", "selected_texts"):
        assert metrics[f"{name}_at_T_low"] <= metrics[f"{name}_at_T"]
        assert metrics[f"{name}_at_T"] <= metrics[f"{name}_at_T_high"]
        assert f"{name}_at_20" in metrics
        assert f"{name}_at_50" not in metrics  # T is 48


def test_baselines_leave_zero_shot_out_where_no_class_could_be_embedded(params: Params) -> None:
    write_class_embeddings(np.zeros((0, 5)))
    assert stage("baselines")(params, "menagerie") == Rows(40, 4)
    metrics = json.loads(Path("artifacts/baselines/menagerie.json").read_text())
    assert not [name for name in metrics if name.startswith("zero_shot")]


def test_of_a_large_split_all_runs_look_at_one_sample(params: Params) -> None:
    few = params.model_copy(update={"max_images": 12})
    rows = stage("evaluate")(few, "menagerie", "llm", "naive_bayes", 0)
    assert 11 <= rows.read == rows.written <= 13
    seen = read_predictions(f"artifacts/evaluation/{RUN}/predictions.parquet")
    assert len(seen.ids) == rows.read
    assert set(seen.labels.tolist()) == {0, 1, 2}
    metrics = json.loads(Path(f"artifacts/evaluation/{RUN}.json").read_text())
    assert metrics["test_images"] == rows.read
    assert metrics["accuracy_at_T"] == seen.correct[:, -1].mean()
    stage("baselines")(few, "menagerie")
    metrics = json.loads(Path("artifacts/baselines/menagerie.json").read_text())
    assert metrics["test_images"] == rows.read
    assert metrics["train_images"] < 20


def test_repeats_are_equal_bytes(params: Params) -> None:
    written = []
    for _ in range(2):
        stage("evaluate")(params, "menagerie", "llm", "naive_bayes", 0)
        stage("baselines")(params, "menagerie")
        written.append(contents("artifacts/evaluation") | contents("artifacts/baselines"))
    assert len(written[0]) == 5
    assert written[0] == written[1]


def test_a_missing_model_is_told_in_one_line(params: Params) -> None:
    with pytest.raises(InputError, match="menagerie-random-naive_bayes-0: no trained model"):
        stage("evaluate")(params, "menagerie", "random", "naive_bayes", 0)
