"""A model as a folder: there and back, and every way in which a folder can be wrong."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.estimators.saved import DESCRIPTION, WEIGHTS
from infopursuit.explanation.stopping import StoppingRule
from tests.estimators.conftest import World

FILES = (DESCRIPTION, WEIGHTS)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"answers": "threshold"},
        {"answers": "minmax"},
        {"first_query": "nothing 1", "stop": StoppingRule(0.7, 4, None, 2)},
        {"ban": ["legs"], "random_state": np.int64(3)},
    ],
    ids=["three_valued", "threshold", "minmax", "first query and stop", "ban"],
)
def test_a_model_comes_back_the_same(world: World, tmp_path: Path, settings: dict) -> None:
    model = world.fitted(**settings)
    model.save(tmp_path / "a")
    again = infopursuit.load(tmp_path / "a", device="cpu")
    again.save(tmp_path / "b")
    assert type(again) is InformationPursuitClassifier
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert set(contents(tmp_path / "a")) == set(FILES)
    assert again.queries_ == model.queries_
    assert again.provenance_ == model.provenance_
    assert again.stop == model.stop
    assert np.array_equal(again.predict(world.unseen), model.predict(world.unseen))
    assert np.array_equal(again.predict_proba(world.unseen), model.predict_proba(world.unseen))
    assert again.explain(world.unseen[:3]) == model.explain(world.unseen[:3])


def test_equal_models_are_equal_bytes(world: World, tmp_path: Path, model) -> None:
    model.save(tmp_path / "a")
    world.fitted().save(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("labels", [[3, -1, 7, 0], [True, False, True, False], list("äbcd")])
def test_labels_come_back_with_their_type(world: World, tmp_path: Path, labels: list) -> None:
    named = dict(zip(sorted(set(world.y)), labels, strict=True))
    y = np.array([named[label] for label in world.y])
    model = InformationPursuitClassifier(world.texts, world.embeddings, 6).fit(world.X, y)
    model.save(tmp_path)
    again = infopursuit.load(tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert np.array_equal(again.predict(world.unseen), model.predict(world.unseen))


def test_a_table_comes_back_with_its_columns(tmp_path: Path) -> None:
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    model = InformationPursuitClassifier(n_queries=10).fit(iris.data, iris.target)
    model.save(tmp_path)
    again = infopursuit.load(tmp_path)
    assert list(again.feature_names_in_) == list(iris.data.columns)
    assert np.array_equal(again.predict_proba(iris.data), model.predict_proba(iris.data))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(pd.DataFrame(iris.data.to_numpy(), columns=list("abcd")))


def edited(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        description = json.loads((folder / DESCRIPTION).read_text())
        change(description)
        (folder / DESCRIPTION).write_text(json.dumps(description))

    return edit


def reweighed(change: Callable[[dict], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        change(weights)
        save_file(weights, folder / WEIGHTS)

    return edit


def truncate(name: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return edit


MALFORMED: dict[str, tuple[Callable[[Path], object], str]] = {
    "no description": (lambda f: (f / DESCRIPTION).unlink(), "no trained model"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "no trained model"),
    "half a description": (truncate(DESCRIPTION), "not valid JSON"),
    "half the weights": (truncate(WEIGHTS), "not a readable"),
    "empty weights": (lambda f: (f / WEIGHTS).write_bytes(b""), "not a readable"),
    "latin-1": (lambda f: (f / DESCRIPTION).write_bytes(b'{"\xe4": 1}'), "not a readable"),
    "a list": (lambda f: (f / DESCRIPTION).write_text("[]"), "format None"),
    "an early format": (edited(lambda d: d.update(format=3)), "format 3; expected 4.*train"),
    "a text as format": (edited(lambda d: d.update(format="4")), "format '4'; expected 4$"),
    "a newer format": (
        edited(lambda d: d.update(format=5, requires="infopursuit>=0.7")),
        "format 5; expected 4. A newer version .*: pip install 'infopursuit>=0.7'$",
    ),
    "a newer format with a command": (
        edited(lambda d: d.update(format=5, requires="infopursuit>=1' evil; rm -r '")),
        "pip install --upgrade infopursuit$",
    ),
    "another estimator": (edited(lambda d: d.update(estimator="os.system")), "not known"),
    "another rule": (edited(lambda d: d.update(rule="guess")), "not known"),
    "no classes": (edited(lambda d: d.pop("classes")), "KeyError"),
    "too few classes": (edited(lambda d: d["classes"]["values"].pop()), "ValueError"),
    "too few questions": (edited(lambda d: d["queries"].pop()), "ValueError"),
    "a question that is none": (edited(lambda d: d["queries"].__setitem__(0, 3)), "no text"),
    "an unknown setting": (edited(lambda d: d["settings"].update(depth=3)), "TypeError"),
    "settings are a list": (edited(lambda d: d.update(settings=[1])), "TypeError"),
    "a bad stop": (edited(lambda d: d["settings"].update(stop={"probability": 2})), "stop at"),
    "the first of none": (edited(lambda d: d.update(first=99)), "first question 99"),
    "another width": (edited(lambda d: d.update(width=47)), "expected .*6, 47"),
    "a width beyond measure": (edited(lambda d: d.update(width=10**30)), "do not fit"),
    "the clip is a name": (edited(lambda d: d.update(clip="RN50")), "TypeError"),
    "a tensor less": (reweighed(lambda w: w.pop("classifier.log_prior")), "no tensor"),
    "a strange tensor": (reweighed(lambda w: w.update(x=np.zeros(1))), "KeyError"),
    "directions of another width": (
        reweighed(lambda w: w.update({"rule.directions": np.zeros((6, 47), np.float32)})),
        "do not fit",
    ),
    "a threshold less": (
        reweighed(lambda w: w.update({"rule.thresholds": np.zeros(5, np.float32)})),
        "do not fit",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_folder_is_told(model, tmp_path: Path, name: str) -> None:
    spoil, message = MALFORMED[name]
    model.save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(InputError, match=message) as raised:
        infopursuit.load(tmp_path)
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; expected one with"):
        infopursuit.load(tmp_path / "nothing")


class _Trap:
    def __reduce__(self) -> tuple:
        return exec, ("import pathlib; pathlib.Path('trapped').touch()",)


@pytest.mark.parametrize("name", FILES)
def test_a_model_from_a_stranger_runs_no_code(
    model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    trap = pickle.dumps(_Trap())
    pickle.loads(trap)  # it would work
    Path("trapped").unlink()
    model.save("model")
    Path("model", name).write_bytes(trap)
    with pytest.raises(InputError):
        infopursuit.load("model")
    assert not Path("trapped").exists()


def test_a_failed_save_leaves_what_was_there(model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="the model cannot be written there"):
        model.save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "folder" / WEIGHTS).mkdir(parents=True)
    with pytest.raises(InputError, match="is a folder; expected a file"):
        model.save(tmp_path / "folder")
    assert [file.name for file in (tmp_path / "folder").iterdir()] == [WEIGHTS]


def test_a_full_disk_leaves_the_model_before(model, world, tmp_path: Path, monkeypatch) -> None:
    model.save(tmp_path)
    before = contents(tmp_path)
    written = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        written(path, content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="cannot be written, the disk is full"):
        world.fitted(n_queries=2).save(tmp_path)
    monkeypatch.undo()
    assert contents(tmp_path) == before


def test_what_cannot_be_saved_is_told(world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the setting RandomState"):
        world.fitted(random_state=np.random.RandomState(0)).save(tmp_path / "new")
    assert not (tmp_path / "new").exists()
