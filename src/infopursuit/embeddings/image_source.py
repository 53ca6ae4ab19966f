"""What every kind of image source gives: checked rows, and pixels when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
