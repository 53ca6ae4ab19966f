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

from infopursuit.core.errors import InputError
from infopursuit.core.stage import RowCounts
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, IMAGES, write_table
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline.params import Params, load_params
from infopursuit.pursuit.answers.rules import MinMaxAnswers, SoftAnswers, ThresholdAnswers
from infopursuit.pursuit.naive_bayes.model import AnswerTable, InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.texts.normalization import normalize
from infopursuit_study.evaluation.agreement import QUERY_SHARES
from menagerie.counterfactuals import COUNTERFACTUALS
from menagerie.embedded_pairs import load_pair_embeddings, pair_pictures, write_pairs
from menagerie.pictures import ATTRIBUTES, attribute_columns, draw_pictures
from menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from menagerie.truths import CLAIMS, DENIED, NAMED, Claim, claims_truth
from tests.planted import edited, png

ROOT = Path(__file__).parents[2]
RUN = "menagerie-llm-fixed-0"
TABLE = Path("artifacts/menagerie/attributes.parquet")
PAIRS = Path("artifacts/menagerie/counterfactuals.parquet")
EMBEDDED_PAIRS = Path("artifacts/images/menagerie.pairs.parquet")


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
    # The pictures themselves are of any kind: only a false answer would show one.
    pictures = {key: value for key, value in columns.items() if key != "embedding"}
    pictures["image"] = [png()] * 80
    write_table("artifacts/menagerie/images.parquet", IMAGES, pictures)
    write_universe(["striped body", "wings", "no wings", "something else"])
    draw_two_pairs()
    return load_params(ROOT / "params.yaml")


def draw_two_pairs() -> None:
    """A body that is striped or not, and wings that are there or not, of which nothing is seen."""
    columns: dict[str, Any] = {name: np.zeros(4, dtype=bool) for name in ATTRIBUTE_NAMES}
    columns |= {"striped": [True, False, False, False], "wings": [True, True, True, False]}
    columns |= {
        "pair": ["striped-0000"] * 2 + ["wings-0000"] * 2,
        "attribute": ["striped"] * 2 + ["wings"] * 2,
        "holds": [True, False] * 2,
        "class_name": ["class 0"] * 4,
        "image": [b"picture"] * 4,
    }
    write_table(PAIRS, COUNTERFACTUALS, columns)
    seen = np.array([[1.0, 1, 0.5], [-1, 1, 0.5], [-1, 1, 0.5], [-1, 1, 0.5]])
    write_pairs(EMBEDDED_PAIRS, pair_pictures(PAIRS)[0], seen, None)


def write_universe(texts: list[str]) -> None:
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
    columns = {"text": texts, "source": ["menagerie"] * 4, "embedding": rows}
    write_table("artifacts/universe/embeddings.parquet", EMBEDDED_TEXTS, columns)


def save_model(
    answers: str,
    queries: tuple[str, ...] = ("striped body", "something else"),
    *,
    unsure: bool = False,
) -> None:
    """Asks for stripes, and for what no attribute is; the threshold of the latter is never met."""
    embeddings = torch.eye(3)[[0, 2]]
    rule = (
        ThresholdAnswers(
            embeddings, torch.tensor([0.0, 9.0]), torch.tensor([9.0, 9.0]) if unsure else None
        )
        if answers == "threshold"
        else (MinMaxAnswers if answers == "minmax" else SoftAnswers)(embeddings)
    )
    levels = 3 if unsure else 2
    rates = torch.full((levels, 2, 4), 1 / levels)
    table = AnswerTable(rates.log(), torch.full((4,), 0.25).log())
    names = tuple(f"class {label}" for label in range(4))
    model = InformationPursuitClassifier()
    model.pursuit_ = Pursuit(queries, names, rule, InformationGain(table), NaiveBayes(table))
    model.classes_, model.queries_, model.n_features_in_ = np.array(names), queries, 3
    model.clip_ = None
    model.provenance_ = RunProvenance(
        "menagerie", "llm", "naive_bayes", 0, {"validation_fraction": 0.1}, 5, "clip", {}
    ).as_values()
    model.save(f"artifacts/models/{RUN}")


def run_stage(params: Params) -> tuple[RowCounts, dict[str, Any]]:
    main = runpy.run_path(str(ROOT / "stages/menagerie/truth.py"))["main"]
    rows = main(params, "menagerie", "llm", "fixed", 0)
    return rows, json.loads(
        Path(f"artifacts/evaluation/{RUN}.truth.json").read_text(encoding="utf-8")
    )


def contents() -> dict[Path, bytes]:
    files = [path for path in Path("artifacts/evaluation").rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files}


