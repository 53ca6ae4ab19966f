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
from infopursuit.datasets.decoding import to_rgb
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.labels import class_labels
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


@pytest.mark.parametrize(
    ("values", "names", "labels"),
    [
        ([" a", "a ", "", None], (), ["a", "a", None, None]),
        ([0, 1, 2, -1], (), [0, 1, 2, None]),
        (["0", "-1", "2"], (), ["0", None, "2"]),
        ([-1, 1, 1.0, float("nan")], (), [-1, 1, 1, None]),
        ([1, -1, "b"], ("a", "b"), ["b", None, "b"]),
        ([{"id": 3, "name": "cat"}, {"label": 2}], (), ["cat", 2]),
        ([["a", "b"]], (), "a list"),
        ([{"x": 1}], (), "a dict"),
        ([0.5], (), "a float"),
        ([2], ("a", "b"), "the label 2"),
    ],
)
def test_labels_are_read_by_one_rule(values: list, names: Sequence[str], labels: Any) -> None:
    if isinstance(labels, str):
        with pytest.raises(InputError, match=labels):
            class_labels("file", values, names)
    else:
        assert class_labels("file", values, names) == labels


def list_of(home: Path, head: str, row: str, suffix: str = ".csv") -> Path:
    (home / "in").mkdir(parents=True)
    rows = []
    for number in range(12):
        (home / f"in/{number}.png").write_bytes(encoded(number))
        rows.append(row.format(number, CLASSES[number % 3], "train" if number < 9 else "val"))
    (home / f"list{suffix}").write_text("\n".join([head, *rows]))
    return home / f"list{suffix}"


@pytest.mark.parametrize(
    ("head", "row", "label"),
    [
        ("path,label,split", "in/{0}.png,{1},{2}", None),
        ("file_name,dx", "in/{0}.png,{1}", None),
        ("photo;age;kind", "in/{0}.png;{0};{1}", "kind"),
    ],
)
def test_a_list_of_pictures_is_no_table(
    tmp_path: Path, head: str, row: str, label: str | None
) -> None:
    path = list_of(tmp_path, head, row)
    assert is_packed(path)
    train, test = labelled_pictures(path, label=label)
    assert test is not None and (len(train), len(test)) == (9, 3)
    assert [each.name for each in train.some_pictures([0])] == [train.ids[0][3:]]
    of_class = {f"in/{number}.png": CLASSES[number % 3] for number in range(12)}
    assert of_class == dict(zip(train.ids + test.ids, [*train.classes, *test.classes], strict=True))


@pytest.mark.parametrize(
    "text", ["id,size\n1,2\n", "photo,a,b\nx.png,1,2\n", "a,b\nx.png,1\ny,2\n"]
)
def test_a_table_is_no_list_of_pictures(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert not is_packed(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "cell",
    [
        lambda path: pa.array([path], pa.string()),
        lambda path: pa.array([{"bytes": None, "path": path}], STRUCT),
        lambda path: pa.array([encoded(1)], pa.binary_view()),
    ],
)
def test_parquet_may_have_paths_in_its_folder(tmp_path: Path, cell: Callable) -> None:
    (tmp_path / "a.png").write_bytes(encoded(1))
    pq.write_table(pa.table({"photo": cell("a.png"), "kind": ["x"]}), tmp_path / "t.parquet")
    [picture] = read_packed(tmp_path / "t.parquet", "kind").some_pictures()
    assert to_rgb(picture).tobytes() == to_rgb(encoded(1)).tobytes()
    if cell("a.png").type == STRUCT:
        pq.write_table(pa.table({"photo": cell("/etc/passwd")}), tmp_path / "t.parquet")
        with pytest.raises(InputError, match="is not in it"):
            read_packed(tmp_path / "t.parquet").some_pictures()
