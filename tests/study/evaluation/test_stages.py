"""The stages evaluate, explain, baselines and read_dataset on a small made-up data set."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from infopursuit import load
from infopursuit.core.errors import InputError
from infopursuit.core.stage import RowCounts
from infopursuit.datasets.labelled_images import load_images
from infopursuit.pipeline.params import Params
from infopursuit.texts.knowledge import KnowledgeTable, knowledge_csv
from infopursuit.texts.knowledge_tables import write_knowledge
from infopursuit_study.evaluation.explained_images import read_explanations
from infopursuit_study.evaluation.files import read_predictions
from tests.planted import (
    CLASSES,
    IMAGES_OF,
    KEY,
    RUN,
    TEXTS,
    WIDTH,
    edited,
    with_files,
    write_class_embeddings,
)
from tests.planted import params as params
from tests.stage_scripts import stage

EVALUATION, MEANING, EXPLANATIONS = (
    Path(f"artifacts/{kind}/{RUN}") for kind in ("evaluation", "meaning", "explanations")
)


def judged() -> dict[str, str]:
    """Files of a judge and of a strict list, of which few answers can be right."""
    fits = np.zeros((3, len(TEXTS)), np.float32)
    fits[:2, 1] = 1, 0.5
    true = (np.arange(3)[:, None] == np.arange(9) % 3).astype(np.float32)
    for name, texts, values in (("judge", TEXTS, fits), ("strict", TEXTS[:9], true)):
        table = KnowledgeTable(tuple(CLASSES), tuple(texts), values)
        Path(f"{name}.csv").write_text(knowledge_csv(table), encoding="utf-8")
    return {"judge": "judge.csv", "strict": "strict.csv"}


def contents(*folders: str | Path) -> dict[Path, bytes]:
    paths = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in paths}


def read_json(path: Path | str) -> dict:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_evaluate_writes_one_consistent_set_of_numbers(params: Params) -> None:
    assert stage("evaluate")(params, *KEY) == RowCounts(30, 30)
    metrics = read_json(f"{EVALUATION}.json")
    predictions = read_predictions(EVALUATION / "predictions.parquet")
    accuracies = predictions.correct.mean(axis=0)
    curve = read_csv(EVALUATION / "curve.csv")
    assert [float(row["accuracy"]) for row in curve] == accuracies.tolist()
    assert metrics["auc"] == pytest.approx(accuracies[1:].mean())
    assert metrics["selected_on"] == "held_out"
    assert (metrics["stop_probability"], metrics["stop_max_queries"]) == (0.95, None)
    assert metrics["mean_length_at_stop"] <= metrics["budget"] == 5
    assert predictions.ids[0] == "image/0"
    settings = params.evaluate
    expected = [
        *(("max_probability", value) for value in settings.max_probability),
        *(("entropy", value) for value in settings.entropy_nats),
        *(("stability", value) for value in settings.stability_steps),
    ]
    stopping = read_csv(EVALUATION / "stopping.csv")
    assert [(row["rule"], float(row["threshold"])) for row in stopping] == expected


def test_evaluate_measures_by_judge_and_list(params: Params) -> None:
    params = with_files(params, **judged())
    assert stage("read_dataset")(params, "menagerie") == RowCounts(24, 24)
    stage("evaluate")(params, *KEY)
    figures = read_json(f"{MEANING}.json")
    assert (figures["truth"]["by"], figures["truth"]["texts"]) == ("strict", 9)
    assert figures["sense"]["by"] == "judge"
    assert figures["sense"]["plausible"] < 0.5, "one text of twelve"


def test_evaluate_measures_by_what_people_say_of_test_images(params: Params) -> None:
    stage("evaluate")(params, *KEY)
    assert read_json(f"{MEANING}.json")["people"] is None
    lines = ["image,text,answer,by"]
    lines += [f"image/{row},Text 1,{('no', 'yes')[row // 2 % 2]},anna" for row in range(0, 60, 2)]
    Path("said.csv").write_text("\n".join([*lines, "image/0,Text 1,yes,bert", ""]))
    params = with_files(params, annotations="said.csv")
    stage("evaluate")(params, *KEY)
    people = read_json(f"{MEANING}.json")["people"]
    assert (people["pairs"], people["same"]) == (1, 0)
    (of_text,) = people["questions"].values()
    assert of_text["images"] == 29, "of one image they disagree"
    model, test = load(f"artifacts/models/{RUN}"), load_images(IMAGES_OF, "test")
    answers = model.pursuit_.answers(test.embeddings)[1:, 1]
    said = np.arange(1, 30) % 2
    assert of_text["yes"] == [
        int(((answers > 0.5).numpy() & (said == 1)).sum()),
        int((answers > 0.5).sum()),
    ]
    assert of_text["no"] == [
        int(((answers < 0.5).numpy() & (said == 0)).sum()),
        int((answers < 0.5).sum()),
    ]


def test_explain_draws_chosen_images(params: Params) -> None:
    params = edited(params, "explain", ids={"menagerie": ["image/58"]}, images=3)
    stage("evaluate")(params, *KEY)
    assert stage("explain")(params, *KEY) == RowCounts(30, 4)
    stop, explained = read_explanations(EXPLANATIONS / "explanations.json")
    assert (stop.probability, stop.max_queries) == (0.95, None)
    assert [each.explanation.image for each in explained][-1] == "image/58"
    for each in explained:
        assert (EXPLANATIONS / each.figure).read_bytes().startswith(b"\x89PNG")
    assert len(list(EXPLANATIONS.iterdir())) == 5
    odd = edited(params, "explain", ids={"menagerie": ["nope"]})
    with pytest.raises(InputError, match=r"explain\.ids: 'nope' is not a test image"):
        stage("explain")(odd, *KEY)


def test_of_a_large_split_all_runs_look_at_one_sample_and_named_images(params: Params) -> None:
    every = {"menagerie": [f"image/{row}" for row in range(0, 60, 2)]}
    few = edited(params, "explain", ids=every).model_copy(update={"max_images": 12})
    rows = stage("evaluate")(few, *KEY)
    assert 11 <= rows.read == rows.written <= 13
    seen = read_predictions(EVALUATION / "predictions.parquet")
    assert len(seen.ids) == rows.read
    assert set(seen.labels.tolist()) == {0, 1, 2}
    metrics = read_json(f"{EVALUATION}.json")
    assert metrics["test_images"] == rows.read
    assert metrics["accuracy_at_T"] == seen.correct[:, -1].mean()
    assert stage("explain")(few, *KEY).written == 30
    assert len(read_explanations(EXPLANATIONS / "explanations.json")[1]) == 30
    stage("baselines")(few, "menagerie")
    metrics = read_json("artifacts/baselines/menagerie.json")
    assert metrics["test_images"] == rows.read
    assert metrics["train_images"] < 30


def test_baselines_reports_two_of_them_or_one(params: Params) -> None:
    assert stage("baselines")(params, "menagerie") == RowCounts(60, 2)
    metrics = read_json("artifacts/baselines/menagerie.json")
    for name in ("linear_probe", "zero_shot"):
        accuracy = metrics[f"{name}_accuracy"]
        assert metrics[f"{name}_accuracy_low"] <= accuracy <= metrics[f"{name}_accuracy_high"]
    write_class_embeddings(np.zeros((0, WIDTH)))
    assert stage("baselines")(params, "menagerie") == RowCounts(60, 1)
    metrics = read_json("artifacts/baselines/menagerie.json")
    assert not [name for name in metrics if name.startswith("zero_shot")]


def test_repeats_are_equal_bytes_and_nothing_old_stays(params: Params) -> None:
    params = with_files(params, **judged())
    written = []
    for _ in range(2):
        stage("evaluate")(params, *KEY)
        stage("explain")(params, *KEY)
        stage("baselines")(params, "menagerie")
        written.append(
            contents(*(f"artifacts/{each}" for each in ("evaluation", "meaning", "explanations")))
        )
        (EXPLANATIONS / "stale.png").write_bytes(b"")
    assert written[0] == written[1]


def test_without_a_judge_the_knowledge_table_is_taken_and_named(
    params: Params, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert stage("read_dataset")(params, "menagerie") == RowCounts(3, 3)
    assert "no judge for menagerie: measured by the knowledge table instead" in caplog.text
    stage("evaluate")(params, *KEY)
    assert "by the knowledge table, which is not independent" in caplog.text
    figures = read_json(f"{MEANING}.json")
    assert figures["truth"]["by"] == figures["sense"]["by"] == "knowledge"
    assert figures["explained"] is not None
    nothing = KnowledgeTable((), (), np.zeros((0, 0), np.float32))
    write_knowledge("artifacts/knowledge/menagerie.parquet", nothing)
    stage("evaluate")(params, *KEY)
    assert "there is no table of what is true of the classes" in caplog.text
    assert set(read_json(f"{MEANING}.json").values()) == {None}


def test_bad_input_is_reported_by_name(params: Params) -> None:
    with pytest.raises(InputError, match="menagerie-random-naive_bayes-0: no such folder"):
        stage("evaluate")(params, "menagerie", "random", "naive_bayes", 0)
    Path("odd.csv").write_text("class,x\ncat,0\ndog,0\nbus,0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"menagerie\.judge: none of its texts is in"):
        stage("evaluate")(with_files(params, judge="odd.csv"), *KEY)
