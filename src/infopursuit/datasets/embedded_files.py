"""Images that are embedded already, and texts with embeddings: .npz, .npy and Parquet files.

`read_embeddings` reads such a file as people have it. `read_embedded_images` checks a data set of
the pipeline against its class list, and `copy_embedded_images` writes it in our schema.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infopursuit.core.arrays import (
    array_names,
    fixed_size_lists,
    is_list_of_floats,
    map_array,
    read_arrays,
    unit_rows,
)
from infopursuit.core.errors import InputError
from infopursuit.core.files import check_regular, read_text
from infopursuit.core.names import composed
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDING,
    REJECTED_IMAGES,
    clip_name,
    clip_of,
    embedding_array,
    embedding_matrix,
    is_sharded,
    read_table,
    table_blocks,
    table_writer,
    write_table,
)
from infopursuit.datasets.image_source import (
    COLUMNS,
    SPLITS,
    check_class_names,
    checked_image_rows,
    classes_alike,
    classes_of_one_split,
    image_rows,
    labels_of,
    spelled,
    split_name,
)

logger = logging.getLogger(__name__)

BLOCK = 65536
# Arrays of an .npz file, or of a folder of .npy files, whose images have splits.
ARRAYS = tuple(f"{split}_{what}" for split in SPLITS for what in ("embeddings", "labels"))
OPTIONAL = ("class_names", "train_ids", "test_ids")
# What the arrays of an .npz file without splits may be called.
ROWS, LABELS, TEXTS = ("embeddings", "X"), ("labels", "y"), ("texts", "text")
NAMES = ("class_names", "classes")
PLAIN = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)


class Embeddings(NamedTuple):
    """Rows of a file."""

    rows: np.ndarray  # (n, d) embeddings, on the disk if the file allows it
    labels: np.ndarray  # (n,) numbers or names
    ids: tuple[str, ...] = ()  # what annotations call the images; none unless a file has them


def read_embeddings(path: Path, labels: Path | None = None) -> tuple[Embeddings, Embeddings | None]:
    """Read labelled embeddings to fit on, and those to test on if the file has some.

    Args:
        path: .npz with embeddings and labels, or with the same of the splits train and test;
            .npy with the rows alone; .parquet with embedding, class_name or label, and split.
    """
    if path.suffix != ".npy" and labels is not None:
        raise InputError(f"--labels {labels}: expected it with an .npy file")
    if path.suffix in (".parquet", ".npz"):
        train, test = (_split_table if path.suffix == ".parquet" else _split_arrays)(path)
        for remark in classes_alike(path, np.unique(train.labels)):
            logger.warning("%s", remark)
        return train, None if test is None else _of_classes(path, train, test)
    if labels is None:
        raise InputError(f"{path}: --labels is missing; expected a file with a label for each row")
    given = map_array(labels) if labels.suffix == ".npy" else np.array(read_lines(labels))
    return _same_length(path, map_array(path), _texts_of(given)), None


def read_rows(path: Path) -> np.ndarray:
    """Return the rows of an .npy file, still on the disk."""
    rows = map_array(path)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError(f"{path}: an array of shape {rows.shape}; expected embeddings (n, d)")
    return rows


def rows_alone(path: Path) -> np.ndarray | None:
    """Return the embeddings of an .npz file without labels; None if it has some, or splits."""
    arrays = read_arrays(path)
    if not {ARRAYS[0], *LABELS}.isdisjoint(arrays):
        return None
    rows = _first_of(path, arrays, ROWS)
    return _same_length(path, rows, np.zeros(len(rows), dtype=np.int64)).rows


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not blank."""
    lines = [line.strip() for line in read_text(path, "expected a text a line").splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        raise InputError(f"{path}: no lines; expected a text a line")
    return lines


def read_embedded_texts(path: Path) -> tuple[list[str], np.ndarray, str | None]:
    """Return texts, their embeddings (u, d), and the name of the CLIP that these come from."""
    if path.suffix == ".npz":
        arrays = read_arrays(path)
        texts = _first_of(path, arrays, TEXTS).tolist()
        return [str(text) for text in texts], _first_of(path, arrays, ROWS), None
    table = read_given_table(path, ("text",))
    texts, rows = table.column("text"), table.column(EMBEDDING)
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"{path}: text is not a column of texts; expected texts")
    return texts, rows, table.clip