def read_rows(name: str) -> list[dict[str, str]]:
    with Path(f"artifacts/evaluation/{RUN}.{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_stage_measures_dictionary_phrases_and_switched_pairs(params: Params) -> None:
    save_model("threshold")
    rows, metrics = run_stage(params)
    # Four rows of queries, and two questions to each of forty pictures.
    assert rows == RowCounts(44, 84)
    for of, count in (("dictionary", 1), ("phrases", 3)):
        assert metrics[f"{of}_queries"] == count
        for share in ("agreement", "balanced_agreement"):
            assert metrics[f"{of}_{share}"] > 0.9
        assert metrics[f"{of}_share_true"] == 0.5
        assert metrics[f"{of}_share_of_yes"] == pytest.approx(0.5, abs=0.1)
    assert metrics["dictionary_agreement"] == 1.0, "the thresholds are the model's"
    told = read_rows("truth")
    assert list(told[0]) == ["of", "query", "attribute", "holds", *QUERY_SHARES]
    assert [(row["of"], row["query"], row["attribute"], row["holds"]) for row in told] == [
        ("dictionary", "striped body", "striped", "True"),
        ("phrases", "striped body", "striped", "True"),
        ("phrases", "wings", "wings", "True"),
        ("phrases", "no wings", "wings", "False"),
    ]
    written = contents()
    run_stage(params)
    assert len(written) >= 3  # figures, texts, first questions
    assert contents() == written
    # Stripes are seen, wings are not: their answers stay although they should move.
    assert metrics["dictionary_pairs"]["striped"] == {
        "pairs": 1,
        "queries": 1,
        "order": 1.0,
        "change": 1.0,
        "reversed": 0.0,
        "steadiness": None,
    }
    found = metrics["pairs"]
    assert set(found) == {"striped", "wings", "all"}
    assert found["wings"]["queries"] == 2
    assert (found["wings"]["order"], found["wings"]["change"]) == (0.5, 0.0)
    assert (found["all"]["order"], found["all"]["change"]) == (0.75, 0.5)
    assert found["all"]["steadiness"] == 1.0


def test_the_stage_counts_false_answers_among_the_first_questions(params: Params) -> None:
    """Stripes are answered by the truth, or by its opposite where the places are changed."""
    save_model("threshold")
    _, metrics = run_stage(params)
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
    told = read_rows("first_ten")
    assert len(told) == 80
    known = [row for row in told if row["query"] == "striped body"]
    assert {row["right"] for row in known} == {"True"}
    assert {(row["answer"], row["true"]) for row in known} == {("yes", "True"), ("no", "False")}
    assert {row["attribute"] for row in told if row["query"] == "something else"} == {""}
    save_model("minmax", ("something else", "striped body"))
    _, metrics = run_stage(params)
    assert metrics["first_ten"]["false"] == metrics["first_ten"]["claims"] == 40


def test_three_answers_leave_some_claims_unanswered(params: Params) -> None:
    """No picture reaches the upper threshold: what is not no is not sure."""
    save_model("threshold", unsure=True)
    _, metrics = run_stage(params)
    assert metrics["first_ten"]["not_sure"] == metrics["first_ten"]["claims"] / 2 == 20
    assert metrics["first_ten"]["right"] == 1.0
    assert metrics["dictionary_answered"] == metrics["answers"]["dictionary"]["answered"] == 0.5
    assert metrics["dictionary_pairs"]["striped"]["change"] == 1.0, "from no to not sure"
    assert metrics["phrases_agreement"] > 0.9


def test_questions_end_where_the_stopping_rule_says(params: Params) -> None:
    save_model("threshold")
    _, metrics = run_stage(edited(params, "explain", max_queries=1))
    assert metrics["first_ten"]["questions"] == 40


def test_embeddings_of_other_pairs_are_refused(params: Params) -> None:
    columns, pictures = pair_pictures(PAIRS)
    assert pictures == [b"picture"] * 4
    columns["pair"] = columns["pair"][::-1]
    write_pairs(EMBEDDED_PAIRS, columns, np.eye(4)[:, :3] + 0.1, None)
    with pytest.raises(InputError, match=r"pairs\.parquet: the column 'pair' is not that of .*c"):
        load_pair_embeddings(EMBEDDED_PAIRS, PAIRS)
    save_model("threshold")
    with pytest.raises(InputError, match="the column 'pair'"):
        run_stage(params)


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


def test_a_dictionary_that_names_nothing_has_no_agreement(params: Params) -> None:
    save_model("minmax", ("therefore", "mortgage"))
    rows, metrics = run_stage(params)
    assert rows.written == 3 + 80
    named = [name for name in metrics if name.startswith("dictionary")]
    assert named == ["dictionary_pairs", "dictionary_queries"]
    assert metrics["dictionary_queries"] == 0
    assert metrics["first_ten"]["claims"] == 0
    assert metrics["first_ten"]["no_claim"] == metrics["first_ten"]["questions"] == 80
    assert metrics["first_ten"]["right"] is None


def test_a_universe_that_names_nothing_is_refused(params: Params) -> None:
    save_model("minmax")
    write_universe(["a", "b", "c", "d"])
    with pytest.raises(InputError, match=r"embeddings\.parquet: no text names an attribute"):
        run_stage(params)
