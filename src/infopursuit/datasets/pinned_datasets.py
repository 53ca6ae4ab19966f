"""Data sets that a YAML file pins: of the hub, of torchvision, or in a folder of known layout.

The file is the dependency that DVC sees, so it holds all that decides which images are read: an
exact commit of a hub repository, a data set of torchvision, a folder and its layout. Layouts are
those of published archives, downloaded and unpacked:

cub200     images.txt, image_class_labels.txt, train_test_split.txt, classes.txt, images/CLASS/
imagenet   train/WNID/*.JPEG and val/WNID/*.JPEG, of which the WordNet ids in the file are read
rival10    train/ordinary/WNID_*.JPEG and test/ordinary/WNID_*.JPEG, meta/wnid_to_class.json,
           meta/label_mappings.json
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from PIL.Image import Image
from pydantic import Field

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_json, read_text
from infopursuit.core.names import is_systems
from infopursuit.core.settings import Section, read_one_of
from infopursuit.datasets.image_source import (
    SPLITS,
    ImageSource,
    check_class_names,
    file_stamp,
    image_rows,
    numbered_rows,
    source_of_files,
)

# Where torchvision's data sets keep their labels.
TORCHVISION_LABELS = ("targets", "labels", "_labels")
# Files that `save_to_disk` writes: of several splits, and of one.
SAVED = ("dataset_dict.json", "state.json")
IMAGE_SUFFIXES = (".jpeg", ".jpg", ".png")
IN_ARCHIVE = "expected it as the data set's archive has it"


class Splits(Section):
    """What a data set calls the two splits."""

    train: str = "train"
    test: str = "test"


class Counts(Section):
    """How many images the splits of the complete data set have; null if that is not checked."""

    train: Annotated[int, Field(ge=1)] | None = None
    test: Annotated[int, Field(ge=1)] | None = None


class PinnedDataset(Section):
    """What the file may say of any data set."""

    counts: Counts = Counts()  # checked when the data set is opened
    # Class names of the data set that differ in the class list, with the name there.
    renamed: dict[str, str] = Field(default_factory=dict)


class HubDataset(PinnedDataset):
    """A data set on the Hugging Face hub at an exact commit, with the names of its columns."""

    hub: str
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    config: str | None = None
    splits: Splits = Splits()
    image: str = "image"
    label: str = "label"


class DiskDataset(PinnedDataset):
    """A folder that `save_to_disk` of the library `datasets` wrote."""

    disk: str
    splits: Splits = Splits()  # what it calls the two splits
    image: str | None = None  # its column of images, null for the only one
    # Its column of labels, null for the only one with class names, or `label`.
    label: str | None = None


class TorchvisionDataset(PinnedDataset):
    """A class of torchvision.datasets; torchvision checks the files it knows by their MD5."""

    torchvision: str
    root: str
    splits: Splits = Splits()
    download: bool = True


class LayoutDataset(PinnedDataset):
    """A downloaded data set, in the folder that its archive unpacks to.

    DVC sees the YAML file but not the folder, so a stage does not run again when files in it
    change.
    """

    layout: Literal["cub200", "rival10", "imagenet"]  # how that folder is arranged, see above
    root: str
    # Of `imagenet` alone: the WordNet ids to use, each with the name of its class, in the order of
    # the labels.
    wnids: dict[Annotated[str, Field(pattern=r"^n[0-9]{8}$")], str] | None = None


# The key that only one kind has decides which it is.
KINDS: dict[str, type[PinnedDataset]] = {
    "hub": HubDataset,
    "disk": DiskDataset,
    "torchvision": TorchvisionDataset,
    "layout": LayoutDataset,
}


def read_pinned_dataset(path: Path) -> PinnedDataset:
    """Read what a YAML file says of a data set; nothing is opened or downloaded."""
    return read_one_of(path, KINDS, "a pinned data set")


def open_pinned_dataset(path: Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set that a YAML file pins; download it if it is not in the cache."""
    pinned = read_pinned_dataset(path)
    if isinstance(pinned, HubDataset):
        source = _open_hub(path, pinned, classes)
    elif isinstance(pinned, DiskDataset):
        source = open_disk(path, pinned, classes)
    elif isinstance(pinned, TorchvisionDataset):
        source = _open_torchvision(path, pinned, classes)
    else:
        assert isinstance(pinned, LayoutDataset)
        source = _open_layout(path, pinned, classes)
    counts = source.rows.column("split").value_counts().to_pylist()
    sizes = {each["values"]: each["counts"] for each in counts}
    for split in SPLITS:
        found, expected = sizes[split], getattr(pinned.counts, split)
        if expected is not None and found != expected:
            fewer = "the download is incomplete, fetch it again"
            more = "there are files that are not of the data set"
            raise InputError(
                f"{path}: the split {split!r} has {found} images; expected {expected} (counts): "
                f"{fewer if found < expected else more}"
            )
    return source


