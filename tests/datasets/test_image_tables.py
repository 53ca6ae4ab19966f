"""CSV files of paths, and folders that the library `datasets` saved."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.open_images import open_image_source
from tests.datasets.images import CLASSES, encoded

CSV = "path,label,split\na.png,cat,train\nsub/b.png,Giant_Panda,train\nc.png,2,test\n"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for seed, name in enumerate(["a.png", "sub/b.png", "c.png"]):
        (tmp_path / name).write_bytes(encoded(seed))
    return tmp_path


def test_a_csv_gives_its_files_in_its_order(pictures: Path) -> None:
    path = pictures / "set.csv"
    # As Excel writes it, with a column of its own.
    path.write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", ",x\r\n").encode())
    source = open_image_source(path, CLASSES)
    assert [tuple(row.values()) for row in source.rows.to_pylist()] == [
        ("a.png", "train", 0, "cat"),
        ("sub/b.png", "train", 1, "giant panda"),
        ("c.png", "test", 2, "zebra"),
    ]
    assert [to_rgb(image).tobytes() for image in source.images(1)] == [
        to_rgb(encoded(seed)).tobytes() for seed in (1, 2)
    ]
    before = source.stamp
    (pictures / "c.png").unlink()
    source = open_image_source(path, CLASSES)
    assert source.stamp != before
    with pytest.raises(UnreadableError, match="missing"):
        to_rgb(next(source.images(2)))


def test_a_number_is_a_label_only_where_no_class_is_called_that(pictures: Path) -> None:
    (pictures / "set.csv").write_text("path,label,split\na.png,1,train\nc.png,0,test\n")
    source = open_image_source(pictures / "set.csv", ["1", "0"])
    assert source.rows.column("label").to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("split\n", "part\n", "no column 'split'; expected .*path,label,split, found path,label,p"),
        (CSV, "", "no column 'path'; .* found nothing"),
        (",cat,", ",cow,", "line 2: no class 'cow'; expected a class name or a number from 0 to 2"),
        (",2,", ",3,", "line 4: no class '3'"),
        ("cat,train", "cat,val", "line 2: split 'val'; expected 'train' or 'test'"),
        ("cat,train", "cat", "line 2: no split; expected a value"),
        ("a.png", "", "line 2: no path"),
        ("cat,train", "cat,train,x", "line 2: more values than the 3 columns"),
        ("sub/b.png", "a.png", "the id 'a.png' of row 1 is also that of row 0"),
        ("2,test", "2,train", "split 'test' is empty"),
        ("cat", '\x00""x"', "not a readable CSV|no class"),
    ],
)
def test_mistakes_in_a_csv_are_told(pictures: Path, old: str, new: str, message: str) -> None:
    assert old in CSV
    (pictures / "set.csv").write_text(CSV.replace(old, new))
    with pytest.raises(InputError, match=r"set\.csv: .*" + message):
        open_image_source(pictures / "set.csv", CLASSES)


def test_a_csv_in_another_encoding_is_told(pictures: Path) -> None:
    (pictures / "set.csv").write_bytes(CSV.replace("cat", "köter").encode("latin-1"))
    with pytest.raises(InputError, match="not a readable CSV file in UTF-8"):
        open_image_source(pictures / "set.csv", CLASSES)
    with pytest.raises(InputError, match="not a readable CSV file"):
        open_image_source(pictures / "absent.csv", CLASSES)


def save_set(folder: Path, splits: tuple[str, ...] = ("train", "test"), **more: Any) -> Path:
    import datasets

    features = datasets.Features(
        {
            "picture": datasets.Image(),
            "kind": datasets.ClassLabel(names=["cat", "giant_panda", "zebra"]),
            **{name: feature for name, (feature, _) in more.items()},
        }
    )
    rows = {
        "picture": [{"bytes": encoded(row), "path": None} for row in range(5)],
        "kind": [row % 3 for row in range(5)],
        **{name: values for name, (_, values) in more.items()},
    }
    one = datasets.Dataset.from_dict(rows, features=features)
    whole = datasets.DatasetDict(dict.fromkeys(splits, one)) if splits else one
    whole.save_to_disk(str(folder))
    return folder


@pytest.mark.parametrize("inside", [True, False])
def test_a_saved_folder_names_no_file_outside_it(tmp_path: Path, inside: bool) -> None:
    import pyarrow as pa

    folder = save_set(tmp_path / "set")
    file = (folder if inside else tmp_path) / "private.png"
    file.write_bytes(encoded(0))
    arrow = next((folder / "test").glob("*.arrow"))
    with pa.ipc.open_stream(arrow) as reader:
        table = pa.Table.from_pylist(reader.read_all().to_pylist(), reader.schema)
    pictures = [{"bytes": None, "path": str(file)}] * len(table)
    column = pa.array(pictures, table.schema.field("picture").type)
    table = table.set_column(0, table.schema.field("picture"), column)
    with pa.OSFile(str(arrow), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    images = open_image_source(folder, CLASSES).images(5)
    if inside:
        assert next(images) == file
    else:
        with pytest.raises(InputError, match=r"private\.png is not in it; expected files in"):
            next(images)


def test_a_folder_that_datasets_saved_gives_both_splits(tmp_path: Path) -> None:
    source = open_image_source(save_set(tmp_path / "set"), CLASSES)
    assert source.rows.column("split").to_pylist() == ["train"] * 5 + ["test"] * 5
    assert source.rows.column("label").to_pylist() == [0, 1, 2, 0, 1] * 2
    assert source.rows.column("class_name").to_pylist()[1] == "giant panda"
    assert list(source.images(7)) == [encoded(row) for row in (2, 3, 4)]
    assert open_image_source(tmp_path / "set", CLASSES).stamp == source.stamp
    with pytest.raises(InputError, match=r"label 1 is 'giant_panda' .* the class 'dog'"):
        open_image_source(tmp_path / "set", ["cat", "dog", "zebra"])


def test_other_splits_and_columns_are_named_in_a_file(tmp_path: Path) -> None:
    import datasets

    second = (datasets.ClassLabel(names=["x"]), [0] * 5)
    folder = save_set(tmp_path / "set", ("train", "validation"), colour=second)
    with pytest.raises(InputError, match=r"no split 'test'; .* the splits train, validation"):
        open_image_source(folder, CLASSES)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"disk: {folder}\nsplits: {{test: validation}}\n")
    with pytest.raises(InputError, match="one column of labels, found kind, colour"):
        open_image_source(pinned, CLASSES)
    pinned.write_text(pinned.read_text() + "label: kind\ncounts: {train: 5, test: 5}\n")
    assert len(open_image_source(pinned, CLASSES).rows) == 10
    pinned.write_text(pinned.read_text().replace("kind", "sort"))
    with pytest.raises(InputError, match="no column 'sort'; found picture, kind, colour"):
        open_image_source(pinned, CLASSES)


def test_a_saved_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    one = save_set(tmp_path / "one", splits=())
    with pytest.raises(InputError, match=r"no split 'train'; .* one data set without splits"):
        open_image_source(one, CLASSES)
    whole = save_set(tmp_path / "whole")
    shutil.rmtree(whole / "test")
    with pytest.raises(InputError, match="whole: not a folder that `save_to_disk` wrote"):
        open_image_source(whole, CLASSES)
