"""Texts with their embeddings: from memory, as a person gives them, or from a Parquet file.

The file with the embedded universe may hold millions of texts: its embeddings stay float16 and can
be mapped from disk, and no lookup copies them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from filelock import FileLock
from jaxtyping import Bool, Float16, Int
from torch import Tensor

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError, one_such_as, writable
from infopursuit.core.files import read_text, table_sha256
from infopursuit.core.results import ResultFolder
from infopursuit.core.tables import (
    EMBEDDED_TEXTS,
    EMBEDDING,
    clip_of,
    embedding_matrix,
    read_table,
    table_blocks,
    table_shape,
)
from infopursuit.datasets.matrix import UnitMatrix, as_tensor
from infopursuit.texts.normalization import normalize, words_pattern

BLOCK = 1024  # rows that are decoded at a time
LISTED = 5  # of many mistakes
ALIKE = 1e-5  # embeddings whose numbers differ by less are one
# What no single text has, and what lists of a program and tables have.
_OF_CODE = re.compile(r"""[,;{}\[\]<>=|\\`\t]|^[#"']|["']$""")
MAPPED_FROM = 64 * 2**20  # bytes of embeddings


@dataclass(frozen=True, eq=False)
class TextTable:
    """u distinct texts with their embeddings."""

    texts: tuple[str, ...]  # u texts
    embeddings: Any  # (u, d) of any float type, as stored; perhaps mapped from a file
    clip: str | None = None  # the name of the CLIP that they come from; None if unknown
    # (u,) where each text comes from, as `dictionary/birds,corpus/coco`; None if unknown.
    sources: pa.ChunkedArray | None = None

    @classmethod
    def from_arrays(cls, texts: Any, embeddings: Any) -> TextTable:
        """Check texts and embeddings that a person gives."""
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise InputError(f"texts is {texts!r}; expected a list of texts")
        texts = tuple(texts)
        if not texts:
            raise InputError("texts is empty; expected at least one text")
        for row, text in enumerate(texts):
            if not isinstance(text, str) or not text.strip() or writable(text) != text:
                raise InputError(f"texts: row {row} is {text!r}; expected a text")
        _check_distinct(texts, "texts")
        if embeddings is None:
            raise InputError(
                "text_embeddings is missing; expected one row for each text (or give neither, for "
                "questions about the columns of a table)"
            )
        table = cls(texts, embeddings)
        if len(table.unit_matrix) != len(texts):
            raise InputError(
                f"text_embeddings has {len(table.unit_matrix)} rows for {len(texts)} texts; "
                "expected one each"
            )
        return table

    @classmethod
    def from_parquet(cls, path: str | Path, scratch: str | Path | None = None) -> TextTable:
        """Read an embedded universe, a block of rows at a time, as one float16 array (u, d).

        With `scratch`, embeddings of 64 MiB or more are mapped from a file there: runs share its
        pages, and the system can drop them when memory is short. The first run writes the file,
        `<first 16 digits of the table's SHA-256>.float16`. Files of earlier universes stay, because
        another run may have them mapped; `make clean` removes them.
        """
        path = Path(path)
        shape = table_shape(path, EMBEDDED_TEXTS)
        table = read_table(path, EMBEDDED_TEXTS, columns=["text", "source"])
        texts = tuple(table.column("text").to_pylist())
        _check_distinct(texts, str(path))
        if scratch is None or _bytes(shape) < MAPPED_FROM:
            embeddings = np.empty(shape, np.float16)
            for start, block in _blocks(path):
                embeddings[start : start + len(block)] = block
        else:
            embeddings = _mapped(path, Path(scratch), shape)
        return cls(texts, embeddings, clip_of(path), table.column("source"))

    @cached_property
    def unit_matrix(self) -> UnitMatrix:
        """The embeddings, read as float32 of unit norm."""
        return UnitMatrix(self.embeddings, "text_embeddings")

    def rows(
        self, queries: Sequence[str], where: str = "queries", distinct: bool = True
    ) -> Int[Tensor, " k"]:
        """Return the rows of queries: of the same spelling, or else of the same normalised one."""
        exact = set(queries)
        row_of = {text: row for row, text in enumerate(self.texts) if text in exact}
        spellings = {normalize(query) for query in exact - row_of.keys()}
        row_of_spelling: dict[str, int] = {}
        for row, text in enumerate(self.texts if spellings else ()):
            if (key := normalize(text)) in spellings:
                row_of_spelling.setdefault(key, row)
        rows: list[int] = []
        seen: set[int] = set()
        for query in queries:
            row = row_of.get(query)
            row = row_of_spelling.get(normalize(query)) if row is None else row
            if row is None:
                expected = one_such_as(query, self.texts)
                raise InputError(f"{where}: {query!r} is not among the texts; expected {expected}")
            rows.append(row)
            if distinct and row in seen:
                raise InputError(f"{where}: {query!r} is there twice; expected distinct queries")
            seen.add(row)
        return torch.tensor(rows, dtype=torch.long)

    def texts_from(self, source: str) -> list[str]:
        """Return the texts that come from a source, such as `dictionary/NAME`, in their order."""
        assert self.sources is not None
        pairs = zip(self.texts, self.sources.to_pylist(), strict=True)
        texts = [text for text, sources in pairs if source in sources.split(",")]
        if not texts:
            raise InputError(f"the universe: no text from {source}; expected one or more")
        return texts

    def sources_of(self, texts: Sequence[str]) -> dict[str, str]:
        """Return where each of some texts comes from, in the order of the table."""
        assert self.sources is not None
        chosen = set(texts)
        pairs = zip(self.texts, self.sources.to_pylist(), strict=True)
        return {text: source for text, source in pairs if text in chosen}

    def named(self, rows: Int[Tensor, " m"]) -> list[str]:
        """Return the texts of some rows."""
        return [self.texts[row] for row in rows.tolist()]

    @cached_property
    def first_alike(self) -> Int[Tensor, " u"]:
        """The first text with the embedding of each: a CLIP reads only the beginning of long texts.

        Equal up to rounding: embeddings are compared that are close along one direction.
        """
        rows = self.unit_matrix
        first = torch.arange(len(rows))
        along = torch.randn(rows.width, generator=torch.Generator().manual_seed(0))
        places, order = torch.cat([block @ along for _, block in rows.blocks()]).sort()
        waiting = torch.arange(len(rows) - 1)
        step = 1
        while len(waiting := waiting[waiting + step < len(rows)]):
            waiting = waiting[places[waiting + step] - places[waiting] < ALIKE]
            one, other = order[waiting], order[waiting + step]
            same = (rows.take(one) - rows.take(other)).abs().amax(dim=1) < ALIKE
            for pair in zip(one[same].tolist(), other[same].tolist(), strict=True):
                first[max(pair)] = min(first[max(pair)], first[min(pair)], min(pair))
            step += 1
        return first

    def shared(self) -> SharedEmbeddings:
        """Return the embeddings for other processes."""
        mapped = isinstance(self.embeddings, np.memmap) and self.embeddings.ndim == 2
        return SharedEmbeddings(self.embeddings if mapped else self.unit_matrix.as_stored())


@dataclass(frozen=True)
class SharedEmbeddings:
    """Embeddings that other processes read: pickled as the path of the file they are mapped from.

    Every machine has to see that file under the same path. Without a file the numbers are sent.
    """

    values: np.memmap | Tensor

    def tensor(self) -> Tensor:
        """Return the embeddings (u, d) as stored."""
        return self.values if isinstance(self.values, Tensor) else as_tensor(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a path and a layout in place of the numbers if there is a file."""
        values = self.values
        if isinstance(values, Tensor):
            return SharedEmbeddings, (values,)
        # A part of a mapped array does not know where in the file it starts.
        if not isinstance(values.base, mmap) or not values.flags.c_contiguous:
            return SharedEmbeddings, (as_tensor(np.asarray(values)),)
        layout = (values.dtype.str, "r", values.offset, values.shape)
        return _reopened, (str(values.filename), *layout)


def _reopened(*layout: Any) -> SharedEmbeddings:
    return SharedEmbeddings(np.memmap(*layout))


def read_texts(path: Path) -> dict[str, str]:
    """Return a person's own texts: each by its question, if it has one in their words.

    Args:
        path: one text a line; or a .csv file with a column `text`, and perhaps `question`.
    """
    if path.suffix == ".csv":
        table = read_csv_table(path, ["text"], "expected a table with the column text")
        columns = [name for name in ("text", "question") if table.has(name)]
        cells = zip(*map(table.column, columns), strict=True)
        numbered = zip(table.numbers, cells, strict=True)
        rows = [(row, list(map(str.strip, each))) for row, each in numbered if each[0].strip()]
        for row, (_, *own) in rows:
            if own and own[0] and not own[0].endswith("?"):
                message = f"{path}: row {row}: the question is {own[0]!r}"
                raise InputError(f"{message}; expected one that ends with ?")
    else:
        lines = read_text(path, "expected a text a line").splitlines()
        rows = [(line, [text.strip()]) for line, text in enumerate(lines, 1) if text.strip()]
        for line, (text,) in rows:
            if odd := _OF_CODE.search(text):
                raise InputError(
                    f"{path}: line {line} is {text[:60]!r}, with {odd[0]!r}; expected one text a "
                    "line, without quotes, commas or code (or a .csv file with the column text)"
                )
    first: dict[str, int] = {}
    for line, values in rows:
        for each in filter(None, values):
            if first.setdefault(each, line) != line:
                raise InputError(f"{path}: line {line} repeats {each!r} of line {first[each]}")
    if not rows:
        raise InputError(f"{path}: no lines; expected a text a line")
    return {values[-1] or values[0]: values[0] for _, values in rows}


def not_banned(texts: Sequence[str], ban: Sequence[str]) -> Bool[Tensor, " u"]:
    """Return which texts neither are nor contain one of these, in any case, singular or plural."""
    if not ban:
        return torch.ones(len(texts), dtype=torch.bool)
    pattern = re.compile(words_pattern(ban))
    allowed = torch.tensor([pattern.search(text) is None for text in texts])
    if not allowed.any():
        raise InputError("ban leaves no text to ask about; expected at least one")
    return allowed


def warn_of_idle_bans(texts: Sequence[str], ban: Sequence[str]) -> None:
    """Warn of what is banned and occurs in no text, with words that are spelled alike."""
    patterns = [(each, re.compile(words_pattern([each]))) for each in ban]
    idle = [each for each, pattern in patterns if not any(map(pattern.search, texts))]
    words = {word for text in texts for word in text.lower().split()} if idle else set()
    lines = []
    for each in idle[:LISTED]:
        near = get_close_matches(each.lower(), sorted(words | set(texts)), n=1, cutoff=0.75)
        lines.append(repr(each) + (f" (did you mean {near[0]!r}?)" if near else ""))
    if idle:
        more = f" and {len(idle) - LISTED} more" if len(idle) > LISTED else ""
        message = f"ban: nothing to ban by {', '.join(lines)}{more}: no text has these words"
        warnings.warn(message, UserWarning, stacklevel=4)


def warn_of_equal_embeddings(table: TextTable) -> None:
    """Warn of texts that have the embedding of another: only one of them is asked."""
    first = table.first_alike.tolist()
    others = [row for row, each in enumerate(first) if each != row]
    lines = [f"{table.texts[row]!r} (as {table.texts[first[row]]!r})" for row in others[:LISTED]]
    if others:
        more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        have = "1 text has" if len(others) == 1 else f"{len(others)} texts have"
        warnings.warn(
            f"text_embeddings: {have} the embedding of another, and only one of them is asked: "
            f"{', '.join(lines)}{more}; a CLIP reads the first words of a long text",
            UserWarning,
            stacklevel=4,
        )


def refuse_banned(queries: Sequence[str], allowed: Tensor, setting: str = "queries") -> None:
    """Raise InputError for a query that is not allowed; `setting` names it."""
    unwanted = [query for query, good in zip(queries, allowed.tolist(), strict=True) if not good]
    if unwanted:
        raise InputError(f"{setting}: {unwanted[0]!r} is banned; expected none that ban names")


def fixed_rows(
    table: TextTable, first: str | None, keep: Sequence[str], allowed: Bool[Tensor, " u"]
) -> Int[Tensor, " m"]:
    """Return the rows of the first question and of those to keep, each once, sorted."""
    fixed = []
    for setting, queries in (("first_query", [] if first is None else [first]), ("keep", keep)):
        rows = table.rows(queries)
        refuse_banned([table.texts[row] for row in rows.tolist()], allowed[rows], setting)
        fixed.append(rows)
    return torch.cat(fixed).unique()


def check_room(fixed: int, k: int) -> None:
    """Raise InputError if more questions are to be in the dictionary than it holds."""
    if fixed > k:
        raise InputError(f"keep and first_query are {fixed} questions; expected at most k = {k}")


def check_among(table: TextTable, fixed: Int[Tensor, " m"], queries: Int[Tensor, " k"]) -> None:
    """Raise InputError for a row of `fixed` that is not one of the given queries."""
    missing = fixed[~torch.isin(fixed, queries)]
    if len(missing):
        text = table.texts[int(missing[0])]
        raise InputError(f"keep or first_query: {text!r} is not one of the given queries")


def _check_distinct(texts: Sequence[str], where: str) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if first.setdefault(text, row) != row:
            raise InputError(f"{where}: row {row} repeats {text!r} of row {first[text]}")


def _blocks(path: Path) -> Iterator[tuple[int, Float16[np.ndarray, "m d"]]]:
    start = 0
    for file, first, table in table_blocks(path, EMBEDDED_TEXTS, [EMBEDDING], BLOCK):
        yield start, embedding_matrix(table, file, np.float16, first_row=first)
        start += len(table)


def _mapped(path: Path, scratch: Path, shape: tuple[int, int]) -> Float16[np.ndarray, "u d"]:
    results, key = ResultFolder(scratch), f"{table_sha256(path)[:16]}.float16"
    rows = results.path(key)

    def written() -> bool:
        return rows.is_file() and rows.stat().st_size == _bytes(shape)

    if not written():
        scratch.mkdir(parents=True, exist_ok=True)
        # Of several runs one writes, and the others wait for its file.
        with FileLock(f"{rows}.lock"):
            if not written():
                results.remove(key)
                with results.write(key) as partial, partial.open("wb") as file:
                    for _, block in _blocks(path):
                        file.write(block.data)
    # Copy on write: torch warns about arrays that cannot be written. Nothing writes to this one.
    return np.memmap(rows, np.float16, mode="c", shape=shape)


def _bytes(shape: tuple[int, int]) -> int:
    return shape[0] * shape[1] * np.dtype(np.float16).itemsize
