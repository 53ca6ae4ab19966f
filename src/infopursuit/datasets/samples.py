"""What a person gives to a model: pictures, embeddings, or rows of a table.

In Python these are values in memory (`is_pictures`, `names_of`); in a command they are files, which
`infopursuit.datasets.reading` opens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.table_columns import row_names

# How a data set of the Hugging Face hub is given by name, in place of a path: hf:OWNER/NAME@COMMIT.
HUB = "hf:"
# Gives the pictures of some rows.
Pictures = Callable[[Sequence[int]], Sequence[Any]]


@dataclass(frozen=True)
class Samples:
    """n images or rows as they were given.

    Attributes:
        where: for messages.
        ids: what explanations and pages call them.
        classes: the class of each: a name, a number, or None; None if no class is known.
        splits: `train` or `test`, of each; None if all are test images.
        pictures: gives those of some rows; None if there are none.
        rows: (n, d) embeddings, or the n rows of a table; None if a CLIP has to embed the pictures.
        clip: the CLIP that embeddings come from, None if it is not known.
        marks: what a model of a table remembers of each row; None of images.
    """

    where: str
    ids: list[str]
    classes: Any = None
    splits: list[Any] | None = None
    pictures: Pictures | None = None
    rows: Any = None
    clip: str | None = None
    marks: list[bytes] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def labels(self) -> np.ndarray:
        """The (n,) classes."""
        return np.asarray(self.classes)

    def some(self, places: Sequence[int] | None = None) -> Any:
        """Return some or all as a model takes them: embeddings, rows of a table or pictures."""
        if self.rows is None:
            return self.some_pictures(places)
        if places is None:
            return self.rows
        chosen = list(places)
        return self.rows[chosen] if isinstance(self.rows, np.ndarray) else self.rows.take(chosen)

    def some_pictures(self, places: Sequence[int] | None = None) -> list[Any]:
        """Return the pictures of some or all; none if there are none."""
        if self.pictures is None:
            return []
        return list(self.pictures(range(len(self.ids)) if places is None else places))

    def subset(self, places: Sequence[int]) -> Samples:
        """Return some of them, in this order."""
        pictures, of = self.pictures, list(places)

        def chosen(each: Any) -> Any:
            return None if each is None else [each[place] for place in of]

        return replace(
            self,
            ids=chosen(self.ids),
            classes=chosen(self.classes),
            splits=chosen(self.splits),
            pictures=pictures and (lambda rows: pictures([of[row] for row in rows])),
            rows=None if self.rows is None else self.some(of),
            marks=chosen(self.marks),
        )

    def split(self, name: str) -> Samples | None:
        """Return those of one split; None if there are none."""
        places = [place for place, split in enumerate(self.splits or ()) if split == name]
        return self.subset(places) if places else None


def joined(where: str, parts: Sequence[Samples]) -> Samples:
    """Return samples one after the other; what one of them lacks is not there."""
    if len(parts) == 1:
        return replace(parts[0], where=where)

    def all_of(name: str) -> list[Any] | None:
        columns = [getattr(part, name) for part in parts]
        if any(column is None for column in columns):
            return None
        return [each for column in columns for each in column]

    places = [(part, row) for part in parts for row in range(len(part))]

    def pictures(rows: Sequence[int]) -> list[Any]:
        by_row: dict[int, Any] = {}
        for part in parts:
            here = [row for row in rows if places[row][0] is part]
            by_row |= zip(here, part.some_pictures([places[row][1] for row in here]), strict=True)
        return [by_row[row] for row in rows]

    rows = [part.rows for part in parts]
    return Samples(
        where,
        all_of("ids") or [],
        all_of("classes"),
        all_of("splits"),
        None if any(part.pictures is None for part in parts) else pictures,
        None if any(each is None for each in rows) else np.concatenate(rows),
    )


class Readable(NamedTuple):
    """What could be read of what was given.

    Attributes:
        samples: as a model takes them: with rows.
        rejected: why other pictures cannot be read, by their ids.
        digests: the SHA-256 of each picture that can be read, None for pixels; none of rows.
        maps: (n, q, h, w), how much each patch of the pictures speaks along q directions; None if
            none were asked for.
    """

    samples: Samples
    rejected: Mapping[str, str] = {}
    digests: Sequence[str | None] = ()
    maps: Any = None


def of_list(pictures: Sequence[Any]) -> Pictures:
    """Return what gives some of these pictures."""
    return lambda rows: [pictures[row] for row in rows]


def numbered(name: str, count: int) -> list[str]:
    """Return what rows without names of their own are called."""
    return [f"{name}[{row}]" for row in range(count)]


def is_pictures(X: Any) -> bool:
    """Whether X holds pictures rather than rows of numbers.

    Pictures are files, encoded bytes and PIL images; arrays and tensors of three or four
    dimensions, and lists of those of two or three.

    Raises:
        InputError: X is a string; a list is expected.
    """
    if isinstance(X, str):
        raise InputError(f"{X!r} is a string; expected a list of pictures, such as [{X!r}]")
    if isinstance(X, (np.ndarray, Tensor)):
        return X.ndim in (3, 4)
    if isinstance(X, Sequence) and not isinstance(X, bytes):
        return len(X) > 0 and (isinstance(X[0], str) or _is_picture(X[0]))
    return _is_picture(X)


def _is_picture(value: Any) -> bool:
    if isinstance(value, (np.ndarray, Tensor)):
        return value.ndim in (2, 3)
    return isinstance(value, (Path, bytes)) or type(value).__module__.startswith("PIL.")


def names_of(X: Any, count: int, noun: str = "image") -> list[str]:
    """Return what explanations call the rows: their paths, their index, or `image 0`, ..."""
    if isinstance(X, Path):
        return [str(X)]
    names = row_names(X, count, noun)
    if isinstance(X, Sequence) and len(X) == count:
        names = [
            str(each) if isinstance(each, (str, Path)) else name
            for each, name in zip(X, names, strict=True)
        ]
    return names
