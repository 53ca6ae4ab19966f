"""Which test images to explain, and their pictures.

A sample should show every kind of class and hide no failure: most images are spread over the
classes and are the same for every run of a data set; the others are ones that this run gets wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Int
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.datasets.open_images import has_pictures, open_image_source

# Images that are read over rather than the file opened anew.
NEAR = 32


def rows_of(images: LabelledImages, ids: Sequence[str]) -> list[int]:
    """Return the rows of the images with the given ids, in the order given."""
    rows = {name: row for row, name in enumerate(images.ids)}
    for wanted in ids:
        if wanted not in rows:
            raise InputError(
                f"explain.ids: {wanted!r} is not a test image; expected ids such as "
                f"{images.ids[0]!r}"
            )
    return [rows[wanted] for wanted in ids]


def spread_rows(
    labels: Int[np.ndarray, " n"], predicted: Int[np.ndarray, " n"], count: int
) -> list[int]:
    """Return `count` rows (at most n): three quarters spread over the classes, one quarter wrong.

    The spread ones depend on the labels alone. If too few are predicted wrongly, the next images
    of the spread take their place.
    """
    spread = _class_by_class(labels, count)
    wrong = max(1, count // 4) if count > 1 else 0
    first = spread[: count - wrong]
    failures = [row for row in np.flatnonzero(labels != predicted).tolist() if row not in first]
    wrong = min(wrong, len(failures))
    chosen = [failures[(2 * i + 1) * len(failures) // (2 * wrong)] for i in range(wrong)]
    others = [row for row in spread[len(first) :] if row not in chosen]
    return [*first, *chosen, *others][:count]


def _class_by_class(labels: Int[np.ndarray, " n"], count: int) -> list[int]:
    """Order all rows: the first image of each class, then the second of each, and so on.

    Classes come in steps of about c / count, so that the first `count` of them are far apart.
    """
    names = np.unique(labels).tolist()
    taken = [names[index * len(names) // count] for index in range(min(count, len(names)))]
    order = list(dict.fromkeys([*taken, *names]))
    of_class = {label: np.flatnonzero(labels == label).tolist() for label in order}
    longest = max(map(len, of_class.values()))
    return [
        of_class[label][rank]
        for rank in range(longest)
        for label in order
        if rank < len(of_class[label])
    ]


def load_pictures(
    source: str | Path, class_names: Sequence[str], ids: Sequence[str]
) -> dict[str, Image.Image]:
    """Read the pictures of images by id, from a Parquet file of encoded images or a folder.

    Empty for data sets without pixels here: precomputed embeddings, and cards of data sets that
    may have to be downloaded.
    """
    source = Path(source)
    if not has_pictures(source):
        return {}
    images = open_image_source(source, class_names)
    column = images.rows.column("id")
    place = {name: pc.index(column, name).as_py() for name in ids}
    pictures: dict[str, Image.Image] = {}
    reader, following = images.images(0), 0
    for name in sorted(place, key=place.__getitem__):
        row = place[name]
        if row < 0:
            raise InputError(f"{source}: no image {name!r}; expected all embedded images")
        if row - following > NEAR:
            reader, following = images.images(row), row
        try:
            pictures[name] = to_rgb(next(islice(reader, row - following, None)))
        except UnreadableError as error:
            raise InputError(f"{source}: the image {name!r} is {error}") from error
        following = row + 1
    return pictures
