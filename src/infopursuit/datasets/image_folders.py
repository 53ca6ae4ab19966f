"""Folders of image files: CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE.

Splits may have any of their common names (`Training`, `test_set`, `val`), also a folder below, as
in images/train/CLASS. What systems leave in folders (`core.names.is_systems`) is not there. A class
is called what its folder is, in composed form (NFC); files keep the names that they have.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import read_text_list
from infopursuit.core.names import composed, is_systems
from infopursuit.datasets.decoding import is_picture
from infopursuit.datasets.image_source import (
    SPLITS,
    ImageSource,
    classes_alike,
    classes_of_one_split,
    image_rows,
    labels_of,
    source_of_files,
    spelled,
    split_name,
)

logger = logging.getLogger(__name__)

# Folders beside `images` whose content is no class.
BESIDE = ("labels", "annotations", "masks")
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
            names = ", ".join(sorted(set(self.splits))) if self.splits else "no splits"
            raise InputError(f"expected the split {name!r}, found {names}")
        return self.subset([row for row, split in enumerate(self.splits or ()) if split == name])


def read_image_folder(folder: str | Path) -> LabelledPictures:
    """List a folder of images with one folder for each class.

    Folders below that of a class count, too. Test images of classes without training images are
    left out. That files are images is checked when they are read.

    Args:
        folder: CLASS/IMAGE, or the same in folders of splits.
    """
    folder = Path(folder)
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing"
        raise InputError(f"{folder}: expected a folder CLASS/IMAGE, found {what}")
    classes, remarks = _listed(folder)
    listed: list[tuple[str | None, str, Path]] = []
    for each in classes:
        if not each.files:
            raise InputError(f"{each.folder}: the folder of a class is empty; expected its images")
        listed += [(each.split, each.name, file) for file in each.files]
    if not listed:
        raise InputError(f"{folder}: the folder is empty; expected CLASS/IMAGE")
    remarks += classes_alike(folder, (name for _, name, _ in listed))
    if None not in {split for split, _, _ in listed}:
        names = {split: {row[1] for row in listed if row[0] == split} for split in SPLITS}
        listed = [row for row in listed if row[1] in names["train"]]
        if not names["test"] & names["train"]:
            raise InputError(
                f"{folder}: no class to test on is one to fit on, such as "
                f"{min(names['test'])!r}; expected classes that both have, such as "
                f"{min(names['train'])!r}"
            )
        remarks += classes_of_one_split(folder, names["train"], names["test"])
    for remark in remarks:
        logger.warning("%s", remark)
    splits, labels, files = (list(column) for column in zip(*listed, strict=True))
    return LabelledPictures(files, labels, None if None in splits else splits)


def splits_of(
    names: Sequence[str], classes: Sequence[Any], fraction: float = TEST_FRACTION
) -> list[str]:
    """Return the split of each picture of a data set without splits, by names and classes.

    Test images are those whose names have the first digests in their class: the same in every run,
    and almost the same with more images. A class keeps at least one training image.
    """
    of_class: defaultdict[Any, list[str]] = defaultdict(list)
    for name, each in zip(names, classes, strict=True):
        of_class[each].append(name)
    tested: set[str] = set()
    for of_names in of_class.values():
        count = math.ceil(round(fraction * len(of_names), 6))  # 0.2 * 35 is more than 7 in floats
        tested.update(sorted(of_names, key=_digest)[: min(count, len(of_names) - 1)])
    return ["test" if name in tested else "train" for name in names]


def open_folder(path: Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set of a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE.

    Without splits `TEST_FRACTION` of each class are test images (`splits_of`).
    """
    numbers, seen = labels_of(path, classes), set()
    folders, remarks = _listed(path)
    for remark in remarks:
        logger.warning("%s", remark)
    listed: list[tuple[int, int, Path]] = []  # place of the split, label, file
    for split, name, of_class, files in folders:
        label = numbers.get(spelled(name))
        if label is None or (split, label) in seen:
            raise InputError(
                f"{of_class}: no class has this name; expected one folder for each class"
            )
        seen.add((split, label))
        parts = [split or ""] * len(files)
        if split is None:
            if len(files) < 2:
                raise InputError(
                    f"{path}: {len(files)} image of the class {classes[label]!r}; expected two or "
                    "more, one of them to test on"
                )
            parts = splits_of([file.relative_to(path).as_posix() for file in files], parts)
        for file, part in zip(files, parts, strict=True):
            listed.append((SPLITS.index(part), label, file))
    places, labels, files = zip(*sorted(listed), strict=True) if listed else ((), (), ())
    ids = [writable(file.relative_to(path).as_posix()) for file in files]
    rows = image_rows(path, ids, [SPLITS[place] for place in places], labels, classes)
    return source_of_files(path, rows, files)


class _Class(NamedTuple):
    split: str | None  # train or test, None without splits
    name: str
    folder: Path
    files: list[Path]


def _listed(folder: Path) -> tuple[list[_Class], list[str]]:
    """Return the classes of a folder in their order, and what there is to say about it."""
    splits, remarks = _splits(folder)
    classes: dict[tuple[str | None, str], _Class] = {}
    others: list[Path] = []
    for part, split in splits or [(folder, None)]:
        for of_class in _class_folders(part):
            each = _Class(split, composed(of_class.name), of_class, [])
            each = classes.setdefault((split, each.name), each)
            for file in _files(of_class):
                (each.files if is_picture(file) else others).append(file)
    if others:
        count = len(others) + sum(len(each.files) for each in classes.values())
        remarks.append(_no_pictures(folder, others, count))
    order = sorted(classes.values(), key=lambda each: (SPLITS.index(each.split or "train"), each))
    return [each._replace(files=sorted(each.files)) for each in order], remarks


