"""Embeddings as people have them: .npz, .npy and Parquet files, of images and of texts."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infopursuit.core.arrays import fixed_size_lists, is_list_of_floats, map_array, read_arrays
from infopursuit.core.errors import InputError
from infopursuit.core.files import check_regular, is_file, read_text
from infopursuit.core.names import composed
from infopursuit.core.tables import EMBEDDING, clip_name
from infopursuit.datasets.decoding import Encoded, begins_as_picture, suffixes
from infopursuit.datasets.image_source import (
    READ_ROWS,
    SPLITS,
    classes_of_one_split,
    file_within,
    split_name,
)
from infopursuit.datasets.labels import class_labels, with_labels
from infopursuit.datasets.samples import Pictures, Samples, joined, numbered

logger = logging.getLogger(__name__)

TRAINING, TESTED = SPLITS
# Arrays of an .npz file, or of a folder of .npy files, whose images have splits.
ARRAYS = tuple(f"{split}_{what}" for split in SPLITS for what in ("embeddings", "labels"))
# What the arrays of an .npz file without splits may be called.
ROWS, LABELS, TEXTS = ("embeddings", "X"), ("labels", "y"), ("texts", "text")
NAMES = ("class_names", "classes")
# How the names of arrays of rows end, behind the name of a split.
OF_SPLIT = "_embeddings"
PLAIN = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_integer, pa.types.is_boolean),
)
IMAGE, CLASSES = "image", ("class_name", "label")

# (n, d) embeddings, on the disk if the file allows it, and (n,) numbers or names of classes.
Labelled = tuple[np.ndarray, np.ndarray]


def embedded_samples(path: Path, label: str | None = None) -> Samples:
    """Read embeddings, with classes and splits if the file has some, and encoded images.

    Args:
        path: .npy with the rows alone; .npz with embeddings, and perhaps labels, or with both of
            the splits train and test; .parquet with embedding, image or both, and perhaps
            class_name or label, id and split; or the hub's own, with structs of bytes and path.
        label: the column of the classes of a .parquet file, if it is not one of these.
    """
    if path.suffix == ".parquet":
        return _of_parquet(path, label)
    if path.suffix == ".npz":
        return joined(str(path), samples_of_arrays(path))
    rows = map_array(path)
    if rows.ndim != 2 or not rows.shape[1]:
        raise InputError(f"{path}: an array of shape {rows.shape}; expected embeddings (n, d)")
    return Samples(str(path), numbered(path.name, len(rows)), rows=rows)


def read_embeddings(path: Path, labels: Path | None = None) -> tuple[Samples, Samples | None]:
    """Read labelled embeddings to fit on, and those to test on if the file has some.

    Args:
        path: as above; of .npy the labels are in another file.
        labels: of the rows of an .npy file: .npy, or a text a line.
    """
    if path.suffix not in (".parquet", ".npz"):
        if labels is None:
            raise InputError(
                f"{path}: --labels is missing; expected a file with a label for each row"
            )
        of_rows = map_array(labels) if labels.suffix == ".npy" else np.array(read_lines(labels))
        rows, of_rows = _same_length(path, map_array(path), texts_of(of_rows))
        classes = class_labels(labels, of_rows.tolist())
        ids = numbered(path.name, len(rows))
        return with_labels(Samples(str(path), ids, classes, rows=rows)), None
    if labels is not None:
        raise InputError(f"--labels {labels}: expected it with an .npy file")
    parts = samples_of_arrays(path) if path.suffix == ".npz" else _of_splits(_of_parquet(path))
    train, test = parts if len(parts) > 1 else (*parts, None)
    if train.classes is None:
        if path.suffix == ".npz":
            _first_of(path, read_arrays(path), LABELS)
        names = ", ".join(pq.read_schema(path).names)
        raise InputError(f"{path}: no column {' or '.join(CLASSES)}; found {names}")
    train = with_labels(train)
    return train, None if test is None else of_classes(path, train, with_labels(test))


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
    table = read_table_samples(path, ("text",))
    texts, rows = table.column("text"), table.column(EMBEDDING)
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"{path}: text is not a column of texts; expected texts")
    return texts, rows, table.clip


def class_names_of(path: Path) -> list[str]:
    """Return the names of the classes that a file of arrays has; none if it has none."""
    arrays = _arrays(path, NAMES)
    key = next((each for each in NAMES if each in arrays), None)
    if key is None:
        return []
    names = texts_of(arrays[key])
    if names.ndim != 1 or len(np.unique(names)) < len(names):
        raise InputError(f"{path}: {key} {names.shape}; expected a list (c,) of distinct names")
    return list(map(str, names.tolist()))


def samples_of_arrays(path: Path, numbered_as: str = "{split}[{row}]") -> list[Samples]:
    """Return the embeddings of a file of arrays, or of a folder of .npy files, by their splits.

    Args:
        path: the file.
        numbered_as: what rows are called, if no array `train_ids` names them.
    """
    arrays, names = _arrays(path), class_names_of(path)

    def of_split(split: str, role: str, rows: np.ndarray, labels: np.ndarray, what: str) -> Samples:
        rows, labels = _same_length(path, rows, texts_of(labels), what)
        ids = arrays.get(f"{split}_ids", np.arange(0))
        named = [numbered_as.format(split=split, row=row) for row in range(len(rows))]
        if f"{split}_ids" in arrays:
            named = list(map(str, ids.tolist()))
        if len(named) != len(rows) or ids.ndim != 1:
            raise InputError(f"{path}: {split}_ids {ids.shape}; expected a list ({len(rows)},)")
        classes = class_labels(path, labels.tolist(), names)
        return Samples(str(path), named, classes, [role] * len(rows), rows=rows)

    of_splits = [name for name in arrays if name.endswith(OF_SPLIT)]
    if not of_splits:
        rows = _first_of(path, arrays, ROWS)
        if {*LABELS} & {*arrays}:
            return [of_split(TESTED, TESTED, rows, _first_of(path, arrays, LABELS), "")]
        _same_length(path, rows, np.zeros(len(rows)))
        return [Samples(str(path), numbered(path.name, len(rows)), rows=rows)]
    each_row = [name.removesuffix(OF_SPLIT) for name in of_splits for _ in range(len(arrays[name]))]
    parts: defaultdict[str, list[Samples]] = defaultdict(list)
    for split, role in dict(zip(each_row, roles(path, each_row), strict=True)).items():
        if role is not None:
            labels = _first_of(path, arrays, (f"{split}_labels",))
            rows = arrays[f"{split}{OF_SPLIT}"]
            parts[role].append(of_split(split, role, rows, labels, f"{split}_"))
    if TRAINING not in parts:
        raise InputError(f"{path}: no array 'train_embeddings'; found {', '.join(of_splits)}")
    return [joined(str(path), parts[role]) for role in SPLITS if role in parts]


def _arrays(path: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    if not path.is_dir():
        return read_arrays(path, names)
    files = {file.stem: file for file in sorted(path.glob("*.npy"))}
    return {name: map_array(files[name]) for name in files if names is None or name in names}


def texts_of(values: np.ndarray) -> np.ndarray:
    """Return names in composed form; other values as they are."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind != "U":
        return values
    names, places = np.unique(values, return_inverse=True)
    return np.array([composed(name) for name in names], dtype=np.str_)[places.reshape(values.shape)]