def _split_arrays(path: Path) -> tuple[Embeddings, Embeddings | None]:
    arrays = read_arrays(path)
    if ARRAYS[0] not in arrays:
        rows, labels = _first_of(path, arrays, ROWS), _first_of(path, arrays, LABELS)
        return _same_length(path, rows, _class_of_each(path, arrays, labels, "labels")), None
    train, test = (_of_split(path, arrays, split) for split in SPLITS)
    assert train is not None
    return train, test


def _of_split(path: Path, arrays: dict[str, np.ndarray], split: str) -> Embeddings | None:
    """Return the rows of a split, with class names as labels if the file has the names."""
    if f"{split}_embeddings" not in arrays:
        return None
    rows = arrays[f"{split}_embeddings"]
    labels = _first_of(path, arrays, (f"{split}_labels",))
    labels = _class_of_each(path, arrays, labels, f"{split}_labels")
    return _same_length(path, rows, labels, f"{split}_")


def _class_of_each(
    path: Path, arrays: dict[str, np.ndarray], labels: np.ndarray, what: str
) -> np.ndarray:
    """Return the classes of rows by name, if labels are names or the file has the names."""
    key = next((each for each in NAMES if each in arrays), None)
    if key is None or labels.dtype.kind not in "biuf":
        return _texts_of(labels)
    names = _texts_of(arrays[key])
    if names.ndim != 1 or len(np.unique(names)) < len(names):
        raise InputError(f"{path}: {key} {names.shape}; expected a list (c,) of distinct names")
    inside = np.isin(labels, np.arange(len(names)))
    if not inside.all():
        row = int(inside.argmin())
        raise InputError(
            f"{path}: {what} has {(~inside).sum()} of {inside.size} values outside of {key} "
            f"{names.shape}, the first is {labels.flat[row]} in row {row}; expected 0 to c - 1 for "
            f"{key} (c,)"
        )
    return names[labels.astype(np.int64)]


