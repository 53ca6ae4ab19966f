"""Folders of image files: CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import read_text_list
from infopursuit.datasets.image_source import (
    SPLITS,
    ImageSource,
    image_rows,
    labels_of,
    source_of_files,
    spelled,
)

logger = logging.getLogger(__name__)

# What Windows and macOS leave in folders without a word.
STRAY = ("thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "icon\r")
# The share of test images in a folder without splits.
TEST_FRACTION = 0.2


@dataclass(frozen=True)
class LabelledPictures:
    """n pictures with the name of the class of each.

    Attributes:
        pictures: files, or pictures of any kind that `to_rgb` decodes.
        labels: the class of each; of a file in a folder, the name of the folder.
        splits: the split of each, `train` or `test`; None if there are no splits.
    """

    pictures: list[Any]
    labels: list[Any]
    splits: list[str] | None = None

    @property
    def class_names(self) -> list[Any]:
        """The distinct classes, sorted."""
        return sorted(set(self.labels))

    def subset(self, rows: Sequence[int]) -> LabelledPictures:
        """Return the given rows, in their order."""
        splits = None if self.splits is None else [self.splits[row] for row in rows]
        return LabelledPictures(
            [self.pictures[row] for row in rows], [self.labels[row] for row in rows], splits
        )

    def split(self, name: str) -> LabelledPictures:
        """Return the pictures of one split."""
        if name not in (self.splits or ()):
            found = ", ".join(sorted(set(self.splits))) if self.splits else "no splits"
            raise InputError(f"expected the split {name!r}, found {found}")
        return self.subset([row for row, split in enumerate(self.splits or ()) if split == name])


def read_image_folder(folder: str | Path) -> LabelledPictures:
    """List a folder of images with one folder for each class.

    If it has a folder `train` and a folder `test`, the classes are in these. All files that are
    not hidden count, in folders below, too; that they are images is checked when they are read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise InputError(f"{folder}: expected a folder CLASS/IMAGE, found {found}")
    listed = [
        (split, of_class.name, file)
        for split, of_class, files in _listed(folder)
        for file in _not_empty(of_class, files)
    ]
    if not listed:
        raise InputError(f"{folder}: the folder is empty; expected CLASS/IMAGE")
    splits, labels, files = (list(column) for column in zip(*listed, strict=True))
    if None in splits:
        return LabelledPictures(files, labels)
    names = {split: {row[1] for row in listed if row[0] == split} for split in SPLITS}
    if odd := sorted(names["train"] ^ names["test"]):
        split = "train" if odd[0] in names["train"] else "test"
        raise InputError(f"{folder}: the class {odd[0]!r} is in {split}/ only; expected it in both")
    return LabelledPictures(files, labels, splits)


def with_splits(folder: Path, given: LabelledPictures, fraction: float) -> LabelledPictures:
    """Return the pictures of a folder without splits, with the splits that `open_folder` gives.

    A class keeps at least one training image.
    """
    tested: set[Path] = set()
    for name in given.class_names:
        files = [
            file
            for file, of_file in zip(given.pictures, given.labels, strict=True)
            if of_file == name
        ]
        tested.update(_tested(folder, files, fraction))
    splits = ["test" if file in tested else "train" for file in given.pictures]
    return LabelledPictures(given.pictures, given.labels, splits)


def _tested(folder: Path, files: Sequence[Path], fraction: float = TEST_FRACTION) -> list[Path]:
    """Return the test images of one class: those whose paths have the first digests."""
    ranked = sorted(files, key=lambda file: _digest(file.relative_to(folder)))
    count = math.ceil(round(fraction * len(files), 6))  # 0.2 * 35 is more than 7 in floats
    return ranked[: min(count, len(files) - 1)]


def _not_empty(of_class: Path, files: list[Path]) -> list[Path]:
    if writable(of_class.name) != of_class.name:
        raise InputError(f"{of_class}: the name of a class; expected text in UTF-8")
    if not files:
        raise InputError(f"{of_class}: the folder of a class is empty; expected its images")
    return files


def open_folder(path: Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set of a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE.

    Without splits `TEST_FRACTION` of each class are test images: those whose paths have the first
    digests. They are the same in every run, and almost the same with more images.
    """
    numbers, seen = labels_of(path, classes), set()
    listed: list[tuple[int, int, Path]] = []  # place of the split, label, file
    for split, of_class, files in _listed(path):
        label = numbers.get(spelled(of_class.name))
        if label is None or (split, label) in seen:
            raise InputError(
                f"{of_class}: no class has this name; expected one folder for each class"
            )
        seen.add((split, label))
        tested: list[Path] = []
        if split is None:
            if len(files) < 2:
                raise InputError(
                    f"{path}: {len(files)} image of the class {classes[label]!r}; expected two or "
                    "more, one of them to test on"
                )
            tested = _tested(path, files)
        for file in files:
            is_test = split == "test" or file in tested
            listed.append((int(is_test), label, file))
    places, labels, files = zip(*sorted(listed), strict=True) if listed else ((), (), ())
    ids = [file.relative_to(path).as_posix() for file in files]
    rows = image_rows(path, ids, [SPLITS[place] for place in places], labels, classes)
    return source_of_files(path, rows, files)


def _listed(folder: Path) -> Iterator[tuple[str | None, Path, list[Path]]]:
    """Yield split (None without splits), folder and sorted files of each class."""
    splits = [split for split in SPLITS if (folder / split).is_dir()]
    if len(splits) == 1:
        other = SPLITS[1 - SPLITS.index(splits[0])]
        raise InputError(
            f"{folder}: a folder {splits[0]!r}, but none called {other!r}; expected both, or "
            "CLASS/IMAGE without splits"
        )
    for other in _visible(folder) if splits else ():
        if other.name not in SPLITS:
            logger.warning(
                "%s: not used, as only train/ and test/ are read; expected all images in these two",
                other,
            )
    for split in splits or [None]:
        for of_class in _class_folders(folder / split if split else folder):
            yield split, of_class, sorted(_files(of_class))


def read_class_names(path: str | Path) -> list[str]:
    """Read the class names in the order of the labels.

    Args:
        path: a list, one name a line; or a folder CLASS/IMAGE, or train/CLASS/IMAGE and
            test/CLASS/IMAGE, whose classes are taken in alphabetical order.
    """
    folder = Path(path)
    if folder.is_dir():
        parent = folder / "train" if (folder / "train").is_dir() else folder
        classes = [of_class.name for of_class in _class_folders(parent)]
    else:
        classes = read_text_list(path)
    if len(classes) < 2:
        raise InputError(f"{path}: {len(classes)} class; expected at least two")
    return classes


def _class_folders(folder: Path) -> Iterator[Path]:
    for of_class in sorted(_visible(folder)):
        if not of_class.is_dir():
            raise InputError(f"{of_class}: a file; expected one folder for each class")
        yield of_class


def _digest(path: Path) -> str:
    return hashlib.sha256(path.as_posix().encode()).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder; a broken link is one too, and is rejected when read."""
    for path in _visible(folder):
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def _visible(folder: Path) -> Iterator[Path]:
    return (
        path
        for path in folder.iterdir()
        if not path.name.startswith(".") and path.name.lower() not in STRAY
    )
