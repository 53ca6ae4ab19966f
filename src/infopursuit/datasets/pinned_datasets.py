"""Data sets that a YAML file pins: of the hub, of torchvision, or in a folder of known layout.

The file is the dependency that DVC sees, so it holds all that decides which images are read: an
exact commit of a hub repository, a data set of torchvision, a folder and its layout.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.errors import RemoteEntryNotFoundError
from PIL.Image import Image
from pydantic import Field

from infopursuit.core.errors import InputError, one_line
from infopursuit.core.settings import Section, read_one_of
from infopursuit.datasets.archives import list_cub200, list_imagenet, list_rival10
from infopursuit.datasets.image_source import (
    SPLITS,
    ImageSource,
    check_class_names,
    file_stamp,
    file_within,
    files_stamp,
    image_rows,
    split_name,
    streamed,
)
from infopursuit.datasets.labels import class_labels
from infopursuit.datasets.samples import HUB, Pictures, Samples, of_list

# A pattern of files that are not in the folder: an address, an absolute path, the folder above.
OUTSIDE = re.compile(r"://|::|^[/\\~]|^[A-Za-z]:|(?:^|[/\\])\.\.(?:[/\\]|$)")
logger = logging.getLogger(__name__)

# Where torchvision's data sets keep their labels.
TORCHVISION_LABELS = ("targets", "labels", "_labels")
COMMIT = re.compile("[0-9a-f]{40}")
CARD = "README.md"
# Which splits are wanted, by the names of all.
Wanted = Callable[[Iterable[str]], list[str]]


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

    local: ClassVar[str | None] = None  # the key of its folder, if nothing is ever downloaded
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

    local = "disk"
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

    local = "root"
    layout: Literal["cub200", "rival10", "imagenet"]  # how that folder is arranged, see `archives`
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


class Found(NamedTuple):
    """The n images of a data set, whose classes are not compared with a class list yet."""

    where: str | Path  # the file that names the classes, for messages
    names: Sequence[str] | None  # the classes in the order of the labels; None without names
    ids: Sequence[str]
    splits: Sequence[str] | None  # train or test, of each; None without splits
    labels: Sequence[Any]  # None of an image without one
    stamp: str  # changes when the images do
    pictures: Pictures


def open_pinned_dataset(path: Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set that a YAML file pins; download it if it is not in the cache."""
    pinned = read_pinned_dataset(path)
    return _source(path, pinned, _find(path, pinned), classes)


def pinned_samples(path: Path) -> Samples:
    """Return what a YAML file pins, with the names that the data set has for its classes."""
    pinned = read_pinned_dataset(path)
    return _samples(path, _find(path, pinned), pinned.renamed)


def hub_samples(name: str, label: str | None = None) -> Samples:
    """Return a data set of the Hugging Face hub by its name, hf:OWNER/NAME or hf:OWNER/NAME@COMMIT.

    Without a commit it is today's, which is logged. Of several splits the one called train and the
    one called test are taken, or else the one for validation. `label` is the column of classes, if
    several could be.
    """
    repository, at, revision = name.removeprefix(HUB).partition("@")
    if not re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", repository) or (at and not revision):
        raise InputError(f"{name}: expected {HUB}OWNER/NAME or {HUB}OWNER/NAME@COMMIT")
    if not COMMIT.fullmatch(revision):
        try:
            commit = huggingface_hub.HfApi().dataset_info(repository, revision=revision or None).sha
        except Exception as error:  # the hub's client raises errors of several libraries
            raise InputError(
                f"{name}: the hub does not say which commit this is ({one_line(str(error))}); "
                f"check the name, or connect to the network, or give {HUB}{repository}@COMMIT"
            ) from error
        logger.info("%s: that is %s%s@%s", name, HUB, repository, commit)
        revision = str(commit)
    pinned = HubDataset(hub=repository, revision=revision)
    splits = _load(name, pinned, partial(_two_splits, name))
    sets = [splits[each] for each in _two_splits(name, splits)]
    columns = _columns(name, "hub", sets[0].features, None, label)
    return _samples(name, _of_datasets(name, sets, columns, "", _hub_caches()))


def _two_splits(where: str, names: Iterable[str]) -> list[str]:
    roles: dict[str, str] = {}
    for each in names:
        roles.setdefault((split_name(each) or (each,))[0], each)
    test = roles.get("test", roles.get("validation"))
    taken = [roles["train"], test] if "train" in roles and test else list(roles.values())[:1]
    if others := [each for each in names if each not in taken]:
        logger.warning("%s: the splits %s are not used", where, ", ".join(others))
    return taken


def _find(path: Path, pinned: PinnedDataset) -> Found:
    if isinstance(pinned, HubDataset):
        dataset = _find_hub(path, pinned)
    elif isinstance(pinned, DiskDataset):
        dataset = _find_disk(pinned)
    elif isinstance(pinned, TorchvisionDataset):
        dataset = _find_torchvision(path, pinned)
    else:
        assert isinstance(pinned, LayoutDataset)
        dataset = _find_layout(path, pinned)
    for split in SPLITS:
        count, expected = list(dataset.splits or ()).count(split), getattr(pinned.counts, split)
        if expected is not None and count != expected:
            fewer = "the download is incomplete, fetch it again"
            more = "there are files that are not of the data set"
            raise InputError(
                f"{path}: the split {split!r} has {count} images; expected {expected} (counts): "
                f"{fewer if count < expected else more}"
            )
    return dataset