def of_classes(path: str | Path, train: Samples, test: Samples) -> Samples:
    """Return the test rows of classes that the training rows have; say which classes lack some."""
    classes = set(train.labels.tolist())
    known = [row for row, label in enumerate(test.labels.tolist()) if label in classes]
    if not known:
        raise InputError(
            f"{path}: none of {len(test.ids)} test rows is of a class of the training rows, the "
            f"first is of {test.labels[0]!s}; expected classes such as {train.labels[0]!s}, or no "
            "test rows"
        )
    for remark in classes_of_one_split(path, classes, test.labels.tolist()):
        logger.warning("%s", remark)
    return test if len(known) == len(test.ids) else test.subset(known)


def _same_length(path: Path, rows: np.ndarray, labels: np.ndarray, prefix: str = "") -> Labelled:
    if rows.ndim != 2 or labels.ndim != 1 or len(rows) != len(labels):
        raise InputError(
            f"{path}: {prefix}embeddings {rows.shape} and {prefix}labels {labels.shape}; expected "
            "(n, d) and (n,)"
        )
    return rows, labels


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


def read_table_samples(path: Path, columns: Sequence[str], nulls: Sequence[str] = ()) -> GivenTable:
    """Read some columns of plain values, and `embedding`, of a Parquet file."""
    check_regular(path)
    try:
        schema = pq.read_schema(path)
        if len(set(schema.names)) < len(schema.names):
            raise InputError(f"{path}: two columns have one name; found {', '.join(schema.names)}")
        names = [name for name in (*columns, EMBEDDING) if name in schema.names]
        table = pq.read_table(path, columns=names)
        table.validate(full=True)
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
    values: dict[str, Any] = {
        name: _plain_values(path, table, name, name in nulls) for name in names if name != EMBEDDING
    }
    if EMBEDDING in names:
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


