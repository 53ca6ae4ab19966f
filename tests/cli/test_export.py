"""`infopursuit export`: the forms of images, and the page that comes out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infopursuit
from infopursuit.estimators.base import rows_of
from infopursuit.explorer import payload
from infopursuit.pursuit.stopping import StoppingRule
from tests.estimators.conftest import World
from tests.explorer.made_up import payload_of, read_floats
from tests.planted import PHOTO_TEXTS, write_folder


@pytest.fixture
def export(run: Callable, colors: Path, home: Path) -> Callable:
    """Exports images with the model of colors: exit status, what is logged, the payload."""

    def command(
        *images: object, model: Path = colors / "model"
    ) -> tuple[int, str, payload.Payload]:
        given = [part for each in images for part in ("--images", each)]
        status, _, log = run("export", "--model", model, *given, "page.html")
        return status, log, payload_of((home / "page.html").read_text(encoding="utf-8"))

    return command


@pytest.fixture
def home(colors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, next to the model and its pictures."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_of_classes_becomes_a_page(export: Callable, colors: Path, home: Path) -> None:
    status, log, found = export(colors / "photos")
    assert status == 0
    assert "page.html: 12 test images and 0 training images with" in log
    model = infopursuit.load(colors / "model")
    shown = found.model
    assert (found.title, found.served, shown.sees) == ("model", False, False)
    assert tuple(shown.queries) == model.queries_
    assert shown.stop.probability == 0.95
    ids = [each.id for each in found.images.test]
    assert ids[:4] == ["blue/0.png", "green/0.png", "red/0.png", "blue/1.png"]
    files = sorted((colors / "photos").rglob("*.png"))  # in one batch, as they were embedded
    answers = dict(zip(files, model.answer([str(file) for file in files]), strict=True))
    assert shown.answers is None
    for each in found.images.test:
        assert each.thumbnail is not None
        assert each.label is not None
        assert shown.classes[each.label] == each.id.split("/")[0]
        (answered,) = read_floats(each.answers, 1, len(shown.queries))
        assert answered.tolist() == answers[colors / "photos" / each.id].tolist()
    first = (home / "page.html").read_bytes()
    export(colors / "photos")
    assert (home / "page.html").read_bytes() == first


def test_a_key_shows_the_surest_training_picture_of_each_class(
    run: Callable, colors: Path, home: Path
) -> None:
    for split, count, first in (("train", 4, 20), ("test", 2, 40)):
        write_folder(home / "photos" / split, count, first)
    command = ["export", "--key", "--model", colors / "model", "--images", "photos", "key.html"]
    assert run(*command)[0] == 0
    found = payload_of((home / "key.html").read_text(encoding="utf-8"))
    assert (found.key, found.images.train, found.images.scored.labels) == (True, [], "")
    model = infopursuit.load(colors / "model")
    assert found.model.queries == list(model.queries_)
    # All pictures in one batch, and of each class the one with the largest probability.
    files = sorted((home / "photos" / "train").rglob("*.png"))
    posterior = model.predict_proba(
        [str(file) for file in files], StoppingRule(None, stability=None)
    )
    expected = {}
    for label, name in enumerate(model.classes_):
        rows = [row for row, file in enumerate(files) if file.parent.name == name]
        expected[name] = max(posterior[row, label] for row in rows)
    assert len(found.images.test) == len(model.classes_)
    for shown in found.images.test:
        assert shown.label is not None
        assert shown.thumbnail is not None
        name, row = model.classes_[shown.label], files.index(home / "photos" / shown.id)
        assert shown.id.startswith(f"train/{name}/")
        assert posterior[row, shown.label] == pytest.approx(expected[name], abs=1e-5)


def test_training_images_are_no_test_images(
    run: Callable, home: Path, tiny_clip: Path, world: World
) -> None:
    write_folder(home / "photos", 5)
    Path("texts.txt").write_text("\n".join(PHOTO_TEXTS))
    fit = "fit", "photos", "--texts", "texts.txt", "--clip", tiny_clip, "--queries", 4, "--out"
    log = run(*fit, "model")[2]
    assert "12 images, 3 classes" in log
    assert "accuracy on 3 test images" in log
    run(*fit, "all", "--test-fraction", 0)
    np.savez("texts.npz", texts=world.texts, embeddings=world.embeddings)
    np.savez("old.npz", embeddings=world.X, labels=world.y)
    np.savez("new.npz", embeddings=world.unseen, labels=world.unseen_y)
    run("fit", "old.npz", "--texts", "texts.npz", "--out", "rows")
    for model, images, tested, trained in [
        ("model", "photos", 3, 12), ("all", "photos", 0, 15),
        ("rows", "old.npz", 0, 100), ("rows", "new.npz", 200, 0),
    ]:  # fmt: skip
        status, _, log = run("export", "--model", model, "--images", images, "page.html")
        found = payload_of((home / "page.html").read_text(encoding="utf-8")).images
        assert (status, len(found.test), len(found.train)) == (0, tested, trained)
        assert (f"{images}: the model was trained on " in log) == (trained > 0)
        assert ("the page has no accuracy" in log) == (tested == 0)


def test_images_without_classes_and_without_images(export: Callable, colors: Path) -> None:
    found = export(f"{colors}/photos/red/*.png")[2]
    assert [each.label for each in found.images.test] == [None] * 4
    found = export(colors / "photos/red")[2]
    assert [each.id for each in found.images.test] == ["0.png", "1.png", "2.png", "3.png"]
    status, _, found = export()
    assert (status, found.images.test) == (0, [])


def test_a_table_brings_pixels_embeddings_or_both(export: Callable, colors: Path) -> None:
    files = sorted((colors / "photos").rglob("*.png"))
    model = infopursuit.load(colors / "model")
    rows = rows_of(model, [str(file) for file in files]).tensor().numpy()
    columns = {
        "id": [file.stem + file.parent.name for file in files],
        "split": ["train", "test"] * 6,
        "class_name": [file.parent.name.upper() for file in files],
        "image": [file.read_bytes() for file in files],
        "embedding": list(rows),
    }
    pages = {}
    for left_out in ("", "image", "embedding"):
        table = pa.table({name: each for name, each in columns.items() if name != left_out})
        pq.write_table(table, "images.parquet", row_group_size=5)
        status, log, found = export("images.parquet")
        assert (status, "6 test images and 6 training" in log) == (0, True)
        pages[left_out] = found.images
    assert pages[""] == pages["embedding"]  # the CLIP gives the same
    assert [each.answers for each in pages["image"].test] == [
        each.answers for each in pages[""].test
    ]
    assert {each.thumbnail for each in pages["image"].test} == {None}


def test_a_mistake_is_reported_in_one_line(run: Callable, colors: Path, home: Path) -> None:
    def table(metadata: dict | None = None, **columns: object) -> str:
        given = pa.table(columns).replace_schema_metadata(metadata)
        pq.write_table(given, "images.parquet")
        return "images.parquet"

    def folder(name: str, picture: str) -> str:
        Path(name, picture).parent.mkdir(parents=True)
        Path(name, picture).write_bytes((colors / "photos/red/0.png").read_bytes())
        return name

    sixteen = [[1.0] * 16]
    for write, word in [
        (lambda: "none", "none"),
        (lambda: folder("photos", "pink/0.png"), "pink"),
        (lambda: folder("split", "test/red/0.png"), "train"),
        (lambda: table(id=["a"]), "embedding"),
        (lambda: table(embedding=[["a"]]), "floats"),
        (lambda: table(image=[b"x"], split=["junk"]), "junk"),
        (lambda: table(embedding=[[1.0, 0.0]]), "CLIP"),
        (lambda: table(embedding=sixteen, label=[7]), "7"),
        (lambda: table({"clip": "another"}, embedding=sixteen), "another"),
    ]:
        given = "export", "--model", colors / "model", "--images", write(), "page.html"
        status, _, log = run(*given)
        assert (status, word in log) == (1, True), log
        assert not (home / "page.html").exists()
    status, _, log = run("export", "--model", colors / "model", "photos")
    assert (status, "PAGE photos" in log) == (1, True)
