"""What is true of pictures, and the stage that compares answers with it."""

from __future__ import annotations

import csv
import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from menagerie.pictures import ATTRIBUTES, attribute_columns, draw_pictures
from menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from menagerie.truths import CLAIMS, DENIED, NAMED, Claim, claims_truth

from infopursuit.answers.rules import MinMaxAnswers, ThresholdAnswers
from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.evaluation.agreement import Agreement
from infopursuit.naive_bayes.model import AnswerTable, InformationGain, NaiveBayes
from infopursuit.pipeline.params import Params, load_params
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.queries.normalization import normalize

ROOT = Path(__file__).parents[2]
RUN = "menagerie-llm-fixed-0"
TABLE = Path("artifacts/menagerie/attributes.parquet")


def test_every_phrase_is_a_normal_text_that_names_one_attribute() -> None:
    assert {*NAMED, *DENIED} <= set(ATTRIBUTE_NAMES)
    listed = sum(len(line.split(", ")) for lines in (NAMED, DENIED) for line in lines.values())
    assert listed == len(CLAIMS) > 100, "a phrase is listed twice"
    assert [phrase for phrase in CLAIMS if normalize(phrase) != phrase] == []


def test_every_phrase_is_among_the_recorded_answers_of_the_default_world() -> None:
    path = ROOT / "stages/menagerie/recorded_answers.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = "\n".join(line.get("answer", "") for line in lines)
    texts = {normalize(re.sub(r"^\s*\d+\.", "", line)) for line in told.splitlines()}
    assert [phrase for phrase in CLAIMS if phrase not in texts] == []


