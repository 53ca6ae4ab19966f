"""Models go to the hub and come back the same; its client is a stand-in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import create_autospec
from xml.etree import ElementTree

import pytest
from huggingface_hub import HfApi, snapshot_download

import infopursuit
from infopursuit.estimators import hub as hub_module
from infopursuit.estimators.hub import model_card
from tests.explorer.made_up import HOSTILE


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """The hub's client, which keeps folders by repository; calls must have its signatures."""
    folders: dict[str, Path] = {}
    api = create_autospec(HfApi, instance=True)
    api.create_repo.side_effect = lambda name, **_: SimpleNamespace(repo_id=name)

    def upload_folder(*, repo_id: str, folder_path: str, **_: object) -> SimpleNamespace:
        folders[repo_id] = Path(shutil.copytree(folder_path, f"{folders['home']}/{repo_id}"))
        return SimpleNamespace(commit_url=f"https://hub/{repo_id}/commit/1")

    api.upload_folder.side_effect = upload_folder
    fetch = create_autospec(snapshot_download, side_effect=lambda name, **_: str(folders[name]))
    monkeypatch.setattr(hub_module, "HfApi", create_autospec(HfApi, return_value=api))
    monkeypatch.setattr(hub_module, "snapshot_download", fetch)
    with TemporaryDirectory() as home:
        folders["home"] = Path(home)
        yield folders


def test_a_model_goes_to_the_hub_and_comes_back(model, hub: dict, tmp_path: Path) -> None:
    address = model.to_hub("user/animals", private=True, token="hf_x", branch="new")
    assert address == "https://hub/user/animals/commit/1"
    api = hub_module.HfApi.return_value  # type: ignore[attr-defined]
    api.create_repo.assert_called_once_with("user/animals", private=True, exist_ok=True)
    api.create_branch.assert_called_once_with("user/animals", branch="new", exist_ok=True)
    names = sorted(file.name for file in hub["user/animals"].iterdir())
    assert names == ["README.md", "model.json", "weights.safetensors"]
    card = (hub["user/animals"] / "README.md").read_text(encoding="utf-8")
    assert card == model_card(model.as_saved(), "user/animals")
    model.save(tmp_path / "model")
    infopursuit.load("user/animals").save(tmp_path / "again")
    for name in ("model.json", "weights.safetensors"):
        loaded = (tmp_path / "again" / name).read_bytes()
        assert loaded == (tmp_path / "model" / name).read_bytes()


REFUSED = """
import sys, infopursuit
model = infopursuit.load(sys.argv[1])
for name, act in {"nothing": infopursuit.load, "animals": model.to_hub}.items():
    try:
        act(f"user/{name}")
    except infopursuit.InputError as error:
        print(error)
"""


def test_a_hub_that_cannot_be_reached_is_reported_in_one_line(model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    address = {"HF_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    environment = {**os.environ, **address, "HF_HOME": str(tmp_path), "HF_TOKEN": "hf_x"}
    command = [sys.executable, "-c", REFUSED, str(tmp_path / "model")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    names = [line.split(": ")[0] for line in done.stdout.splitlines()]
    assert names == ["user/nothing", "user/animals"]


@pytest.mark.parametrize(
    ("name", "source"), [("clip.yml", "./clip.yaml"), ("clip.yaml", "./clip.yaml"), ("clip", None)]
)
def test_only_pinned_weights_travel_with_a_model(
    world, hub: dict, tmp_path: Path, name: str, source: str | None
) -> None:
    (tmp_path / name).write_text(f"hub: a/b\nrevision: {'a' * 40}\n")
    fitted = world.fitted(n_queries=2)
    fitted.clip_source_ = str(tmp_path / name)
    fitted.to_hub("user/animals")
    folder = hub["user/animals"]
    assert json.loads((folder / "model.json").read_text())["clip"]["source"] == source
    assert (folder / "clip.yaml").exists() is (source is not None)


def test_names_are_texts_in_cards_figures_and_terminals(world, model, tmp_path: Path) -> None:
    obeyed = "\x1b]52;c;x\x07\r\n  Prediction: cat, 100 %"
    hostile = model.with_class_names([obeyed, *HOSTILE[:3]])
    card = model_card(hostile.as_saved())
    assert "\n- \\<script\\>alert(1)\\</script\\>\n" in card
    assert "<script" not in card.split("## Where it comes from")[0].replace("\\<", "")
    obeying = model.with_class_names([f"{obeyed} {number}" for number in range(4)])
    for explained in obeying.explain(world.unseen):
        for text in (explained.to_text(), explained.to_text(everything=True)):
            assert text.count("\n  Prediction: ") == 1
            assert text.replace("\n", "").isprintable()
    hostile.explain(world.unseen[:1])[0].plot().savefig(tmp_path / "figure.svg")
    tree = ElementTree.parse(tmp_path / "figure.svg")
    assert not [each for each in tree.iter() if each.tag.endswith("script")]
