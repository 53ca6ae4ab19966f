"""Images on the disk: folders, tables, saved sets of `datasets`; embeddings made elsewhere."""

from __future__ import annotations

import io
import os
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.arrays import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_matrix, read_table
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.embedded_files import copy_embedded_images
from infopursuit.datasets.image_folders import (
    open_folder,
    read_class_names,
    read_image_folder,
    splits_of,
)
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from tests.datasets.images import CLASSES, encoded, write_image_table


@pytest.mark.parametrize("start", [0, 1, 6, 11, 12])
@pytest.mark.parametrize("group", [1, 5, 100])
def test_a_table_gives_its_images_from_any_row(tmp_path: Path, start: int, group: int) -> None:
    path = write_image_table(tmp_path / "images.parquet")
    pq.write_table(pq.read_table(path), path, row_group_size=group)
    source = open_image_source(path, CLASSES)
    assert list(source.images(start)) == [encoded(row) for row in range(start, 12)]
    assert source.rows.column("id").to_pylist() == [f"image-{row}" for row in range(12)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [-1, 1, 9]}, "label -1 of row 0 has no class name, as those of 2 of 3 rows"),
        ({"split": ["test", "train", "val"]}, "split of row 2 is 'val'"),
    ],
)
def test_mistakes_in_a_table_are_named(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    path = write_image_table(tmp_path / "images.parquet", 3, **columns)
    assert not has_embeddings(path)
    with pytest.raises(InputError, match=message):
        open_image_source(path, CLASSES)


def files(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    return root


def test_a_folder_of_classes_gives_files_and_labels(tmp_path: Path) -> None:
    names = ["zebra/b.jpg", "cat/2.png", "cat/1.png", "cat/more/0.jpg", "cat/.hidden", ".git/x"]
    found = read_image_folder(files(tmp_path, *names))
    assert [file.relative_to(tmp_path).as_posix() for file in found.pictures] == [
        "cat/1.png", "cat/2.png", "cat/more/0.jpg", "zebra/b.jpg",
    ]  # fmt: skip
    assert found.labels == ["cat", "cat", "cat", "zebra"]
    assert found.class_names == ["cat", "zebra"]
    assert found.splits is None
    with pytest.raises(InputError, match="expected the split 'train', found no splits"):
        found.split("train")


def make_folder(root: Path) -> Path:
    for split in ("train", "test"):
        for label, name in enumerate(["cat", "giant_panda", "zebra"]):
            folder = root / split / name
            folder.mkdir(parents=True)
            for number, kind in enumerate(("jpeg", "png", "webp")):
                (folder / f"{number}.{kind}").write_bytes(encoded(label * 3 + number, kind))
    return root


def test_what_is_beside_train_and_test_is_told_and_stray_files_are_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("train/cat/0.png", "test/cat/0.png", "notes/cat/1.png"):
        (tmp_path / name).parent.mkdir(parents=True)
        for stray in (name, "Thumbs.db", "train/desktop.ini", "train/cat/Thumbs.db", ".DS_Store"):
            (tmp_path / stray).touch()
    assert open_image_source(tmp_path, ["cat"]).rows.column("id").to_pylist() == [
        "train/cat/0.png",
        "test/cat/0.png",
    ]
    assert caplog.messages == [
        f"{tmp_path}: 1 files or folders beside 'test' and 'train' are not used, the first is "
        f"{tmp_path / 'notes'}"
    ]


SPLIT_NAMES = [
    ("Training/a, Training/b, Testing/a, Testing/b", []),
    ("TRAIN/a, TRAIN/b, Val/a, Val/b", ["Val: the images of this split are the test images"]),
    ("train_set/a, train_set/b, test set/a, test set/b", []),
    ("trainset/a, trainset/b, TestData/a, TestData/b", []),
    ("seg_train/a, seg_train/b, seg_test/a, seg_test/b", []),
    (
        "train/a, train/b, test/a, test/b, dev/a",
        ["dev: the images of this split are fitted on, too"],
    ),
    ("train-val/a, train-val/b, test-1/a, test-1/b", []),
    ("train/a, train/b, train/train, test/a, test/b, test/train", []),
    (
        "images/train/a, images/train/b, images/valid/a, images/valid/b, labels/train/a",
        ["", "labels"],
    ),
    ("archive/training/a, archive/training/b, archive/evaluation/a, archive/evaluation/b", []),
    ("train/a, train/b, train/@eaDir, test/a, test/b, #recycle/a, __MACOSX/train/a, ._x/a", []),
    (
        "train/a, train/b, train/c, test/a, test/b",
        ["1 of 3 classes have no test images, and the accu"],
    ),
    ("train/a, train/b, test/a, test/b, test/d", ["1 of 3 classes have no training images"]),
    (
        "train/a, train/A, test/a, test/A",
        ["the classes 'A' and 'a' differ in case or blanks alone"],
    ),
]


@pytest.mark.parametrize(("folders", "told"), SPLIT_NAMES)
def test_splits_may_have_any_common_name(
    tmp_path: Path, folders: str, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    listed = folders.split(", ")
    found = read_image_folder(
        files(tmp_path, *(f"{each}/{n}.png" for each in listed for n in "12"))
    )
    assert set(found.splits or ()) == {"train", "test"}
    classes = {name.rpartition("/")[2] for name in listed} - {"d", "@eaDir"}
    assert set(found.labels) == classes
    assert len(caplog.messages) == len(told)
    for message, said in zip(sorted(caplog.messages), sorted(told), strict=True):
        assert said in message
    if classes == {"a", "b"}:
        assert read_class_names(tmp_path) == ["a", "b"]
        if "test/d" not in folders:
            rows = open_folder(tmp_path, ["a", "b"]).rows
            assert rows.column("split").to_pylist().count("test") == list(found.splits or ()).count(
                "test"
            )


NFC, NFD = (unicodedata.normalize(form, "caf\xe9") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    "names",
    [
        [f"train/{NFC}/1", "train/b/1", f"test/{NFD}/1", "test/b/1"],
        [f"{NFC}/1", f"{NFC}/2", f"{NFD}/3", "b/1", "b/2"],
    ],
)
def test_names_are_one_whatever_the_form_of_their_accents(tmp_path: Path, names: list[str]) -> None:
    folder = files(tmp_path, *names)
    assert read_class_names(folder) == ["b", NFC]
    assert read_image_folder(folder).class_names == ["b", NFC]
    rows = open_folder(folder, [NFD, "b"]).rows
    assert sorted(rows.column("id").to_pylist()) == sorted(names), "files keep their names"


def test_files_that_are_no_pictures_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["a/1.png", "a/notes.txt", "b/1.jpg", "b/x/labels.csv", "b/@eaDir/2.jpg", "b/.~3.jpg"]
    files(tmp_path, *names)
    (tmp_path / "b" / "photo.large").write_bytes(encoded(3))
    found = read_image_folder(tmp_path)
    read = [file.relative_to(tmp_path).as_posix() for file in found.pictures]
    assert read == ["a/1.png", "b/1.jpg", "b/photo.large"]
    assert caplog.messages == [
        f"{tmp_path}: 2 of 5 files are no pictures and are left out, the first is "
        f"{tmp_path / 'a/notes.txt'}"
    ]


def test_a_name_that_is_no_text_is_listed(tmp_path: Path) -> None:
    name = os.fsdecode(b"a/caf\xe9.png")
    folder = files(tmp_path, name, "a/1.png", "b/1.png", "b/2.png")
    assert "a/caf\ufffd.png" in open_folder(folder, ["a", "b"]).rows.column("id").to_pylist()
    given = read_image_folder(folder)
    names = [file.relative_to(folder).as_posix() for file in given.pictures]
    assert sorted(splits_of(names, given.labels, 0.5)) == ["test", "test", "train", "train"]


def test_a_folder_is_ordered_by_split_class_and_name(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "set")
    classes = ["zebra", "cat", "giant panda"]
    source = open_image_source(root, classes)
    ids = source.rows.column("id").to_pylist()
    assert len(ids) == 18
    assert ids[0] == "train/zebra/0.jpeg"
    assert ids[-1] == "test/giant_panda/2.webp"
    assert source.rows.column("label").to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 2
    assert source.rows.column("class_name").to_pylist()[8] == "giant panda"
    assert [file.relative_to(root).as_posix() for file in source.images(5)] == ids[5:]
    stamp = source.stamp
    (root / ids[4]).write_bytes(b"edited")
    assert open_image_source(root, classes).stamp != stamp


def test_folders_and_classes_agree_but_for_case_numbers_and_punctuation(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "set")
    for split in ("train", "test"):
        (root / split / "giant_panda").rename(root / split / "002.Giant-Panda")
    rows = open_image_source(root, CLASSES).rows
    assert rows.column("class_name").to_pylist()[3] == "giant panda"
    with pytest.raises(InputError, match="classes 'giant panda' and 'Giant_Panda' have one name"):
        open_image_source(root, [*CLASSES, "Giant_Panda"])


def test_a_folder_without_splits_holds_out_one_image_in_five(tmp_path: Path) -> None:
    names = [f"cat/{number:02}.jpg" for number in range(11)] + ["dog/a.jpg", "dog/more/b.jpg"]
    rows = open_folder(files(tmp_path, *names), ["dog", "cat"]).rows.to_pylist()
    counts = Counter(f"{row['split']} {row['class_name']}" for row in rows)
    assert counts == {"train cat": 8, "test cat": 3, "train dog": 1, "test dog": 1}
    assert sorted(row["id"] for row in rows) == names
    tested = {row["id"] for row in rows if row["split"] == "test"}
    assert tested != {f"cat/{number:02}.jpg" for number in range(3)} | {"dog/a.jpg"}
    rows = open_folder(files(tmp_path, "cat/11.jpg"), ["dog", "cat"]).rows.to_pylist()
    later = {row["id"] for row in rows if row["split"] == "test"}
    assert len(tested - later) <= 1, "another image changes the place of one at most"


def of_two_classes(root: Path) -> object:
    return open_folder(root, ["cat", "dog"])


@pytest.mark.parametrize(
    ("read", "names", "message"),
    [
        (read_image_folder, [], "the folder is empty; expected CLASS/IMAGE"),
        (
            read_image_folder,
            ["a.jpg", "cat/b.jpg"],
            r"a\.jpg: a file; expected one folder for each",
        ),
        (read_image_folder, ["cat/.b.jpg"], "cat: the folder of a class is empty"),
        (read_image_folder, ["test/cat/1", "car/2"], "a folder 'test', but none called 'train'"),
        (read_image_folder, ["train/cat/1", "test/dog/1"], "no class to test on is one to fit on"),
        (read_image_folder, ["Training/a/1", "b/1"], "a folder 'Training', but none called 'test'"),
        (read_image_folder, ["train/a/1", "Train/b/1", "test/a/1"], "name a split twice"),
        (read_image_folder, ["a/train/1", "a/test/1", "b/1"], "the splits 'test' and 'train' in"),
        (read_image_folder, ["train/train/a/1", "test/a/1"], "train/train: a split where a class"),
        (
            of_two_classes,
            ["cat/1", "cat/2", "dog/1"],
            "1 image of the class 'dog'; expected two or",
        ),
        (of_two_classes, ["train/cat/1", "train/dog/1"], "none called .test."),
    ],
)
def test_mistakes_in_a_folder_are_named(
    tmp_path: Path, read: Callable, names: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(files(tmp_path, *names))


def test_class_names_come_from_a_list_or_from_folders(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("dog\ncat\n")
    assert read_class_names(tmp_path / "classes.txt") == ["dog", "cat"]
    assert read_class_names(files(tmp_path / "plain", "dog/1", "cat/1", ".x/1")) == ["cat", "dog"]
    split = files(tmp_path / "split", "train/b/1", "train/a/1", "test/a/1")
    assert read_class_names(split) == ["a", "b"]


CSV = "path,label,split\na.png,cat,train\nsub/b.png,Giant_Panda,train\nc.png,2,test\n"


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for seed, name in enumerate(["a.png", "sub/b.png", "c.png"]):
        (tmp_path / name).write_bytes(encoded(seed))
    return tmp_path


def test_a_csv_gives_its_files_in_its_order(
    pictures: Path, caplog: pytest.LogCaptureFixture
) -> None:
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
    assert caplog.messages == [f"{path}: 1 of 3 images are not there, the first is 'c.png'"]
    assert source.stamp != before
    with pytest.raises(UnreadableError, match="missing"):
        to_rgb(next(source.images(2)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",2,", ",3,", "row 4: no class '3'"),
        ("cat,train", "cat", "row 2: 2 cells; expected 3"),
        ("a.png", "", "row 2: no path"),
        ("2,test", "2,train", "split 'test' is empty"),
        ("c.png,2", "./a.png,2", "'./a.png' is there twice, as train of the class 'cat' and as te"),
        ("c.png,2", "sub/../a.png,1", "'sub/../a.png' is there twice"),
        ("cat", '\x00""x"', "not a readable CSV|no class"),
        ("cat", "k\xf6ter", "row 2: no class 'k\xf6ter'"),
    ],
)
def test_mistakes_in_a_csv_are_named(pictures: Path, old: str, new: str, message: str) -> None:
    assert old in CSV
    (pictures / "set.csv").write_bytes(CSV.replace(old, new).encode("latin-1"))
    with pytest.raises(InputError, match=r"set\.csv: .*" + message):
        open_image_source(pictures / "set.csv", CLASSES)


def save_set(folder: Path, splits: tuple[str, ...] = ("train", "test"), **more: Any) -> Path:
    import datasets

    names = datasets.ClassLabel(names=["cat", "giant_panda", "zebra"])
    features = {"picture": datasets.Image(), "kind": names}
    rows = {
        "picture": [{"bytes": encoded(row), "path": None} for row in range(5)],
        "kind": [row % 3 for row in range(5)],
    }
    for name, (feature, values) in more.items():
        features[name], rows[name] = feature, values
    one = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
    whole = datasets.DatasetDict(dict.fromkeys(splits, one)) if splits else one
    whole.save_to_disk(str(folder))
    return folder


@pytest.mark.parametrize("inside", [True, False])
def test_a_saved_folder_names_no_file_outside_it(tmp_path: Path, inside: bool) -> None:
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
    (tmp_path / "cut/train").mkdir(parents=True)
    (tmp_path / "cut/dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    for given, message in [
        (folder, r"no split 'test'; .* the splits train, validation"),
        (save_set(tmp_path / "one", splits=()), r"no split 'train'; .* data set without splits"),
        (tmp_path / "cut", "cut: not a folder that `save_to_disk` wrote"),
    ]:
        with pytest.raises(InputError, match=message):
            open_image_source(given, CLASSES)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"disk: {folder}\nsplits: {{test: validation}}\n")
    with pytest.raises(InputError, match="one column of labels, found kind, colour"):
        open_image_source(pinned, CLASSES)
    pinned.write_text(pinned.read_text() + "label: kind\ncounts: {train: 5, test: 5}\n")
    assert len(open_image_source(pinned, CLASSES).rows) == 10


MATRIX = np.random.default_rng(0).normal(size=(6, 4))


def copied(path: Path, classes: list[str] = CLASSES, width: int = 4) -> pa.Table:
    assert has_embeddings(path)
    out, rejected = path.parent / "out.parquet", path.parent / "rejected.parquet"
    assert copy_embedded_images(path, classes, out, rejected, width, None) == (6, 6)
    return read_table(out, EMBEDDED_IMAGES)


def check(table: pa.Table) -> None:
    assert table.column("label").to_pylist() == [0, 1, 2] * 2
    assert table.column("class_name").to_pylist() == CLASSES * 2
    np.testing.assert_allclose(embedding_matrix(table), unit_rows(MATRIX, ""), atol=1e-3)


def lists(path: Path, column: pa.Array) -> Path:
    columns = {
        "id": [f"image-{row}" for row in range(6)],
        "split": ["train"] * 4 + ["test"] * 2,
        "label": [0, 1, 2] * 2,
        "class_name": CLASSES * 2,
        "embedding": column,
    }
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("of", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 4)])
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_parquet_files_with_lists_of_any_kind_are_read(tmp_path: Path, of: Any, kind: Any) -> None:
    rows = [list(row) for row in MATRIX.astype(kind.to_pandas_dtype())]
    check(copied(lists(tmp_path / "x.parquet", pa.array(rows, of(kind)))))


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([[1.0, 2.0]] * 5 + [[1.0]], None, "row 5 has 1 numbers, that of row 0 has 2"),
        ([[1.0, 2.0]] * 5 + [None], None, "row 5 is empty"),
        ([[1.0, 2.0]] * 5 + [[1.0, None]], None, "row 5 is NaN"),
        ([[1.0, np.inf]] + [[1.0, 2.0]] * 5, None, "row 0 is NaN, infinite"),
        ([[1, 2]] * 6, None, "is list<.*int64> *; expected a list of floats"),
        (["x"] * 6, None, "is string; expected a list of floats"),
        ([[1.0, 2.0]] * 6, None, "width 2, but `clip` has width 4"),
        ([[]] * 6, pa.list_(pa.float32()), "row 0 has no numbers"),
    ],
)
def test_mistakes_in_lists_are_named(
    tmp_path: Path, rows: list[Any], kind: Any, message: str
) -> None:
    with pytest.raises(InputError, match=r"x\.parquet: .*" + message):
        copied(lists(tmp_path / "x.parquet", pa.array(rows, kind)))


