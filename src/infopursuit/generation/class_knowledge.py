"""The knowledge table as a language model gives it: asked class by class, some 50 texts at a time.

An answer has two lines, the numbers of what is true and of
what is sometimes true, whatever a chat model writes around them. An answer without them is rejected
as a whole and asked again with the next seed; what is never answered stays unknown. If hardly any
answer is of use, the asking ends early.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infopursuit.core.executors import Workers
from infopursuit.core.tables import REJECTED_KNOWLEDGE
from infopursuit.generation.answering import (
    QUOTED,
    RETRIES,
    UnusableAnswersError,
    answer_prompts,
    attempts,
)
from infopursuit.generation.language_models import (
    Answer,
    LanguageModel,
    RecordedAnswers,
    Sampling,
)
from infopursuit.generation.language_models.answers import first_names
from infopursuit.generation.language_models.openai_server import OpenAIServer
from infopursuit.generation.parsing import without_thoughts
from infopursuit.generation.settings import LanguageModelSettings
from infopursuit.generation.templates import PromptTemplate, load_template
from infopursuit.texts.knowledge import NOT_TRUE, SOMETIMES, TRUE, KnowledgeTable
from infopursuit.texts.normalization import normalize
from infopursuit.texts.vocabulary import visual_vocabulary

logger = logging.getLogger(__name__)

NEEDED = ("class_name", "texts")
OFFERED = ("classes",)
TEXTS_PER_PROMPT = 50
_NUMBER = "[1-9]|[1-4][0-9]|50"  # short, since it is compiled to an automaton a hundred times over
# Characters of an answer: all numbers of a prompt's texts, twice, take 400.
LONGEST = 10_000
# A number with the comma and the blank after it.
TOKENS_PER_NUMBER = 5
# The prompts that are asked before all others: if none has an answer of use, the rest is not asked.
FIRST = 8
# A line of the answer, in lists, bold, quotes or JSON; and what may stand on it, or below it. No
# text has a number of more digits; Python would not even read one of 5000.
_LABEL = re.compile(r"[^\w:]*(true|sometimes)[^\w:(]*(?:\([^()]*\))?[^\w:]*[::](.*)", re.IGNORECASE)
_SECOND = re.compile(r"[;,|/.]*[ \t]+(?=[*_\"'`]*sometimes[*_\"'`]*\s*[::])", re.IGNORECASE)
_REMARK = re.compile(r"\([^()]*\)")
_NONE = re.compile(r"|none|n/?a|nothing|null|nil|[-–—∅]+", re.IGNORECASE)
_NUMBERS = re.compile(r"#?\d{1,9}(?:(?:\s*[,;&]\s*(?:and\s+)?|\s+(?:and\s+)?)#?\d{1,9})*\s*[,;]?")
_MARKS_AROUND = " \t[]{}*_`\"'.•"


class Unusable(StrEnum):
    """Why an answer is not used."""

    TRUNCATED = "truncated"
    THOUGHTS = "thoughts and no answer"
    EMPTY = "empty"
    FORM = "not the two lines asked for"
    NO_SUCH_TEXT = "a number that no text has"
    REPEATED = "a number twice"


class KnownTexts(NamedTuple):
    """What one answer says of its texts, by their place from 0: the rest is not true."""

    true: list[int]
    sometimes: list[int]


class _Batch(NamedTuple):
    """What one prompt asks: of a row, the names of some columns; -1 for those not wanted."""

    row: int
    columns: Sequence[int]
    name: str
    others: list[str]


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

    The two lines come in the order that is asked for, after the thoughts of a reasoning model. They
    may be in bold, in a code fence, in a list or in JSON, with an introduction before them and a
    remark behind. Two answers in one are none.
    """
    if answer.finish_reason == "length":
        return Unusable.TRUNCATED
    thoughts, text = without_thoughts(answer.text)
    if not text.strip():
        return Unusable.THOUGHTS if thoughts else Unusable.EMPTY
    lines = _lines(text) if len(text) <= LONGEST else []
    if [name for name, _ in lines] != ["true", "sometimes"]:
        return Unusable.FORM
    true, sometimes = (_numbers(line) for _, line in lines)
    if true is None or sometimes is None:
        return Unusable.FORM
    numbers = true + sometimes
    if any(not 1 <= number <= count for number in numbers):
        return Unusable.NO_SUCH_TEXT
    if len(set(numbers)) < len(numbers):
        return Unusable.REPEATED
    return KnownTexts([number - 1 for number in true], [number - 1 for number in sometimes])


