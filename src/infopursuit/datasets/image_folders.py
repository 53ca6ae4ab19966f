"""Folders of image files: CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from infopursuit.core.errors import InputError
from infopursuit.datasets.image_source import (
    ROWS,
    SPLITS,
    ImageSource,
    checked_image_rows,
    labels_of,
    source_of_files,
    spelled,
)

# Of a folder without splits, one image in so many is a test image.
TESTED = 5


@dataclass(frozen=True)
class ImageFolder:
    """The n image files of a folder, in the order of splits, classes and names.

    Attributes:
        files: the files.
        labels: the class name of each, which is that of its folder.
        splits: the split of each, `train` or `test`; None where the folder has no splits.
    """

    files: list[Path]
    labels: list[str]
    splits: list[str] | None

    @property
    def class_names(self) -> list[str]:
        """The distinct classes, sorted."""
        return sorted(set(self.labels))

    def split(self, name: str) -> ImageFolder:
        """The files of one split.

        Raises:
            InputError: the folder has no splits, or not this one.
        """
        if name not in (self.splits or ()):
            found = ", ".join(sorted(set(self.splits))) if self.splits else "no splits"
            raise InputError(f"expected the split {name!r}, found {found}")
        rows = [row for row, split in enumerate(self.splits or ()) if split == name]
        return ImageFolder(
            [self.files[row] for row in rows],
            [self.labels[row] for row in rows],
            [name] * len(rows),
        )


def read_image_folder(folder: str | Path) -> ImageFolder:
    """List a folder of images with one folder for each class.

    Where it has a folder `train` and a folder `test`, the classes are in these. All files that are
    not hidden count, in folders below, too; whether they are images is seen when they are read.

    Raises:
        InputError: there is no such folder, a file lies beside the folders of classes, a class
            has no files, or is in one split only.
    """
    folder = Path(folder)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise InputError(f"{folder}: expected a folder CLASS/IMAGE, found {found}")
    there = [split for split in SPLITS if (folder / split).is_dir()]
    if not there:
        files, labels = _classes(folder)
        return ImageFolder(files, labels, None)
    if len(there) == 1:
        other = SPLITS[1 - SPLITS.index(there[0])]
        raise InputError(
            f"{folder}: a folder {there[0]!r}, but none called {other!r}; expected both, or "
            "CLASS/IMAGE without splits"
        )
    parts = {split: _classes(folder / split) for split in SPLITS}
    names = {split: set(labels) for split, (_, labels) in parts.items()}
    if odd := sorted(names["train"] ^ names["test"]):
        split = "train" if odd[0] in names["train"] else "test"
        raise InputError(f"{folder}: the class {odd[0]!r} is in {split}/ only; expected it in both")
    return ImageFolder(
        [file for files, _ in parts.values() for file in files],
        [label for _, labels in parts.values() for label in labels],
        [split for split, (files, _) in parts.items() for _ in files],
    )


def _classes(folder: Path) -> tuple[list[Path], list[str]]:
    """The files of a folder of classes, and the class of each."""
    files: list[Path] = []
    labels: list[str] = []
    for of_class in sorted(_visible(folder)):
        if not of_class.is_dir():
            raise InputError(f"{of_class}: a file; expected one folder for each class")
        found = sorted(_files(of_class))
        if not found:
            raise InputError(f"{of_class}: the folder of a class is empty; expected its images")
        files += found
        labels += [of_class.name] * len(found)
    if not files:
        raise InputError(f"{folder}: the folder is empty; expected CLASS/IMAGE")
    return files, labels


def open_folder(path: Path, classes: Sequence[str]) -> ImageSource:
    """The data set of a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE.

    Without splits one image in `TESTED` of each class is a test image, whichever names the digests
    of their paths choose: the same in every run, and almost the same with more images.

    Raises:
        InputError: one split is missing, a folder has the name of no class, or a class without
            splits has a single image.
    """
    there = [split for split in SPLITS if (path / split).is_dir()]
    if len(there) == 1:
        other = SPLITS[1 - SPLITS.index(there[0])]
        raise InputError(f"{path}: no folder {other!r}; expected {other}/CLASS/IMAGE")
    columns: dict[str, list[object]] = {name: [] for name in ROWS.names}
    files: list[Path] = []
    for split, label, file in _split_files(path, classes) if there else _held_out(path, classes):
        files.append(file)
        columns["id"].append(file.relative_to(path).as_posix())
        columns["split"].append(split)
        columns["label"].append(label)
        columns["class_name"].append(classes[label])
    rows = checked_image_rows(path, pa.table(columns, schema=ROWS), classes)
    return source_of_files(path, rows, files)


def class_folders(folder: Path) -> list[str]:
    """The names of the folders of classes, sorted; of those in `train`, where there are splits.

    Raises:
        InputError: a file lies among them.
    """
    parent = folder / "train" if (folder / "train").is_dir() else folder
    names = []
    for of_class in sorted(_visible(parent)):
        if not of_class.is_dir():
            raise InputError(f"{of_class}: a file; expected one folder for each class")
        names.append(of_class.name)
    return names


def _split_files(path: Path, classes: Sequence[str]) -> Iterator[tuple[str, int, Path]]:
    """Split, label and path of each file below train and test."""
    for split in SPLITS:
        for label, files in _labelled(path / split, labels_of(path, classes)):
            yield from ((split, label, file) for file in files)


def _held_out(path: Path, classes: Sequence[str]) -> Iterator[tuple[str, int, Path]]:
    """The same of a folder without splits, the training images first."""
    found = {
        label: sorted(files, key=lambda file: _digest(file.relative_to(path)))
        for label, files in _labelled(path, labels_of(path, classes))
    }
    for label, files in found.items():
        if len(files) < 2:
            raise InputError(
                f"{path}: {len(files)} image of the class {classes[label]!r}; expected two or "
                "more, one of them to test on"
            )
    for split in SPLITS:
        for label, files in found.items():
            tested = -(-len(files) // TESTED)
            chosen = files[:tested] if split == "test" else files[tested:]
            yield from ((split, label, file) for file in sorted(chosen))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.as_posix().encode()).hexdigest()


def _labelled(path: Path, labels: Mapping[str, int]) -> Iterator[tuple[int, list[Path]]]:
    """The files of each class of a folder, by label."""
    folders: dict[int, Path] = {}
    for folder in sorted(_visible(path)):
        label = labels.get(spelled(folder.name))
        if label is None or label in folders or not folder.is_dir():
            raise InputError(
                f"{folder}: no class has this name; expected one folder for each class"
            )
        folders[label] = folder
    for label in sorted(folders):
        yield label, sorted(_files(folders[label]))


def _files(folder: Path) -> Iterator[Path]:
    """All files below a folder; a link that leads nowhere is one too, and becomes a rejection."""
    for path in _visible(folder):
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith("."))
