"""Pictures in the forms that people have: the hub's Parquet, WebDataset's tars, folders of both."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.errors import InputError
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source
from infopursuit.datasets.packed_pictures import is_packed, read_packed
from infopursuit.estimators.pictures import labelled_pictures
from tests.datasets.images import encoded

CLASSES = ["cat", "giant_panda", "zebra"]
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def hub_parquet(
    path: Path, count: int = 12, first: int = 0, names: Sequence[str] = CLASSES, **more: Any
) -> Path:
    """Write a Parquet file as the library `datasets` does; picture i is of class i % 3."""
    rows = range(first, first + count)
    columns = {
        "img": pa.array([{"bytes": encoded(row), "path": f"{row}.png"} for row in rows], STRUCT),
        "label": pa.array([row % 3 for row in rows], pa.int64()),
        **more,
    }
    named = {
        name: {"names": list(names), "_type": "ClassLabel"} for name in columns if name != "img"
    }
    features = {"img": {"_type": "Image"}, **named}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path, row_group_size=5)
    return path


def tar(path: Path, count: int = 12, first: int = 0, kind: str = "cls", label: Any = None) -> Path:
    """Write a tar of WebDataset; picture i is of class i % 3, which `label` writes."""
    label = label or (lambda row: str(row % 3))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as file:
        for row in range(first, first + count):
            for name, content in ((f"{row:03}.png", encoded(row)),
                                  (f"{row:03}.{kind}", label(row).encode())):  # fmt: skip
                member = tarfile.TarInfo(f"shard/{name}")
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    return path


def parquet_folder(home: Path) -> Path:
    hub_parquet(home / "data/train-00000-of-00002.parquet", 6)
    hub_parquet(home / "data/train-00001-of-00002.parquet", 3, 6)
    hub_parquet(home / "data/test-00000-of-00001.parquet", 3, 9)
    (home / "README.md").write_text("# animals\n")
    return home


def tar_folder(home: Path) -> Path:
    (home / "train").mkdir(parents=True)
    (home / "classnames.txt").write_text("\n".join(CLASSES))
    tar(home / "train/00000.tar", 6)
    tar(home / "train/00001.tar", 3, 6)
    tar(home / "test/00000.tar", 3, 9)
    return home


def named_json(row: int) -> str:
    return json.dumps({"id": row, "class_name": CLASSES[row % 3]})


FORMS: dict[str, Callable[[Path], Path]] = {
    "Parquet": lambda home: hub_parquet(home / "animals.parquet"),
    "folder of Parquet": parquet_folder,
    "numbers": lambda home: tar_folder(home) and tar(home / "animals.tar"),
    "JSON": lambda home: tar(home / "animals.tar", kind="json", label=named_json),
    "text": lambda home: tar(home / "animals.tar", kind="txt", label=lambda row: CLASSES[row % 3]),
    "folder of tars": tar_folder,
}


def of_source(source: ImageSource) -> dict[bytes, tuple[str, str]]:
    columns = [source.rows.column(name).to_pylist() for name in ("class_name", "split")]
    return dict(zip(list(source.images(0)), zip(*columns, strict=True), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_fit_and_pipeline_read_one_thing(form: str, tmp_path: Path) -> None:
    path = FORMS[form](tmp_path / "animals")
    assert is_packed(path)
    source = open_image_source(path, [name.replace("_", " ") for name in CLASSES])
    found = of_source(source)
    folder = form.startswith("folder")
    assert {image: name for image, (name, _) in found.items()} == {
        encoded(row): CLASSES[row % 3].replace("_", " ") for row in range(12)
    }
    assert [*source.images(7)] == [*source.images(0)][7:]
    train, test = labelled_pictures(path)
    assert test is not None
    assert len(test) == 3
    of_fit = {
        image: split
        for given, split in ((train, "train"), (test, "test"))
        for image in given.some_pictures()
    }
    assert of_fit == {image: split for image, (_, split) in found.items()}
    assert sorted(set(train.classes)) == CLASSES
    if folder:
        assert set(test.some_pictures()) == {encoded(row) for row in (9, 10, 11)}
    stamp = source.stamp
    for file in [path, *path.rglob("*")]:
        file.touch()
    assert open_image_source(path, CLASSES).stamp != stamp


def test_one_file_of_a_split_alone_has_none(tmp_path: Path) -> None:
    given = read_packed(hub_parquet(tmp_path / "test-00000-of-00001.parquet"))
    assert given.splits is None
    assert given.some_pictures([11, 0]) == [encoded(11), encoded(0)]


def test_pictures_without_a_class_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    label = pa.array([-1, *([0, 1] * 5), None], pa.int64())
    train, _ = labelled_pictures(hub_parquet(tmp_path / "a.parquet", label=label), test_fraction=0)
    assert len(train) == 10
    assert "a.parquet: 2 of 12 have no class, left out" in caplog.text


def broken(path: Path) -> Path:
    path.write_bytes(tar(path).read_bytes()[:700] + b"junk" * 500)
    return path


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (lambda home: tar(home / "a.tar", kind="txt", label=lambda row: f"A cat, {row}."), "12"),
        (lambda home: tar(home / "a.tar", kind="json", label=lambda _: "{"), "JSON"),
        (lambda home: tar(home / "a.tar", kind="json", label=lambda _: "[" * 10**5), "JSON"),
        (lambda home: tar(home / "a.tar", label=lambda _: "7" * 2**21), "expected a label"),
        (lambda home: tar(home / "a.tar", kind="jpg"), "png and jpg"),
        (lambda home: tar(home / "a.tar", kind="xml"), "no classes"),
        (lambda home: tar(home / "a.tar", 0), "no picture"),
        (lambda home: home / "a.tar", "no such file"),
        (lambda home: broken(home / "a.tar"), "not a readable tar"),
        (lambda home: hub_parquet(parquet_folder(home) / "more/train-1.parquet").parents[1],
         "folders"),
        (lambda home: hub_parquet(parquet_folder(home) / "data/a.parquet").parents[1], "no split"),
        (lambda home: tar(parquet_folder(home) / "a.tar").parent, "tars"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(tmp_path: Path, write: Callable[[Path], Path], word: str) -> None:
    with pytest.raises(InputError, match=word):
        labelled_pictures(write(tmp_path))


def test_the_pipeline_names_a_class_that_is_not_in_the_list(tmp_path: Path) -> None:
    path = hub_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet\[2\] has the class 'zebra'; expected one"):
        open_image_source(path, ["cat", "giant panda", "gnu"])
