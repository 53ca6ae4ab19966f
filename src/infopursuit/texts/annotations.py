"""What people say of single images: a file of image, text, answer and, perhaps, by whom.

    image,text,answer,by
    melanoma/Aal002.jpg,blue-whitish veil,yes,anna
    nevus/Aal004.jpg,blue-whitish veil,not sure,anna

As CSV or Parquet; other columns may stand between. An answer is `yes`, `no` or `not sure`, in any
case. The image is the path in the folder of the images, or, where these have names of their own,
the name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import combinations, count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from filelock import FileLock
from jaxtyping import Float

from infopursuit.core.csv_tables import CsvTable, read_csv_table, write_csv
from infopursuit.core.errors import InputError
from infopursuit.core.files import suffix_of, write_text
from infopursuit.texts.normalization import normalize
from infopursuit.texts.picture_names import SEVERAL, is_end, pictures_named

logger = logging.getLogger("infopursuit")

COLUMNS, BY = ("image", "text", "answer"), "by"
ANSWERS = {"yes": 1.0, "no": 0.0, "not sure": np.nan}
EXPECTED = "expected annotations"
LOCK_SECONDS = 30
KINDS = {".csv": "a table of a spreadsheet", ".parquet": "a table"}


class Annotation(NamedTuple):
    """One answer of one person about one image."""

    image: str
    text: str
    answer: str
    by: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What one person may say one thing of."""
        return self.image, normalize(self.text), self.by


