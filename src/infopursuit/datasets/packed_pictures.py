"""Labelled pictures that are not files of their own: in Parquet, in tars, on the Hugging Face hub.

hf:OWNER/NAME@COMMIT   a data set of the hub; without @COMMIT that of today
NAME.yaml              what a file pins (`pinned_datasets`)
NAME.parquet           the hub's form, a column of images with class names in the metadata, or the
                       columns image (encoded), class_name or label, id, split
NAME.tar               WebDataset: KEY.jpg beside KEY.cls, KEY.json (class_name or label) or
                       KEY.txt; numbers are lines of classnames.txt, if that lies beside the tar
NAME.csv               a list of pictures: columns of paths, classes, splits (`picture_lists`)
FOLDER                 such Parquet files or tars, as train-00000.parquet or train/00000.tar; or
                       what `save_to_disk` of the library `datasets` wrote

Splits have any of their common names, in a column, in the names of files or in those of folders.
"""

from __future__ import annotations

import json
import logging
import re
import tarfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.files import check_regular, is_file, read_text_list
from infopursuit.core.names import is_systems
from infopursuit.datasets.decoding import suffixes
from infopursuit.datasets.embedding_files import embedded_samples, image_column, roles
from infopursuit.datasets.image_source import files_stamp, split_name
from infopursuit.datasets.labels import KEYS, class_labels
from infopursuit.datasets.picture_lists import LISTS, is_picture_list, read_picture_list
from infopursuit.datasets.samples import HUB, Samples, joined

logger = logging.getLogger(__name__)

TAR, PARQUET, PINS = ".tar", ".parquet", (".yaml", ".yml")
# What a sample of a tar says of its class, the first first.
LABELS = ("cls", "json", "txt")
NAMES = "classnames.txt"
# Bytes of a file that holds a label; some have a caption beside it.
LONGEST_LABEL = 2**20
# Files that `save_to_disk` writes: of several splits, and of one.
SAVED = ("dataset_dict.json", "state.json")


def is_packed(given: str | Path) -> bool:
    """Return whether this is one of the forms above, and not a Parquet file of embeddings."""
    path = Path(given)
    if str(given).startswith(HUB) or path.suffix.lower() in (*PINS, TAR):
        return True
    if path.is_dir():
        return saved_by_datasets(path) or bool(_files(path))
    if is_picture_list(path):
        return True
    return path.suffix == PARQUET and is_file(path) and image_column(path) is not None


def read_packed(given: str | Path, label: str | None = None) -> Samples:
    """Read the classes and splits of packed pictures; the pictures themselves when asked for.

    Args:
        given: one of the forms above.
        label: the column of the classes, of Parquet or a data set of the hub that has several.
    """
    path = Path(given)
    if str(given).startswith(HUB) or path.suffix.lower() in PINS or saved_by_datasets(path):
        from infopursuit.datasets.pinned_datasets import hub_samples, pinned_samples, saved_samples

        if str(given).startswith(HUB):
            return hub_samples(str(given), label)
        if label is not None:
            raise InputError(f"{given}: --label: expected it with Parquet; a YAML file names one")
        return saved_samples(path) if path.is_dir() else pinned_samples(path)
    if path.suffix.lower() in LISTS:
        return read_picture_list(path, label)
    files = _files(path) if path.is_dir() else [path]
    parts = [_of_tar(file) if file.suffix.lower() == TAR else embedded_samples(file, label)
             for file in files]  # fmt: skip
    whole = joined(str(given), parts)
    if whole.splits is not None:
        return whole
    called = [_split(file, path) for file in files]
    if None in called and len(set(called)) > 1:
        without = files[called.index(None)]
        raise InputError(f"{without}: no split in its name; expected train or test, as in others")
    _check_one_folder(files, called)
    named = [each for each, part in zip(called, parts, strict=True) for _ in part.ids]
    if len(set(called)) < 2:
        return whole
    splits = roles(Path(given), named)
    rows = [row for row, split in enumerate(splits) if split is not None]
    return replace(whole, splits=splits).subset(rows)


def packed_stamp(path: Path) -> str:
    """Return what changes when the files of packed pictures do."""
    return files_stamp(_files(path) if path.is_dir() else [path])


def saved_by_datasets(folder: Path) -> bool:
    """Return whether `save_to_disk` of the library `datasets` wrote a folder."""
    return any((folder / name).is_file() for name in SAVED)