def _lines(text: str) -> list[tuple[str, str]]:
    """Return the labels of an answer, in order, each with what follows it: numbers, we hope."""
    lines: list[tuple[str, str]] = []
    open_ = False
    for line in _SECOND.sub("\n", text).splitlines():
        label = _LABEL.match(line)
        if label is not None:
            lines.append((label[1].lower(), label[2]))
            open_ = True
        elif open_ and line.strip():
            # Numbers in a list below their label; the first other line is a remark.
            open_ = _numbers(line) is not None
            if open_:
                lines[-1] = lines[-1][0], f"{lines[-1][1]} {line.strip(' -')}"
    return lines


def _numbers(line: str) -> list[int] | None:
    line = _REMARK.sub(" ", line).strip(_MARKS_AROUND)
    if _NONE.fullmatch(line):
        return []
    line = re.sub(r"[\[\]{}*_`\"']", " ", line).strip(_MARKS_AROUND + "-")
    if not _NUMBERS.fullmatch(line):
        return None
    return [int(number) for number in re.findall(r"\d+", line)]


def ask_knowledge(
    model: LanguageModel,
    template: PromptTemplate,
    classes: Sequence[str],
    texts: Sequence[str],
    sampling: Sampling,
    kept_in: str | Path,
    workers: Workers[LanguageModel] | None = None,
) -> AskedKnowledge:
    """Ask a language model for the knowledge table of c classes and u texts.

    Prompts about the same texts follow one another, so that engines can keep what they share. Of
    recorded answers those that are about any of it are taken, for what they say of these classes
    and texts.

    Returns:
        The table with NaN where no answer could be used; `rejected` has a row for each answer that
        could not, even if a later one could.

    Raises:
        UnusableAnswersError: none of the first `FIRST` answers can be used, or fewer than half of
            those to the first attempt, or none at all. Of recorded answers the last alone counts.
        NotRecordedError: no recorded answer is about any of these classes and texts.
    """
    if isinstance(model, RecordedAnswers):
        batches = _recorded_batches(model, classes, texts)
    else:
        batches = _batches(classes, texts)
    prompts = [
        template.render(classes=list(classes), class_name=batch.name, texts=batch.others)
        for batch in batches
    ]
    waiting = list(range(len(batches)))
    longest = (TEXTS_PER_PROMPT + 8) * TOKENS_PER_NUMBER
    values = np.full((len(classes), len(texts)), np.nan, np.float32)
    rejected: dict[str, list[Any]] = {field.name: [] for field in REJECTED_KNOWLEDGE.columns}
    endings: Counter[str] = Counter()
    few = model.identity is None or len(prompts) < FIRST
    unusable: list[Answer] = []
    for attempt, drawn in enumerate(attempts(model, sampling, longest)):
        asking, waiting, unusable = waiting, [], []
        # On a cluster each part would take a start of its own.
        alone = FIRST if attempt == 0 and not few and workers is None else 0
        for part in filter(None, (asking[:alone], asking[alone:])):
            answers = answer_prompts(
                model, [prompts[each] for each in part], drawn, kept_in, workers
            )
            for place, answer in zip(part, answers, strict=True):
                row, asked_columns, _, others = batches[place]
                endings[answer.finish_reason] += 1
                known = parse_knowledge(answer, len(others))
                if isinstance(known, Unusable):
                    waiting.append(place)
                    unusable.append(answer)
                    values_of = (classes[row], others, *answer[:2], known.value)
                    for column, value in zip(rejected.values(), values_of, strict=True):
                        column.append(value)
                    continue
                cells = np.full(len(others), NOT_TRUE, np.float32)
                cells[known.true] = TRUE
                cells[known.sometimes] = SOMETIMES
                inside = np.array(asked_columns) >= 0
                values[row, np.array(asked_columns)[inside]] = cells[inside]
            if len(part) == alone == len(waiting):
                raise _of_no_use(unusable, alone, rejected)
        if not few and attempt == 0 and 2 * len(waiting) > len(asking):
            raise _of_no_use(unusable, len(asking), rejected)
        if not waiting:
            break
    if waiting and len(waiting) == len(prompts):
        raise _of_no_use(unusable, len(prompts), rejected)
    if waiting:
        logger.warning("%d of %d prompts have no answer of use", len(waiting), len(prompts))
    known = ~np.isnan(values)
    for what, names, some in (
        ("classes", classes, known.any(axis=1)),
        ("texts", texts, known[known.any(axis=1)].all(axis=0)),
    ):
        left = [name for name, each in zip(names, np.ravel(some), strict=True) if not each]
        if left:
            logger.warning(
                "not known of %d of %d %s (%s)", len(left), len(names), what, first_names(left)
            )
    counts = {
        "prompts": len(prompts),
        "prompts_without_answer": len(waiting),
        "finish_reasons": dict(endings),
        "rejected_answers": dict(Counter(rejected["reason"])),
    }
    return AskedKnowledge(KnowledgeTable(tuple(classes), tuple(texts), values), rejected, counts)


