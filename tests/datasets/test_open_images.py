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


def files(root: Path, *names: str) -> Path:
    root.mkdir(exist_ok=True)
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    return root


def test_a_folder_of_classes_gives_files_and_labels(tmp_path: Path) -> None:
    names = ["zebra/b.jpg", "cat/2.png", "cat/1.png", "cat/more/0.jpg", "cat/.hidden", ".git/x"]
    found = read_image_folder(files(tmp_path, *names))
    assert found.ids == ["cat/1.png", "cat/2.png", "cat/more/0.jpg", "zebra/b.jpg"]
    assert found.some_pictures() == [tmp_path / each for each in found.ids]
    assert found.classes == ["cat", "cat", "cat", "zebra"]
    assert found.splits is None


def make_folder(root: Path) -> Path:
    for split in ("train", "test"):
        for label, name in enumerate(["cat", "giant_panda", "zebra"]):
            folder = root / split / name
            folder.mkdir(parents=True)
            for number, kind in enumerate(("jpeg", "png", "webp")):
                (folder / f"{number}.{kind}").write_bytes(encoded(label * 3 + number, kind))
    return root


SPLIT_NAMES = [
    ("Training/a, Training/b, Testing/a, Testing/b", []),
    ("TRAIN/a, TRAIN/b, Val/a, Val/b", ["Val"]),
    ("train_set/a, train_set/b, test set/a, test set/b", []),
    ("seg_train/a, seg_train/b, seg_test/a, seg_test/b", []),
    ("train/a, train/b, test/a, test/b, dev/a", ["dev"]),
    ("train-val/a, train-val/b, test-1/a, test-1/b", []),
    ("train/a, train/b, train/train, test/a, test/b, test/train", []),
    ("images/train/a, images/train/b, images/valid/a, images/valid/b, labels/a", ["", "labels"]),
    ("archive/training/a, archive/training/b, archive/evaluation/a, archive/evaluation/b", []),
    ("train/a, train/b, train/@eaDir, test/a, test/b, #recycle/a, __MACOSX/train/a, ._x/a", []),
    ("train/a, train/b, test/a, test/b, notes/a", ["not used"]),
    ("train/a, train/b, train/c, test/a, test/b", ["1 of 3 classes have no test images"]),
    ("train/a, train/b, test/a, test/b, test/d", ["1 of 3 classes have no training images"]),
    ("seg_train/seg_train/a, seg_train/seg_train/b, seg_test/seg_test/a, seg_test/seg_test/b", []),
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
    assert set(found.classes) == classes
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


LAYOUTS = [
    ("a/1.png, b/1.png, README.txt, labels.xlsx, LICENSE", ["3 of 5 files are no pictures"]),
    (
        "a/1.png, b/1.png, c/notes.txt",
        ["1 of 3 files", "1 of 3 folders of classes"],
    ),
    ("set/a/1.png, set/b/1.png", []),
    ("set/set/a/1.png, set/set/b/1.png", []),
    ("train/a/1.png, train/b/1.png", ["nothing to test on"]),
    ("train/a/1.png, train/b/1.png, test/7.png", ["no folders of classes", "nothing to test on"]),
    ("train/a/1.png, train/b/1.png, val/x.txt, val/images/7.png", ["no folders", "nothing to"]),
    ("a/x/1.png, a/y/1.png, b/x/1.png, b/y/1.png", ["no picture lies in a, b themselves"]),
    ("a/p/1.png, a/q/1.png, b/r/1.png", ["such as p, q, r"]),
    ("a/images/1.png, b/images/1.png", []),
]


@pytest.mark.parametrize(("names", "told"), LAYOUTS)
def test_what_is_seen_in_a_folder_is_told(
    tmp_path: Path, names: str, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    found = read_image_folder(files(tmp_path, *names.split(", ")))
    assert set(found.classes) == {"a", "b"} and found.splits is None
    assert len(caplog.messages) == len(told), caplog.messages
    assert all(any(each in message for message in caplog.messages) for each in told)


@pytest.mark.parametrize(
    ("name", "form"),
    [("_annotations.coco.json", "COCO"), ("JPEGImages/1.xml", "VOC"), ("labels/1.txt", "YOLO")],
)
def test_a_set_of_objects_is_named(tmp_path: Path, name: str, form: str) -> None:
    with pytest.raises(InputError, match=f" is of {form}: objects; expected one class of each"):
        read_image_folder(files(tmp_path, "train/1.jpg", f"train/{name}"))


def test_links_to_folders_above_lead_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files(tmp_path / "set", "a/1.png", "b/1.png")
    for link, to in (("a/again", ".."), ("all", "."), ("a/b", "../b"), ("b/a", "../a")):
        (tmp_path / "set" / link).symlink_to(to)
    for link in ("a/b", "b/a"):
        (tmp_path / "set" / link).unlink()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "back").symlink_to(tmp_path / "set" / "b")
    (tmp_path / "set" / "b" / "more").symlink_to(tmp_path / "more")
    assert read_image_folder(tmp_path / "set").ids == ["a/1.png", "b/1.png"]
    assert sum("a link to a folder above it" in each for each in caplog.messages) == 2


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
    assert set(read_image_folder(folder).classes) == {"b", NFC}
    rows = open_folder(folder, [NFD, "b"]).rows
    assert sorted(rows.column("id").to_pylist()) == sorted(names), "files keep their names"


def test_files_that_are_no_pictures_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["a/1.png", "a/notes.txt", "b/1.jpg", "b/x/labels.csv", "b/@eaDir/2.jpg", "b/.~3.jpg"]
    files(tmp_path, *names, "Thumbs.db", "a/desktop.ini", ".DS_Store")
    (tmp_path / "b" / "photo.large").write_bytes(encoded(3))
    assert read_image_folder(tmp_path).ids == ["a/1.png", "b/1.jpg", "b/photo.large"]
    [told] = caplog.messages
    assert "2 of 5 files" in told


def test_a_name_that_is_no_text_is_listed(tmp_path: Path) -> None:
    name = os.fsdecode(b"a/caf\xe9.png")
    folder = files(tmp_path, name, "a/1.png", "b/1.png", "b/2.png")
    assert "a/caf\ufffd.png" in open_folder(folder, ["a", "b"]).rows.column("id").to_pylist()
    given = read_image_folder(folder)
    names = [file.relative_to(folder).as_posix() for file in given.some_pictures()]
    assert sorted(splits_of(names, given.classes, 0.5)) == ["test", "test", "train", "train"]


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


def test_an_array_that_claims_more_rows_than_it_has_takes_no_memory(tmp_path: Path) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 4)}
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, header)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("train_embeddings.npy", array.getvalue())
    with pytest.raises(InputError, match=r"x\.npz: not readable as plain arrays"):
        copied(tmp_path / "x.npz")