def test_the_truth_is_that_of_the_scenes_in_the_order_of_the_ids(tmp_path: Path) -> None:
    pictures = {"test": draw_pictures(48, 2, "test", 16, 1)}
    write_table(tmp_path / "a.parquet", ATTRIBUTES, attribute_columns(pictures))
    claims = [Claim("striped", True), Claim("wheels", True), Claim("wheels", False)]
    places = [40, 0, 9, 13]
    found = claims_truth(tmp_path / "a.parquet", [f"test-{i:05d}" for i in places], claims)
    truths = [scene_for(2, "test", place)[0].truth for place in places]
    expected = [[each["striped"], each["wheels"], not each["wheels"]] for each in truths]
    assert found.tolist() == expected
    assert found[:, 1].any()
    assert not found[:, 1].all()
    with pytest.raises(InputError, match=r"a\.parquet: no attributes of the picture 'test-00048'"):
        claims_truth(tmp_path / "a.parquet", ["test-00000", "test-00048"], claims)


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Forty pictures a split, whose embeddings say if a body is striped and if there are wings."""
    monkeypatch.chdir(tmp_path)
    for folder in ("menagerie", "images", "universe"):
        Path("artifacts", folder).mkdir(parents=True)
    labels = np.arange(40) % 4
    striped, wings = labels % 2 == 1, labels >= 2
    ids = [f"{split}-{i:05d}" for split in ("train", "test") for i in range(40)]
    attributes: dict[str, Any] = {name: np.zeros(80, dtype=bool) for name in ATTRIBUTE_NAMES}
    attributes |= {"id": ids, "new_composition": np.zeros(80, dtype=bool)}
    attributes |= {"striped": np.tile(striped, 2), "wings": np.tile(wings, 2)}
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
    write_table("artifacts/images/menagerie.parquet", EMBEDDED_IMAGES, columns)
    write_universe(["striped body", "wings", "no wings", "something else"])
    return load_params(ROOT / "params.yaml")


def write_universe(texts: list[str]) -> None:
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
    columns = {"text": texts, "source": ["menagerie"] * 4, "embedding": rows}
    write_table("artifacts/universe/embeddings.parquet", EMBEDDED_TEXTS, columns)


def save_model(answers: str, queries: tuple[str, ...] = ("striped body", "something else")) -> None:
    """Asks for stripes, and for what no attribute is; the threshold of the latter is never met."""
    embeddings = torch.eye(3)[[0, 2]]
    rule = (
        ThresholdAnswers(embeddings, torch.tensor([0.0, 9.0]))
        if answers == "threshold"
        else MinMaxAnswers(embeddings, hard=answers == "minmax")
    )
    table = AnswerTable(torch.full((2, 2, 4), 0.5).log(), torch.full((4,), 0.25).log())
    names = tuple(f"class {label}" for label in range(4))
    model = InformationPursuitClassifier()
    model.pursuit_ = Pursuit(queries, names, rule, InformationGain(table), NaiveBayes(table))
    model.classes_, model.queries_, model.n_features_in_ = np.array(names), queries, 3
    model.clip_, model.provenance_ = None, {"settings": {"validation_fraction": 0.1}}
    model.save(f"artifacts/models/{RUN}")


def run_stage(params: Params) -> tuple[Rows, dict[str, float]]:
    main = runpy.run_path(str(ROOT / "stages/menagerie/truth.py"))["main"]
    rows = main(params, "menagerie", "llm", "fixed", 0)
    return rows, json.loads(
        Path(f"artifacts/evaluation/{RUN}.truth.json").read_text(encoding="utf-8")
    )


def test_the_stage_compares_the_dictionary_and_all_phrases_with_the_truth(params: Params) -> None:
    save_model("threshold")
    rows, metrics = run_stage(params)
    assert rows == Rows(40, 4)
    for of, count in (("dictionary", 1), ("phrases", 3)):
        assert metrics[f"{of}_queries"] == count
        for share in ("agreement", "balanced_agreement"):
            assert metrics[f"{of}_{share}"] > 0.9
        assert metrics[f"{of}_share_true"] == 0.5
        assert metrics[f"{of}_share_of_yes"] == pytest.approx(0.5, abs=0.1)
    assert metrics["dictionary_agreement"] == 1.0, "the thresholds are the model's"
    with Path(f"artifacts/evaluation/{RUN}.truth.csv").open(newline="", encoding="utf-8") as file:
        told = list(csv.DictReader(file))
    assert list(told[0]) == ["of", "query", "attribute", "holds", *Agreement._fields]
    assert [(row["of"], row["query"], row["attribute"], row["holds"]) for row in told] == [
        ("dictionary", "striped body", "striped", "True"),
        ("phrases", "striped body", "striped", "True"),
        ("phrases", "wings", "wings", "True"),
        ("phrases", "no wings", "wings", "False"),
    ]


@pytest.mark.parametrize("answers", ["minmax", "soft"])
def test_min_max_answers_are_those_of_dictionary_or_phrases(params: Params, answers: str) -> None:
    """By hand: of the phrases about wings one scores 1 and one -1, and stripes either.

    In the dictionary stripes score 1 or -1 against 0.5; under each other's names both are wrong.
    """
    save_model(answers)
    _, metrics = run_stage(params)
    assert metrics["dictionary_agreement"] == 1.0
    assert metrics["phrases_agreement"] == 1.0
    save_model(answers, ("something else", "striped body"))
    _, metrics = run_stage(params)
    assert metrics["dictionary_agreement"] == 0.0
    assert metrics["phrases_agreement"] == 1.0


def test_repeats_are_equal_bytes(params: Params) -> None:
    save_model("threshold")
    written = []
    for _ in range(2):
        run_stage(params)
        written.append(
            [path.read_bytes() for path in sorted(Path("artifacts/evaluation").iterdir())]
        )
    assert len(written[0]) == 2
    assert written[0] == written[1]


def test_a_dictionary_that_names_nothing_has_no_agreement(params: Params) -> None:
    save_model("minmax", ("therefore", "mortgage"))
    rows, metrics = run_stage(params)
    assert rows.written == 3
    assert [name for name in metrics if name.startswith("dictionary")] == ["dictionary_queries"]
    assert metrics["dictionary_queries"] == 0


def test_a_universe_that_names_nothing_is_refused(params: Params) -> None:
    save_model("minmax")
    write_universe(["a", "b", "c", "d"])
    with pytest.raises(InputError, match=r"embeddings\.parquet: no text names an attribute"):
        run_stage(params)
