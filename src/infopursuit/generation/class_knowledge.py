"""The knowledge table as a language model gives it: asked class by class, some 50 texts at a time.

An answer has two lines, the numbers of what is true and of
what is sometimes true, whatever a chat model writes around them. An answer without them is rejected
as a whole and asked again with the next seed; what is never answered stays unknown. If hardly any
answer is of use, the asking ends early.
"""

from __future__ import annotations

import logging
import re
import unicodedata
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
from infopursuit.generation.language_models import Answer, LanguageModel, RecordedAnswers, Sampling
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
# A line of the answer, in lists, bold, quotes, tables or JSON; and what may stand on it, or below
# it. No text has a number of more digits; Python would not even read one of 5000.
_LABEL = re.compile(
    r"[^\w:]*(true|sometimes)[^\w:=|(–—→-]*(?:\([^()]*\))?[^\w:=|–—→-]*(?:[:=|–—→]|->?)+(.*)",
    re.IGNORECASE,
)
_ON_THE_SAME_LINE = re.compile(
    r"(?:[;,|/.–—-]*[ \t]+(?=[*_\"'`]*sometimes[*_\"'`]*\s*[:=])"
    r"|(?<=[.!?;|/])[ \t]+(?=[*_\"'`]*true[*_\"'`]*\s*[:=])"
    r"|,[ \t]*(?=\"(?:true|sometimes)\"\s*:))",
    re.IGNORECASE,
)
_IN_COLUMNS = re.compile(
    r"^\W*true\W*\|\W*sometimes\W*\n(?:[\s|:+-]*\n)?[ \t]*\|?([^|\n]*)\|([^|\n]*)\|?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LATEX = re.compile(r"\$|\\[()\[\]]|\\[a-zA-Z]+(?=\s*\{)")
_REMARK = re.compile(r"\([^()]*\)")
_NONE = re.compile(r"|none(?: of (?:them|the texts))?|n/?a|nothing|null|nil|无|[-–—∅]+", re.I)
_ALL = re.compile(
    r"(?:all|every)(?: (?:of )?(?:the )?(?:them|texts?|numbers|\d+))*|everything", re.I
)
_GOES_ON = re.compile(r"\.\.|\betc\b|\band (?:so on|more)\b|等", re.IGNORECASE)
_MARKS_AROUND = " \t[]{}*_`\"'.•|。-"
# After a number, the text that it stands for: "1. striped coat, 4. long tail".
_WRITTEN_OUT = re.compile(r"(?<=\d)[.:)]\s+[^\W\d][^,;\d]*(?=[,;]|$)")
_RANGE = re.compile(r"(\d{1,9})\s*(?:[-–—~]|\bto\b)\s*#?(?=\d)")
_BETWEEN = re.compile(r"(?:[,;&、\s]|\band\b)+")
_NUMBER_OR_RANGE = re.compile(r"#?(\d{1,9})\.?(?:-(\d{1,9})\.?)?")
# Answers of which more than this share is one value say nothing, whatever their form.
ALL_ALIKE = 0.999
# The smallest share of texts in which classes differ, of a table that is of use.
LEAST_TELLING = 0.02


class Unusable(StrEnum):
    """Why an answer is not used."""

    TRUNCATED = "truncated"
    THOUGHTS = "thoughts and no answer"
    EMPTY = "empty"
    FORM = "not the two lines asked for"
    NO_SUCH_TEXT = "a number that no text has"
    REPEATED = "numbers on both lines"


class KnownTexts(NamedTuple):
    """What one answer says of its texts, by their place from 0: the rest is not true.

    Of those that are on both lines nothing is known.
    """

    true: list[int]
    sometimes: list[int]
    unknown: list[int]


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

    The two lines may come in bold, in a code fence, in a list, a table or JSON, with an
    introduction before them, after the thoughts of a reasoning model, and with a remark behind. Two
    answers in one are none. A number that no text has is left out, unless most are of that kind:
    0 says that the others count from 0, too.
    """
    if answer.cut:
        return Unusable.TRUNCATED
    thoughts, text = without_thoughts(answer.text)
    if not text.strip():
        return Unusable.THOUGHTS if thoughts else Unusable.EMPTY
    lines = _lines(text) if len(text) <= LONGEST else []
    if sorted(name for name, _ in lines) != ["sometimes", "true"]:
        return Unusable.FORM
    numbers_of: dict[str, list[int]] = {}
    for name, line in lines:
        numbers = _numbers(line, count)
        if numbers is None:
            return Unusable.TRUNCATED if _GOES_ON.search(line) else Unusable.FORM
        numbers_of[name] = numbers
    everything = [name for name, line in lines if _ALL.fullmatch(_bare(line))]
    if len(everything) == 1:  # all others
        (name,) = everything
        other = numbers_of["sometimes" if name == "true" else "true"]
        numbers_of[name] = [number for number in numbers_of[name] if number not in other]
    named = {*numbers_of["true"], *numbers_of["sometimes"]}
    both = {*numbers_of["true"]} & {*numbers_of["sometimes"]}
    beyond = {number for number in named if not 1 <= number <= count}
    if 0 in beyond or 2 * len(beyond) > len(named):
        return Unusable.NO_SUCH_TEXT
    if 2 * len(both) > len(named):
        return Unusable.REPEATED
    true, sometimes = (
        [number - 1 for number in dict.fromkeys(numbers_of[name]) if number not in both | beyond]
        for name in ("true", "sometimes")
    )
    return KnownTexts(true, sometimes, sorted(number - 1 for number in both - beyond))


def _lines(text: str) -> list[tuple[str, str]]:
    """Return the labels of an answer, each with what follows it: numbers, we hope."""
    text = _LATEX.sub(" ", unicodedata.normalize("NFKC", text))
    text = _IN_COLUMNS.sub(r"true: \1\nsometimes: \2", text)
    lines: list[tuple[str, str]] = []
    open_ = False
    for line in _ON_THE_SAME_LINE.sub("\n", text).splitlines():
        label = _LABEL.match(line)
        if label is not None:
            lines.append((label[1].lower(), label[2]))
            open_ = True
        elif open_ and line.strip():
            # Numbers in a list below their label; the first other line is a remark.
            open_ = _numbers(line, 0) is not None
            if open_:
                above = f"{lines[-1][1]}, " if lines[-1][1].strip() else ""
                lines[-1] = lines[-1][0], above + line.strip(" -")
    return lines


def _bare(line: str) -> str:
    return _REMARK.sub(" ", line).strip(_MARKS_AROUND)


def _numbers(line: str, count: int) -> list[int] | None:
    """Return the numbers of a line, of which one beyond `count` stands for all further ones."""
    goes_on, line = _GOES_ON.search(line), _bare(line)
    if _NONE.fullmatch(line):
        return []
    if _ALL.fullmatch(line):
        return list(range(1, count + 1))
    line = _WRITTEN_OUT.sub("", re.sub(r"[\[\]{}*_`\"']", " ", line).strip(_MARKS_AROUND))
    numbers: list[int] = []
    if goes_on:
        return None
    for each in filter(None, _BETWEEN.split(_RANGE.sub(r"\1-", line))):
        match = _NUMBER_OR_RANGE.fullmatch(each)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            return None
        numbers += range(first, min(last, max(first, count + 1)) + 1)
    return numbers


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
            those to the first attempt, or none at all; or all say the same, such as that every text
            is true. Of recorded answers it counts alone that none can be used.
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
    used: list[Answer] = []
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
                used[:] = used or [answer]
                cells = np.full(len(others), NOT_TRUE, np.float32)
                cells[known.true] = TRUE
                cells[known.sometimes] = SOMETIMES
                cells[known.unknown] = np.nan
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
    counted = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    if counted.max() > ALL_ALIKE * counted.sum() and model.identity is not None:
        raise UnusableAnswersError("the answers say the same of every text and class", used, {})
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


def tells_classes_apart(values: np.ndarray) -> bool:
    """Return whether a table (c, u) says of some texts that classes differ in them.

    Of a table that knows no text of two classes, it is not known that it does not.
    """
    known = values[:, (~np.isnan(values)).sum(axis=0) > 1]
    differ = np.nanmax(known, axis=0, initial=0) > np.nanmin(known, axis=0, initial=1)
    return not differ.size or bool(differ.mean() >= LEAST_TELLING)


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
