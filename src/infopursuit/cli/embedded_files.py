"""Embeddings with labels, and texts with embeddings, in the files that people have them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infopursuit.clip.text_cache import embed_texts
from infopursuit.clip.towers import load_clip
from infopursuit.core.array_files import map_array, read_arrays
from infopursuit.core.clip_names import clip_name
from infopursuit.core.embeddings import fixed_size_lists, is_list_of_floats
from infopursuit.core.errors import InputError
from infopursuit.core.text_files import read_text

SUFFIXES = (".npz", ".npy", ".parquet")
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
    given = map_array(labels) if labels.suffix == ".npy" else np.array(read_lines(labels))
    return _checked(path, map_array(path), given), None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not blank.

    Raises:
        InputError: it is missing, no UTF-8, or has none.
    """
    lines = read_text(path, "expected a text a line").splitlines()
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
        _column(path, table, "text")
        texts = plain_values(path, table, "text")
        if not all(isinstance(text, str) for text in texts):
            kind = table.schema.field("text").type
            raise InputError(f"{path}: text is {kind}; expected texts")
        return texts, _embeddings(path, table), clip_name(path, table.schema)
    if path.suffix == ".npz":
        arrays = read_arrays(path)
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
    rows = map_array(path)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError(f"{path}: an array of shape {rows.shape}; expected embeddings (n, d)")
    return rows


def _images_of_arrays(path: Path) -> tuple[LabelledRows, LabelledRows | None]:
    arrays = read_arrays(path)
    if "train_embeddings" not in arrays:
        return _checked(path, _named(path, arrays, ROWS), _named(path, arrays, LABELS)), None
    splits = []
    for split in ("train", "test"):
        if split == "test" and "test_embeddings" not in arrays:
            return splits[0], None
        rows = _named(path, arrays, (f"{split}_embeddings",))
        labels = _named(path, arrays, (f"{split}_labels",))
        if "class_names" in arrays and labels.dtype.kind in "iu":
            labels = _called(path, f"{split}_labels", labels, arrays["class_names"])
        splits.append(_checked(path, rows, labels))
    return splits[0], splits[1]


def _called(path: Path, key: str, labels: np.ndarray, names: np.ndarray) -> np.ndarray:
    """The class name of each label."""
    if names.ndim != 1:
        raise InputError(f"{path}: class_names has the shape {names.shape}; expected (c,)")
    outside = (labels < 0) | (labels >= len(names))
    if outside.any():
        raise InputError(
            f"{path}: {key} holds {labels[outside].flat[0]}; expected 0 to {len(names) - 1}, for "
            f"{len(names)} class_names"
        )
    return names[labels]


def _images_of_table(path: Path) -> tuple[LabelledRows, LabelledRows | None]:
    table = _table(path)
    name = next((each for each in ("class_name", "label") if each in table.column_names), None)
    if name is None:
        raise InputError(f"{path}: no column class_name or label; found {table.column_names}")
    rows = _embeddings(path, table)
    labels = np.array(plain_values(path, table, name))
    if "split" not in table.column_names:
        return _checked(path, rows, labels), None
    splits = np.array(plain_values(path, table, "split"))
    train, test = splits == "train", splits == "test"
    if not train.any():
        raise InputError(f"{path}: no row of the split 'train'; found {sorted(set(splits))}")
    held = _checked(path, rows[test], labels[test]) if test.any() else None
    return _checked(path, rows[train], labels[train]), held


def plain_values(path: Path, table: pa.Table, name: str, nulls: bool = False) -> list[Any]:
    """The texts, integers or booleans in a column.

    Args:
        path: for messages.
        table: has the column.
        name: of the column.
        nulls: whether some may be missing, and are None.

    Raises:
        InputError: values are missing or are of another type.
    """
    column = table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    plain = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
    if not any(is_type(kind) for is_type in plain) and not (nulls and pa.types.is_null(kind)):
        raise InputError(f"{path}: {name} is {kind}; expected texts or whole numbers")
    if column.null_count and not nulls:
        row = pc.index(column.is_null(), True).as_py()
        raise InputError(f"{path}: {name} is empty in row {row}; expected a value")
    return column.to_pylist()


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


def _table(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
        table.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
    if len(set(table.column_names)) < table.num_columns:
        raise InputError(f"{path}: two columns have one name; found {table.column_names}")
    return table


def _column(path: Path, table: pa.Table, name: str) -> Any:
    if name not in table.column_names:
        raise InputError(f"{path}: no column {name!r}; found {table.column_names}")
    return table.column(name)


def _embeddings(path: Path, table: pa.Table) -> np.ndarray:
    return embedding_rows(_column(path, table, "embedding"), path)


def embedding_rows(column: pa.ChunkedArray, path: Path) -> np.ndarray:
    """A column of embeddings as (n, d).

    Raises:
        InputError: it has nulls, or is no lists of floats of one length.
    """
    whole = column.combine_chunks()
    if not is_list_of_floats(whole.type) or whole.null_count:
        raise InputError(f"{path}: embedding is {whole.type}; expected lists of floats, no nulls")
    lists = fixed_size_lists(whole, str(path))
    return lists.flatten().to_numpy(zero_copy_only=False).reshape(len(lists), lists.type.list_size)
