"""Models go to a hub and come back the same; the hub is a local stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from sklearn.datasets import load_iris

from infopursuit.estimators import hub as hub_module
from infopursuit.estimators.hub import model_card
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from tests.estimators.hub_stand_in import Hub, running

PUSH = """
import sys, infopursuit
model = infopursuit.load(sys.argv[1])
print(model.to_hub("user/animals", private=True))
"""
LOAD = """
import sys, infopursuit
infopursuit.load("user/animals").save(sys.argv[1])
"""
REFUSED = """
import sys, infopursuit
try:
    if len(sys.argv) > 1:
        infopursuit.load(sys.argv[1]).to_hub("user/animals")
    infopursuit.load("user/nothing")
except infopursuit.InputError as error:
    print(error)
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running() as server:
        yield server


def ran(script: str, address: str, home: Path, *arguments: Path) -> str:
    """What a script prints that runs where `address` is the hub."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": address,
        "HF_HOME": str(home),
        "HF_TOKEN": "hf_x",
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
    address = ran(PUSH, hub.address, tmp_path / "home", tmp_path / "model")
    assert address.strip() == f"{hub.address}/user/animals/commit/{hub.commit_of('user/animals')}"
    assert hub.private == {"user/animals": True}
    files = hub.files["user/animals"]
    assert sorted(files) == ["README.md", "model.json", "weights.safetensors"]
    card = files["README.md"].decode()
    assert card == model_card(model.as_saved(), "user/animals")

    ran(LOAD, hub.address, tmp_path / "other", tmp_path / "again")
    for name in ("model.json", "weights.safetensors"):
        loaded = (tmp_path / "again" / name).read_bytes()
        assert loaded == (tmp_path / "model" / name).read_bytes() == files[name]


def test_what_the_hub_refuses_is_reported_in_one_line(model, hub: Hub, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    unknown = ran(REFUSED, hub.address, tmp_path / "home")
    assert unknown.startswith("user/nothing: no such folder here, and no such model on the Hugging")
    nowhere = [ran(REFUSED, "http://127.0.0.1:9", tmp_path / "home", *each)
               for each in ((), (tmp_path / "model",))]  # fmt: skip
    for message, name in zip((unknown, *nowhere), ("nothing", "nothing", "animals"), strict=True):
        assert message.count("\n") == 1
        assert message.startswith(f"user/{name}")


class FakeApi:
    """Takes what is uploaded, and remembers the names and contents of the files."""

    uploaded: dict[str, bytes]

    def __init__(self, token: str | None) -> None: ...

    def create_repo(self, repository: str, **_: object) -> SimpleNamespace:
        return SimpleNamespace(repo_id=repository)

    def upload_folder(self, *, folder_path: str, **_: object) -> SimpleNamespace:
        FakeApi.uploaded = {file.name: file.read_bytes() for file in Path(folder_path).iterdir()}
        return SimpleNamespace(commit_url="address")


@pytest.mark.parametrize(
    ("name", "source"), [("clip.yml", "./clip.yaml"), ("clip.yaml", "./clip.yaml"), ("clip", None)]
)
def test_only_pinned_weights_travel_with_a_model(
    world, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str | None
) -> None:
    monkeypatch.setattr(hub_module, "HfApi", FakeApi)
    (tmp_path / name).write_text("pins")
    fitted = world.fitted(n_queries=2)
    fitted.clip_source_ = str(tmp_path / name)
    assert fitted.to_hub("user/animals") == "address"
    files = FakeApi.uploaded
    assert json.loads(files["model.json"])["clip"]["source"] == source
    assert files.get("clip.yaml") == (b"pins" if source else None)


def test_the_card_says_what_a_stranger_must_know(world, model) -> None:
    card = model_card(model.as_saved(), "user/animals")
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
    card = model_card(measured.as_saved())
    assert "Accuracy 90 % on 11 test images" in card
    assert 'model.explain(["photo.png"])' in card
    assert "of the CLIP `open_clip:tiny:1`" in card


def test_the_card_of_a_table_names_its_columns() -> None:
    iris = load_iris(as_frame=True)
    model = InformationPursuitClassifier(validation_fraction=0.0).fit(iris.data, iris.target)
    card = model_card(model.as_saved())
    assert "pipeline_tag: tabular-classification" in card
    assert "rows of 4 columns: sepal length (cm), sepal width (cm)" in card
    assert "Not measured." in card
