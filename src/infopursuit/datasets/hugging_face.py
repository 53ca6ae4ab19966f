"""Data sets of the library `datasets`: on the Hugging Face hub, or in a folder it saved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub.constants import HF_HUB_CACHE

from infopursuit.core.errors import InputError
from infopursuit.datasets.dataset_settings import DiskDataset, HubDataset, PinnedDataset
from infopursuit.datasets.image_source import (
    SPLITS,
    ImageSource,
    check_class_names,
    file_stamp,
    numbered_rows,
)

# Files that `save_to_disk` writes: of several splits, and of one.
SEVERAL, ONE = "dataset_dict.json", "state.json"


def saved_by_datasets(folder: Path) -> bool:
    """Whether `save_to_disk` of the library `datasets` wrote a folder."""
    return any((folder / name).is_file() for name in (SEVERAL, ONE))


def open_hub(path: Path, pinned: HubDataset, classes: Sequence[str]) -> ImageSource:
    """A data set of the hub, downloaded where it is not in the cache.

    Raises:
        InputError: the network cannot be reached, or the data set has no such split or column, or
            other classes.
    """
    import datasets
    from datasets.config import HF_DATASETS_CACHE

    sets = []
    for split in SPLITS:
        try:
            data = datasets.load_dataset(
                pinned.hub,
                pinned.config,
                revision=pinned.revision,
                split=getattr(pinned.splits, split),
            )
        except Exception as error:  # the hub's client raises errors of several libraries
            raise InputError(
                f"{path}: cannot load the split {getattr(pinned.splits, split)!r} of {pinned.hub} "
                f"at {pinned.revision} ({one_line(error)}); check the file and the network, or "
                "give `images` a local folder"
            ) from error
        sets.append(data)
    stamp = pinned.model_dump_json()
    caches = [Path(HF_DATASETS_CACHE), Path(HF_HUB_CACHE)]
    return _source(path, pinned, classes, sets, (pinned.image, pinned.label), stamp, caches)


def open_disk(path: Path, pinned: DiskDataset, classes: Sequence[str]) -> ImageSource:
    """A folder that `save_to_disk` wrote; `path` is what the user gave, for messages.

    Raises:
        InputError: the folder is damaged, has other splits or classes, or its columns of images
            and labels are not plain to see.
    """
    import datasets

    folder = Path(pinned.disk)
    try:
        saved = datasets.load_from_disk(str(folder))
    except Exception as error:  # damaged files raise errors of several libraries
        raise InputError(
            f"{folder}: not a folder that `save_to_disk` wrote ({one_line(error)})"
        ) from error
    wanted = [getattr(pinned.splits, split) for split in SPLITS]
    found = [str(name) for name in saved] if isinstance(saved, datasets.DatasetDict) else []
    missing = [split for split in wanted if split not in found]
    if missing:
        told = f"the splits {', '.join(found)}" if found else "one data set without splits"
        raise InputError(
            f"{folder}: no split {missing[0]!r}; expected {' and '.join(wanted)}, found {told} "
            "(a YAML file with `disk` and `splits` can name others)"
        )
    features = saved[wanted[0]].features
    image = pinned.image or _only(
        folder, "image", [name for name, kind in features.items() if _is(kind, "Image")]
    )
    label = pinned.label or _only(
        folder,
        "label",
        [name for name, kind in features.items() if _is(kind, "ClassLabel")]
        or [name for name in features if name == "label"],
    )
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith("cache-")
    ]
    stamp = " ".join([pinned.model_dump_json(), *map(file_stamp, files)])
    sets = [saved[name] for name in wanted]
    return _source(path, pinned, classes, sets, (image, label), stamp, [folder])


def _source(
    path: Path,
    pinned: PinnedDataset,
    classes: Sequence[str],
    sets: Sequence[Any],
    columns: tuple[str, str],
    stamp: str,
    folders: Sequence[Path],
) -> ImageSource:
    """`folders` are where images may be that are files of their own."""
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
    roots = [folder.resolve() for folder in folders]
    rows = numbered_rows(path, [data[label][:] for data in encoded], classes)

    def images(start: int) -> Iterator[bytes | Path | None]:
        for data in encoded:
            for row in range(min(start, len(data)), len(data)):
                yield _stored(path, data[row][image], roots)
            start = max(start - len(data), 0)

    return ImageSource(str(path), rows, stamp, images)


def _only(folder: Path, key: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    raise InputError(
        f"{folder}: expected one column of {key}s, found {', '.join(names) or 'none'} (a YAML file "
        f"with `disk` and `{key}` can name one)"
    )


def _is(kind: Any, name: str) -> bool:
    return type(kind).__name__ == name


def _stored(
    path: Path, image: dict[str, Any] | None, folders: Sequence[Path]
) -> bytes | Path | None:
    if image is None:
        return None
    if image["bytes"] is None and image["path"] is not None:
        file = Path(image["path"])
        # Whoever wrote the data set could name any file of this machine, for its page to show.
        if not any(file.resolve().is_relative_to(folder) for folder in folders):
            told = " or ".join(map(str, folders))
            raise InputError(f"{path}: the image {file} is not in it; expected files in {told}")
        return file
    return image["bytes"]


def one_line(error: Exception) -> str:
    """The message of another library's error, on one line."""
    return re.sub(r"\s+", " ", str(error)).strip()[:300].rstrip(".") or type(error).__name__
