"""The stage explore: the best run as a page, with all that the pipeline knows of it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from infopursuit.core.run_name import RunName
from infopursuit.core.stage import RowCounts
from infopursuit.explorer import payload
from infopursuit.pipeline.params import Params
from infopursuit_study.run_report.explored import best_run
from infopursuit_study.run_report.methods import first_of_best
from tests.explorer.made_up import payload_of
from tests.planted import CLASSES, RUN, K, N, edited
from tests.planted import params as params
from tests.stage_scripts import stage

MODELS = Path("artifacts/models")
PAGE = Path("artifacts/report/explorer/menagerie.html")


@pytest.fixture
def trained(params: Params) -> Params:
    """The settings of one run, whose model knows where it comes from, and the truth about it."""
    provenance(
        RUN,
        init="llm",
        settings={"method": "gaussian"},
        selected={"validation_auc": 0.5},
        sources={"text 0": "dictionary/menagerie,corpus/coco", "text 1": "corpus/coco"},
    )
    truth = Path(f"artifacts/evaluation/{RUN}/truth.csv")
    truth.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        ("dictionary", "text 0", 0.75, 0.5),
        ("dictionary", "text 2", "", 0),
        ("phrases", "text 1", 1, 1),
    ]
    with truth.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("of", "query", "agreement", "answered"), *rows])
    return edited(params, "run", inits=["llm"], seeds=[0], truth=["menagerie"])


def provenance(name: str, **known: object) -> None:
    path = MODELS / name / "model.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["provenance"] |= known
    path.write_text(json.dumps(content), encoding="utf-8")


def test_the_page_knows_what_the_pipeline_knows(trained: Params) -> None:
    assert stage("explore")(trained, "menagerie") == RowCounts(N, N)
    found = payload_of(PAGE.read_text(encoding="utf-8"))
    model = found.model
    assert (found.title, model.name, model.sees) == (RUN, RUN, False)
    assert (model.stop.probability, model.stop.max_queries) == (
        0.95,
        None,
    )  # as the report explains
    assert model.origins == ["captions and class prompts", "captions", *[None] * (K - 2)]
    assert model.truth is not None
    assert model.truth[0] == payload.Truth(right=0.75, answered=0.5)
    assert model.truth[2] == payload.Truth(right=None, answered=0)
    assert [each is None for each in model.truth] == [False, True, False, *[True] * (K - 3)]
    assert len(found.images.test) == len(found.images.train) == N // 2
    for part in (found.images.test, found.images.train):
        for each in part:
            row = int(each.id.removeprefix("image/"))
            assert each.label is not None
            assert model.classes[each.label] == CLASSES[row // 2 % 3]
            assert each.thumbnail is not None
    first = PAGE.read_bytes()
    stage("explore")(trained, "menagerie")
    assert PAGE.read_bytes() == first


def test_the_best_in_validation_is_explored(trained: Params) -> None:
    """The mean over seeds; a control and what says no yes or no come last; a tie is the first's."""
    ours, soft = {"method": "gaussian"}, {"method": "variational", "answers": "soft"}
    runs: list[RunName] = []
    for init, method, areas in (
        ("llm", "first", (0.6, 0.8)),
        ("llm", "better", (0.8, 0.8)),
        ("llm", "lucky", (0.95, 0.5)),
        ("random_words", "control", (0.99, 0.99)),
        ("llm", "soft", (0.9, 0.9)),
    ):
        runs += [RunName("menagerie", init, method, seed) for seed in range(2)]
        for run, area in zip(runs[-2:], areas, strict=True):
            shutil.copytree(MODELS / RUN, MODELS / str(run))
            settings, selected = soft if method == "soft" else ours, {"validation_auc": area}
            provenance(str(run), settings=settings, selected=selected, held_out_images=2000)
    assert best_run(MODELS, runs, "cpu")[0] == "menagerie-llm-better-0"
    assert best_run(MODELS, runs[:2] + runs[6:], "cpu")[0] == "menagerie-llm-first-0"
    assert best_run(MODELS, runs[6:], "cpu")[0] == "menagerie-random_words-control-0"
    for run in runs:
        provenance(str(run), held_out_images=4)
    assert best_run(MODELS, runs, "cpu")[0] == "menagerie-llm-first-0"


def test_few_images_tell_no_runs_apart() -> None:
    for count, seeds, first in ((8, 1, 0), (800, 1, 1), (50, 1, 0), (50, 9, 1), (0, 1, 1)):
        assert first_of_best([[(area, count)] * seeds for area in (0.95, 0.97, 0.96)]) == first
