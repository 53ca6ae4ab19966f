"""Models go to a hub and come back the same; the hub is a local stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infopursuit.estimators.model_card import model_card
from tests.estimators.hub_stand_in import Hub, running

PUSH = """
import sys, infopursuit
model = infopursuit.load(sys.argv[1])
print(model.to_hub("user/animals", private=True))
"""
LOAD = """
import sys, infopursuit
from infopursuit.estimators.hub import HubModel
model = infopursuit.load("user/animals")
model.save(sys.argv[1])
HubModel.from_pretrained("user/animals").model.save(sys.argv[2])
"""
LOAD_NOTHING = """
import infopursuit
try:
    infopursuit.load("user/nothing")
except infopursuit.InputError as error:
    print(error)
"""
PUSH_NOWHERE = """
import sys, infopursuit
try:
    infopursuit.load(sys.argv[1]).to_hub("user/animals")
except infopursuit.InputError as error:
    print(error)
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running() as server:
        yield server


def ran(script: str, address: str, home: Path, *arguments: Path, token: str = "hf_x") -> str:
    """What a script prints that runs where `address` is the hub."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": address,
        "HF_HOME": str(home),
        "HF_TOKEN": token,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_goes_to_the_hub_and_comes_back(model, hub: Hub, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    told = ran(PUSH, hub.address, tmp_path / "home", tmp_path / "model")
    assert told.strip() == f"{hub.address}/user/animals/commit/{hub.commit_of('user/animals')}"
    assert hub.private == {"user/animals": True}
    files = hub.files["user/animals"]
    assert sorted(files) == ["README.md", "model.json", "weights.safetensors"]
    card = files["README.md"].decode()
    assert card == model_card(model, "user/animals")

    ran(LOAD, hub.address, tmp_path / "other", tmp_path / "again", tmp_path / "mixin")
    for folder in ("again", "mixin"):
        for name in ("model.json", "weights.safetensors"):
            there = (tmp_path / folder / name).read_bytes()
            assert there == (tmp_path / "model" / name).read_bytes() == files[name]


def test_what_the_hub_refuses_is_told_in_one_line(model, hub: Hub, tmp_path: Path) -> None:
    told = ran(LOAD_NOTHING, hub.address, tmp_path / "home")
    assert told.startswith("user/nothing: no such folder here, and no such model on the Hugging")
    assert told.count("\n") == 1
    model.save(tmp_path / "model")
    nowhere = "http://127.0.0.1:9"
    for script in (LOAD_NOTHING, PUSH_NOWHERE):
        told = ran(script, nowhere, tmp_path / "home", tmp_path / "model")
        assert told.count("\n") == 1
        assert told.startswith("user/")


def test_the_card_says_what_a_stranger_must_know(world, model) -> None:
    card = model_card(model, "user/animals")
    assert card.startswith("---\nlibrary_name: infopursuit\npipeline_tag: image-classification\n")
    assert 'infopursuit.load("user/animals")' in card
    for line in (*model.queries_, *model.classes_):
        assert f"\n- {line}\n" in card
    provenance = json.loads(card.split("```json\n")[1].split("```")[0])
    assert provenance == model.provenance_
    accuracy = model.provenance_["held_out_accuracy"]
    assert f"Accuracy {100 * accuracy:.0f} % on 60 images held out" in card
    assert "image embeddings of width 48" in card
    assert "Limits" in card
    measured = world.fitted()
    measured.provenance_ |= {"test_accuracy": 0.904, "test_images": 11}
    measured.clip_, measured.clip_source_ = "open_clip:tiny:1", "ViT-B-32:openai"
    card = model_card(measured)
    assert "Accuracy 90 % on 11 test images" in card
    assert 'model.explain(["photo.png"])' in card
    assert "of the CLIP `open_clip:tiny:1`" in card


def test_the_card_of_a_table_names_its_columns() -> None:
    from sklearn.datasets import load_iris

    from infopursuit.estimators.information_pursuit import InformationPursuitClassifier

    iris = load_iris(as_frame=True)
    model = InformationPursuitClassifier(validation_fraction=0.0).fit(iris.data, iris.target)
    card = model_card(model)
    assert "pipeline_tag: tabular-classification" in card
    assert "rows of 4 columns: sepal length (cm), sepal width (cm)" in card
    assert "Not measured." in card