def try_server(settings: LanguageModelSettings) -> str:
    """Ask a server what is true of a dog, as a run asks of its classes; return what it says.

    Raises:
        InputError: it gives no answer, or one of no use.
    """
    with as_file(files("infopursuit.generation") / "prompts" / "class_knowledge.jinja") as path:
        template = load_template(path, NEEDED, OFFERED)
    model = OpenAIServer(settings.openai.model_copy(update={"max_retries": 0}))
    texts = visual_vocabulary()[:TEXTS_PER_PROMPT]
    prompt = template.render(class_name="dog", texts=texts, classes=["dog", "car"])
    pattern = knowledge_pattern() if settings.structured_output else None
    sampling = Sampling(**settings.sampling.model_dump(), pattern=pattern)
    [answer] = model.answer([prompt], sampling)
    known = parse_knowledge(answer, len(texts))
    if isinstance(known, Unusable):
        where = f"the answer of {settings.openai.model} at {model.base_url} is of no use"
        raise UnusableAnswersError(where, [answer], {known.value: 1})
    return " ".join(without_thoughts(answer.text)[1].split())[:QUOTED]


def _batches(rows: Sequence[str], columns: Sequence[str]) -> list[_Batch]:
    return [
        _Batch(row, range(start, start + len(others)), name, others)
        for start in range(0, len(columns), TEXTS_PER_PROMPT)
        for others in [list(columns[start : start + TEXTS_PER_PROMPT])]
        for row, name in enumerate(rows)
    ]


def _recorded_batches(
    model: RecordedAnswers, rows: Sequence[str], columns: Sequence[str]
) -> list[_Batch]:
    """Return the recorded answers that say something of a table.

    Where answers overlap, those to the very prompts of this table count, then those recorded last.
    """
    row_of, column_of = _places(rows), _places(columns)
    batches = [
        _Batch(_place(row_of, name), [_place(column_of, each) for each in others], name, others)
        for name, others in model.recorded(NEEDED[0], rows, columns)
    ]
    exact = {(row, *asked) for row, asked, _, _ in _batches(rows, columns)}
    return sorted(batches, key=lambda batch: (batch.row, *batch.columns) in exact)


def _places(names: Sequence[str]) -> dict[str, int]:
    return {normalize(name): place for place, name in enumerate(names)} | {
        name: place for place, name in enumerate(names)
    }


def _place(places: dict[str, int], name: str) -> int:
    return places.get(name, places.get(normalize(name), -1))


def _of_no_use(
    answers: Sequence[Answer], asked: int, rejected: dict[str, list[Any]]
) -> UnusableAnswersError:
    return UnusableAnswersError(
        f"{len(answers)} of {asked} answers of the language model are of no use",
        answers,
        Counter(rejected["reason"][-len(answers) :]),
    )


def prompts_for(rows: int, columns: int) -> int:
    """Return how many prompts a table takes, if every answer can be used."""
    return rows * -(-columns // TEXTS_PER_PROMPT)


def most_prompts_for(rows: int, columns: int) -> int:
    """Return how many prompts a table takes at most, those that are asked again included."""
    prompts = prompts_for(rows, columns)
    return prompts + RETRIES * (prompts if prompts < FIRST else prompts // 2)
