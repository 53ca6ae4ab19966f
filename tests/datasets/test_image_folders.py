from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.datasets.class_names import read_class_names
from infopursuit.datasets.image_folders import open_folder, read_image_folder


def files(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    return root


def test_a_folder_of_classes_gives_files_and_labels(tmp_path: Path) -> None:
    names = ["zebra/b.jpg", "cat/2.png", "cat/1.png", "cat/more/0.jpg", "cat/.hidden", ".git/x"]
    found = read_image_folder(files(tmp_path, *names))
    assert [file.relative_to(tmp_path).as_posix() for file in found.files] == [
        "cat/1.png",
        "cat/2.png",
        "cat/more/0.jpg",
        "zebra/b.jpg",
    ]
    assert found.labels == ["cat", "cat", "cat", "zebra"]
    assert found.class_names == ["cat", "zebra"]
    assert found.splits is None
    with pytest.raises(InputError, match="expected the split 'train', found no splits"):
        found.split("train")


def test_a_folder_with_splits_gives_each(tmp_path: Path) -> None:
    names = ["train/cat/1.jpg", "train/dog/2.jpg", "test/dog/3.jpg", "test/cat/4.jpg"]
    found = read_image_folder(files(tmp_path, *names))
    assert found.splits == ["train", "train", "test", "test"]
    test = found.split("test")
    assert [file.name for file in test.files] == ["4.jpg", "3.jpg"]
    assert test.labels == ["cat", "dog"]
    with pytest.raises(InputError, match="'val', found test, train"):
        found.split("val")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "the folder is empty; expected CLASS/IMAGE"),
        (["a.jpg", "cat/b.jpg"], r"a\.jpg: a file; expected one folder for each class"),
        (["cat/.b.jpg"], "cat: the folder of a class is empty"),
        (["train/cat/1.jpg"], "a folder 'train', but none called 'test'"),
        (["test/cat/1.jpg", "car/2.jpg"], "a folder 'test', but none called 'train'"),
        (["train/cat/1", "test/dog/1"], "the class 'cat' is in train/ only"),
        (["train/a/1", "test/a/1", "test/b/1"], "the class 'b' is in test/ only"),
    ],
)
def test_folders_that_are_arranged_otherwise_are_told(
    tmp_path: Path, names: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_image_folder(files(tmp_path, *names))


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder CLASS/IMAGE, found nothing"):
        read_image_folder(tmp_path / "absent")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="found a file"):
        read_image_folder(tmp_path / "file")


def opened(folder: Path, classes: list[str]) -> list[tuple[str, str, str]]:
    rows = open_folder(folder, classes).rows.to_pylist()
    return [(row["split"], row["class_name"], row["id"]) for row in rows]


def test_a_folder_without_splits_holds_out_one_image_in_five(tmp_path: Path) -> None:
    names = [f"cat/{number:02}.jpg" for number in range(11)] + ["dog/a.jpg", "dog/more/b.jpg"]
    rows = opened(files(tmp_path, *names), ["dog", "cat"])
    counts = Counter((split, name) for split, name, _ in rows)
    assert counts == {
        ("train", "cat"): 8, ("test", "cat"): 3, ("train", "dog"): 1, ("test", "dog"): 1,
    }  # fmt: skip
    assert sorted(name for *_, name in rows) == names
    tested = {name for split, _, name in rows if split == "test"}
    assert tested != {f"cat/{number:02}.jpg" for number in range(3)} | {"dog/a.jpg"}
    files(tmp_path, "cat/11.jpg")
    later = {name for split, _, name in opened(tmp_path, ["dog", "cat"]) if split == "test"}
    assert len(tested - later) <= 1, "another image changes the place of one at most"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["cat/1", "cat/2", "dog/1"], "1 image of the class 'dog'; expected two or more"),
        (["cat/1", "cat/2", "fox/1", "fox/2"], "fox: no class has this name"),
        (["train/cat/1", "train/dog/1"], "no folder 'test'; expected test/CLASS/IMAGE"),
        (["test/cat/1", "test/dog/1"], "no folder 'train'; expected train/CLASS/IMAGE"),
    ],
)
def test_folders_that_are_no_data_set_are_told(
    tmp_path: Path, names: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_folder(files(tmp_path, *names), ["cat", "dog"])


def test_class_names_come_from_a_list_or_from_folders(tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("dog\ncat\n")
    assert read_class_names(tmp_path / "classes.txt") == ["dog", "cat"]
    files(tmp_path / "plain", "dog/1", "cat/1", ".hidden/1")
    assert read_class_names(tmp_path / "plain") == ["cat", "dog"]
    files(tmp_path / "split", "train/b/1", "train/a/1", "test/a/1")
    assert read_class_names(tmp_path / "split") == ["a", "b"]
    files(tmp_path / "one", "cat/1")
    with pytest.raises(InputError, match="one: 1 class; expected at least two"):
        read_class_names(tmp_path / "one")
    files(tmp_path / "plain", "note.txt")
    with pytest.raises(InputError, match=r"note\.txt: a file; expected one folder for each"):
        read_class_names(tmp_path / "plain")
