"""Open a data set of images in any of the forms that `images` in params.yaml takes.

Images that CLIP is to embed (`open_image_source`):

FOLDER             train/CLASS/IMAGE and test/CLASS/IMAGE; class folders may have the numbers,
                   underscores and capitals of archives (`001.Black_footed_Albatross`)
FOLDER             what `save_to_disk` of the library `datasets` wrote: the splits train and test,
                   one column of images, one of labels
NAME.csv           columns path, label and split; paths are relative to the file, labels are class
                   names or numbers (`infopursuit.datasets.picture_lists`)
NAME.parquet       columns id, split, label (integers), class_name, image (encoded bytes); or as the
                   hub has it
NAME.tar, FOLDER   tars of WebDataset, and folders of them or of Parquet files (see
                   `infopursuit.datasets.packed_pictures`)
NAME.yaml          pins a data set: `hub` and `revision`, `torchvision`, `disk` or `layout`
                   (see `infopursuit.datasets.pinned_datasets`)

Images that are embedded already, in the space of `clip` (`has_embeddings`):

NAME.parquet       columns id, split, label, class_name, embedding: a list of d floats of 16, 32 or
                   64 bits, of fixed size or not (`pa.table({"embedding": list(X), ...})`)
NAME.npz           arrays train_embeddings (n, d), train_labels (n,), test_embeddings, test_labels;
                   labels are numbers or class names. If there, class_names (c,) is compared with
                   the class list, train_ids and test_ids name the images
FOLDER             the same arrays as train_embeddings.npy, train_labels.npy, ...

In all forms the split is train or test, label i is line i of the class list, and class names agree
but for case, leading numbers, blanks, underscores, hyphens and slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError
from infopursuit.core.files import is_file
from infopursuit.core.tables import EMBEDDING, IMAGES, is_sharded, read_table, table_files
from infopursuit.datasets.embedding_files import ARRAYS, image_column
from infopursuit.datasets.image_folders import open_folder, splits_of
from infopursuit.datasets.image_source import (
    COLUMNS,
    READ_ROWS,
    ImageSource,
    checked_image_rows,
    file_stamp,
    image_rows,
    labels_of,
    source_of_files,
    spelled,
    streamed,
)
from infopursuit.datasets.packed_pictures import (
    PARQUET,
    PINS,
    is_packed,
    packed_stamp,
    read_packed,
    saved_by_datasets,
)
from infopursuit.datasets.picture_lists import LISTS

NUMBER = re.compile("[0-9]{1,9}")


def open_image_source(path: str | Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set at `path`, whose classes in the order of the labels are `classes`.

    The rows (id, split, label, class name) are known at once; pixels are read when asked for.
    """
    path = Path(path)
    saved = path.is_dir() and saved_by_datasets(path)
    if saved or path.suffix in PINS:
        # Slow imports, which the other sources do without.
        from infopursuit.datasets.pinned_datasets import open_disk, open_pinned_dataset

        return open_disk(path, classes) if saved else open_pinned_dataset(path, classes)
    if path.suffix == PARQUET and not (is_file(path) and lacks_columns(path)):
        return open_parquet(path, classes)
    if path.suffix in LISTS or is_packed(path):
        return open_packed(path, classes)
    if path.is_dir():
        return open_folder(path, classes)
    what = "a file" if path.exists() else "nothing"
    raise InputError(
        f"{path}: expected images as a folder, .parquet, .tar, .csv, .npz or a .yaml that pins a "
        f"data set, found {what}"
    )


def has_embeddings(path: str | Path) -> bool:
    """Return whether the images at `path` are embedded already, see `copy_embedded_images`."""
    path = Path(path)
    if is_sharded(path):
        path = table_files(path)[0]
    if path.is_dir():
        return any((path / f"{name}.npy").is_file() for name in ARRAYS)
    if path.suffix == ".npz":
        return True
    if path.suffix != ".parquet" or not is_file(path):
        return False
    try:
        return EMBEDDING in pq.read_schema(path).names
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error


def has_pictures(source: Path) -> bool:
    """Return whether `load_pictures` finds the pictures of a data set."""
    return source.suffix not in PINS and not has_embeddings(source)


def open_parquet(path: Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set of a Parquet file (id, split, label, class_name, image)."""
    rows = checked_image_rows(path, read_table(path, IMAGES, columns=COLUMNS), classes)
    schema = pq.read_schema(path)
    if "image" not in schema.names:
        raise InputError(
            f"{path}: no column 'image' or 'embedding'; expected encoded or embedded images"
        )
    kind = schema.field("image").type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InputError(f"{path}: column 'image' is {kind}; expected binary, encoded images")
    return ImageSource(str(path), rows, file_stamp(path), lambda start: _encoded(path, start))


def _encoded(path: Path, start: int) -> Iterator[bytes | None]:
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            sizes = [
                file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)
            ]
            skip, group = start, 0
            while group < len(sizes) and skip >= sizes[group]:
                skip -= sizes[group]
                group += 1
            groups = list(range(group, len(sizes)))
            for batch in file.iter_batches(READ_ROWS, row_groups=groups, columns=["image"]):
                yield from batch.column(0)[skip:].to_pylist()
                skip = max(skip - len(batch), 0)
    except (pa.ArrowException, OSError) as error:  # pages are read when they are needed
        raise InputError(f"{path}: column 'image' is damaged ({error})") from error


def lacks_columns(path: Path) -> bool:
    """Return whether a Parquet file has other columns than `open_parquet` takes, as the hub's."""
    return image_column(path) is not None and not {*COLUMNS} <= {*pq.read_schema(path).names}


def open_packed(path: Path, classes: Sequence[str]) -> ImageSource:
    """Open the data set of tars, or of Parquet files as the hub has them.

    Without splits one image in five of each class is a test image, as of a folder.
    """
    packed = read_packed(path)
    if packed.classes is None:
        raise InputError(f"{path}: no classes; expected the class of each image")
    numbers, labels = labels_of(path, classes), []
    for name, of_class in zip(packed.ids, packed.classes, strict=True):
        label = numbers.get(spelled(str(of_class)))
        if label is None and NUMBER.fullmatch(str(of_class)) and int(of_class) < len(classes):
            label = int(of_class)
        if label is None:
            raise InputError(
                f"{path}: {name} has the class {of_class!r}; expected one of the class list, such "
                f"as {classes[0]!r}"
            )
        labels.append(label)
    splits = packed.splits or splits_of(packed.ids, labels)
    rows = image_rows(path, packed.ids, splits, labels, classes)
    assert packed.pictures is not None
    if path.suffix in LISTS:
        source = source_of_files(path, rows, packed.some_pictures())
        return replace(source, stamp=f"{file_stamp(path)} {source.stamp}")
    images = streamed(packed.pictures, len(packed))
    return ImageSource(str(path), rows, packed_stamp(path), images)
