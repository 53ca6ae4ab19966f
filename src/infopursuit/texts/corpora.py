"""The texts of one corpus: what a language model says about captions, or texts taken as given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.errors import InputError
from infopursuit.tables import QUERIES, read_table
from infopursuit.text_lists import read_text_list
from infopursuit.texts.captions import Caption
from infopursuit.texts.language_models.model import Answer
from infopursuit.texts.parsing import parse_answer

CAPTIONS_SUFFIX, LIST_SUFFIX, TABLE_SUFFIX = ".json", ".txt", ".parquet"


class Corpus(NamedTuple):
    """Columns of the three tables of a corpus (`tables.QUERIES`, ANSWERS, REJECTED_LINES).

    `counts` sums them up: how many captions and lines there were, and what became of them.
    """

    queries: dict[str, list[Any]]
    answers: dict[str, list[Any]]
    rejected: dict[str, list[Any]]
    counts: dict[str, Any]


def has_captions(path: str | Path) -> bool:
    """Whether a corpus is captions for the language model, told by its suffix.

    Raises:
        InputError: the suffix is none that a corpus may have.
    """
    suffix = Path(path).suffix
    if suffix not in (CAPTIONS_SUFFIX, LIST_SUFFIX, TABLE_SUFFIX):
        raise InputError(
            f"{path}: unknown kind of corpus {suffix!r}; expected COCO captions (.json), a list "
            "(.txt) or a table with the column text (.parquet)"
        )
    return suffix == CAPTIONS_SUFFIX


def described_corpus(captions: Sequence[Caption], answers: Sequence[Answer], limit: int) -> Corpus:
    """The concepts that answers to captions name.

    Args:
        captions: distinct captions.
        answers: one for each caption.
        limit: at most this many concepts a caption.

    Raises:
        InputError: no answer holds any concept.
    """
    queries: dict[str, list[Any]] = {"text": [], "caption_id": []}
    rejected: dict[str, list[Any]] = {"caption": [], "line": [], "reason": []}
    without_concepts = 0
    for caption, answer in zip(captions, answers, strict=True):
        parsed = parse_answer(answer, limit)
        without_concepts += not parsed.concepts
        for concept in parsed.concepts:
            for number in caption.ids:
                queries["text"].append(concept)
                queries["caption_id"].append(number)
        for line, reason in parsed.rejected:
            rejected["caption"].append(caption.text)
            rejected["line"].append(line)
            rejected["reason"].append(reason.value)
    reasons = Counter(rejected["reason"])
    if not queries["text"]:
        raise InputError(
            f"none of {len(answers)} answers holds a concept; lines rejected by reason: "
            f"{dict(reasons.most_common()) or 'no line at all'}"
        )
    counts = {
        "captions": sum(len(caption.ids) for caption in captions),
        "distinct_captions": len(captions),
        "captions_without_concepts": without_concepts,
        "finish_reasons": dict(Counter(answer.finish_reason for answer in answers)),
        "rejected_lines": dict(reasons),
        "rows": len(queries["text"]),
        "distinct_texts": len(set(queries["text"])),
    }
    columns = {
        "caption": [caption.text for caption in captions],
        "caption_ids": [list(caption.ids) for caption in captions],
        "answer": [answer.text for answer in answers],
        "finish_reason": [answer.finish_reason for answer in answers],
    }
    return Corpus(queries, columns, rejected, counts)


def given_corpus(path: str | Path) -> Corpus:
    """Texts taken as they are, from a list (.txt) or the column `text` of a table (.parquet).

    Raises:
        InputError: the file is missing or unreadable, has no texts, or a text is blank.
    """
    path = Path(path)
    if path.suffix == LIST_SUFFIX:
        texts = read_text_list(path)
    else:
        texts = read_table(path, QUERIES, columns=["text"]).column("text").to_pylist()
        if not texts:
            raise InputError(f"{path}: no rows; expected one text a row")
        for row, text in enumerate(texts):
            if not text.strip():
                raise InputError(f"{path}: the text of row {row} is blank; expected a text")
    counts = {"rows": len(texts), "distinct_texts": len(set(texts))}
    return Corpus(
        {"text": texts, "caption_id": [None] * len(texts)},
        {"caption": [], "caption_ids": [], "answer": [], "finish_reason": []},
        {"caption": [], "line": [], "reason": []},
        counts,
    )