# -- the library `datasets` -----------------------------------------------------------------------


def saved_by_datasets(folder: Path) -> bool:
    """Return whether `save_to_disk` of the library `datasets` wrote a folder."""
    return any((folder / name).is_file() for name in SAVED)


def _open_hub(path: Path, pinned: HubDataset, classes: Sequence[str]) -> ImageSource:
    import datasets
    from datasets.config import HF_DATASETS_CACHE
    from huggingface_hub.constants import HF_HUB_CACHE

    sets = []
    for split in SPLITS:
        name = getattr(pinned.splits, split)
        try:
            data = datasets.load_dataset(
                pinned.hub, pinned.config, revision=pinned.revision, split=name
            )
        except Exception as error:  # the hub's client raises errors of several libraries
            raise InputError(
                f"{path}: cannot load the split {name!r} of {pinned.hub} at {pinned.revision} "
                f"({error}); check the file and the network, or give `images` a local "
                "folder"
            ) from error
        sets.append(data)
    stamp, caches = pinned.model_dump_json(), [Path(HF_DATASETS_CACHE), Path(HF_HUB_CACHE)]
    return _of_datasets(path, pinned, classes, sets, (pinned.image, pinned.label), stamp, caches)


def open_disk(path: Path, pinned: DiskDataset, classes: Sequence[str]) -> ImageSource:
    """Open a folder that `save_to_disk` wrote; `path` is what the user gave, for messages."""
    import datasets

    folder = Path(pinned.disk)
    try:
        saved = datasets.load_from_disk(str(folder))
    except Exception as error:  # damaged files raise errors of several libraries
        raise InputError(f"{folder}: not a folder that `save_to_disk` wrote ({error})") from error
    wanted = [getattr(pinned.splits, split) for split in SPLITS]
    names = [str(name) for name in saved] if isinstance(saved, datasets.DatasetDict) else []
    missing = [split for split in wanted if split not in names]
    if missing:
        found = f"the splits {', '.join(names)}" if names else "one data set without splits"
        raise InputError(
            f"{folder}: no split {missing[0]!r}; expected {' and '.join(wanted)}, found {found} "
            "(a YAML file with `disk` and `splits` can name others)"
        )
    features = saved[wanted[0]].features
    images = [name for name, kind in features.items() if type(kind).__name__ == "Image"]
    labels = [name for name, kind in features.items() if type(kind).__name__ == "ClassLabel"]
    labels = labels or [name for name in features if name == "label"]
    columns = (
        pinned.image or _only(folder, "image", images),
        pinned.label or _only(folder, "label", labels),
    )
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith("cache-")
    ]
    stamp = " ".join([pinned.model_dump_json(), *map(file_stamp, files)])
    sets = [saved[name] for name in wanted]
    return _of_datasets(path, pinned, classes, sets, columns, stamp, [folder])


def _only(folder: Path, key: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"{folder}: expected one column of {key}s, found {', '.join(names) or 'none'} (a YAML file "
        f"with `disk` and `{key}` can name one)"
    )


def _of_datasets(
    path: Path,
    pinned: PinnedDataset,
    classes: Sequence[str],
    sets: Sequence[Any],
    columns: tuple[str, str],
    stamp: str,
    folders: Sequence[Path],
) -> ImageSource:
    """Return the data set of two loaded splits; images that are files lie in `folders`."""
    import datasets

    image, label = columns
    for data in sets:
        for column in columns:
            if column not in data.column_names:
                found = ", ".join(data.column_names)
                raise InputError(f"{path}: the data set has no column {column!r}; found {found}")
    encoded = [data.cast_column(image, datasets.Image(decode=False)) for data in sets]
    names = getattr(sets[0].features[label], "names", None)
    if names is not None:
        check_class_names(path, names, classes, pinned.renamed)
    rows = numbered_rows(path, [_labels(data[label][:]) for data in encoded], classes)

    def stored(image: dict[str, Any] | None) -> bytes | Path | None:
        if image is None:
            return None
        if image["bytes"] is None and image["path"] is not None:
            file = Path(image["path"])
            # The author of a data set could name any file of this machine, for its page to show.
            if not any(file.resolve().is_relative_to(folder.resolve()) for folder in folders):
                expected = " or ".join(map(str, folders))
                raise InputError(
                    f"{path}: the image {file} is not in it; expected files in {expected}"
                )
            return file
        return image["bytes"]

    def images(start: int) -> Iterator[bytes | Path | None]:
        return (stored(data[row][image]) for data, row in _from(encoded, start))

    return ImageSource(str(path), rows, stamp, images)


