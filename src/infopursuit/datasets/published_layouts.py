"""Data sets that people download by hand, in the folders their archives unpack to.

cub200         images.txt, image_class_labels.txt, train_test_split.txt, classes.txt, images/CLASS/
imagenet       train/WNID/*.JPEG and val/WNID/*.JPEG, of which the settings' WordNet ids are read
rival10        train/ordinary/WNID_*.JPEG and test/ordinary/WNID_*.JPEG, meta/wnid_to_class.json,
               meta/label_mappings.json, and where it is there meta/train_test_split_by_url.json
stanford_cars  cars_train/, cars_test/, devkit/cars_meta.mat, devkit/cars_train_annos.mat, and
               cars_test_annos_withlabels.mat in devkit/ or beside it

Each reader gives the images of both splits as the data set's authors divided them, and the names
of the classes as the data set's own files have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.datasets.image_source import SPLITS
from infopursuit.datasets.metadata_files import json_mapping, matlab_array, numbered_lines

IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png")


class Listed(NamedTuple):
    """An image file of a data set, which may be missing, with its split and label."""

    file: Path
    split: str
    label: int


class Listing(NamedTuple):
    """A data set as its own files describe it.

    Attributes:
        where: the file that names the classes, for messages.
        names: the classes in the order of the labels, in the data set's spelling.
        images: its images.
    """

    where: Path
    names: list[str]
    images: list[Listed]


def list_cub200(root: Path) -> Listing:
    """CUB-200-2011 with its official split, in the order of images.txt; `root` is CUB_200_2011.

    Raises:
        InputError: a file is missing, a line is not as it should be, or the files do not list the
            same images.
    """
    folders = numbered_lines(root / "classes.txt")
    if sorted(folders) != list(range(1, len(folders) + 1)):
        raise InputError(f"{root / 'classes.txt'}: expected the numbers 1 to {len(folders)}")
    names = [folders[number].text for number in sorted(folders)]
    images = numbered_lines(root / "images.txt")
    labels = numbered_lines(root / "image_class_labels.txt")
    splits = numbered_lines(root / "train_test_split.txt")
    for name, table in (("image_class_labels", labels), ("train_test_split", splits)):
        if odd := sorted(images.keys() ^ table.keys()):
            raise InputError(
                f"{root / name}.txt: image {odd[0]} is in it or in images.txt; expected it in both"
            )
    listed = []
    for number, image in images.items():
        label, is_train = labels[number], splits[number]
        if is_train.text not in ("0", "1"):
            raise InputError(f"{is_train.where}: expected 0 (test) or 1, found {is_train.text!r}")
        if not label.text.isdecimal() or int(label.text) not in folders:
            raise InputError(
                f"{label.where}: expected a class from 1 to {len(names)}, found {label.text!r}"
            )
        folder = folders[int(label.text)].text
        if not image.text.startswith(f"{folder}/"):
            raise InputError(f"{image.where}: expected a file in {folder}/, found {image.text!r}")
        split = "train" if is_train.text == "1" else "test"
        listed.append(Listed(root / "images" / image.text, split, int(label.text) - 1))
    return Listing(root / "classes.txt", names, listed)


def list_imagenet(root: Path, wnids: Mapping[str, str], settings: Path) -> Listing:
    """Some classes of ILSVRC 2012, class by class; its validation images are the test split.

    Args:
        root: the folder with train/ and val/.
        wnids: WordNet ids and class names in the order of the labels.
        settings: the file that they are from.

    Raises:
        InputError: a folder is missing or empty, or val/ is not sorted into folders.
    """
    listed = []
    for split, folder in zip(SPLITS, (root / "train", root / "val"), strict=True):
        if not folder.is_dir():
            raise InputError(
                f"{folder}: no such folder; expected train/WNID/ and val/WNID/ (of an archive "
                "with train.X1, train.X2, ... and val.X, move their folders there)"
            )
        for label, (wnid, name) in enumerate(wnids.items()):
            if not (folder / wnid).is_dir():
                if next(_images(folder), None):
                    raise InputError(
                        f"{folder}: its images lie side by side; expected {folder.name}/WNID/: "
                        "move each into a folder of its class (for val, by "
                        "ILSVRC2012_validation_ground_truth.txt of the development kit)"
                    )
                raise InputError(
                    f"{folder / wnid}: no such folder; expected the images of {name!r} "
                    "(unpack train's WNID.tar files into folders)"
                )
            files = sorted(_images(folder / wnid))
            if not files:
                raise InputError(f"{folder / wnid}: no images; expected those of {name!r}")
            listed += [Listed(file, split, label) for file in files]
    return Listing(settings, list(wnids.values()), listed)


def list_rival10(root: Path) -> Listing:
    """The plain images of RIVAL-10, by file name, none of them in both splits; `root` is RIVAL10.

    Raises:
        InputError: a file or folder is missing or not as it should be, an image has no class, or
            an image is in both splits or in another one than the data set's own list says.
    """
    names, labels = _rival10_labels(root / "meta")
    official = _rival10_splits(root / "meta" / "train_test_split_by_url.json")
    taken: dict[str, Listed] = {}
    listed = []
    for split in SPLITS:
        folder = root / split / "ordinary"
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; expected the images of the split {split}")
        for file in sorted(_images(folder)):
            if file.stem.endswith("_merged_mask"):
                continue
            wnid = file.name.partition("_")[0]
            if wnid not in labels:
                raise InputError(
                    f"{file}: expected a name that begins with the WordNet id of a class and '_', "
                    f"found {wnid!r}"
                )
            image = Listed(file, split, labels[wnid])
            source = _imagenet_name(file.stem)
            first = taken.setdefault(source, image)
            if first.split != split:
                raise InputError(
                    f"{file}: the same image as {first.file}; expected no image in both splits"
                )
            if split not in official.get(source, {split}):
                raise InputError(
                    f"{file}: {source} is of the other split in meta/train_test_split_by_url.json; "
                    "expected each image in its own split"
                )
            listed.append(image)
    return Listing(root / "meta" / "label_mappings.json", names, listed)


def _rival10_labels(meta: Path) -> tuple[list[str], dict[str, int]]:
    """Class names, and labels by WordNet id.

    wnid_to_class.json has ImageNet's name of an id, label_mappings.json [class, label] of a name.
    """
    path = meta / "label_mappings.json"
    labels: dict[str, int] = {}
    names: dict[int, str] = {}
    for imagenet, entry in json_mapping(path).items():
        match entry:
            case [str(name), int(label)] if names.setdefault(label, name) == name:
                labels[imagenet] = label
            case _:
                raise InputError(
                    f"{path}: {imagenet!r}: expected a class and its own label, found {entry!r}"
                )
    if sorted(names) != list(range(len(names))):
        raise InputError(f"{path}: expected labels 0 to {len(names) - 1}, found {sorted(names)}")
    of_wnid = json_mapping(meta / "wnid_to_class.json")
    known = {wnid: labels[str(name)] for wnid, name in of_wnid.items() if str(name) in labels}
    return [names[label] for label in sorted(names)], known


def _rival10_splits(path: Path) -> dict[str, set[str]]:
    """The splits that the data set's list of addresses gives each image, where it has the list."""
    splits: dict[str, set[str]] = {}
    if path.exists():
        addresses: dict[str, Any] = json_mapping(path)
        for split in SPLITS:
            if not isinstance(addresses.get(split), list):
                raise InputError(f"{path}: {split}: expected a list of addresses")
            for address in addresses[split]:
                source = _imagenet_name(str(address).rpartition("/")[2].partition(".")[0])
                splits.setdefault(source, set()).add(split)
    return splits