def _source(path: Path, pinned: PinnedDataset, found: Found, classes: Sequence[str]) -> ImageSource:
    if found.names is not None:
        check_class_names(found.where, found.names, classes, pinned.renamed)
    labels = [-1 if each is None else each for each in found.labels]
    rows = image_rows(path, found.ids, found.splits or (), labels, classes)
    return ImageSource(str(path), rows, found.stamp, streamed(found.pictures, len(found.ids)))


def _samples(where: str | Path, found: Found, renamed: Mapping[str, str] | None = None) -> Samples:
    names = [(renamed or {}).get(name, name) for name in found.names or ()]
    classes = class_labels(where, found.labels, names)
    splits = None if found.splits is None else list(found.splits)
    return Samples(str(where), list(found.ids), classes, splits, found.pictures)


# -- the library `datasets` -----------------------------------------------------------------------


def _find_hub(path: Path, pinned: HubDataset) -> Found:
    names = [pinned.splits.train, pinned.splits.test]
    splits = _load(path, pinned)
    missing = [name for name in names if name not in splits]
    if missing:
        raise InputError(
            f"{path}: {pinned.hub} has no split {missing[0]!r}; found {', '.join(splits)}"
        )
    sets, columns = [splits[name] for name in names], (pinned.image, pinned.label)
    return _of_datasets(path, sets, columns, pinned.model_dump_json(), _hub_caches())


def _hub_caches() -> list[Path]:
    from datasets.config import HF_DATASETS_CACHE

    return [Path(HF_DATASETS_CACHE), Path(constants.HF_HUB_CACHE)]


def _load(where: str | Path, pinned: HubDataset, wanted: Wanted | None = None) -> Mapping[str, Any]:
    """Return splits by name, from the files of the pinned commit.

    The library is given a folder: by the name of a repository it takes any commit that its cache
    has if the hub does not answer, and does not say so.

    Args:
        wanted: which of the splits, by their names; of others nothing is fetched. None for the
            two of the pin.
    """
    try:
        files = hub_files(pinned, wanted)
        folder = huggingface_hub.snapshot_download(
            pinned.hub,
            repo_type="dataset",
            revision=pinned.revision,
            allow_patterns=hub_patterns(files),
        )
        splits: Any = _library().load_dataset(folder, pinned.config, data_files=files)
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{where}: cannot load {pinned.hub} at {pinned.revision} ({one_line(str(error))}); "
            "check the name and the network, or give a local folder"
        ) from error
    return splits


def hub_files(pinned: HubDataset, wanted: Wanted | None = None) -> dict[str, list[str]] | None:
    """Return the files of each split, as patterns; None if the card of the data set lists none."""
    from datasets.data_files import sanitize_patterns
    from datasets.utils.metadata import MetadataConfigs

    try:
        card = huggingface_hub.hf_hub_download(
            pinned.hub, CARD, repo_type="dataset", revision=pinned.revision
        )
    except RemoteEntryNotFoundError:
        return None
    about: Any = huggingface_hub.DatasetCard.load(card).data
    configs = MetadataConfigs.from_dataset_card_data(about)
    config = pinned.config or configs.get_default_config_name()
    if config is None and configs:
        raise InputError(
            f"it has {len(configs)} configurations, {', '.join(configs)}; expected a YAML file "
            "with `hub`, `revision` and `config`"
        )
    chosen = configs.get(config or "", {})
    listed = chosen.get("data_files")
    files = {str(split): list(of) for split, of in sanitize_patterns(listed or {}).items()}
    for pattern in (*chain(*files.values()), chosen.get("data_dir") or ""):
        # It names what is read: no address, and no other folder of this machine.
        if OUTSIDE.search(pattern):
            raise InputError(f"its {CARD} names {pattern!r}; expected files of the data set alone")
    if listed is None:
        return None
    names = [pinned.splits.train, pinned.splits.test] if wanted is None else wanted(files)
    return {split: files[split] for split in names} if {*names} <= {*files} else files


def hub_patterns(files: Mapping[str, Sequence[str]] | None) -> list[str] | None:
    """Return which files of a repository are fetched; None for all."""
    return None if files is None else [CARD, *(each for of in files.values() for each in of)]


def open_disk(folder: Path, classes: Sequence[str]) -> ImageSource:
    """Open a folder that `save_to_disk` wrote."""
    pinned = DiskDataset(disk=str(folder))
    return _source(folder, pinned, _find_disk(pinned), classes)


def saved_samples(folder: Path) -> Samples:
    """Return the images of a folder that `save_to_disk` wrote."""
    return _samples(folder, _find_disk(DiskDataset(disk=str(folder))))


def _library() -> Any:
    import datasets  # seconds

    return datasets


