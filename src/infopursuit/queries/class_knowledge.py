"""The knowledge table as a language model gives it: asked class by class, some 50 texts at a time.

A judge is asked the other way round, text by text, some 50 classes at a time: a second opinion
that the first prompt has no part in. An answer has two lines, the numbers of what is true and of
what is sometimes true. An answer of any other form is rejected as a whole and asked again with the
next seed; what is never answered stays unknown.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infopursuit.core.executors import Workers
from infopursuit.core.tables import REJECTED_KNOWLEDGE
from infopursuit.queries.generation import answer_prompts, attempts
from infopursuit.queries.language_models import Answer, LanguageModel, Sampling
from infopursuit.queries.parsing import without_thoughts
from infopursuit.queries.templates import PromptTemplate
from infopursuit.texts.knowledge import NOT_TRUE, SOMETIMES, TRUE, KnowledgeTable

logger = logging.getLogger(__name__)

NEEDED = ("class_name", "texts")
JUDGE_NEEDED = ("text", "classes")
OFFERED = ("classes",)
TEXTS_PER_PROMPT = 50
_NUMBER = "[1-9]|[1-4][0-9]|50"  # short, since it is compiled to an automaton a hundred times over
# Characters of an answer: all numbers of a prompt's texts, twice, take 400.
LONGEST = 10_000
# A number with the comma and the blank after it.
TOKENS_PER_NUMBER = 5
# No text has a number of more digits; Python would not even read one of 5000.
_NUMBERS = r"none|\d{1,9}(?:\s*,\s*\d{1,9})*"
_FORM = re.compile(
    rf"\s*true\s*:\s*({_NUMBERS})\s*\n\s*sometimes\s*:\s*({_NUMBERS})\s*", re.IGNORECASE
)


class Unusable(StrEnum):
    """Why an answer is not used."""

    TRUNCATED = "truncated"
    FORM = "not the two lines asked for"
    NO_SUCH_TEXT = "a number that no text has"
    REPEATED = "a number twice"


class KnownTexts(NamedTuple):
    """What one answer says of its texts, by their place from 0: the rest is not true."""

    true: list[int]
    sometimes: list[int]


class AskedKnowledge(NamedTuple):
    """The table, the columns of `tables.REJECTED_KNOWLEDGE`, and how many answers went where."""

    knowledge: KnowledgeTable
    rejected: dict[str, list[Any]]
    counts: dict[str, Any]


def knowledge_pattern() -> str:
    """Return the form of an answer, for engines that let a model write nothing else.

    Only parsing finds a number that occurs twice, or that is beyond the texts of a shorter list.
    """
    line = rf"(?:none|(?:{_NUMBER})(?:, (?:{_NUMBER})){{0,{TEXTS_PER_PROMPT - 1}}})"
    return rf"true: {line}\nsometimes: {line}"


def parse_knowledge(answer: Answer, count: int) -> KnownTexts | Unusable:
    """Return what an answer says of `count` texts, or why it is not used.

    After the thoughts of a reasoning model come the two lines that are asked for, in that order,
    and nothing else.
    """
    if answer.finish_reason == "length":
        return Unusable.TRUNCATED
    _, text = without_thoughts(answer.text)
    form = _FORM.fullmatch(text) if len(text) <= LONGEST else None
    if form is None:
        return Unusable.FORM
    true, sometimes = (_numbers(line) for line in form.groups())
    numbers = true + sometimes
    if any(not 1 <= number <= count for number in numbers):
        return Unusable.NO_SUCH_TEXT
    if len(set(numbers)) < len(numbers):
        return Unusable.REPEATED
    return KnownTexts([number - 1 for number in true], [number - 1 for number in sometimes])


def _numbers(line: str) -> list[int]:
    return [] if line.lower() == "none" else [int(number) for number in line.split(",")]


def ask_knowledge(
    model: LanguageModel,
    template: PromptTemplate,
    classes: Sequence[str],
    texts: Sequence[str],
    sampling: Sampling,
    kept_in: str | Path,
    workers: Workers[LanguageModel] | None = None,
    by_text: bool = False,
) -> AskedKnowledge:
    """Ask a language model for the knowledge table of c classes and u texts.

    It is asked class by class, or text by text, as a judge is. Prompts about the same texts (or
    classes) follow one another, so that engines can keep what they share.

    Returns:
        The table with NaN if no answer could be used; `rejected` has a row for each answer that
        could not, even if a later one could.
    """
    rows, columns = (texts, classes) if by_text else (classes, texts)

    def prompt(name: str, batch: list[str]) -> str:
        if by_text:
            return template.render(text=name, classes=batch)
        return template.render(class_name=name, texts=batch, classes=list(classes))

    starts = range(0, len(columns), TEXTS_PER_PROMPT)
    batches = [list(columns[start : start + TEXTS_PER_PROMPT]) for start in starts]
    waiting = [(batch, row) for batch in range(len(batches)) for row in range(len(rows))]
    prompts = {(batch, row): prompt(rows[row], batches[batch]) for batch, row in waiting}
    longest = (TEXTS_PER_PROMPT + 8) * TOKENS_PER_NUMBER
    values = np.full((len(rows), len(columns)), np.nan, np.float32)
    rejected: dict[str, list[Any]] = {field.name: [] for field in REJECTED_KNOWLEDGE.columns}
    endings: Counter[str] = Counter()
    for drawn in attempts(model, sampling, longest):
        answers = answer_prompts(
            model, [prompts[each] for each in waiting], drawn, kept_in, workers
        )
        asked, waiting = waiting, []
        for (batch, row), answer in zip(asked, answers, strict=True):
            endings[answer.finish_reason] += 1
            known = parse_knowledge(answer, len(batches[batch]))
            if isinstance(known, Unusable):
                waiting.append((batch, row))
                values_of = (rows[row], batches[batch], *answer[:2], known.value)
                for column, value in zip(rejected.values(), values_of, strict=True):
                    column.append(value)
                continue
            start = starts[batch]
            cells = values[row, start : start + len(batches[batch])]
            cells[:] = NOT_TRUE
            cells[known.true] = TRUE
            cells[known.sometimes] = SOMETIMES
        if not waiting:
            break
    if waiting:
        logger.warning("%d of %d prompts have no answer of use", len(waiting), len(prompts))
    counts = {
        "prompts": len(prompts),
        "prompts_without_answer": len(waiting),
        "finish_reasons": dict(endings),
        "rejected_answers": dict(Counter(rejected["reason"])),
    }
    table = values.T.copy() if by_text else values
    return AskedKnowledge(KnowledgeTable(tuple(classes), tuple(texts), table), rejected, counts)


def prompts_for(rows: int, columns: int) -> int:
    """Return how many prompts a table takes, if every answer can be used."""
    return rows * -(-columns // TEXTS_PER_PROMPT)