def single_array(place: Path) -> Path:
    with place.open("wb") as file:
        np.save(file, MATRIX)
    return place


def table(**columns: list[Any]) -> Callable[[Path], Path]:
    return lambda home: write_image_table(home / "x.parquet", 3, **columns)


def folder(*names: str) -> Callable[[Path], Path]:
    return lambda home: files(home / "photos", *names)


def csv_file(old: str, new: str) -> Callable[[Path], Path]:
    def write(home: Path) -> Path:
        files(home, "a.png", "sub/b.png", "c.png")
        (home / "x.csv").write_bytes(CSV.replace(old, new).encode("latin-1"))
        return home / "x.csv"

    return write


def rows_of(rows: list[Any], kind: Any = None) -> Callable[[Path], Path]:
    return lambda home: lists(home / "x.parquet", pa.array(rows, kind))


def arrays(**change: np.ndarray) -> Callable[[Path], Path]:
    return lambda home: numpy_files(home / "x.npz", ARRAYS | change)


def pinned(home: Path) -> Path:
    import datasets

    second = (datasets.ClassLabel(names=["x"]), [0] * 5)
    disk = save_set(home / "set", ("train", "validation"), colour=second)
    (home / "x.yaml").write_text(f"disk: {disk}\nsplits: {{test: validation}}\n")
    return home / "x.yaml"


