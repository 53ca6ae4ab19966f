from __future__ import annotations

from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.datasets.image_folders import read_image_folder


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
