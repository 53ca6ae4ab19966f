"""The stage second_opinion on a made-up data set, against a real HTTP server that sees colours."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.stage import RowCounts
from infopursuit.core.tables import EMBEDDED_IMAGES, IMAGES, read_table, write_table
from infopursuit.pipeline.params import Params
from infopursuit.pursuit.explanation import question
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit_study.evaluation.explained_images import read_explanations
from tests.planted import CLASSES, IMAGES_OF, KEY, RUN, TEXTS, N, edited, png, with_files
from tests.planted import params as params
from tests.queries.language_models.test_openai_server import completion, serving
from tests.stage_scripts import stage
from tests.study.evaluation.test_stages import read_json

OF_CLASS = dict(zip(CLASSES, ("red", "green", "blue"), strict=True))
OUT = Path(f"artifacts/meaning/{RUN}.second_opinion")


def seen(request: dict[str, Any]) -> tuple[str | None, str]:
    """The class whose colour a picture has, if any, and the question about it."""
    picture, text = request["body"]["messages"][0]["content"]
    png = base64.b64decode(picture["image_url"]["url"].split(",")[1])
    shown = Image.open(io.BytesIO(png)).getpixel((5, 5))
    names = {
        Image.new("RGB", (1, 1), each).getpixel((0, 0)): name for name, each in OF_CLASS.items()
    }
    return names.get(shown), text["text"].splitlines()[-1].removeprefix("Question: ")


@pytest.fixture
def asking(params: Params) -> Params:
    """The same with pictures whose colour is that of their class, no two of them alike."""
    columns = read_table(IMAGES_OF, EMBEDDED_IMAGES).drop_columns("embedding").to_pydict()
    names = columns["class_name"]
    pictures = [png(OF_CLASS[name], 40 + row, 20) for row, name in enumerate(names)]
    write_table("pictures.parquet", IMAGES, columns | {"image": pictures})
    return params


def asked(params: Params, **more: Any) -> Params:
    return edited(params, "second_opinion", **{"images": 12, "control": 4, **more})


def at(params: Params, url: str) -> Params:
    """The same with a server at an address."""
    model = params.second_opinion.model
    openai = model.openai.model_copy(update={"base_url": url, "max_retries": 0})
    return asked(params, model=model.model_copy(update={"openai": openai}))


def test_what_it_wins_is_measured_and_nothing_is_asked_twice(asking: Params) -> None:
    known = read_knowledge("artifacts/knowledge/menagerie.parquet")
    table = known.for_classes_and_texts(CLASSES, TEXTS)
    true = {question(text): column for text, column in zip(TEXTS, table.T, strict=True)}

    def reply(request: dict[str, Any]) -> Any:
        name, text = seen(request)
        body = completion("yes" if name and true[text][CLASSES.index(name)] == 1 else "no")[1]
        return 200, body | {"usage": {"prompt_tokens": 100, "completion_tokens": 1}}

    with serving(reply) as (url, requests):
        params = asked(at(asking, url), per_class=3)
        assert stage("second_opinion")(params, *KEY) == RowCounts(12, 12)
        first, count = read_json(OUT / "figures.json"), len(requests)
        written = {path: path.read_bytes() for path in OUT.iterdir()}
        assert count > 0
        assert first["by"] == "knowledge" and first["images"] == 12
        assert first["clip"]["asked"] == 0 < first["both"]["asked"] <= 6
        assert first["both"]["tokens"] == pytest.approx(101 * first["both"]["asked"])
        right, given = first["both"]["read"]
        assert right / given > first["clip"]["read"][0] / first["clip"]["read"][1]
        assert first["control"]["blank"][0] == 0 < first["control"]["blank"][1]
        stop, explained = read_explanations(OUT / "explanations.json")
        assert stop == params.explain.stop and len(explained) == params.explain.images
        steps = [step for each in explained for step in each.explanation.steps]
        assert {step.by for step in steps} == {None, "qwen3-vl"}
        assert all(each.explanation.true_class for each in explained)

        stage("second_opinion")(params, *KEY)
        assert len(requests) == count, "all answers are kept"
        assert {path: path.read_bytes() for path in OUT.iterdir()} == written
        stage("second_opinion")(asked(params, calls=3, images=8, control=None), *KEY)
        assert len(requests) == count, "less is asked, and nothing that is new"
        assert read_json(OUT / "figures.json")["control"] is None


def test_people_know_single_images_better_than_the_class(asking: Params) -> None:
    lines = ["image,text,answer"]
    lines += [f"image/{row},{text},yes" for row in range(0, N, 2) for text in TEXTS]
    Path("said.csv").write_text("\n".join([*lines, ""]))
    params = with_files(asking, annotations="said.csv", images="pictures.parquet")
    with serving(lambda request: completion("yes")) as (url, _):
        stage("second_opinion")(asked(at(params, url), per_class=1, control=None), *KEY)
    for kind in ("read", "yes"):
        right, given = read_json(OUT / "figures.json")["both"][kind]
        assert right == given > 0


def test_a_stage_that_was_stopped_goes_on_where_it_was(asking: Params) -> None:
    down: list[bool] = []

    def reply(request: dict[str, Any]) -> Any:
        if len(requests) > 100 and not down:
            return 500, {"error": "out of memory"}
        return completion("no" if seen(request)[0] == "cat" else "yes")

    with serving(reply) as (url, requests):
        params = asked(at(asking, url), per_class=3)
        with pytest.raises(InputError, match=r"gave no answer in 1 tries.*answers so far are"):
            stage("second_opinion")(params, *KEY)
        down.append(False)
        stage("second_opinion")(params, *KEY)
    bodies = [json.dumps(request["body"]["messages"]) for request in requests]
    kept = set(bodies[:64])
    assert len(kept) == 64, "a whole chunk"
    assert not kept & set(bodies[101:])


def test_embeddings_alone_are_reported(asking: Params) -> None:
    params = with_files(asking, images=IMAGES_OF)
    message = (
        f"a second opinion looks at pictures, and datasets.menagerie.images is {IMAGES_OF}, which "
        "has none here; expected a folder, a .csv, or a Parquet file of image bytes"
    )
    with pytest.raises(InputError) as caught:
        stage("second_opinion")(params, *KEY)
    assert str(caught.value) == message


def test_without_a_table_and_without_pictures_it_has_no_rates(asking: Params) -> None:
    model = json.loads(Path(f"artifacts/models/{RUN}/model.json").read_text())
    assert not model["provenance"]["settings"]["knowledge"]
    with (
        serving(lambda request: completion("yes")) as (url, _),
        pytest.raises(InputError, match="a knowledge table says something of 0 of the model's 12"),
    ):
        stage("second_opinion")(asked(at(asking, url), per_class=None), *KEY)
    assert not OUT.exists()


def test_pictures_are_no_training_images_of_other_classes(asking: Params) -> None:
    """Rates come from training images alone: no test image is shown for them."""
    with serving(lambda request: completion("yes")) as (url, requests):
        stage("second_opinion")(
            asked(at(asking, url), images=3, calls=1, per_class=2, control=None), *KEY
        )
    widths = np.array([
        Image.open(io.BytesIO(base64.b64decode(
            request["body"]["messages"][0]["content"][0]["image_url"]["url"].split(",")[1]
        ))).width
        for request in requests
    ])  # fmt: skip
    rows = widths - 40
    of_training = rows[rows % 2 == 1]
    assert set(of_training) == {1, 3, 5, 7, 9, 11}, "the first two of each class"
    assert len(set(rows[rows % 2 == 0])) <= 6, "two of each class, which a sample has at least"