PAIRS = [[1.0, 2.0]] * 5
REFUSED: list[tuple[Callable[[Path], Path], str]] = [
    (table(label=[-1, 1, 9]), "label -1 of row 0"),
    (table(split=["test", "train", "val"]), "split of row 2 is 'val'"),
    (folder(), "no picture"),
    (folder("a.jpg", "cat/b.jpg"), "a.jpg"),
    (folder("cat/.b.jpg"), "CLASS/IMAGE"),
    (folder("a.zip", "b.zip"), "unpacked"),
    (folder("1.jpg", "all.csv"), "all.csv"),
    (folder("b/1.jpg", "a/b/1.jpg", "a/1.jpg"), "each class once"),
    (folder("test/cat/1", "car/2"), "'train'"),
    (folder("train/cat/1", "test/dog/1"), "test on"),
    (folder("train/a/1", "Train/b/1", "test/a/1"), "twice"),
    (folder("a/train/1", "a/test/1", "b/1"), "splits"),
    (folder("train/train/a/1", "test/a/1"), "train/train"),
    (folder(*(f"{name}/1" for name in CLASSES), "cat/2"), "'giant panda'"),
    (csv_file(",2,", ",3,"), "c.png has the class '3'"),
    (csv_file("cat,train", "cat"), "row 2"),
    (csv_file("a.png", ""), "no path"),
    (csv_file("2,test", "2,train"), "empty"),
    (csv_file("c.png,2", "./a.png,2"), "'./a.png'"),
    (csv_file("c.png,2", "sub/../a.png,1"), "twice"),
    (csv_file("cat", "k\xf6ter"), "k\xf6ter"),
    (lambda home: save_set(home / "x", splits=()), "'train'"),
    (lambda home: save_set(home / "x", ("train", "validation")), "'test'"),
    (lambda home: files(home, "x/dataset_dict.json") / "x", "save_to_disk"),
    (pinned, "kind, colour"),
    (rows_of([*PAIRS, [1.0]]), "row 5 has 1"),
    (rows_of([*PAIRS, None]), "row 5"),
    (rows_of([*PAIRS, [1.0, None]]), "NaN"),
    (rows_of([[1.0, np.inf], *PAIRS]), "row 0"),
    (rows_of([[1, 2]] * 6), "int64"),
    (rows_of(["x"] * 6), "string"),
    (rows_of([*PAIRS, [1.0, 2.0]]), "width 2"),
    (rows_of([[]] * 6, pa.list_(pa.float32())), "row 0"),
    (arrays(train_labels=np.array([_Trap()])), "plain arrays"),
    (arrays(train_labels=np.array([0, None, 1, 2])), "astype"),
    (arrays(train_labels=np.array([0, -1, 2, 0])), "class None"),
    (arrays(train_labels=np.array([0, 1, 2, 3])), "label 3"),
    (arrays(train_labels=np.full(4, 0.5)), "float"),
    (arrays(train_ids=np.arange(5)), "train_ids"),
    (arrays(test_embeddings=MATRIX[4:, :3]), "width 3"),
    (arrays(train_embeddings=np.ones((4, 4), int)), "int64"),
    (arrays(test_embeddings=MATRIX[4:] * np.nan), "row 4"),
    (lambda home: single_array(home / "x.npz"), "plain arrays"),
]


@pytest.mark.parametrize(("write", "word"), REFUSED)
def test_what_is_refused_names_the_file_and_the_place(
    tmp_path: Path, write: Callable[[Path], Path], word: str
) -> None:
    path = write(tmp_path)
    with pytest.raises(InputError) as caught:
        if has_embeddings(path):
            copied(path)
        elif path.name == "photos":
            read_image_folder(path)
            open_image_source(path, CLASSES)
        else:
            open_image_source(path, CLASSES)
    assert path.stem in str(caught.value)
    assert word in str(caught.value)