class _Trap:
    """An object that raises SystemError when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemError('a pickle was opened')",)


ARRAYS: dict[str, Any] = {
    "train_embeddings": MATRIX[:4],
    "train_labels": np.array([0, 1, 2, 0]),
    "test_embeddings": MATRIX[4:].astype(np.float32),
    "test_labels": np.array(["Giant_Panda", "zebra"]),
    "class_names": np.array(["cat", "giant panda", "zebra"]),
}


def numpy_files(place: Path, arrays: dict[str, Any]) -> Path:
    if place.suffix == ".npz":
        np.savez(place, **arrays)
    else:
        place.mkdir()
        for name, array in arrays.items():
            np.save(place / name, array)
    return place


@pytest.mark.parametrize("name", ["set.npz", "set"])
def test_arrays_of_numpy_are_read(tmp_path: Path, name: str) -> None:
    table = copied(numpy_files(tmp_path / name, ARRAYS))
    check(table)
    assert table.column("split").to_pylist() == ["train"] * 4 + ["test"] * 2
    assert table.column("id").to_pylist()[3:5] == ["train/0000003", "test/0000000"]
    ids = {"train_ids": np.arange(4), "test_ids": np.array(["x", "y"])}
    table = copied(numpy_files(tmp_path / f"named-{name}", ARRAYS | ids))
    assert table.column("id").to_pylist() == ["0", "1", "2", "3", "x", "y"]


@pytest.mark.parametrize("name", ["set.npz", "set"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_labels": np.array([_Trap()])}, "not readable as plain arrays"),
        ({"train_labels": np.array([0, -1, 2, 0])}, "label -1 of row 1 has no class name"),
        ({"train_ids": np.arange(5)}, "train_ids has 5 values for the 4 rows"),
        ({"train_labels": np.array([0, 1, 2, 3])}, "label 3 of row 3 has no class name"),
        ({"train_labels": np.ones(4)}, "and train_labels float64; expected floats .* and integers"),
        ({"test_embeddings": MATRIX[4:, :3]}, "embeddings of width 3"),
        ({"train_embeddings": np.ones((4, 4), int)}, "train_embeddings is int64"),
        ({"test_embeddings": MATRIX[4:] * np.nan}, "the embedding of row 4 is NaN"),
        ({"train_labels": np.array([0, None, 1, 2])}, r"write texts as array\.astype\(str\)"),
    ],
)
def test_mistakes_in_arrays_are_named(
    tmp_path: Path, name: str, change: dict[str, Any], message: str
) -> None:
    arrays = {key: array for key, array in (ARRAYS | change).items() if array is not None}
    with pytest.raises(InputError, match=rf"{name}(/\w+\.npy)?: .*{message}"):
        copied(numpy_files(tmp_path / name, arrays))


def test_an_array_that_claims_more_rows_than_it_has_takes_no_memory(tmp_path: Path) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 4)}
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, header)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("train_embeddings.npy", array.getvalue())
    with pytest.raises(InputError, match=r"x\.npz: not readable as plain arrays"):
        copied(tmp_path / "x.npz")


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, MATRIX)
    with pytest.raises(InputError, match=r"x\.npz: not readable as plain arrays"):
        copied(tmp_path / "x.npz")