def _files(folder: Path) -> list[Path]:
    visible = [each for each in sorted(folder.iterdir()) if not is_systems(each.name)]
    inner = [file for each in visible if each.is_dir() for file in sorted(each.iterdir())]
    kinds = {each.suffix.lower() for each in (*visible, *inner)} & {TAR, PARQUET, *_suffixes()}
    if not kinds or kinds & _suffixes():
        return []
    if len(kinds) > 1:
        raise InputError(f"{folder}: Parquet files and tars; expected one of both")
    packed = [each for each in (*visible, *inner) if each.suffix.lower() in kinds]
    return packed if kinds == {TAR} or any(map(image_column, packed)) else []


def _suffixes() -> frozenset[str]:
    return suffixes() - {""}


def _split(file: Path, root: Path) -> str | None:
    for name in (file.stem, *([file.parent.name] if file.parent != root else [])):
        if (called := split_name(name)) is not None:
            return called[0]
    return None


def _check_one_folder(files: Sequence[Path], called: Sequence[str | None]) -> None:
    folder_of: dict[str | None, Path] = {}
    for file, split in zip(files, called, strict=True):
        other = folder_of.setdefault(split, file.parent)
        if other != file.parent:
            raise InputError(
                f"{file.parent}: files of the split {split}, as in {other}; expected one of these "
                "folders"
            )


# -- tars -----------------------------------------------------------------------------------------


def _of_tar(file: Path) -> Samples:
    """Index a tar of WebDataset: where each picture is, and its class."""
    samples: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    try:
        check_regular(file)
        with tarfile.open(file, "r:") as tar:
            for member in tar:
                name = Path(member.name).name
                if member.isfile() and not is_systems(name):
                    key, _, kind = name.partition(".")
                    where = (Path(member.name).parent / key).as_posix()
                    samples[where][kind.lower()] = member.offset_data, member.size
    except FileNotFoundError as error:
        raise InputError(f"{file}: no such file; expected a tar of pictures") from error
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InputError(f"{file}: not a readable tar ({error})") from error
    ids, labels, places, other = [], [], [], 0
    for key, parts in samples.items():
        kinds = [kind for kind in parts if f".{kind.split('.')[-1]}" in _suffixes()]
        if len(kinds) > 1:
            raise InputError(f"{file}: {key} has {' and '.join(kinds)}; expected one picture")
        if not kinds:
            other += 1
            continue
        ids.append(f"{file.stem}/{key}.{kinds[0]}")
        places.append(parts[kinds[0]])
        labels.append(_label_of(file, key, parts))
    if not ids:
        raise InputError(f"{file}: no picture in it; expected KEY.jpg and KEY.cls")
    if other:
        logger.warning("%s: %d of %d samples have no picture", file, other, len(samples))
    classes = class_labels(file, labels, _class_names(file))
    known = None if all(each is None for each in classes) else classes
    return Samples(str(file), ids, known, pictures=partial(_read, file, places))


def _label_of(file: Path, key: str, parts: dict[str, tuple[int, int]]) -> Any:
    kind = next((each for each in LABELS if each in parts), None)
    if kind is None:
        return None
    if parts[kind][1] > LONGEST_LABEL:
        raise InputError(f"{file}: {key}.{kind} has {parts[kind][1]} bytes; expected a label")
    text = _read(file, [parts[kind]], [0])[0].decode("utf-8", "replace").strip()
    label: Any = text
    if kind == "json":
        try:
            content = json.loads(text)
            label = next((content[each] for each in KEYS if each in content), None)
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(f"{file}: {key}.json: expected a JSON object ({error})") from error
    number = isinstance(label, str) and re.fullmatch("-?[0-9]{1,18}", label)
    return int(label) if number else label


def _class_names(file: Path) -> list[str]:
    for folder in (file.parent, file.parent.parent):
        if (folder / NAMES).is_file():
            return read_text_list(folder / NAMES)
    return []


def _read(file: Path, places: Sequence[tuple[int, int]], rows: Sequence[int]) -> list[bytes]:
    parts = []
    try:
        with file.open("rb") as opened:
            for start, size in (places[row] for row in rows):
                opened.seek(start)
                parts.append(opened.read(size))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error})") from error
    return parts