class Annotations:
    """Answers of people, each given once by each person."""

    def __init__(
        self,
        rows: Iterable[Annotation],
        where: str = "annotations",
        numbers: Sequence[int] | None = None,
    ) -> None:
        """Take answers; `numbers` are those of their rows in a file."""
        self.rows = tuple(rows)
        self.where = where
        seen: dict[tuple[str, str, str], str] = {}
        what = "annotation" if numbers is None else "row"
        for number, row in zip(numbers or count(1), self.rows, strict=False):
            if row.answer not in ANSWERS:
                raise InputError(
                    f"{where}: {what} {number}: {row.answer!r}; expected "
                    f"{', '.join(map(repr, ANSWERS))}"
                )
            if not row.image or not normalize(row.text):
                raise InputError(f"{where}: {what} {number}: expected an image and a text")
            if seen.setdefault(row.key, row.answer) != row.answer:
                raise InputError(
                    f"{where}: {what} {number}: {row.by or 'somebody'} said {seen[row.key]!r} of "
                    f"{row.text!r} in {row.image} before; expected one answer"
                )

    @property
    def texts(self) -> list[str]:
        """The distinct texts, in their order."""
        return list({normalize(row.text): row.text for row in reversed(self.rows)}.values())[::-1]

    def of_images(self, names: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
        """Return for each text what people say of n images: 1 yes, 0 no, NaN nothing.

        If people disagree, most of them decide; if as many say yes as no, nobody knows.

        Args:
            names: of the images, see `pictures_named`.
        """
        place_of = pictures_named({row.image for row in self.rows}, names)
        votes = {text: np.zeros((len(names), 2)) for text in self.texts}
        of_text = {normalize(text): text for text in votes}
        for row in self.rows:
            place = place_of[row.image]
            if place not in (None, SEVERAL) and row.answer in ("yes", "no"):
                votes[of_text[normalize(row.text)]][place, int(row.answer == "yes")] += 1
        values = {}
        for text, (no, yes) in ((text, each.T) for text, each in votes.items()):
            values[text] = np.where(yes == no, np.nan, yes > no).astype(np.float32)
        return values

    def about(self, names: Sequence[str]) -> bool:
        """Return whether some yes or no is about one of these images."""
        images = {row.image for row in self.rows if row.answer in ("yes", "no")}
        return bool(set(pictures_named(images, names).values()) - {None, SEVERAL})

    def of_pictures(self, names: Sequence[str]) -> Annotations:
        """Return the annotations of the pictures of a data set, under their names.

        Which reach none, and which have a name of another program, is logged.

        Raises:
            InputError: none does.
        """
        if not self.rows:
            return self
        place_of = pictures_named({row.image for row in self.rows}, names, foreign=True)
        reached, lost = list[Annotation](), list[Annotation]()
        renamed: list[Annotation] = []
        for row in self.rows:
            place = place_of[row.image]
            if place is None or place == SEVERAL:
                lost.append(row)
                continue
            reached.append(row._replace(image=names[place]))
            if not is_end(row.image, names[place]):
                renamed.append(row)
        if lost and not reached:
            raise InputError(
                f"{self.where}: about none of the images: {len(lost)} annotations, the first of "
                f"{lost[0].image!r}; expected names such as "
                f"{names[0] if names else 'those of a folder of images, or of a column id'}"
            )
        if lost:
            logger.warning(
                "%s: %d of %d annotations name no image here and are left out; %d of these have a "
                "name that several images end in; the first is of %r",
                self.where,
                len(lost),
                len(self.rows),
                sum(place_of[row.image] == SEVERAL for row in lost),
                lost[0].image,
            )
        if renamed:
            logger.info(
                "%s: %d of %d annotations name an image as another program does, such as %r for %s",
                self.where,
                len(renamed),
                len(self.rows),
                renamed[0].image,
                names[place_of[renamed[0].image] or 0],
            )
        return Annotations(reached, self.where)

    def agreement(self) -> tuple[int, int]:
        """Count the pairs of people who said yes or no of the same, and those who said the same."""
        by_cell: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            if row.answer in ("yes", "no"):
                by_cell.setdefault((row.image, normalize(row.text)), []).append(row.answer)
        pairs = [pair for answers in by_cell.values() for pair in combinations(answers, 2)]
        return len(pairs), sum(first == second for first, second in pairs)


def write_annotations(path: str | Path, annotations: Annotations) -> None:
    """Write annotations as CSV, atomically."""
    write_csv(path, Annotation._fields, annotations.rows)


def add_annotations(path: Path, given: Iterable[Annotation], latest: Annotation) -> Annotations:
    """Put answers into a CSV file; all else in it stays as it is, whoever writes meanwhile.

    Args:
        path: the file; a link stays one. A lock is beside it.
        given: answers that are added if the file lacks them.
        latest: one of them, which takes the place of what its person said of the same.

    Returns:
        What is in the file then.

    Raises:
        InputError: the file has a mistake; it stays as it is.
    """
    path = path.resolve()
    with FileLock(f"{path}.lock", timeout=LOCK_SECONDS):
        if not path.exists():
            write_annotations(path, Annotations(given, str(path)))
            return read_annotations(path)
        table = read_csv_table(path, COLUMNS, EXPECTED)
        existing = _of_table(table)
        named = Annotation._fields if latest.by or table.has(BY) else COLUMNS
        there = {row.key for row in existing.rows}
        cells = {
            (place, "answer"): latest.answer
            for place, row in enumerate(existing.rows)
            if row.key == latest.key and row.answer != latest.answer
        }
        more = [
            {name: getattr(row, name) for name in named} for row in given if row.key not in there
        ]
        write_text(path, table.edited(cells, more))
        return read_annotations(path)


def read_annotations(path: str | Path) -> Annotations:
    """Read annotations as CSV or Parquet.

    Raises:
        InputError: the file is missing or has a mistake.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected annotations (.csv, .parquet)")
    if suffix_of(path, "annotations", KINDS) == ".csv":
        return _of_table(read_csv_table(path, COLUMNS, EXPECTED))
    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise InputError(f"{path}: no column {missing[0]!r}; expected {', '.join(COLUMNS)}")
    names = [*COLUMNS, *((BY,) if BY in table.column_names else ())]
    rows = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    texts = (["" if each is None else str(each) for each in row] for row in rows)
    return Annotations(map(_annotation, texts), str(path))


def _of_table(table: CsvTable) -> Annotations:
    names = Annotation._fields if table.has(BY) else COLUMNS
    rows = zip(*map(table.column, names), strict=True)
    return Annotations(map(_annotation, rows), str(table.path), table.numbers)


def _annotation(cells: Sequence[str]) -> Annotation:
    image, text, answer, *by = cells
    return Annotation(image, text, answer.strip().lower(), *map(str.strip, by))
