"""Data sets that a YAML file pins: of the hub, of torchvision, or in a folder of known layout."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL.Image import Image

from infopursuit.core.errors import InputError
from infopursuit.core.settings import read_one_of
from infopursuit.datasets.dataset_settings import (
    KINDS,
    Counts,
    DiskDataset,
    HubDataset,
    LayoutDataset,
    PinnedDataset,
    TorchvisionDataset,
)
from infopursuit.datasets.hugging_face import one_line, open_disk, open_hub
from infopursuit.datasets.image_source import (
    ROWS,
    SPLITS,
    ImageSource,
    check_class_names,
    checked_image_rows,
    numbered_rows,
    source_of_files,
)
from infopursuit.datasets.published_layouts import READERS, list_imagenet

# Where torchvision's data sets keep their labels.
TORCHVISION_LABELS = ("targets", "labels", "_labels")


def open_pinned_dataset(path: Path, classes: Sequence[str]) -> ImageSource:
    """The data set that a YAML file pins, downloaded where it is not in the cache.

    Raises:
        InputError: the file has a mistake, the network cannot be reached, the folder is not
            arranged as its layout says, or the data set has no such split or column, other
            classes, or other numbers of images than the file says.
    """
    pinned = read_pinned_dataset(path)
    if isinstance(pinned, HubDataset):
        source = open_hub(path, pinned, classes)
    elif isinstance(pinned, DiskDataset):
        source = open_disk(path, pinned, classes)
    elif isinstance(pinned, TorchvisionDataset):
        source = _torchvision(path, pinned, classes)
    else:
        assert isinstance(pinned, LayoutDataset)
        source = _layout(path, pinned, classes)
    _check_counts(path, source.rows, pinned.counts)
    return source


def read_pinned_dataset(path: Path) -> PinnedDataset:
    """What a YAML file says of a data set; nothing is opened or downloaded.

    Raises:
        InputError: the file is missing or has a mistake.
    """
    return read_one_of(path, KINDS, "a pinned data set")


def _torchvision(path: Path, pinned: TorchvisionDataset, classes: Sequence[str]) -> ImageSource:
    from torchvision import datasets

    kind = getattr(datasets, pinned.torchvision, None)
    if not inspect.isclass(kind):
        raise InputError(f"{path}: torchvision.datasets has no data set {pinned.torchvision!r}")
    sets = [_torchvision_split(path, pinned, kind, split) for split in SPLITS]
    labels = []
    for data in sets:
        found = next((getattr(data, a) for a in TORCHVISION_LABELS if hasattr(data, a)), None)
        if found is None:
            raise InputError(
                f"{path}: torchvision's {pinned.torchvision} has no list of labels; "
                "expected a data set for classification"
            )
        labels.append([int(label) for label in found])
    names = getattr(sets[0], "classes", None)
    if names is not None:
        check_class_names(path, names, classes, pinned.renamed)
    rows = numbered_rows(path, labels, classes)

    def images(start: int) -> Iterator[Callable[[], Image]]:
        for data in sets:
            for row in range(min(start, len(data)), len(data)):
                yield partial(_picture, data, row)
            start = max(start - len(data), 0)

    return ImageSource(str(path), rows, pinned.model_dump_json(), images)


def _torchvision_split(path: Path, pinned: TorchvisionDataset, kind: Any, split: str) -> Any:
    accepted = inspect.signature(kind).parameters
    choice: dict[str, Any]
    if "train" in accepted:
        choice = {"train": split == "train"}
    elif "split" in accepted:
        choice = {"split": getattr(pinned.splits, split)}
    else:
        raise InputError(
            f"{path}: torchvision's {pinned.torchvision} is not split; expected one that is"
        )
    if "download" in accepted:
        choice["download"] = pinned.download
    try:
        return kind(pinned.root, **choice)
    except Exception as error:  # each data set has its own ways to fail
        raise InputError(
            f"{path}: cannot load the split {split!r} of torchvision's {pinned.torchvision} from "
            f"{pinned.root} ({one_line(error)}); check file and network, or place "
            "its files there"
        ) from error


def _picture(data: Any, row: int) -> Image:
    return data[row][0]


def _layout(path: Path, pinned: LayoutDataset, classes: Sequence[str]) -> ImageSource:
    root = Path(pinned.root)
    if not root.is_dir():
        raise InputError(
            f"{path}: root: no folder {root}; expected the data set there, as the file describes"
        )
    if (pinned.layout == "imagenet") != (pinned.wnids is not None):
        raise InputError(
            f"{path}: wnids: expected WordNet ids and class names for the layout imagenet, and "
            f"for no other; the layout is {pinned.layout}"
        )
    if pinned.wnids is not None:
        listing = list_imagenet(root, pinned.wnids, path)
    else:
        listing = READERS[pinned.layout](root)
    check_class_names(listing.where, listing.names, classes, pinned.renamed)
    files = [image.file for image in listing.images]
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {len(files)} images are missing, the first is "
            f"{missing[0]}: the download is incomplete, fetch it again"
        )
    columns = {
        "id": [file.relative_to(root).as_posix() for file in files],
        "split": [image.split for image in listing.images],
        "label": [image.label for image in listing.images],
        "class_name": [classes[image.label] for image in listing.images],
    }
    rows = checked_image_rows(path, pa.table(columns, schema=ROWS), classes)
    source = source_of_files(path, rows, files)
    return replace(source, stamp=f"{pinned.model_dump_json()} {source.stamp}")


def _check_counts(where: str | Path, rows: pa.Table, counts: Counts) -> None:
    """Raise InputError unless the splits have the numbers of images that its file says."""
    there = rows.column("split").value_counts().to_pylist()
    sizes = {each["values"]: each["counts"] for each in there}
    for split in SPLITS:
        found, expected = sizes.get(split, 0), getattr(counts, split)
        if expected is None or found == expected:
            continue
        hint = (
            "the download is incomplete, fetch it again"
            if found < expected
            else "there are files that are not of the data set"
        )
        raise InputError(
            f"{where}: the split {split!r} has {found} images; expected {expected} (counts): {hint}"
        )