def _imagenet_name(stem: str) -> str:
    """The name an image has in ImageNet, before which RIVAL-10 writes the WordNet id once more."""
    return re.sub(r"^n[0-9]{8}_(?=n[0-9]{8}_|ILSVRC2012_)", "", stem)


def list_stanford_cars(root: Path) -> Listing:
    """Stanford-Cars in the order of its annotations; `root` has cars_train, cars_test and devkit.

    Raises:
        InputError: a file is missing or damaged, or a class number is not that of a class.
    """
    devkit = root / "devkit"
    names = [str(name) for name in matlab_array(devkit / "cars_meta.mat", "class_names")]
    test = devkit / "cars_test_annos_withlabels.mat"
    if not test.exists() and (root / test.name).exists():
        test = root / test.name
    listed = []
    for split, path in zip(SPLITS, (devkit / "cars_train_annos.mat", test), strict=True):
        annotations = matlab_array(path, "annotations", fields=("class", "fname"))
        for row, annotation in enumerate(annotations, start=1):
            number = annotation["class"]
            if number not in range(1, len(names) + 1):
                raise InputError(
                    f"{path}: annotation {row}: expected a class from 1 to {len(names)}, "
                    f"found {number}"
                )
            file = root / f"cars_{split}" / str(annotation["fname"])
            listed.append(Listed(file, split, int(number) - 1))
    return Listing(devkit / "cars_meta.mat", names, listed)


# The layouts that need nothing but the folder.
READERS: dict[str, Callable[[Path], Listing]] = {
    "cub200": list_cub200,
    "rival10": list_rival10,
    "stanford_cars": list_stanford_cars,
}


def _images(folder: Path) -> Iterator[Path]:
    """Image files directly in a folder; hidden ones are what archives of other systems leave."""
    for path in folder.iterdir():
        if path.suffix.lower() in IMAGE_SUFFIXES and not path.name.startswith("."):
            yield path