def image_column(path: Path) -> str | None:
    """Return the column of images of a Parquet file; None without one, or if it has embeddings."""
    schema = _schema(path)
    return None if EMBEDDING in schema.names else _images(path, schema)


def _schema(path: Path) -> pa.Schema:
    check_regular(path)
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error


def _images(path: Path, schema: pa.Schema) -> str | None:
    kinds = {name: schema.field(name).type for name in dict.fromkeys(schema.names)}
    if IMAGE in kinds and pa.types.is_list(kinds[IMAGE]):
        raise InputError(f"{path}: image is {kinds[IMAGE]}; expected one encoded image in each row")
    columns = [name for name, kind in kinds.items() if _is_struct(kind)]
    if IMAGE in kinds and _is_binary(kinds[IMAGE]):
        columns.insert(0, IMAGE)
    columns = columns or _of_pictures(
        path, [name for name, kind in kinds.items() if _is_binary(kind) or _is_text(kind)]
    )
    if len(columns) > 1 and IMAGE not in columns:
        raise InputError(
            f"{path}: the columns {', '.join(columns)} have images; expected one, or one that is "
            f"called {IMAGE!r}"
        )
    return IMAGE if IMAGE in columns else columns[0] if columns else None


def _of_pictures(path: Path, columns: Sequence[str]) -> list[str]:
    """Return the columns whose first cells are pictures, or the paths of some."""
    try:
        first = next(pq.ParquetFile(path).iter_batches(READ_ROWS, columns=list(columns)), None)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
    pictures = []
    for name in columns:
        cells = [] if first is None else list(filter(None, first.column(name).to_pylist()))
        if isinstance(cells[0] if cells else None, bytes):
            pictures += [name] * begins_as_picture(cells[0])
        elif cells and all(Path(cell).suffix.lower() in suffixes() - {""} for cell in cells):
            pictures += [name] * any(is_file(path.parent / cell) for cell in cells)
    return pictures


