"""The texts of one corpus: what a language model says about captions, or texts taken as given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.files import read_json, read_text_list, suffix_of
from infopursuit.core.tables import QUERIES, REJECTED_LINES, ROW_GROUP, TableSchema, read_table
from infopursuit.generation.answering import UnusableAnswersError
from infopursuit.generation.language_models.model import Answer
from infopursuit.generation.parsing import Rejection, parse_answer
from infopursuit.texts.checked_json import checked

CAPTIONS_SUFFIX, LIST_SUFFIX, VOCABULARY_SUFFIX = ".json", ".txt", ".csv"
KINDS = {
    CAPTIONS_SUFFIX: "COCO captions",
    LIST_SUFFIX: "a list",
    ".parquet": "a table with the column text",
    VOCABULARY_SUFFIX: "a table with the column phrase",
}
COCO_FORM = 'expected COCO captions, {"annotations": [{"id": 1, "caption": "A dog."}, ...]}'


class Caption(NamedTuple):
    """A distinct caption with the ids of all its annotations, in the file's order."""

    text: str
    ids: tuple[int, ...]


class _Annotation(BaseModel):
    model_config = ConfigDict(strict=True)
    id: Annotated[int, Field(ge=-(2**63), lt=2**63)]  # what the columns of ids hold
    caption: str


class _CocoCaptions(BaseModel):
    model_config = ConfigDict(strict=True)
    annotations: Annotated[list[_Annotation], Field(min_length=1)]


def read_captions(path: str | Path, limit: int | None = None) -> list[Caption]:
    """Read captions in the format of COCO and join those that say the same.

    Blanks inside a caption, line breaks among them, become single spaces. Distinct captions come in
    the order of their first annotation.
    """
    content = checked(read_json(path, COCO_FORM), _CocoCaptions, str(path), COCO_FORM)
    ids_of: dict[str, list[int]] = {}
    row_of: dict[int, int] = {}
    for row, (number, caption) in enumerate(
        (each.id, each.caption) for each in content.annotations
    ):
        text = " ".join(caption.split())
        where = f"{path}: annotations[{row}]"
        if not text:
            raise InputError(f"{where} (id {number}) has an empty caption; expected a text")
        if row_of.setdefault(number, row) != row:
            raise InputError(
                f"{where} has the id {number} of annotations[{row_of[number]}]; expected a "
                "different id for each"
            )
        if limit is None or row < limit:
            ids_of.setdefault(text, []).append(number)
    return [Caption(text, tuple(ids)) for text, ids in ids_of.items()]


class Corpus(NamedTuple):
    """Columns of the three tables of a corpus (`tables.QUERIES`, ANSWERS, REJECTED_LINES).

    Each is a list or an Arrow array. `counts` sums them up: how many captions and lines there were,
    and what became of them.
    """

    queries: dict[str, Any]
    answers: dict[str, Any]
    rejected: dict[str, Any]
    counts: dict[str, Any]


def has_captions(path: str | Path) -> bool:
    """Return whether a corpus is captions for the language model, by its suffix."""
    return suffix_of(path, "corpus", KINDS) == CAPTIONS_SUFFIX


def described_corpus(captions: Sequence[Caption], answers: Sequence[Answer], limit: int) -> Corpus:
    """Return the concepts that answers to captions name.

    Returns:
        A row of `queries` for each caption id and concept. In `counts`, lines (those that are not
        blank) is the sum of concepts and rejected_lines.
    """
    queries, rejected = _Rows(QUERIES), _Rows(REJECTED_LINES)
    concepts = without_concepts = 0
    reasons: Counter[Rejection] = Counter()
    for caption, answer in zip(captions, answers, strict=True):
        parsed = parse_answer(answer, limit)
        named = parsed.concepts
        concepts += len(named)
        without_concepts += not named
        queries.add([text for text in named for _ in caption.ids], list(caption.ids) * len(named))
        lines = [line for line, _ in parsed.rejected]
        why = [reason for _, reason in parsed.rejected]
        rejected.add([caption.text] * len(lines), lines, why)
        reasons.update(why)
    tally = {reason.value: number for reason, number in reasons.items()}
    if not concepts:
        raise UnusableAnswersError(
            f"none of {len(answers)} answers holds a concept",
            answers,
            dict(Counter(tally).most_common()),
        )
    rows = queries.columns()
    counts = {
        "captions": sum(len(caption.ids) for caption in captions),
        "distinct_captions": len(captions),
        "captions_without_concepts": without_concepts,
        "finish_reasons": dict(Counter(answer.finish_reason for answer in answers)),
        "lines": concepts + reasons.total(),
        "concepts": concepts,
        "rejected_lines": tally,
        "rows": len(rows["text"]),
        "distinct_texts": len(rows["text"].unique()),
    }
    columns = {
        "caption": [caption.text for caption in captions],
        "caption_ids": [list(caption.ids) for caption in captions],
        "answer": [answer.text for answer in answers],
        "finish_reason": [answer.finish_reason for answer in answers],
    }
    return Corpus(rows, columns, rejected.columns(), counts)


class _Rows:
    """Rows of a table as they come, kept in Arrow: millions of Python objects take ten times more.

    Chunks end where row groups end, so that the file does not depend on how rows were added.
    """

    CHUNK = 4 * ROW_GROUP

    def __init__(self, schema: TableSchema) -> None:
        self._types = {field.name: field.type for field in schema.columns}
        self._open: dict[str, list[Any]] = {name: [] for name in self._types}
        self._closed: dict[str, list[pa.Array]] = {name: [] for name in self._types}

    def add(self, *columns: Sequence[Any]) -> None:
        """Add rows, given as columns in the schema's order."""
        for rows, more in zip(self._open.values(), columns, strict=True):
            rows.extend(more)
        while len(next(iter(self._open.values()))) >= self.CHUNK:
            self._close()

    def _close(self) -> None:
        for name, rows in self._open.items():
            self._closed[name].append(pa.array(rows[: self.CHUNK], self._types[name]))
            del rows[: self.CHUNK]

    def columns(self) -> dict[str, pa.ChunkedArray]:
        """Return all rows so far."""
        self._close()
        return {
            name: pa.chunked_array(chunks, self._types[name])
            for name, chunks in self._closed.items()
        }


def given_corpus(path: str | Path) -> Corpus:
    """Take texts as they are: a list, a table, or phrases with their kinds.

    Args:
        path: a list (.txt), a table with the column `text` (.parquet), or one with the column
            `phrase` (.csv), such as the visual vocabulary.
    """
    path = Path(path)
    if path.suffix == LIST_SUFFIX:
        texts = pa.chunked_array([read_text_list(path)], pa.string())
    elif path.suffix == VOCABULARY_SUFFIX:
        phrases = read_csv_table(path, ["phrase"]).column("phrase")
        texts = pa.chunked_array([phrases], pa.string())
    else:
        texts = read_table(path, QUERIES, columns=["text"]).column("text")
    if not len(texts):
        raise InputError(f"{path}: no rows; expected one text a row")
    for row, text in enumerate(texts):
        if not text.as_py().strip():
            raise InputError(f"{path}: the text of row {row} is blank; expected a text")
    return Corpus(
        {"text": texts, "caption_id": pa.nulls(len(texts), pa.int64())},
        {"caption": [], "caption_ids": [], "answer": [], "finish_reason": []},
        {"caption": [], "line": [], "reason": []},
        {"rows": len(texts), "distinct_texts": len(texts.unique())},
    )
