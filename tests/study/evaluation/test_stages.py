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
from infopursuit_study.evaluation.files import MEANING, METRICS, read_predictions
from infopursuit_study.meaning.measures import claims_of_images
from tests.planted import IMAGES_OF, KEY, RUN, with_files
from tests.planted import params as params
from tests.stage_scripts import stage

EVALUATION = Path(f"artifacts/evaluation/{RUN}")


def read_json(path: Path | str) -> dict:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_evaluate_writes_one_consistent_set_of_numbers(params: Params) -> None:
    assert stage("evaluate")(params, *KEY) == RowCounts(30, 30)
    metrics = read_json(EVALUATION / METRICS)
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


def test_evaluate_measures_by_what_people_say_of_test_images(params: Params) -> None:
    stage("evaluate")(params, *KEY)
    assert read_json(EVALUATION / MEANING)["people"] is None
    lines = ["image,text,answer,by"]
    lines += [f"image/{row},Text 1,{('no', 'yes')[row // 2 % 2]},anna" for row in range(0, 60, 2)]
    Path("said.csv").write_text("\n".join([*lines, "image/0,Text 1,yes,bert", ""]))
    params = with_files(params, annotations="said.csv")
    stage("evaluate")(params, *KEY)
    people = read_json(EVALUATION / MEANING)["people"]
    assert (people["pairs"], people["same"]) == (1, 0)
    (of_text,) = people["questions"].values()
    assert of_text["images"] == 29, "of one image they disagree"
    model, test = load(f"artifacts/models/{RUN}"), load_images(IMAGES_OF, "test")
    claims = claims_of_images(model.pursuit_.rule, test.embeddings)[1:, 1]
    said = np.arange(1, 30) % 2
    for word, value in (("yes", 1), ("no", 0)):
        given = claims == value
        assert of_text[word] == [int((given & (said == value)).sum()), int(given.sum())]


def test_bad_input_is_reported_by_name(params: Params) -> None:
    with pytest.raises(InputError, match="menagerie-random-gaussian-0: no such folder"):
        stage("evaluate")(params, "menagerie", "random", "gaussian", 0)
    Path("odd.csv").write_text("class,x\ncat,0\ndog,0\nbus,0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"menagerie\.question_reference: none of its texts is in"):
        stage("evaluate")(with_files(params, question_reference="odd.csv"), *KEY)
