"""What is true of pictures, and the stage that compares answers with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline import paths
from infopursuit.pipeline.params import Params, load_params
from infopursuit.pursuit.answers.rules import MinMaxAnswers, ThresholdAnswers
from infopursuit.pursuit.naive_bayes.model import AnswerTable, InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit_study.evaluation.agreement import QUERY_SHARES
from menagerie.picture_truth import PictureTruth, measure_picture_truth
from menagerie.truths import ATTRIBUTES, Claim, claims_truth

ROOT = Path(__file__).parents[2]
RUN = "menagerie-llm-fixed-0"
TABLE = Path("pictures.parquet")


def test_truths_come_in_the_order_of_the_ids(params: Params) -> None:
    claims = [Claim("striped", True), Claim("wings", True), Claim("wings", False)]
    found = claims_truth(TABLE, ["test-00003", "test-00000", "train-00002"], claims)
    assert found.tolist() == [[True, True, False], [False, False, True], [False, True, False]]
    with pytest.raises(InputError, match=r"pictures\.parquet: .* picture 'test-00048'"):
        claims_truth(TABLE, ["test-00000", "test-00048"], claims)


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Forty pictures a split, whose embeddings say if a body is striped and if there are wings."""
    monkeypatch.chdir(tmp_path)
    labels = np.arange(40) % 4
    striped, wings = labels % 2 == 1, labels >= 2
    ids = [f"{split}-{i:05d}" for split in ("train", "test") for i in range(40)]
    attributes: dict[str, Any] = {name: np.zeros(80, dtype=bool) for name in ATTRIBUTES.names}
    attributes |= {"id": ids, "striped": np.tile(striped, 2), "wings": np.tile(wings, 2)}
    write_table(TABLE, ATTRIBUTES, attributes)
    points = np.stack([striped * 2 - 1.0, wings * 2 - 1.0, np.full(40, 0.5)], axis=1)
    noise = np.random.default_rng(0).normal(scale=0.05, size=(80, 3))
    columns = {
        "id": ids,
        "split": ["train"] * 40 + ["test"] * 40,
        "label": np.tile(labels, 2).tolist(),
        "class_name": [f"class {label}" for label in np.tile(labels, 2)],
        "embedding": np.tile(points, (2, 1)) + noise,
    }
    write_table("artifacts/datasets/menagerie/images.parquet", EMBEDDED_IMAGES, columns)
    write_universe(["striped body", "wings", "no wings", "something else"])
    return load_params(ROOT / "params.yaml")


def write_universe(texts: list[str]) -> None:
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
    columns = {"text": texts, "source": ["menagerie"] * 4, "embedding": rows}
    write_table("artifacts/embeddings/universe.parquet", EMBEDDED_TEXTS, columns)


def save_model(answers: str, queries: tuple[str, ...] = ("striped body", "something else")) -> None:
    """Asks for stripes, and for what no attribute is; the threshold of the latter is never met."""
    embeddings = torch.eye(3)[[0, 2]]
    rule = (
        ThresholdAnswers(embeddings, torch.tensor([0.0, 9.0]))
        if answers == "threshold"
        else MinMaxAnswers(embeddings)
    )
    table = AnswerTable(torch.full((2, 2, 4), 0.5).log(), torch.full((4,), 0.25).log())
    names = tuple(f"class {label}" for label in range(4))
    model = InformationPursuitClassifier()
    model.pursuit_ = Pursuit(queries, names, rule, InformationGain(table), NaiveBayes(table))
    model.classes_, model.queries_, model.n_features_in_ = np.array(names), queries, 3
    model.clip_ = None
    model.provenance_ = RunProvenance(
        "menagerie", "llm", "gaussian", 0, {"validation_fraction": 0.1}, 5, "clip", {}
    ).as_values()
    model.save(f"artifacts/models/{RUN}")


def measured(params: Params) -> PictureTruth:
    images, model = paths.images("menagerie"), load_fitted(f"artifacts/models/{RUN}")
    train, test = load_training(images, 0.1, 0)[0], load_images(images, "test")
    files, stop = (paths.UNIVERSE, None), params.explain.stop
    return measure_picture_truth(model.pursuit_, train, test, files, stop, 0, TABLE)


def test_the_stage_measures_dictionary_and_phrases(params: Params) -> None:
    save_model("threshold")
    found = measured(params)
    metrics = found.figures
    assert len(found.first_ten) == 80, "two questions to each of forty pictures"
    for of, count in (("dictionary", 1), ("phrases", 3)):
        assert metrics[f"{of}_queries"] == count
        for share in ("agreement", "balanced_agreement"):
            assert metrics[f"{of}_{share}"] > 0.9
        assert metrics[f"{of}_share_true"] == 0.5
        assert metrics[f"{of}_share_of_yes"] == pytest.approx(0.5, abs=0.1)
    assert metrics["dictionary_agreement"] == 1.0, "the thresholds are the model's"
    found.write(Path())
    told = read_csv_table("truth.csv")
    assert told.names == ["of", "query", "attribute", "holds", *QUERY_SHARES]
    assert [row[:4] for row in told.rows] == [
        ["dictionary", "striped body", "striped", "True"],
        ["phrases", "striped body", "striped", "True"],
        ["phrases", "wings", "wings", "True"],
        ["phrases", "no wings", "wings", "False"],
    ]


def test_the_stage_counts_false_answers_among_the_first_questions(params: Params) -> None:
    """Stripes are answered by the truth, or by its opposite where the places are changed."""
    save_model("threshold")
    metrics = measured(params).figures
    assert metrics["answers"]["dictionary"]["claims"] == 40
    assert metrics["answers"]["phrases"]["claims"] == 120
    assert metrics["first_ten"] == {
        "pictures": 40,
        "questions": 80,
        "no_claim": 40,
        "claims": 40,
        "false": 0,
        "not_sure": 0,
        "answered": 1.0,
        "right": 1.0,
        "precision_of_yes": 1.0,
        "recall_of_yes": 1.0,
        "balanced": 1.0,
    }
    save_model("minmax", ("something else", "striped body"))
    metrics = measured(params).figures
    assert metrics["first_ten"]["false"] == metrics["first_ten"]["claims"] == 40


def test_min_max_answers_are_those_of_dictionary_or_phrases(params: Params) -> None:
    """By hand: of the phrases about wings one scores 1 and one -1, and stripes either.

    In the dictionary stripes score 1 or -1 against 0.5; under each other's names both are wrong.
    """
    save_model("minmax")
    metrics = measured(params).figures
    assert metrics["dictionary_agreement"] == 1.0
    assert metrics["phrases_agreement"] == 1.0
    save_model("minmax", ("something else", "striped body"))
    metrics = measured(params).figures
    assert metrics["dictionary_agreement"] == 0.0
    assert metrics["phrases_agreement"] == 1.0


def test_a_universe_that_names_nothing_is_refused(params: Params) -> None:
    save_model("minmax")
    write_universe(["a", "b", "c", "d"])
    with pytest.raises(InputError, match=r"universe\.parquet: no text names an attribute"):
        measured(params)
