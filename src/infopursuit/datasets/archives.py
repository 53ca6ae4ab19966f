"""Images and labels of published archives, downloaded and unpacked, as their own files list them.

cub200     images.txt, image_class_labels.txt, train_test_split.txt, classes.txt, images/CLASS/
imagenet   train/WNID/*.JPEG and val/WNID/*.JPEG, of which the WordNet ids in the file are read; or
           in folders train.X1, train.X2, ... and val.X, as Kaggle has ImageNet-100
rival10    train/ordinary/WNID_*.JPEG and test/ordinary/WNID_*.JPEG, meta/wnid_to_class.json,
           meta/label_mappings.json
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_json, read_text
from infopursuit.core.names import is_systems
from infopursuit.datasets.image_source import SPLITS

IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png")
IN_ARCHIVE = "expected it as the data set's archive has it"


class Listing(NamedTuple):
    """A data set as its own files describe it."""

    where: Path  # the file that names the classes, for messages
    names: list[str]  # the classes in the order of the labels, in the data set's spelling
    images: list[tuple[Path, str, int]]  # file, split and label of each image


def list_cub200(root: Path) -> Listing:
    """List CUB-200-2011 with its official split, in the order of images.txt."""
    folders, images, labels, splits = (
        _numbered_lines(root / f"{name}.txt")
        for name in ("classes", "images", "image_class_labels", "train_test_split")
    )
    if sorted(folders) != list(range(1, len(folders) + 1)):
        raise InputError(f"{root / 'classes.txt'}: expected the numbers 1 to {len(folders)}")
    of_number = {str(number): name for number, name in folders.items()}
    listed = []
    for number, image in images.items():
        label, is_train = labels.get(number), splits.get(number)
        if label not in of_number or not image.startswith(f"{of_number[label]}/"):
            raise InputError(
                f"{root / 'image_class_labels.txt'}: image {number} ({image}): expected the number "
                f"of its class, 1 to {len(folders)}, found {label!r}"
            )
        if is_train not in ("0", "1"):
            raise InputError(
                f"{root / 'train_test_split.txt'}: image {number}: expected 0 (test) or 1, found "
                f"{is_train!r}"
            )
        split = "train" if is_train == "1" else "test"
        listed.append((root / "images" / image, split, int(label) - 1))
    return Listing(root / "classes.txt", [folders[number] for number in sorted(folders)], listed)


def _numbered_lines(path: Path) -> dict[int, str]:
    lines: dict[int, str] = {}
    for row, line in enumerate(read_text(path, IN_ARCHIVE).splitlines(), start=1):
        match = re.fullmatch(r"([0-9]+)\s+(\S.*?)\s*", line)
        if match is None or int(match[1]) in lines:
            raise InputError(
                f"{path}: line {row}: expected a new number, a blank and a text, found "
                f"{line[:80]!r}"
            )
        lines[int(match[1])] = match[2]
    return lines


def list_imagenet(root: Path, wnids: Mapping[str, str], settings: Path) -> Listing:
    """List some classes of ILSVRC 2012; its validation images are the test split."""
    listed = []
    for split, called in zip(SPLITS, ("train", "val"), strict=True):
        folders = sorted(root.glob(f"{called}.X*")) or [root / called]
        for label, (wnid, name) in enumerate(wnids.items()):
            files = [file for folder in folders for file in _images(folder / wnid)]
            if not files:
                hint = "unpack train's WNID.tar files into folders"
                if split == "test":
                    hint = (
                        "move each image into a folder of its class, by "
                        "ILSVRC2012_validation_ground_truth.txt of the development kit"
                    )
                raise InputError(
                    f"{folders[-1] / wnid}: no images there; expected those of {name!r} ({hint})"
                )
            listed += [(file, split, label) for file in files]
    return Listing(settings, list(wnids.values()), listed)


def list_rival10(root: Path) -> Listing:
    """List the plain images of RIVAL-10, by file name; refuse an image in both splits.

    wnid_to_class.json has ImageNet's name of an id, label_mappings.json [class, label] of a name.
    """
    path = root / "meta" / "label_mappings.json"
    mappings, of_wnid = (
        read_json(file, IN_ARCHIVE) for file in (path, path.with_name("wnid_to_class.json"))
    )
    try:
        names = {label: name for name, label in mappings.values()}
        labels = {wnid: mappings[name][1] for wnid, name in of_wnid.items() if name in mappings}
        class_names = [names[label] for label in range(len(names))]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: expected [class, label] of each name; {IN_ARCHIVE}") from error
    listed: list[tuple[Path, str, int]] = []
    first: dict[str, tuple[Path, str]] = {}
    for split in SPLITS:
        folder = root / split / "ordinary"
        files = _images(folder)
        if not files:
            raise InputError(f"{folder}: no images there; expected those of the split {split}")
        for file in files:
            if file.stem.endswith("_merged_mask"):
                continue
            wnid = file.name.partition("_")[0]
            if wnid not in labels:
                raise InputError(
                    f"{file}: expected a name that begins with the WordNet id of a class and '_', "
                    f"found {wnid!r}"
                )
            # RIVAL-10 writes the WordNet id once more before the name of the image in ImageNet.
            source = re.sub(r"^n[0-9]{8}_(?=n[0-9]{8}_|ILSVRC2012_)", "", file.stem)
            other, other_split = first.setdefault(source, (file, split))
            if other_split != split:
                raise InputError(
                    f"{file}: the same image as {other}; expected no image in both splits"
                )
            listed.append((file, split, labels[wnid]))
    return Listing(path, class_names, listed)


def _images(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in IMAGE_SUFFIXES and not is_systems(path.name)
    )
