"""A model as a folder: there and back, and ways in which a folder can be wrong."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.persistence import DESCRIPTION, WEIGHTS
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.knowledge import KnowledgeTable
from tests.estimators.conftest import World

pytestmark = pytest.mark.filterwarnings("ignore:the classes .* differ in case or blanks")

FILES = (DESCRIPTION, WEIGHTS)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"first_query": "nothing 1", "stop": StoppingRule(0.7, 4, None, 2)},
        {"ban": ["legs"], "random_state": np.int64(3)},
    ],
    ids=["plain", "first query and stop", "ban"],
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
    pickled = pickle.loads(pickle.dumps(model))
    assert np.array_equal(pickled.predict_proba(world.unseen), model.predict_proba(world.unseen))
    pickled.save(tmp_path / "c")
    world.fitted(**settings).save(tmp_path / "d")
    assert contents(tmp_path / "c") == contents(tmp_path / "d") == contents(tmp_path / "a")


def texts_of(kind: str) -> Callable[[list[str]], object]:
    return lambda names: np.array(names, dtype=kind)


# Labels as people have them, made of distinct texts: one each.
LABELS: dict[str, Callable[[list[str]], object]] = {
    "U": texts_of("U"),
    "a wide U": texts_of("U40"),
    "a big-endian U": texts_of(">U9"),
    "objects": texts_of("O"),
    "StringDType": lambda names: np.array(names, dtype=np.dtypes.StringDType()),
    "bytes": lambda names: np.array([name.encode("utf-8", "replace") for name in names]),
    "a Series": pd.Series,
    "a categorical": lambda names: pd.Series(names, dtype="category"),
    "strings of pandas": lambda names: pd.Series(names, dtype="string"),
    "with None": lambda names: [None, *names[1:]],
    "with NaN": lambda names: [float("nan"), *range(1, len(names))],
    "mixed": lambda names: np.array([0, *names[1:]], dtype=object),
    "bool": lambda names: np.arange(len(names)) > 0,
    "Int64 of pandas": lambda names: pd.Series(range(len(names)), dtype="Int64"),
    "large integers": lambda names: np.uint64(2**64 - 1) - np.arange(len(names), dtype=np.uint64),
    "halves": lambda names: np.arange(len(names)) + 0.5,
    "dates": lambda names: np.arange(len(names)).astype("M8[D]"),
    **{
        kind: lambda names, kind=kind: np.arange(len(names)).astype(kind)
        for kind in ("i1", ">i4", "u2", "f2", ">f8", "g", "c8")
    },
}
NAMES = st.lists(
    st.text(max_size=6)
    | st.sampled_from(["", " ", "a\0", "r\udce9d", "\U0001f600", "é" * 9, "x\n"]),
    min_size=2,
    max_size=4,
    unique=True,
)
SEEDS = st.integers(-1, 2**70) | st.sampled_from(
    [np.uint8(3), np.int64(2**40), True, None, 1.5, "1", float("nan")]
)


@hypothesis_settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(LABELS)), NAMES, st.just(0) | SEEDS)
def test_what_fit_takes_comes_back_or_is_refused_at_once(
    world: World, tmp_path: Path, kind: str, names: list[str], seed: object
) -> None:
    if kind not in ("U", "a wide U", "a big-endian U", "objects"):  # these refuse halves of pairs
        names = [str(row) if "\udce9" in name else name for row, name in enumerate(names)]
    of_each, rows = LABELS[kind](names), np.arange(len(world.X)) % len(names)
    labels = of_each.iloc[rows] if isinstance(of_each, pd.Series) else np.asarray(of_each)[rows]
    model = world.unfitted(n_queries=3, random_state=seed)
    try:
        model.fit(world.X, labels)
    except InputError as refused:
        assert len(str(refused).splitlines()) == 1
        assert kind not in ("U", "a wide U", "i1", "u2") or "r\udce9d" in names or seed != 0
        return
    model.save(tmp_path)
    again = infopursuit.load(tmp_path, device="cpu")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.get_params()["random_state"] == model.random_state
    assert again.predict(world.unseen[:9]).tolist() == model.predict(world.unseen[:9]).tolist()


# Names that CSV files lose easily: classes, and texts that differ in spelling.
CLASS_NAMES = ["cat", "cat ", " cat", "a\rb", "a\r\nb", "a\u2028", "=1+1", 'the "cat"']
TEXT_NAMES = [" a b", "c\rd", "e\r\nf", "g\u2028", '"h"', "i,j;k\tl", "m" * 140_000]


def informed(
    world: World, value: float = 1, classes: Sequence[str] = CLASS_NAMES, **settings: object
) -> InformationPursuitClassifier:
    """A fitted model with a table of what is known of classes and texts of odd names."""
    values = np.zeros((len(classes), len(TEXT_NAMES)), np.float32)
    np.fill_diagonal(values, value)
    values[0, 2] = np.nan
    given = {
        "texts": [*TEXT_NAMES, *world.texts[:3]],
        "text_embeddings": world.embeddings[: len(TEXT_NAMES) + 3],
        "knowledge": KnowledgeTable(tuple(classes), tuple(TEXT_NAMES), values),
        "n_queries": 4,
    }
    labels = np.array(classes)[np.arange(len(world.X)) % len(classes)]
    return world.unfitted(**{**given, **settings}).fit(world.X, labels)


def test_what_is_known_comes_back_equal_whatever_its_names(world: World, tmp_path: Path) -> None:
    model = informed(world)
    model.save(tmp_path)
    again, table = infopursuit.load(tmp_path).knowledge_, model.knowledge_
    assert again is not None and table is not None
    assert set(table.classes) == set(CLASS_NAMES)
    assert set(TEXT_NAMES) <= set(table.texts)
    assert (again.classes, again.texts) == (table.classes, table.texts)
    np.testing.assert_array_equal(again.values, table.values)
    world.fitted().save(tmp_path)
    assert set(contents(tmp_path)) == set(FILES), "no table of the model before"


def test_a_name_that_would_not_come_back_is_refused_by_save(world: World, tmp_path: Path) -> None:
    model = informed(world, classes=["", *CLASS_NAMES[1:]])
    with pytest.raises(InputError, match=r"knowledge\.csv: .*expected another"):
        model.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_file_of_another_save_or_a_cut_one_is_refused(world: World, tmp_path: Path) -> None:
    informed(world).save(tmp_path)
    kept = contents(tmp_path)
    assert set(kept) == {*FILES, "knowledge.csv"}
    for name in sorted(kept.keys() - {DESCRIPTION}):
        for content in (kept[name][:-2], kept[name] + b"\n", None):
            (tmp_path / name).unlink()
            if content is not None:
                (tmp_path / name).write_bytes(content)
            found = "it is missing" if content is None else "another SHA-256"
            expected = rf"{re.escape(name)}: not the file that .*\({found}\)|no trained model"
            with pytest.raises(InputError, match=expected):
                infopursuit.load(tmp_path)
        (tmp_path / name).write_bytes(kept[name])
    infopursuit.load(tmp_path)


@pytest.mark.parametrize("renames", [1, 2])
def test_a_save_that_is_killed_between_renames_leaves_the_model_before(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    before = informed(world)
    before.save(tmp_path)
    later, left, replace = informed(world, 0.5, ban=["e"]), renames, Path.replace

    def killed(path: Path, target: Path) -> Path:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return replace(path, target)

    for _ in range(2):  # again after a save that was killed
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, "replace", killed)
            later.save(tmp_path)
        there = infopursuit.load(tmp_path)
        assert there.queries_ == before.queries_ != later.queries_
        np.testing.assert_array_equal(there.knowledge_.values, before.knowledge_.values)
    later.save(tmp_path)
    assert infopursuit.load(tmp_path).queries_ == later.queries_
    assert set(contents(tmp_path)) == {*FILES, "knowledge.csv"}


def edited(**changes: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        description = json.loads((folder / DESCRIPTION).read_text())
        (folder / DESCRIPTION).write_text(json.dumps(description | changes))

    return edit


def weighed(name: str, change: Callable[[np.ndarray], object]) -> Callable[[Path], None]:
    """Change a tensor and the checksum that the description has of it."""

    def edit(folder: Path) -> None:
        weights = {key: value.copy() for key, value in load_file(folder / WEIGHTS).items()}
        changed = change(weights.get(name))
        weights |= {} if changed is None else {name: changed}
        save_file(weights, folder / WEIGHTS)
        sha256 = json.loads((folder / DESCRIPTION).read_text())["sha256"]
        digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
        edited(sha256={**sha256, WEIGHTS: digest})(folder)

    return edit


def first_is(value: float) -> Callable[[np.ndarray], object]:
    return lambda rows: rows.__setitem__(0, value)


def huge(name: str) -> Callable[[Path], None]:
    """Make a file large, of which the disk holds nothing."""
    return lambda folder: os.truncate(folder / name, 2 * 10**11)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (edited(format=6), "format 6"),
        (edited(format="6"), "'6'"),
        (edited(format=8, requires="infopursuit>=0.7"), "'infopursuit>=0.7'"),
        (edited(format=8, requires="infopursuit>=1' evil; rm -r '"), "install --upgrade infopurs"),
        (edited(width=10**5), "rule.directions"),
        (edited(width=10**30), "width"),
        (edited(width=2**31 - 1), "width"),
        (edited(columns=["a"] * 3), "columns"),
        (edited(words=[["a"]] * 6), "words"),
        (edited(words=[[]] * 6), "words"),
        (edited(provenance={"label": 5}), "label"),
        (edited(provenance={"note": "n" * 10**5}), "note"),
        (weighed("classifier.temperature", lambda _: np.float32([1, 0, 1])), "damaged"),
        (weighed("classifier.covariance", lambda rows: -rows), "no covariance"),
        (edited(queries="abcd"), "queries"),
        (edited(queries=["a", "b", "c", "a", "d", "e"]), "twice"),
        (edited(first=99), "99"),
        *((edited(**{part: "guess"}), "guess") for part in ("rule", "querier", "classifier")),
        (edited(settings=[1]), "settings"),
        (huge(DESCRIPTION), "200,000 MB"),
        (huge(WEIGHTS), "200,000 MB"),
        (weighed("classifier.means", first_is(np.nan)), "NaN"),
        (weighed("classifier.log_prior", lambda rows: rows[:-1]), "shape"),
        (weighed("classifier.word_variances", first_is(-1)), "word_variances"),
        (weighed("rule.scale", np.zeros_like), "scale"),
        (weighed("conformity.covariance", first_is(np.nan)), "NaN"),
        (weighed("conformity.covariance", np.ones_like), "no covariance"),
        (weighed("classifier.covariance", lambda rows: rows.__setitem__((0, 1), 9)), "no covar"),
        (weighed("conformity.held_out", first_is(200)), "expected 0 to"),
        (weighed("other.numbers", lambda _: np.ones(1)), "tensor other.numbers"),
    ],
)
def test_a_malformed_folder_is_refused(
    model, tmp_path: Path, spoil: Callable[[Path], object], word: str
) -> None:
    model.save(tmp_path)
    spoil(tmp_path)
    with pytest.raises(InputError) as raised:
        infopursuit.load(tmp_path)
    assert str(tmp_path) in str(raised.value) and word in str(raised.value)
    assert "\n" not in str(raised.value)


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


LIGHT = """
import sys
import numpy as np
from infopursuit.estimators.base import load_fitted

model = load_fitted(sys.argv[1], device="cpu")
model.explain(np.eye(1, model.n_features_in_, dtype=np.float32))
print(*sorted({"sklearn", "scipy", "pandas", "matplotlib", "torchvision"} & sys.modules.keys()))
"""


def test_a_saved_model_explains_without_heavy_imports(model, tmp_path: Path) -> None:
    model.save(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"
