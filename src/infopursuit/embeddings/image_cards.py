"""Data sets of the Hugging Face hub, of torchvision and of local folders, as their cards say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL.Image import Image

from infopursuit.embeddings.cards import (
    HubImagesCard,
    ImagesCard,
    LayoutImagesCard,
    TorchvisionImagesCard,
    read_card,
)
from infopursuit.embeddings.image_layouts import READERS, list_imagenet
from infopursuit.embeddings.image_rows import (
    ROWS,
    SPLITS,
    check_class_names,
    check_counts,
    checked_image_rows,
)
from infopursuit.embeddings.image_source import ImageSource, source_of_files
from infopursuit.errors import InputError

# Where torchvision's data sets keep their labels.
TORCHVISION_LABELS = ("targets", "labels", "_labels")

KINDS: dict[str, type[ImagesCard]] = {
    "hub": HubImagesCard,
    "torchvision": TorchvisionImagesCard,
    "layout": LayoutImagesCard,
}


def open_image_card(path: Path, classes: Sequence[str]) -> ImageSource:
    """The data set that a card pins, downloaded where it is not in the cache, or in its folder.

    Raises:
        InputError: the card has a mistake, the network cannot be reached, the folder is not
            arranged as its layout says, or the data set has no such split or column, other
            classes, or other numbers of images than the card says.
    """
    card = read_card(path, KINDS)
    if isinstance(card, HubImagesCard):
        source = _hub(path, card, classes)
    elif isinstance(card, TorchvisionImagesCard):
        source = _torchvision(path, card, classes)
    else:
        assert isinstance(card, LayoutImagesCard)
        source = _layout(path, card, classes)
    check_counts(path, source.rows, card.counts)
    return source


def _hub(path: Path, card: HubImagesCard, classes: Sequence[str]) -> ImageSource:
    import datasets

    sets = []
    for split in SPLITS:
        try:
            data = datasets.load_dataset(
                card.hub, card.config, revision=card.revision, split=getattr(card.splits, split)
            )
        except Exception as error:  # the hub's client raises errors of several libraries
            raise InputError(
                f"{path}: cannot load the split {getattr(card.splits, split)!r} of {card.hub} at "
                f"{card.revision} ({_one_line(error)}); check card and network, or give `images` "
                "a local folder"
            ) from error
        for column in (card.image, card.label):
            if column not in data.column_names:
                raise InputError(
                    f"{path}: {card.hub} has no column {column!r}; "
                    f"found {', '.join(data.column_names)}"
                )
        sets.append(data.cast_column(card.image, datasets.Image(decode=False)))
    names = getattr(sets[0].features[card.label], "names", None)
    if names is not None:
        check_class_names(path, names, classes, card.renamed)
    rows = _numbered_rows(path, [data[card.label][:] for data in sets], classes)

    def images(start: int) -> Iterator[bytes | Path | None]:
        for data in sets:
            for row in range(min(start, len(data)), len(data)):
                yield _stored(data[row][card.image])
            start = max(start - len(data), 0)

    return ImageSource(str(path), rows, card.model_dump_json(), images)


def _stored(image: dict[str, Any] | None) -> bytes | Path | None:
    if image is None:
        return None
    if image["bytes"] is None and image["path"] is not None:
        return Path(image["path"])
    return image["bytes"]


def _torchvision(path: Path, card: TorchvisionImagesCard, classes: Sequence[str]) -> ImageSource:
    from torchvision import datasets

    kind = getattr(datasets, card.torchvision, None)
    if not inspect.isclass(kind):
        raise InputError(f"{path}: torchvision.datasets has no data set {card.torchvision!r}")
    sets = [_torchvision_split(path, card, kind, split) for split in SPLITS]
    labels = []
    for data in sets:
        found = next((getattr(data, a) for a in TORCHVISION_LABELS if hasattr(data, a)), None)
        if found is None:
            raise InputError(
                f"{path}: torchvision's {card.torchvision} has no list of labels; "
                "expected a data set for classification"
            )
        labels.append([int(label) for label in found])
    names = getattr(sets[0], "classes", None)
    if names is not None:
        check_class_names(path, names, classes, card.renamed)
    rows = _numbered_rows(path, labels, classes)

    def images(start: int) -> Iterator[Callable[[], Image]]:
        for data in sets:
            for row in range(min(start, len(data)), len(data)):
                yield partial(_picture, data, row)
            start = max(start - len(data), 0)

    return ImageSource(str(path), rows, card.model_dump_json(), images)


def _torchvision_split(path: Path, card: TorchvisionImagesCard, kind: Any, split: str) -> Any:
    accepted = inspect.signature(kind).parameters
    choice: dict[str, Any]
    if "train" in accepted:
        choice = {"train": split == "train"}
    elif "split" in accepted:
        choice = {"split": getattr(card.splits, split)}
    else:
        raise InputError(
            f"{path}: torchvision's {card.torchvision} is not split; expected one that is"
        )
    if "download" in accepted:
        choice["download"] = card.download
    try:
        return kind(card.root, **choice)
    except Exception as error:  # each data set has its own ways to fail
        raise InputError(
            f"{path}: cannot load the split {split!r} of torchvision's {card.torchvision} from "
            f"{card.root} ({_one_line(error)}); check card and network, or place its files there"
        ) from error


def _picture(data: Any, row: int) -> Image:
    return data[row][0]


def _layout(path: Path, card: LayoutImagesCard, classes: Sequence[str]) -> ImageSource:
    root = Path(card.root)
    if not root.is_dir():
        raise InputError(
            f"{path}: root: no folder {root}; expected the data set there, as the card describes"
        )
    if (card.layout == "imagenet") != (card.wnids is not None):
        raise InputError(
            f"{path}: wnids: expected WordNet ids and class names for the layout imagenet, and "
            f"for no other; the layout is {card.layout}"
        )
    if card.wnids is not None:
        listing = list_imagenet(root, card.wnids, path)
    else:
        listing = READERS[card.layout](root)
    check_class_names(listing.where, listing.names, classes, card.renamed)
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
    return replace(source, stamp=f"{card.model_dump_json()} {source.stamp}")


def _numbered_rows(path: Path, labels: Sequence[Sequence[int]], classes: Sequence[str]) -> pa.Table:
    """Rows of a data set whose images have no ids but their place in their split."""
    columns: dict[str, list[Any]] = {name: [] for name in ROWS.names}
    for split, split_labels in zip(SPLITS, labels, strict=True):
        for place, label in enumerate(split_labels):
            columns["id"].append(f"{split}/{place:07d}")
            columns["split"].append(split)
            columns["label"].append(label)
            columns["class_name"].append(classes[label] if 0 <= label < len(classes) else "")
    return checked_image_rows(path, pa.table(columns, schema=ROWS), classes)


def _one_line(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error)).strip()[:300].rstrip(".") or type(error).__name__
