"""Embeddings with labels, and texts with embeddings, in the files that people have them in."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.clip.text_cache import embed_texts
from infopursuit.clip.towers import load_clip
from infopursuit.core.embeddings import fixed_size_lists, is_list_of_floats
from infopursuit.core.errors import InputError

SUFFIXES = (".npz", ".npy", ".parquet")
UNREADABLE = (OSError, ValueError, EOFError, TypeError, zipfile.BadZipFile, pa.ArrowException)
# What the arrays of an .npz file may be called.
ROWS, LABELS, TEXTS = ("embeddings", "X"), ("labels", "y"), ("texts", "text")


class LabelledRows(NamedTuple):
    """(n, d) embeddings and their n labels."""

    embeddings: np.ndarray
    labels: np.ndarray


def is_embedded(path: Path) -> bool:
    """Whether a path holds embeddings rather than images."""
    return path.suffix in SUFFIXES


def read_images(path: Path, labels: Path | None = None) -> tuple[LabelledRows, LabelledRows | None]:
    """Labelled embeddings to fit on, and those to test on where the file has some.

    Raises:
        InputError: the file is missing or unreadable, lacks an array or a column, or rows and
            labels are not equally many.
    """
    if path.suffix != ".npy" and labels is not None:
        raise InputError(f"--labels {labels}: expected it with an .npy file")
    if path.suffix == ".parquet":
        return _images_of_table(path)
    if path.suffix == ".npz":
        return _images_of_arrays(path)
    if labels is None:
        raise InputError(f"{path}: --labels is missing; expected a file with a label for each row")
    given = _load(labels) if labels.suffix == ".npy" else np.array(read_lines(labels))
    return _checked(path, _load(path), given), None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank.

    Raises:
        InputError: it is missing, no UTF-8, or has none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a readable file of lines ({_told(error)})") from error
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{path}: no lines; expected a text a line")
    return found


def read_texts(
    path: Path, source: str | None, device: str
) -> tuple[list[str], np.ndarray, str | None]:
    """Texts, their embeddings (u, d), and the name of the CLIP that these come from.

    Args:
        path: .parquet (text, embedding), .npz (texts, embeddings), or a text a line.
        source: the CLIP that embeds a file of lines, as `load_clip` takes it.
        device: where it computes.

    Raises:
        InputError: the file is unreadable, or has no embeddings and there is no CLIP.
    """
    if path.suffix == ".parquet":
        table = _table(path)
        column = _column(path, table, "text")
        name = (table.schema.metadata or {}).get(b"clip")
        return column.to_pylist(), _embeddings(path, table), name.decode() if name else None
    if path.suffix == ".npz":
        arrays = _load_all(path)
        texts, rows = _named(path, arrays, TEXTS), _named(path, arrays, ROWS)
        return [str(each) for each in texts.tolist()], rows, None
    texts = read_lines(path)
    if source is None:
        raise InputError(f"{path}: texts without embeddings; expected --clip, which embeds them")
    clip = load_clip(source, device)
    return texts, embed_texts(clip, texts), clip.name


def read_rows(path: Path) -> np.ndarray:
    """The rows of an .npy file, still on the disk.

    Raises:
        InputError: it is missing or unreadable.
    """
    return _load(path)


def _images_of_arrays(path: Path) -> tuple[LabelledRows, LabelledRows | None]:
    arrays = _load_all(path)
    if "train_embeddings" not in arrays:
        return _checked(path, _named(path, arrays, ROWS), _named(path, arrays, LABELS)), None
    splits = []
    for split in ("train", "test"):
        if split == "test" and "test_embeddings" not in arrays:
            return splits[0], None
        rows = _named(path, arrays, (f"{split}_embeddings",))
        labels = _named(path, arrays, (f"{split}_labels",))
        if "class_names" in arrays and labels.dtype.kind in "iu":
            labels = arrays["class_names"][labels]
        splits.append(_checked(path, rows, labels))
    return splits[0], splits[1]


def _images_of_table(path: Path) -> tuple[LabelledRows, LabelledRows | None]:
    table = _table(path)
    name = next((each for each in ("class_name", "label") if each in table.column_names), None)
    if name is None:
        raise InputError(f"{path}: no column class_name or label; found {table.column_names}")
    rows = _embeddings(path, table)
    labels = np.array(table.column(name).to_pylist())
    if "split" not in table.column_names:
        return _checked(path, rows, labels), None
    splits = np.array(table.column("split").to_pylist())
    train, test = splits == "train", splits == "test"
    if not train.any():
        raise InputError(f"{path}: no row of the split 'train'; found {sorted(set(splits))}")
    held = _checked(path, rows[test], labels[test]) if test.any() else None
    return _checked(path, rows[train], labels[train]), held


def _checked(path: Path, rows: np.ndarray, labels: np.ndarray) -> LabelledRows:
    if rows.ndim != 2 or labels.ndim != 1 or len(rows) != len(labels):
        raise InputError(
            f"{path}: embeddings {rows.shape} and labels {labels.shape}; expected (n, d) and (n,)"
        )
    return LabelledRows(rows, labels)


def _named(path: Path, arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InputError(f"{path}: no array {names[0]!r}; found {', '.join(arrays) or 'none'}")


def _load_all(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return {name: arrays[name] for name in sorted(arrays.files)}
    except UNREADABLE as error:
        raise InputError(f"{path}: not readable as arrays of numpy ({_told(error)})") from error


def _load(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r")
    except UNREADABLE as error:
        raise InputError(f"{path}: not readable as an array of numpy ({_told(error)})") from error


def _table(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except UNREADABLE as error:
        raise InputError(f"{path}: not a readable Parquet file ({_told(error)})") from error


def _column(path: Path, table: pa.Table, name: str) -> Any:
    if name not in table.column_names:
        raise InputError(f"{path}: no column {name!r}; found {table.column_names}")
    return table.column(name)


def _embeddings(path: Path, table: pa.Table) -> np.ndarray:
    column = _column(path, table, "embedding").combine_chunks()
    if not is_list_of_floats(column.type) or column.null_count:
        raise InputError(f"{path}: embedding is {column.type}; expected lists of floats, no nulls")
    lists = fixed_size_lists(column, str(path))
    return lists.flatten().to_numpy(zero_copy_only=False).reshape(len(lists), -1)


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
