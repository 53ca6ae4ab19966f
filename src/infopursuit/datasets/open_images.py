"""Open a data set of images, whatever it lies in: the forms that `images` in params.yaml takes.

Images that CLIP is to embed (`open_image_source`):

FOLDER             train/CLASS/IMAGE and test/CLASS/IMAGE; class folders may have the numbers,
                   underscores and capitals of archives (`001.Black_footed_Albatross`)
FOLDER             what `save_to_disk` of the library `datasets` wrote: the splits train and test,
                   one column of images, one of labels
NAME.csv           a first line path,label,split; paths are relative to the file, labels are class
                   names or numbers
NAME.parquet       columns id, split, label (integers), class_name, image (encoded bytes)
NAME.yaml          pins a data set: `hub` and `revision`, `torchvision`, `disk` or `layout`
                   (see `infopursuit.datasets.dataset_settings`)

Images that are embedded already, in the space of `clip` (`has_embeddings`):

NAME.parquet       columns id, split, label, class_name, embedding: a list of d floats of 16, 32 or
                   64 bits, of fixed size or not (`pa.table({"embedding": list(X), ...})`)
NAME.npz           arrays train_embeddings (n, d), train_labels (n,), test_embeddings, test_labels;
                   labels are numbers or class names. If there, class_names (c,) is compared with
                   the class list, train_ids and test_ids name the images
FOLDER             the same arrays as train_embeddings.npy, train_labels.npy, ...

Everywhere the split is train or test, label i is line i of the class list, and class names agree
but for case, leading numbers, blanks, underscores, hyphens and slashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from infopursuit.core.errors import InputError
from infopursuit.core.shard_files import is_sharded, table_files
from infopursuit.core.tables import EMBEDDING
from infopursuit.core.text_files import there
from infopursuit.datasets.embedded_images import ARRAYS
from infopursuit.datasets.image_folders import open_folder
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.image_tables import open_csv, open_parquet


def open_image_source(path: str | Path, classes: Sequence[str]) -> ImageSource:
    """The data set at `path`, whose classes in the order of the labels are `classes`.

    The rows (id, split, label, class name) are known at once; pixels are read when asked for.

    Raises:
        InputError: the path is no such source, or its rows do not fit the classes.
    """
    path = Path(path)
    if path.is_dir():
        # Imports that take long, which the other sources do without.
        from infopursuit.datasets.hugging_face import open_disk, saved_by_datasets

        if saved_by_datasets(path):
            from infopursuit.datasets.dataset_settings import DiskDataset

            return open_disk(path, DiskDataset(disk=str(path)), classes)
        return open_folder(path, classes)
    if path.suffix == ".parquet":
        return open_parquet(path, classes)
    if path.suffix == ".csv":
        return open_csv(path, classes)
    if path.suffix in (".yaml", ".yml"):
        from infopursuit.datasets.pinned_datasets import open_pinned_dataset

        return open_pinned_dataset(path, classes)
    found = "a file" if path.exists() else "nothing"
    raise InputError(
        f"{path}: expected images as a folder, .parquet, .csv, .npz or a .yaml that pins a data "
        f"set, found {found}"
    )


def has_embeddings(path: str | Path) -> bool:
    """Whether the images at `path` are embedded already, see `copy_embedded_images`.

    Raises:
        InputError: a Parquet file is not readable.
    """
    path = Path(path)
    if is_sharded(path):
        path = table_files(path)[0]
    if path.is_dir():
        return any((path / f"{name}.npy").is_file() for name in ARRAYS)
    if path.suffix == ".npz":
        return True
    if path.suffix != ".parquet" or not there(path):
        return False
    try:
        return EMBEDDING in pq.read_schema(path).names
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