def _labels(given: Sequence[int | None]) -> list[int]:
    return [-1 if each is None else each for each in given]


def _from(sets: Sequence[Any], start: int) -> Iterator[tuple[Any, int]]:
    """Yield (split, row in it) from a row of all splits on."""
    for data in sets:
        for row in range(min(start, len(data)), len(data)):
            yield data, row
        start = max(start - len(data), 0)


# -- torchvision ----------------------------------------------------------------------------------


def _open_torchvision(
    path: Path, pinned: TorchvisionDataset, classes: Sequence[str]
) -> ImageSource:
    from torchvision import datasets

    kind = getattr(datasets, pinned.torchvision, None)
    if not inspect.isclass(kind):
        raise InputError(f"{path}: torchvision.datasets has no data set {pinned.torchvision!r}")
    sets = [_torchvision_split(path, pinned, kind, split) for split in SPLITS]
    labels = []
    for data in sets:
        given = next((getattr(data, a) for a in TORCHVISION_LABELS if hasattr(data, a)), None)
        if given is None:
            raise InputError(
                f"{path}: torchvision's {pinned.torchvision} has no list of labels; "
                "expected a data set for classification"
            )
        labels.append([int(label) for label in given])
    names = getattr(sets[0], "classes", None)
    if names is not None:
        check_class_names(path, names, classes, pinned.renamed)
    rows = numbered_rows(path, labels, classes)

    def images(start: int) -> Iterator[Callable[[], Image]]:
        return (partial(_picture, data, row) for data, row in _from(sets, start))

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
            f"{pinned.root} ({error}); check file and network, or place "
            "its files there"
        ) from error


def _picture(data: Any, row: int) -> Image:
    return data[row][0]


# -- archives -------------------------------------------------------------------------------------


class Listing(NamedTuple):
    """A data set as its own files describe it."""

    where: Path  # the file that names the classes, for messages
    names: list[str]  # the classes in the order of the labels, in the data set's spelling
    images: list[tuple[Path, str, int]]  # file, split and label of each image


def _open_layout(path: Path, pinned: LayoutDataset, classes: Sequence[str]) -> ImageSource:
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
        listing = _list_imagenet(root, pinned.wnids, path)
    else:
        listing = {"cub200": _list_cub200, "rival10": _list_rival10}[pinned.layout](root)
    check_class_names(listing.where, listing.names, classes, pinned.renamed)
    files, splits, labels = zip(*listing.images, strict=True) if listing.images else ((), (), ())
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {len(files)} images are missing, the first is "
            f"{missing[0]}: the download is incomplete, fetch it again"
        )
    ids = [file.relative_to(root).as_posix() for file in files]
    source = source_of_files(path, image_rows(path, ids, splits, labels, classes), files)
    return replace(source, stamp=f"{pinned.model_dump_json()} {source.stamp}")


def _list_cub200(root: Path) -> Listing:
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
    """Read lines `NUMBER TEXT` with distinct numbers, in the order of the file."""
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


def _list_imagenet(root: Path, wnids: Mapping[str, str], settings: Path) -> Listing:
    """List some classes of ILSVRC 2012; its validation images are the test split."""
    listed = []
    for split, folder in zip(SPLITS, (root / "train", root / "val"), strict=True):
        for label, (wnid, name) in enumerate(wnids.items()):
            files = _images(folder / wnid)
            if not files:
                hint = "unpack train's WNID.tar files into folders"
                if split == "test":
                    hint = (
                        "move each image into a folder of its class, by "
                        "ILSVRC2012_validation_ground_truth.txt of the development kit"
                    )
                raise InputError(
                    f"{folder / wnid}: no images there; expected those of {name!r} ({hint})"
                )
            listed += [(file, split, label) for file in files]
    return Listing(settings, list(wnids.values()), listed)


def _list_rival10(root: Path) -> Listing:
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
    """Return the image files in a folder, sorted; without the hidden ones of other systems."""
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in IMAGE_SUFFIXES and not is_systems(path.name)
    )
