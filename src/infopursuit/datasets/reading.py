"""The one way in for files that a person gives to a model.

photos/                   CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE, or images alone
new.jpg  'new/*.jpg'      images whose class is not known
images.parquet            columns image (encoded), embedding or both; class_name or label, id, split
hf:OWNER/NAME  pin.yaml   data sets of the hub, and what a file pins; tars of WebDataset; folders of
images.tar  parquet/      both, or of Parquet files (`infopursuit.datasets.packed_pictures`)
images.npz  rows.npy      embeddings, without pictures; as `infopursuit fit` takes them
table.csv  table.parquet  to a model of a table: its columns, by their names, in any order

Each kind has its reader in a module of its own, which is imported when there is such a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from infopursuit.core.errors import InputError, writable
from infopursuit.core.names import is_systems
from infopursuit.datasets.samples import Samples, of_list
from infopursuit.datasets.table_columns import Wanted

# Suffixes of files that hold rows rather than one picture.
ROWS = (".npz", ".npy", ".parquet")
TABLES = (".csv", ".tsv", ".parquet")


def is_rows(given: str, table: Wanted | None) -> bool:
    """Whether this is a file of rows, of embeddings or of a table, rather than pictures."""
    suffix = Path(given).suffix.lower()
    return suffix in ROWS or suffix in TABLES or table is not None or _is_packed(given)


def _is_packed(given: str) -> bool:
    from infopursuit.datasets.packed_pictures import is_packed

    return is_packed(given)


def read_samples(given: str, table: Wanted | None = None) -> Samples:
    """Read what a folder, a file or a pattern has; pictures stay on the disk.

    Args:
        given: as a person typed it.
        table: what the model takes if it asks about the columns of a table; None if it asks about
            images.
    """
    path = Path(given)
    if table is not None and (path.suffix != ".npy" or table.columns is not None):
        from infopursuit.datasets.table_files import table_samples

        if path.suffix.lower() not in TABLES:
            raise InputError(
                f"{path}: the model asks about the columns of a table; expected one "
                f"({', '.join(TABLES)})"
            )
        return table_samples(path, table)
    if _is_packed(given):
        from infopursuit.datasets.packed_pictures import read_packed

        return read_packed(given)
    if path.is_dir() and any(each.is_dir() for each in path.iterdir() if not is_systems(each.name)):
        from infopursuit.datasets.image_folders import read_image_folder

        return read_image_folder(path)
    if path.suffix in ROWS and (path.suffix != ".parquet" or path.exists()):
        from infopursuit.datasets.embedding_files import embedded_samples

        return embedded_samples(path)
    if path.suffix in TABLES:
        raise InputError(
            f"{given}: a table; the model asks about images: expected pictures or embeddings "
            f"({', '.join(ROWS)})"
        )
    files = image_files([given])
    ids = [writable(file.relative_to(path).as_posix() if path.is_dir() else file) for file in files]
    return Samples(given, ids, pictures=of_list(files))


def read_each(given: Sequence[str], table: Wanted | None) -> Iterator[Samples]:
    """Yield what is given: each file of rows in turn, then all pictures, by their paths."""
    files = [each for each in given if is_rows(each, table)]
    for each in files:
        yield read_samples(each, table)
    pictures = [each for each in given if each not in files]
    if pictures or not files:
        paths = image_files(pictures)
        yield Samples(", ".join(pictures), list(map(str, paths)), pictures=of_list(paths))


def image_files(given: Sequence[str]) -> list[Path]:
    """List the files of files, folders (searched for images) and patterns, each once, in order."""
    if not given:
        raise InputError("no image is given; expected files, folders or patterns")
    files: list[Path] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            from infopursuit.datasets.image_folders import image_files as pictures_below

            more = pictures_below(path)
        elif not path.exists() and set(each) & set("*?["):  # quoted, or on Windows
            pattern = path.expanduser()
            matching = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
            typed = [part for part in pattern.parts if is_systems(part)]
            more = sorted(
                file
                for file in matching
                if file.is_file()
                and all(
                    any(fnmatch(part, of) for of in typed)
                    for part in file.parts
                    if is_systems(part)
                )
            )
        else:
            files.append(path)
            continue
        if not more:
            raise InputError(f"{each}: no image there; expected at least one")
        files += more
    return list(dict.fromkeys(files))