def _splits(folder: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    """Return the folders of a folder's splits, each with `train` or `test`, and remarks.

    Validation images are test images if there are no others, and training images otherwise.
    """
    top, groups = folder, _split_folders(folder)
    others = [each for each in _visible(folder) if each not in dict(groups)]
    if not groups:  # images/train/CLASS, perhaps beside labels
        below = {each: _split_folders(each) for each in others if each.is_dir()}
        if not any(below.values()):
            return [], []
        inner = [each for each in below if each.name.lower() not in BESIDE]
        if len(inner) != 1:
            within = min(each for each, of_each in below.items() if of_each)
            raise InputError(
                f"{within}: the splits {_named(below[within])} in one of {len(below)} folders; "
                "expected train/CLASS/IMAGE and test/CLASS/IMAGE, or CLASS/IMAGE without splits"
            )
        [top] = inner
        groups = below[top]
        others = [each for each in others if each != top]
        others += [each for each in _visible(top) if each not in dict(groups)]
    by_role: defaultdict[str, list[Path]] = defaultdict(list)
    for each, role in groups:
        by_role[role].append(each)
    if any(len(of_role) > 1 for of_role in by_role.values()):
        raise InputError(
            f"{top}: the folders {_named(groups)} name a split twice; expected one of each"
        )
    if "train" not in by_role or len(by_role) < 2:
        missing = "train" if "train" not in by_role else "test"
        raise InputError(
            f"{top}: a folder {_named(groups)}, but none called {missing!r}; expected both, or "
            "CLASS/IMAGE without splits (a class needs another name than those of splits)"
        )
    remarks = []
    if others:
        remarks.append(
            f"{top}: {len(others)} files or folders beside {_named(groups)} are not used, the "
            f"first is {min(others)}"
        )
    validation = "train" if "test" in by_role else "test"
    for each in by_role["validation"]:
        done = "fitted on, too" if validation == "train" else "the test images"
        remarks.append(f"{each}: the images of this split are {done}")
    return [(each, validation if role == "validation" else role) for each, role in groups], remarks


def _named(splits: Sequence[tuple[Path, str]]) -> str:
    return " and ".join(repr(each.name) for each, _ in splits)


def _split_folders(folder: Path) -> list[tuple[Path, str]]:
    """Return the folders that are called splits, in their order, and what they are.

    Those with further words (`seg_train`) count if these are the same for two splits.
    """
    groups: defaultdict[tuple[str, ...], list[tuple[Path, str]]] = defaultdict(list)
    for each in sorted(_visible(folder)):
        if each.is_dir() and (called := split_name(each.name)) is not None:
            groups[called[1]].append((each, called[0]))
    folders = groups.pop((), [])
    more = [group for group in groups.values() if {"train"} < {role for _, role in group}]
    return folders + [each for group in more for each in group]


def read_class_names(path: str | Path) -> list[str]:
    """Read the class names in the order of the labels, in composed form.

    Args:
        path: a list, one name a line; or a folder CLASS/IMAGE, or train/CLASS/IMAGE and
            test/CLASS/IMAGE, whose classes are taken in alphabetical order.
    """
    folder = Path(path)
    if not folder.suffix and not folder.exists():
        raise InputError(f"{path}: no such folder; expected a folder for each class in it")
    if folder.is_dir():
        parts = [part for part, split in _splits(folder)[0] if split == "train"] or [folder]
        classes = sorted({composed(each.name) for part in parts for each in _class_folders(part)})
    else:
        classes = list(map(composed, read_text_list(path)))
    if len(classes) < 2:
        raise InputError(f"{path}: {len(classes)} class; expected at least two")
    return classes


def _class_folders(folder: Path) -> Iterator[Path]:
    folders = sorted(_visible(folder))
    for of_class in folders:
        if not of_class.is_dir():
            raise InputError(f"{of_class}: a file; expected one folder for each class")
        if writable(of_class.name) != of_class.name:
            raise InputError(f"{of_class}: the name of a class; expected text in UTF-8")
        if _split_folders(of_class) or (len(folders) == 1 and split_name(of_class.name)):
            raise InputError(
                f"{of_class}: a split where a class is expected; expected train/CLASS/IMAGE and "
                "test/CLASS/IMAGE, or CLASS/IMAGE without splits"
            )
        yield of_class


def _digest(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for path in _visible(folder):
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def image_files(folder: Path) -> list[Path]:
    """Return the pictures in a folder and those below it, sorted; say what else is there."""
    files = sorted(_files(folder))
    pictures = [file for file in files if is_picture(file)]
    if len(pictures) < len(files):
        others = sorted(set(files) - set(pictures))
        logger.warning("%s", _no_pictures(folder, others, len(files)))
    return pictures


def _no_pictures(folder: Path, files: Sequence[Path], count: int) -> str:
    return (
        f"{folder}: {len(files)} of {count} files are no pictures and are left out, the first is "
        f"{writable(min(files))}"
    )


def _visible(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if not is_systems(path.name))
