"""What every kind of image source gives: checked rows, and pixels when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from infopursuit.embeddings.decoding import Encoded


@dataclass(frozen=True)
class ImageSource:
    """A data set of images.

    Attributes:
        where: the path the user gave, for messages.
        rows: id, split, label, class_name of all n images, checked.
        stamp: changes when the images do.
        images: the images from a row to the end.
    """

    where: str
    rows: pa.Table
    stamp: str
    images: Callable[[int], Iterator[Encoded]]


def source_of_files(where: str | Path, rows: pa.Table, files: Sequence[Path]) -> ImageSource:
    """The data set of which row i is the image file i; a link that leads nowhere is one too."""
    stamp = " ".join(_stamp_or_missing(file) for file in files)
    return ImageSource(str(where), rows, stamp, lambda start: iter(files[start:]))


def file_stamp(path: Path) -> str:
    """Size and time of change of a file: cheap, and enough to tell an edited file from the old."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


def _stamp_or_missing(path: Path) -> str:
    try:
        return file_stamp(path)
    except FileNotFoundError:
        return "missing"
