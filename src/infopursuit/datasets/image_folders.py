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
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import read_text_list
from infopursuit.core.names import composed, is_systems
from infopursuit.datasets.decoding import is_picture
from infopursuit.datasets.image_source import (
    FILLERS,
    SPLITS,
    ImageSource,
    classes_of_one_split,
    image_rows,
    labels_of,
    source_of_files,
    spelled,
    split_name,
)
from infopursuit.datasets.samples import Samples, of_list

logger = logging.getLogger(__name__)

# Folders beside `images` whose content is no class.
BESIDE = ("labels", "annotations", "masks")
# How the names of archives end.
ARCHIVES = (".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".tar")
# A data set of the hub, or the address of its page, where a path is expected.
HUB_NAME = re.compile(r"(?:https?:/+huggingface\.co/datasets/)?([\w.-]+/[\w.-]+)")
# What lies in data sets that name objects in pictures.
OBJECTS = {"*instances_*.json": "COCO", "*coco.json": "COCO", "*annotations.json": "COCO",
           "JPEGImages": "VOC", "labels": "YOLO"}  # fmt: skip
# Folders that a message names.
LISTED = 5
# The share of test images in a folder without splits.
TEST_FRACTION = 0.2


def read_image_folder(folder: str | Path) -> Samples:
    """List a folder of images with one folder for each class; ids are paths in it.

    Folders below that of a class count, too. Test images of classes without training images are
    left out. That files are images is checked when they are read.

    Args:
        folder: CLASS/IMAGE, or the same in folders of splits.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder CLASS/IMAGE, found {_no_folder(folder)}")
    try:
        classes, remarks = _listed(folder)
    except InputError as error:
        raise InputError(f"{error}{of_objects(folder)}") from error
    listed = [(each.split, each.name, file) for each in classes for file in each.files]
    if not listed:
        why = f"{folder}: no picture in a folder of a class; expected CLASS/IMAGE"
        raise InputError(f"{why}{of_objects(folder)}")
    if empty := [each.folder for each in classes if not each.files]:
        remarks.append(
            f"{folder}: {len(empty)} of {len(classes)} folders of classes have no picture and are "
            f"left out, the first is {empty[0]}"
        )
    remarks += _of_no_class(folder, classes)
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
    ids = [writable(file.relative_to(folder).as_posix()) for file in files]
    return Samples(str(folder), ids, labels, None if None in splits else splits, of_list(files))


def of_objects(folder: Path) -> str:
    """Say if a folder that cannot be read names objects in pictures, and what to do."""
    for pattern, form in OBJECTS.items():
        if (example := next(folder.rglob(pattern), None)) is not None:
            return f"; {example} is of {form}: objects; expected one class of each picture"
    return ""


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
    folder = _innermost(folder)
    splits, remarks = _splits(folder)
    classes: dict[tuple[str | None, str], _Class] = {}
    others: list[Path] = []
    for part, split in splits or [(folder, None)]:
        folders, files = _class_folders(_innermost(part))
        others += files
        for of_class in folders:
            each = _Class(split, composed(of_class.name), of_class, [])
            each = classes.setdefault((split, each.name), each)
            for file in _files(of_class):
                (each.files if is_picture(file) else others).append(file)
    if others:
        count = len(others) + sum(len(each.files) for each in classes.values())
        remarks.append(_no_pictures(folder, others, count))
    order = sorted(classes.values(), key=lambda each: (SPLITS.index(each.split or "train"), each))
    return [each._replace(files=sorted(each.files)) for each in order], remarks


def _no_folder(path: Path) -> str:
    """Say what is there in place of a folder, and what to do."""
    if path.name.lower().endswith(ARCHIVES) and path.exists():
        return "an archive: unpack it, and give the folder"
    named = HUB_NAME.fullmatch(path.as_posix())
    meant = f"; a data set of the hub is hf:{named[1]}" if named and not path.exists() else ""
    return f"a file{of_objects(path.parent)}" if path.exists() else f"nothing{meant}"


def _of_no_class(folder: Path, classes: Sequence[_Class]) -> Iterator[str]:
    """Say that folders are probably none of classes; refuse classes among which others lie.

    Raises:
        InputError: the folder of a class has folders that are called as other classes.
    """
    names = {each.name for each in classes}
    below: dict[str, list[str]] = {}
    for each in classes:
        inner = [composed(path.name) for path in _folders(each.folder)]
        if again := [name for name in inner if name in names - {each.name}]:
            raise InputError(
                f"{each.folder}: a folder {again[0]!r} in it, and the class {again[0]!r} beside "
                "it; expected each class once: remove one of them, or give the folder inside"
            )
        if all(file.parent != each.folder for file in each.files):
            below[each.name] = inner
    if len(below) == len(names) and max(map(len, below.values())) > 1:
        inner = list(dict.fromkeys(name for each in below.values() for name in each))
        yield (
            f"{folder}: no picture lies in {_few(below)} themselves, but in folders below, such as "
            f"{_few(inner)}: if these are the classes, bring the pictures of each together, or "
            "give one of the folders"
        )


def _few(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:LISTED])


def _innermost(folder: Path) -> Path:
    """Return the folder in which those of splits or classes lie, if one alone is around them."""
    within, inner = folder, _folders(folder)
    while len(inner) == 1 and not any(map(_is_plain_picture, _visible(within))):
        if split_name(inner[0].name) is not None and inner[0].name != within.name:
            break
        within, inner = inner[0], _folders(inner[0])
    return within if len(inner) > 1 else folder


def _folders(folder: Path) -> list[Path]:
    return sorted(each for each in _visible(folder) if each.is_dir())


def _is_plain_picture(path: Path) -> bool:
    return path.suffix != "" and path.is_file() and is_picture(path)


def _splits(folder: Path) -> tuple[list[tuple[Path, str | None]], list[str]]:
    """Return the folders of a folder's splits, each with `train` or `test`, and remarks.

    Validation images are test images if there are no others, and training images otherwise. If
    training images alone have classes, the split is None: there is none.
    """
    top, groups = folder, _split_folders(folder)
    others = [each for each in _visible(folder) if each not in dict(groups)]
    if not groups:  # images/train/CLASS, perhaps beside labels
        below = {each: _split_folders(each) for each in _folders(folder)}
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
    if "train" not in by_role:
        raise InputError(
            f"{top}: a folder {_named(groups)}, but none called 'train'; expected both, or "
            "CLASS/IMAGE without splits (a class needs another name than those of splits)"
        )
    remarks = []
    for each, role in list(groups):
        if role != "train" and {path.name for path in _folders(_innermost(each))} <= set(FILLERS):
            remarks.append(f"{each}: no folders of classes in it; it is not used")
            groups.remove((each, role))
            del by_role[role]
    if len(by_role) < 2:
        [(train, _)] = groups
        remarks.append(f"{train}: nothing to test on beside it; it is read as CLASS/IMAGE")
        return [(train, None)], remarks
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
    for each in _folders(folder):
        if (called := split_name(each.name)) is not None:
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
        folder = _innermost(folder)
        parts = [part for part, split in _splits(folder)[0] if split != "test"] or [folder]
        parts = [each for part in parts for each in _class_folders(_innermost(part))[0]]
        classes = sorted({composed(each.name) for each in parts})
    else:
        classes = list(map(composed, read_text_list(path)))
    if len(classes) < 2:
        raise InputError(f"{path}: {len(classes)} class; expected at least two")
    return classes


def _class_folders(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders of classes, and files beside them, which are no pictures."""
    folders = _folders(folder)
    files = sorted(set(_visible(folder)) - set(folders))
    if pictures := [each for each in files if _is_plain_picture(each)]:
        tables = [f", such as {each}" for each in files if each.suffix.lower() in (".csv", ".tsv")]
        raise InputError(
            f"{pictures[0]}: a picture in no folder of a class; expected CLASS/IMAGE, or a CSV "
            f"file with the columns path and label{''.join(tables[:1])}"
        )
    if not folders and (archives := [each for each in files if each.name.endswith(ARCHIVES)]):
        raise InputError(f"{archives[0]}: an archive; expected it unpacked, as CLASS/IMAGE")
    for of_class in folders:
        if writable(of_class.name) != of_class.name:
            raise InputError(f"{of_class}: the name of a class; expected text in UTF-8")
        if _split_folders(of_class) or (len(folders) == 1 and split_name(of_class.name)):
            raise InputError(
                f"{of_class}: a split where a class is expected; expected train/CLASS/IMAGE and "
                "test/CLASS/IMAGE, or CLASS/IMAGE without splits"
            )
    return folders, files


def _digest(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()


def _files(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Yield the files below a folder; a link back to where it lies leads nowhere new."""
    above |= {folder.resolve()}
    for path in _visible(folder):
        if not path.is_dir():
            yield path
        elif path.resolve() not in above:
            yield from _files(path, above)


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
    shown = (path for path in folder.iterdir() if not is_systems(path.name))
    return (path for path in shown if not (path.is_symlink() and _leads_above(path)))


@cache
def _leads_above(link: Path) -> bool:
    above = link.parent.resolve().is_relative_to(link.resolve())
    if above:
        logger.warning("%s: a link to a folder above it, left out", link)
    return above
