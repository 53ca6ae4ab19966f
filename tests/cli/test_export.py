"""`infopursuit export`: the forms of images, and the page that comes out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infopursuit
from infopursuit.estimators.inputs import rows_of
from infopursuit.explorer import payload
from tests.estimators.conftest import World
from tests.estimators.test_pictures import write_folder


def payload_of(page: Path) -> payload.Payload:
    text = page.read_text(encoding="utf-8")
    start = text.index('id="payload">') + len('id="payload">')
    return payload.read(text[start : text.index("</script>", start)])


@pytest.fixture
def there(colors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, beside the model and its pictures."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_of_classes_becomes_a_page(run: Callable, colors: Path, there: Path) -> None:
    status, out, told = run(
        "export", "--model", colors / "model", "--images", colors / "photos", "page.html"
    )
    assert (status, out) == (0, "")
    assert "page.html: 12 test images and 0 training images with" in told
    found = payload_of(there / "page.html")
    model = infopursuit.load(colors / "model")
    (shown,) = found.models
    assert (found.title, found.served, shown.sees) == ("model", False, False)
    assert tuple(shown.queries) == model.queries_
    assert shown.stop.probability == 0.95
    ids = [each.id for each in found.images.test]
    assert ids[:4] == ["blue/0.png", "green/0.png", "red/0.png", "blue/1.png"]
    files = sorted((colors / "photos").rglob("*.png"))  # in one batch, as they were embedded
    answers = dict(zip(files, model.answer([str(file) for file in files]), strict=True))
    assert shown.answers == 3
    for each in found.images.test:
        assert each.thumbnail is not None
        assert each.label is not None
        assert shown.classes[each.label] == each.id.split("/")[0]
        levels = payload.read_levels(each.answers[0], len(shown.queries))[0]
        assert (levels.astype(int) - 1).tolist() == answers[colors / "photos" / each.id].tolist()
    again = there / "again.html"
    run("export", "--model", colors / "model", "--images", colors / "photos", again)
    assert again.read_bytes() == (there / "page.html").read_bytes()


def test_splits_of_a_folder_are_kept(run: Callable, colors: Path, there: Path) -> None:
    for split, count in (("train", 3), ("test", 2)):
        write_folder(there / "photos" / split, count)
    run("export", "--model", colors / "model", "--images", "photos", "--title", "T", "page.html")
    found = payload_of(there / "page.html")
    assert (found.title, len(found.images.test), len(found.images.train)) == ("T", 6, 9)
    assert all(each.id.startswith("train/") for each in found.images.train)


def test_images_without_classes_and_without_images(
    run: Callable, colors: Path, there: Path
) -> None:
    pattern = f"{colors}/photos/red/*.png"
    run("export", "--model", colors / "model", "--images", pattern, "page.html")
    assert [each.label for each in payload_of(there / "page.html").images.test] == [None] * 4
    red = colors / "photos/red"
    run("export", "--model", colors / "model", "--images", red, "page.html")
    ids = [each.id for each in payload_of(there / "page.html").images.test]
    assert ids == ["0.png", "1.png", "2.png", "3.png"]
    status, _, _ = run("export", "--model", colors / "model", "page.html")
    assert status == 0
    assert payload_of(there / "page.html").images.test == []


def test_unreadable_pictures_are_listed_and_left_out(
    run: Callable, colors: Path, there: Path
) -> None:
    write_folder(there / "photos", 2)
    (there / "photos/red/9.png").write_text("no picture")
    status, _, told = run("export", "--model", colors / "model", "--images", "photos", "page.html")
    assert status == 1
    assert "left out: red/9.png: not an image of a known format" in told
    assert len(payload_of(there / "page.html").images.test) == 6


def test_a_table_brings_pixels_embeddings_or_both(run: Callable, colors: Path, there: Path) -> None:
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
        status, _, told = run(
            "export", "--model", colors / "model", "--images", "images.parquet", "page.html"
        )
        assert (status, "6 test images and 6 training" in told) == (0, True)
        pages[left_out] = payload_of(there / "page.html").images
    assert pages[""] == pages["embedding"]  # the CLIP gives the same
    assert [each.answers for each in pages["image"].test] == [
        each.answers for each in pages[""].test
    ]
    assert {each.thumbnail for each in pages["image"].test} == {None}


def test_embeddings_alone_have_no_pictures(run: Callable, world: World, there: Path) -> None:
    world.fitted().save("m")
    np.savez("rows.npz", embeddings=world.unseen, labels=world.unseen_y)
    np.save("rows.npy", world.unseen[:5])
    run("export", "--model", "m", "--images", "rows.npz", "page.html")
    found = payload_of(there / "page.html").images
    assert len(found.test) + len(payload.read_labels(found.scored.labels)) == 200
    run("export", "--model", "m", "--images", "rows.npz", "--images", "rows.npy", "page.html")
    again = payload_of(there / "page.html").images
    assert len(again.test) + len(payload.read_labels(again.scored.labels)) == 205


def test_several_sources_are_one_gallery(run: Callable, colors: Path, there: Path) -> None:
    given = [part for each in ("red", "blue") for part in ("--images", colors / "photos" / each)]
    run("export", "--model", colors / "model", *given, "page.html")
    assert len(payload_of(there / "page.html").images.test) == 8


def test_bad_folders_are_told(run: Callable, colors: Path, there: Path) -> None:
    def log(images: str) -> str:
        arguments = ("export", "--model", colors / "model", "--images", images, "page.html")
        status, _, told = run(*arguments)
        assert status == 1
        assert not (there / "page.html").exists()
        return told

    assert "none: no test image that can be read: none: missing" in log("none")
    Path("photos").mkdir()
    assert "photos: no image there" in log("photos")
    Path("photos/pink").mkdir()
    assert "pink: the folder of a class is empty" in log("photos")
    Path("photos/pink/0.png").write_bytes((colors / "photos/red/0.png").read_bytes())
    assert "no class 'pink'; expected one of blue, green, red" in log("photos")
    write_folder(Path("split/train"), 1)
    assert "none called 'test'" in log("split")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"id": ["a"]}, "no column 'image' or 'embedding'; found id"),
        ({"embedding": [["a"]]}, "expected lists of floats"),
        ({"image": [b"x"], "split": ["dev"]}, "the split 'dev'"),
        ({"embedding": [[1.0, 0.0]]}, "expected the same CLIP for both"),
        ({"embedding": [[1.0] * 16], "label": [7]}, "no class 7"),
    ],
)
def test_bad_tables_are_told(
    run: Callable, colors: Path, there: Path, columns: dict, told: str
) -> None:
    pq.write_table(pa.table(columns), "images.parquet")
    status, _, log = run(
        "export", "--model", colors / "model", "--images", "images.parquet", "page.html"
    )
    assert status == 1
    assert told in log
    assert not (there / "page.html").exists()


def test_a_damaged_table_and_embeddings_of_another_clip_are_told(
    run: Callable, colors: Path, there: Path
) -> None:
    Path("images.parquet").write_bytes(b"PAR1 no")
    arguments = ("export", "--model", colors / "model", "--images", "images.parquet", "page.html")
    assert "not a readable Parquet file" in run(*arguments)[2]
    table = pa.table({"embedding": [[1.0] * 16]}).replace_schema_metadata({"clip": "another"})
    pq.write_table(table, "images.parquet")
    assert "embedded by another; the model was fitted with" in run(*arguments)[2]


def test_a_model_that_is_damaged_or_empty_is_told(
    run: Callable, colors: Path, world: World, there: Path
) -> None:
    world.fitted().save("m")
    Path("m/weights.safetensors").write_bytes(b"\0" * 20)
    status, _, log = run("export", "--model", "m", "page.html")
    assert status == 1
    assert "weights.safetensors: not a readable file of tensors" in log
    world.fitted().save("m")
    content = json.loads(Path("m/model.json").read_text())
    Path("m/model.json").write_text(json.dumps(content | {"queries": []}))
    status, _, log = run("export", "--model", "m", "page.html")
    assert status == 1
    assert "do not fit each other" in log
    status, _, log = run("export", "--model", "none", "page.html")
    assert "none: no such folder" in log
    assert not (there / "page.html").exists()


def test_names_of_files_stay_names(run: Callable, colors: Path, there: Path) -> None:
    given = (colors / "photos/red/0.png").read_bytes()
    Path("photos").mkdir()
    names = [
        b"<script>alert(1)<\\script>.png",
        b"\xff no UTF-8.png",
        "\u202eright to left.png".encode(),
    ]
    for name in names:
        Path("photos", os.fsdecode(name)).write_bytes(given)
    status, _, _ = run("export", "--model", colors / "model", "--images", "photos", "page.html")
    assert status == 0
    assert {each.id for each in payload_of(there / "page.html").images.test} == {
        "<script>alert(1)<\\script>.png",
        "\ufffd no UTF-8.png",
        "\u202eright to left.png",
    }
    assert "<script>alert" not in (there / "page.html").read_text(encoding="utf-8")


def test_pictures_in_a_notebook_are_as_those_of_the_command(
    run: Callable, colors: Path, there: Path
) -> None:
    run("export", "--model", colors / "model", "--images", colors / "photos", "page.html")
    exported = {each.id: each for each in payload_of(there / "page.html").images.test}
    files = sorted((colors / "photos").rglob("*.png"))
    model = infopursuit.load(colors / "model")
    model.explore(files, [file.parent.name for file in files]).save(there / "explored.html")
    explored = payload_of(there / "explored.html").images.test
    assert len(explored) == len(exported) == 12
    for each in explored:
        same = exported["/".join(Path(each.id).parts[-2:])]
        assert (each.label, each.thumbnail, each.answers) == (
            same.label, same.thumbnail, same.answers,
        )  # fmt: skip


def test_a_page_that_cannot_be_written_is_told(run: Callable, colors: Path, there: Path) -> None:
    Path("folder").mkdir()
    status, _, log = run("export", "--model", colors / "model", "folder")
    assert status == 1
    assert "folder: a folder; expected the name of the page" in log
    status, _, log = run("export", "--model", colors / "model", "missing/page.html")
    assert status == 1
    assert "missing/page.html: cannot be written" in log
