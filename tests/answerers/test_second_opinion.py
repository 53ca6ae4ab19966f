"""`--second-opinion` against a real HTTP server process, which answers from what is true."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infopursuit
from infopursuit.answerers.second_opinion import SecondOpinion
from infopursuit.core.errors import InputError
from infopursuit.pursuit.explanation import Explanation, question
from infopursuit.queries.language_models import encoded
from infopursuit.queries.language_models.model import choice_probability
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit_study.experiments.stand_in import standing_in
from infopursuit_study.meaning.second_opinion import use_of_pictures
from tests.planted import PHOTO_TEXTS
from tests.queries.language_models.test_openai_server import completion, serving

TRUE = {"red": {"red"}, "green": {"green grass"}, "blue": {"blue sky"}}


@pytest.fixture
def server(colors: Path, tmp_path: Path) -> Iterator[str]:
    truth = {
        hashlib.sha256(encoded(file)).hexdigest(): {
            question(text): text in TRUE[file.parent.name] for text in PHOTO_TEXTS
        }
        for file in (colors / "photos").rglob("*.png")
    }
    with standing_in(truth, tmp_path, 0.0) as address:
        yield address


@pytest.mark.parametrize(
    "more",
    [["--second-opinion-images"], ["--second-opinion-alone", "--second-opinion-images"]],
)
def test_answers_that_matter_are_those_of_the_second_opinion(
    run: Callable, colors: Path, server: str, more: list[Any]
) -> None:
    more = [*more, colors / "photos"]
    files = sorted((colors / "photos").rglob("*.png"))[::4]
    command = [
        "explain", "--model", colors / "model", "--second-opinion", server,
        "--second-opinion-model", "eyes", "--second-opinion-calls", 4, *more, "--format", "json",
    ]  # fmt: skip
    status, out, log = run(*command, *files)
    assert status == 0, log
    explained = [Explanation.from_dict({k: v for k, v in each.items() if k not in (
        "predicted_class", "probability")}) for each in json.loads(out)["images"]]  # fmt: skip
    assert sum(any(step.by for step in each.steps) for each in explained) > len(files) / 2
    for file, each in zip(files, explained, strict=True):
        asked = each.second_opinion
        assert asked is not None and asked["model"] == "eyes"
        assert asked["tokens"] == 101 * asked["questions"]  # kept answers have cost theirs
        assert asked["questions"] <= 4 or "--second-opinion-alone" in more
        by_the_model = [step for step in each.steps if step.by]
        for step in by_the_model:
            assert step.yes == (step.query in TRUE[file.parent.name])
        if "--second-opinion-alone" in more:
            assert len(by_the_model) == len(each.steps)
            assert each.predicted_class == file.parent.name
        elif asked["questions"] < 4:  # no yes is left that nobody looked at
            assert not [step for step in each.steps if step.yes and not step.by]
        assert "eyes looked at the picture" in str(each)
    again = json.loads(run(*command, *files)[1])["images"]
    assert {each["second_opinion"]["calls"] for each in again} == {0}  # answers are kept
    assert json.loads(json.dumps([each.to_dict()["steps"] for each in explained])) == [
        each["steps"] for each in again
    ]


def test_predict_and_the_control(run: Callable, colors: Path, server: str, tmp_path: Path) -> None:
    files = sorted((colors / "photos").rglob("*.png"))
    given = ["--second-opinion", server, "--second-opinion-model", "eyes"]
    alone = "--second-opinion-alone"
    images = ["--second-opinion-images", colors / "photos"]
    status, out, log = run("predict", "--model", colors / "model", *given, *images, alone, *files)
    assert status == 0, log
    predicted = [row[1] for row in csv.reader(out.splitlines()[1:])]
    assert predicted == [file.parent.name for file in files]
    model, opinion = infopursuit.load(colors / "model"), SecondOpinion((server, "eyes"))
    measured = use_of_pictures(opinion, model, files)
    assert measured.blank.right == 0 and measured.blank.given == len(files)
    assert measured.other.right < len(files)


def test_nobody_is_asked_what_is_known(run: Callable, colors: Path, server: str) -> None:
    files = sorted((colors / "photos").rglob("*.png"))[::4]
    status, out, log = run(
        "explain", "--model", colors / "model", "--second-opinion", server,
        "--second-opinion-model", "eyes", "--second-opinion-alone", "--second-opinion-images",
        colors / "photos", "--known", "green grass=no", "--among", "red,blue", *files,
        "--format", "json",
    )  # fmt: skip
    assert status == 0, log
    for each in json.loads(out)["images"]:
        assert [(step["query"], step.get("by")) for step in each["known"]] == [
            ("green grass", None)
        ]
        assert "green grass" not in [step["query"] for step in each["steps"]]
        assert all(step["by"] == "eyes" for step in each["steps"])
        assert each["class_names"] == ["blue", "red"]


def test_a_server_that_refuses_structured_outputs_is_asked_without(colors: Path) -> None:
    def reply(request: dict[str, Any]) -> Any:
        if "structured_outputs" in request["body"]:
            assert request["body"]["structured_outputs"] == {"choice": ["no", "unclear", "yes"]}
            return 400, {"error": "unknown field"}
        return completion("Yes.")

    picture = encoded(next((colors / "photos").rglob("*.png")))
    with serving(reply) as (url, requests):
        opinion = SecondOpinion((url, "eyes"))
        first = opinion.ask([(picture, "red")])[0]
        opinion.ask([(picture, "blue sky")])
    assert first.answer == 1 and first.probability is None and first.cost is not None
    assert len(requests) == 3
    content = requests[-1]["body"]["messages"][0]["content"]
    assert [part["type"] for part in content] == ["image_url", "text"]
    assert requests[-1]["body"]["temperature"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--second-opinion-alone"], "--second-opinion-alone: expected it with --second-opinion"),
        (["--second-opinion", "http://127.0.0.1:1/v1"], "the name of the model is missing"),
        (["--second-opinion", "vllm:a/model@0"], "takes no pictures; expected the address of a"),
        (
            ["--second-opinion", "http://127.0.0.1:1/v1", "--second-opinion-model", "eyes"],
            "of 0 of the model's 6 questions; expected a model with a table that CLIP did not",
        ),
    ],
)
def test_mistakes(run: Callable, colors: Path, arguments: list[str], message: str) -> None:
    status, _, log = run("explain", "--model", colors / "model", *arguments, colors / "photos")
    assert status == 1 and message in log


def test_a_table_that_the_clip_drafted_gives_no_rates(colors: Path) -> None:
    model = infopursuit.load(colors / "model")
    opinion = SecondOpinion(("http://127.0.0.1:1/v1", "eyes"))
    values = np.eye(3, len(model.queries_), dtype=np.float32)
    model.knowledge_ = KnowledgeTable(tuple(model.classes_), tuple(model.queries_), values)
    assert list(opinion._askable(model)) == list(range(len(model.queries_)))
    model.provenance_["knowledge"] = "clip"
    with pytest.raises(InputError, match="something of 0 of the model's 6 questions"):
        opinion._askable(model)


def test_an_answer_of_another_form_is_an_error(colors: Path) -> None:
    with serving(lambda request: completion("I think it is red")) as (url, _):
        opinion = SecondOpinion((url, "eyes"))
        with pytest.raises(InputError, match="expected no, unclear, yes"):
            opinion.ask([(encoded(next((colors / "photos").rglob("*.png"))), "red")])


def test_probability_of_a_choice() -> None:
    likely = [("yes", -0.1), (" Yes", -3.0), ("no", -2.5), ("x", -1.0)]
    found = choice_probability("Yes.", ("no", "unclear", "yes"), likely)
    yes, no = exp(-0.1) + exp(-3.0), exp(-2.5)
    assert found == pytest.approx(yes / (yes + no), abs=1e-6)
    assert choice_probability("yes", ("no", "yes"), []) is None