def _is_binary(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary(), pa.binary_view())


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _is_struct(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and {each.name for each in kind} == {"bytes", "path"}


def _class_labels(schema: pa.Schema) -> dict[str, list[str]]:
    """Return the columns that the library `datasets` calls classes, with the names of these."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: list(map(composed, of["names"]))
            for name, of in features.items()
            if isinstance(of, dict) and of.get("_type") == "ClassLabel" and name in schema.names
        }
    except (KeyError, TypeError, ValueError, AttributeError):  # another tool's, or none
        return {}


def _of_parquet(path: Path, label: str | None = None) -> Samples:
    schema = _schema(path)
    image, named = _images(path, schema), _class_labels(schema)
    plain = [name for name in CLASSES if name in schema.names]
    chosen = [label] if label is not None else plain[:1] or list(named)
    if label is not None and label not in schema.names:
        raise InputError(f"{path}: no column {label!r}; found {', '.join(schema.names)}")
    if len(chosen) > 1:
        logger.warning(
            "%s: no classes: %s could be; --label can name one", path, " or ".join(chosen)
        )
    chosen = chosen if len(chosen) == 1 else []
    table = read_table_samples(path, ("id", "split", *chosen), nulls=("id", *chosen))
    if image is None and IMAGE in table.names:
        kind = schema.field(IMAGE).type
        raise InputError(f"{path}: image is {kind}; expected binary, encoded images")
    if image is None and EMBEDDING not in table.names:
        raise InputError(
            f"{path}: no column {IMAGE!r} or {EMBEDDING!r}; found {', '.join(table.names)}"
        )
    columns = table.columns
    classes = columns[chosen[0]] if chosen else None
    if classes is not None:
        classes = class_labels(path, classes, named.get(chosen[0], ()))
    source = Samples(
        str(path),
        list(map(str, columns.get("id", numbered(path.name, table.rows)))),
        classes,
        None,
        None if image is None else _encoded(path, image),
        columns.get(EMBEDDING),
        table.clip,
    )
    if "split" not in columns:
        return source
    splits = roles(path, columns["split"])
    rows = [row for row, split in enumerate(splits) if split is not None]
    source = replace(source, splits=splits)
    return source if len(rows) == len(splits) else source.subset(rows)


def roles(path: Path, given: Sequence[Any]) -> list[str | None]:
    """Return the split of each row, None of those left out.

    Validation rows are test rows if there are no others, and training rows otherwise.
    """
    names = {each: split_name(str(each)) for each in sorted(set(given))}
    roles = {each: name[0] for each, name in names.items() if name is not None and not name[1]}
    if not roles:
        raise InputError(
            f"{path}: the split {given[0]!r}; expected 'train' or 'test', found "
            f"{', '.join(map(str, names))}"
        )
    beside = TRAINING if TESTED in roles.values() else TESTED
    for each in names:
        if roles.get(each) in SPLITS:
            continue
        done = f"used as rows of the split {beside!r}" if each in roles else "left out"
        logger.warning(
            "%s: %d of %d rows have the split %r and are %s",
            *(path, given.count(each), len(given), each, done),
        )
    return [beside if roles.get(each) == "validation" else roles.get(each) for each in given]


def _of_splits(source: Samples) -> list[Samples]:
    path = source.where
    if source.rows is None:
        raise InputError(f"{path}: no column {EMBEDDING!r}; expected the embedding of each row")
    if source.splits is None:
        return [source]
    if TRAINING not in source.splits:
        raise InputError(f"{path}: no row of the split 'train'; found {TESTED}")
    parts = (source.split(split) for split in SPLITS)
    return [part for part in parts if part is not None]


def _encoded(path: Path, name: str) -> Pictures:
    cached: dict[int, list[Any]] = {}  # the row group that was read last

    def pictures(rows: Sequence[int]) -> list[Any]:
        needed, images, first = set(rows), {}, 0
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    count = file.metadata.row_group(group).num_rows
                    here = needed.intersection(range(first, first + count))
                    if here and group not in cached:
                        cached.clear()
                        column = file.read_row_group(group, columns=[name]).column(0)
                        cached[group] = _stored(path, column)
                    images |= {row: cached[group][row - first] for row in here}
                    first += count
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: column {name!r} is damaged ({error})") from error
        return [images[row] for row in rows]

    return pictures


def _stored(path: Path, column: pa.ChunkedArray) -> list[Encoded]:
    """Return the bytes of pictures, or the files, which lie in the folder of the data set."""
    pictures: list[Encoded] = []
    for cell in column.to_pylist():
        content: Any = cell["bytes"] or cell["path"] if isinstance(cell, dict) else cell
        if isinstance(content, str):
            content = file_within(path, path.parent / content, [path.parent])
        pictures.append(content)
    return pictures