def _texts_of(values: np.ndarray) -> np.ndarray:
    """Return names in composed form; other values as they are."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind != "U":
        return values
    names, places = np.unique(values, return_inverse=True)
    return np.array([composed(name) for name in names], dtype=np.str_)[places.reshape(values.shape)]


def _of_classes(path: Path, train: Embeddings, test: Embeddings) -> Embeddings:
    """Return the test rows of classes that the training rows have; say which classes lack some."""
    classes = set(train.labels.tolist())
    known = np.array([label in classes for label in test.labels.tolist()], dtype=bool)
    if not known.any():
        raise InputError(
            f"{path}: none of {len(known)} test rows is of a class of the training rows, the first "
            f"is of {test.labels[0]!s}; expected classes such as {train.labels[0]!s}, or no test "
            "rows"
        )
    for remark in classes_of_one_split(path, classes, test.labels.tolist()):
        logger.warning("%s", remark)
    if known.all():
        return test
    ids = tuple(name for name, here in zip(test.ids, known, strict=False) if here)
    return Embeddings(test.rows[known], test.labels[known], ids)


def _same_length(path: Path, rows: np.ndarray, labels: np.ndarray, prefix: str = "") -> Embeddings:
    if rows.ndim != 2 or labels.ndim != 1 or len(rows) != len(labels):
        raise InputError(
            f"{path}: {prefix}embeddings {rows.shape} and {prefix}labels {labels.shape}; expected "
            "(n, d) and (n,)"
        )
    return Embeddings(rows, labels)


def _first_of(path: Path, arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InputError(f"{path}: no array {names[0]!r}; found {', '.join(arrays) or 'none'}")


# -- Parquet files of other tools -----------------------------------------------------------------


class GivenTable(NamedTuple):
    """A Parquet file as other tools write it."""

    path: Path
    names: list[str]
    rows: int  # how many there are
    columns: dict[str, Any]  # those that were asked for and are there, and (n, d) embeddings
    clip: str | None  # the CLIP that these come from; None if the file does not say

    def column(self, name: str) -> Any:
        """Return a column; InputError if there is none of this name."""
        if name not in self.columns:
            raise InputError(f"{self.path}: no column {name!r}; found {', '.join(self.names)}")
        return self.columns[name]


def read_given_table(path: Path, columns: Sequence[str], nulls: Sequence[str] = ()) -> GivenTable:
    """Read some columns of plain values, and `embedding`, of a Parquet file."""
    check_regular(path)
    try:
        schema = pq.read_schema(path)
        if len(set(schema.names)) < len(schema.names):
            raise InputError(f"{path}: two columns have one name; found {', '.join(schema.names)}")
        wanted = [name for name in (*columns, EMBEDDING) if name in schema.names]
        table = pq.read_table(path, columns=wanted)
        table.validate(full=True)
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
    values: dict[str, Any] = {
        name: _plain_values(path, table, name, name in nulls)
        for name in wanted
        if name != EMBEDDING
    }
    if EMBEDDING in wanted:
        whole = table.column(EMBEDDING).combine_chunks()
        if not is_list_of_floats(whole.type) or whole.null_count:
            raise InputError(
                f"{path}: embedding is {whole.type}; expected lists of floats, no nulls"
            )
        lists = fixed_size_lists(whole, str(path))
        flat = lists.flatten().to_numpy(zero_copy_only=False)
        values[EMBEDDING] = flat.reshape(len(lists), lists.type.list_size)
    return GivenTable(path, schema.names, rows, values, clip_name(path, schema))


def _plain_values(path: Path, table: pa.Table, name: str, nulls: bool) -> list[Any]:
    column = table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not any(is_type(kind) for is_type in PLAIN) and not (nulls and pa.types.is_null(kind)):
        raise InputError(f"{path}: {name} is {kind}; expected texts or whole numbers")
    if column.null_count and not nulls:
        row = pc.index(column.is_null(), True).as_py()
        raise InputError(f"{path}: {name} is empty in row {row}; expected a value")
    return column.to_pylist()


def _split_table(path: Path) -> tuple[Embeddings, Embeddings | None]:
    table = read_given_table(path, ("id", "class_name", "label", "split"), nulls=("id",))
    name = next((each for each in ("class_name", "label") if each in table.columns), None)
    if name is None:
        raise InputError(f"{path}: no column class_name or label; found {table.names}")
    rows, labels = table.column(EMBEDDING), _texts_of(np.array(table.column(name)))
    if "split" not in table.columns:
        whole = _same_length(path, rows, labels)
        return whole._replace(ids=tuple(map(str, table.columns.get("id", ())))), None
    given = table.column("split")
    names = {each: split_name(str(each)) for each in sorted(set(given))}
    roles = {each: name[0] for each, name in names.items() if name is not None and not name[1]}
    if "train" not in roles.values():
        raise InputError(f"{path}: no row of the split 'train'; found {', '.join(map(str, names))}")
    # Validation rows are test rows if there are no others, and training rows otherwise.
    beside = "train" if "test" in roles.values() else "test"
    for each in names:
        if roles.get(each) in SPLITS:
            continue
        done = f"used as rows of the split {beside!r}" if each in roles else "left out"
        logger.warning(
            "%s: %d of %d rows have the split %r and are %s",
            *(path, given.count(each), len(given), each, done),
        )
    of_row = [beside if roles.get(each) == "validation" else roles.get(each) for each in given]
    train, test = (np.array([role == split for role in of_row], bool) for split in SPLITS)
    parts = []
    for part in (train, test):
        ids = zip(map(str, table.columns.get("id", ())), part, strict=False)
        of_part = _same_length(path, rows[part], labels[part])
        parts.append(of_part._replace(ids=tuple(name for name, here in ids if here)))
    return parts[0], parts[1] if test.any() else None


# -- data sets of the pipeline --------------------------------------------------------------------


class EmbeddedImages(NamedTuple):
    """Images of a data set that are embedded already."""

    rows: pa.Table  # id, split, label, class_name of all n images, checked
    # Reads their embeddings, one (m, d) array of at most BLOCK rows after the other.
    blocks: Callable[[], Iterator[np.ndarray]]
    clip: str | None  # the CLIP that the file says it comes from, None if it does not say


def copy_embedded_images(
    path: Path,
    classes: Sequence[str],
    out: Path,
    rejected: Path,
    width: int,
    clip: str | None,
    shard_rows: int | None = None,
) -> tuple[int, int]:
    """Copy precomputed embeddings to `out` (EMBEDDED_IMAGES), in their order, with unit norm.

    Args:
        path: a Parquet file or a folder of such shards, an .npz file or a folder of .npy files, see
            `infopursuit.datasets.open_images`.

    Returns:
        Numbers of images read and written.
    """
    rows, blocks, name = read_embedded_images(path, classes, width, clip)
    write_table(rejected, REJECTED_IMAGES, {"id": [], "reason": []})
    arrow = EMBEDDED_IMAGES.arrow(width, name)
    first = 0
    shards = None if shard_rows is None else (len(rows), shard_rows)
    with table_writer(out, EMBEDDED_IMAGES, width, name, shards) as writer:
        for block in blocks():
            unit = unit_rows(block, str(path), first)
            of_block = rows.slice(first, len(block))
            arrays = [of_block.column(column).combine_chunks() for column in COLUMNS]
            arrays.append(embedding_array(unit))
            writer.write_table(pa.Table.from_arrays(arrays, schema=arrow))
            first += len(block)
    return len(rows), len(rows)


def read_embedded_images(
    path: Path, classes: Sequence[str], width: int, clip: str | None
) -> EmbeddedImages:
    """Check the rows of precomputed embeddings; these themselves are checked as they are read.

    The arguments are those above.
    """
    arrays = path.suffix != ".parquet" and not is_sharded(path)
    images = (_of_arrays if arrays else _of_table)(path, classes)

    def blocks() -> Iterator[np.ndarray]:
        for block in images.blocks():
            if block.shape[1] != width:
                raise InputError(
                    f"{path}: embeddings of width {block.shape[1]}, but `clip` has width {width}; "
                    "expected one CLIP for both"
                )
            yield block

    if images.clip is not None and clip is not None and images.clip != clip:
        raise InputError(
            f"{path}: embedded by {images.clip}, but `clip` is {clip}; expected one CLIP for both"
        )
    return images._replace(blocks=blocks)


def _of_table(path: Path, classes: Sequence[str]) -> EmbeddedImages:
    rows = checked_image_rows(path, read_table(path, EMBEDDED_IMAGES, COLUMNS), classes)

    def blocks() -> Iterator[np.ndarray]:
        for file, start, table in table_blocks(path, EMBEDDED_IMAGES, [EMBEDDING], BLOCK, True):
            yield embedding_matrix(table, file, first_row=start)

    return EmbeddedImages(rows, blocks, clip_of(path))


def _of_arrays(path: Path, classes: Sequence[str]) -> EmbeddedImages:
    arrays = _arrays(path)
    if "class_names" in arrays:
        names = _texts_of(arrays.pop("class_names"))
        check_class_names(path, list(map(str, names)), classes)
    numbers = labels_of(path, classes)
    ids, splits, labels, parts = [], [], [], []
    for split in SPLITS:
        part = _of_split(path, arrays, split)
        assert part is not None  # `_arrays` has seen to it
        rows, of_split, _ = part
        n = len(rows)
        if rows.dtype.kind != "f" or not rows.shape[1] or of_split.dtype.kind not in "iuU":
            raise InputError(
                f"{path}: {split}_embeddings is {rows.dtype} {rows.shape} and {split}_labels "
                f"{of_split.dtype}; expected floats (n, d) and integers or class names (n,)"
            )
        names = arrays.get(f"{split}_ids", [f"{split}/{row:07d}" for row in range(n)])
        if len(names) != n:
            raise InputError(
                f"{path}: {split}_ids has {len(names)} values for the {n} rows of "
                f"{split}_embeddings; expected one for each"
            )
        ids += map(str, names)
        splits += [split] * n
        for row, label in enumerate(of_split.tolist()):
            if isinstance(label, str) and spelled(label) not in numbers:
                raise InputError(
                    f"{path}: {split}_labels: row {row} has the class {label!r}; expected one of "
                    f"the class list, such as {classes[0]!r}"
                )
            labels.append(numbers[spelled(label)] if isinstance(label, str) else label)
        parts.append(rows)

    def blocks() -> Iterator[np.ndarray]:
        for part in parts:
            for start in range(0, len(part), BLOCK):
                yield part[start : start + BLOCK]

    return EmbeddedImages(image_rows(path, ids, splits, labels, classes), blocks, None)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file, or those of the .npy files of a folder, on the disk."""
    if not path.exists():
        raise InputError(f"{path}: no such file; expected arrays {', '.join(ARRAYS)}")
    if path.is_dir():
        files = {name: path / f"{name}.npy" for name in (*ARRAYS, *OPTIONAL)}
        arrays = {name: map_array(file) for name, file in files.items() if file.is_file()}
        names = sorted(file.stem for file in path.glob("*.npy"))
    else:
        arrays, names = read_arrays(path, (*ARRAYS, *OPTIONAL)), array_names(path)
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise InputError(
            f"{path}: no array {missing[0]!r}; expected {', '.join(ARRAYS)}, found "
            f"{', '.join(names) or 'none'}"
        )
    for name in OPTIONAL:
        if name in arrays and arrays[name].ndim != 1:
            raise InputError(
                f"{path}: {name} has the shape {arrays[name].shape}; expected a list (n,)"
            )
    return arrays