def _find_disk(pinned: DiskDataset) -> Found:
    datasets, folder = _library(), Path(pinned.disk)
    try:
        saved = datasets.load_from_disk(str(folder))
    except Exception as error:  # damaged files raise errors of several libraries
        raise InputError(f"{folder}: not a folder that `save_to_disk` wrote ({error})") from error
    expected = [getattr(pinned.splits, split) for split in SPLITS]
    names = [str(name) for name in saved] if isinstance(saved, datasets.DatasetDict) else []
    missing = [split for split in expected if split not in names]
    if missing:
        what = f"the splits {', '.join(names)}" if names else "one data set without splits"
        raise InputError(
            f"{folder}: no split {missing[0]!r}; expected {' and '.join(expected)}, found {what} "
            "(a YAML file with `disk` and `splits` can name others)"
        )
    columns = _columns(folder, "disk", saved[expected[0]].features, pinned.image, pinned.label)
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith("cache-")
    ]
    stamp = " ".join([pinned.model_dump_json(), *map(file_stamp, files)])
    return _of_datasets(folder, [saved[name] for name in expected], columns, stamp, [folder])


def _columns(
    where: str | Path, kind: str, features: Mapping[str, Any], image: str | None, label: str | None
) -> tuple[str, str]:
    images = [name for name, of in features.items() if type(of).__name__ == "Image"]
    labels = [name for name, of in features.items() if type(of).__name__ == "ClassLabel"]
    labels = labels or [name for name in features if name == "label"]
    for key, given, names in (("image", image, images), ("label", label, labels)):
        if given is None and len(names) != 1:
            or_option = ", or --label" if (kind, key) == ("hub", "label") else ""
            raise InputError(
                f"{where}: expected one column of {key}s, found {', '.join(names) or 'none'} (a "
                f"YAML file with `{kind}` and `{key}` can name one{or_option})"
            )
    return image or images[0], label or labels[0]


def _of_datasets(
    where: str | Path,
    sets: Sequence[Any],
    columns: tuple[str, str],
    stamp: str,
    folders: Sequence[Path],
) -> Found:
    image, label = columns
    for data in sets:
        for column in columns:
            if column not in data.column_names:
                listed = ", ".join(data.column_names)
                raise InputError(f"{where}: the data set has no column {column!r}; found {listed}")
    encoded = [data.cast_column(image, _library().Image(decode=False)) for data in sets]
    names = getattr(sets[0].features[label], "names", None)

    def stored(image: dict[str, Any] | None) -> bytes | Path | None:
        if image is None:
            return None
        if image["bytes"] is None and image["path"] is not None:
            return file_within(where, Path(image["path"]), folders)
        return image["bytes"]

    labels = [class_labels(where, data[label][:]) for data in encoded]
    return _of_splits(
        where, names, labels, stamp, encoded, lambda data, row: stored(data[row][image])
    )


def _of_splits(
    where: str | Path,
    names: Sequence[str] | None,
    labels: Sequence[Sequence[Any]],
    stamp: str,
    sets: Sequence[Any],
    picture: Callable[[Any, int], Any],
) -> Found:
    split_of = [split for split, of in zip(SPLITS, labels, strict=False) for _ in of]
    places = [(data, row) for data, of in zip(sets, labels, strict=True) for row in range(len(of))]
    ids = [f"{split}/{row:07d}" for split, (_, row) in zip(split_of, places, strict=True)]

    def pictures(rows: Sequence[int]) -> list[Any]:
        return [picture(*places[row]) for row in rows]

    splits = split_of if len(sets) > 1 else None
    return Found(where, names, ids, splits, [each for of in labels for each in of], stamp, pictures)


# -- torchvision ----------------------------------------------------------------------------------


def _find_torchvision(path: Path, pinned: TorchvisionDataset) -> Found:
    from torchvision import datasets

    kind = getattr(datasets, pinned.torchvision, None)
    if not inspect.isclass(kind):
        raise InputError(f"{path}: torchvision.datasets has no data set {pinned.torchvision!r}")
    sets = [_torchvision_split(path, pinned, kind, split) for split in SPLITS]
    labels = []
    for data in sets:
        values = next((getattr(data, a) for a in TORCHVISION_LABELS if hasattr(data, a)), None)
        if values is None:
            raise InputError(
                f"{path}: torchvision's {pinned.torchvision} has no list of labels; "
                "expected a data set for classification"
            )
        labels.append([int(label) for label in values])
    names = getattr(sets[0], "classes", None)
    stamp = pinned.model_dump_json()
    return _of_splits(
        path, names, labels, stamp, sets, lambda data, row: partial(_picture, data, row)
    )


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


def _find_layout(path: Path, pinned: LayoutDataset) -> Found:
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
        listing = {"cub200": list_cub200, "rival10": list_rival10}[pinned.layout](root)
    files, splits, labels = zip(*listing.images, strict=True) if listing.images else ((), (), ())
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {len(files)} images are missing, the first is "
            f"{missing[0]}: the download is incomplete, fetch it again"
        )
    ids = [file.relative_to(root).as_posix() for file in files]
    stamp = f"{pinned.model_dump_json()} {files_stamp(files)}"
    return Found(listing.where, listing.names, ids, splits, labels, stamp, of_list(files))
