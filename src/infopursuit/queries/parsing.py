"""Concepts out of a language model's answer, and every other line with the reason it is none.

A concept is the text of one line of a list, at most five words, one thing. The marks of the list
may be of any style (`1.`, `2)`, `(3)`, `4:`, `a.`, `-`, `*`, bullets), in bold or in quotes. Where
any line has a mark, lines without one are chatter around the list. A line that enumerates several
things ("red, blue and green") is rejected, not split: its parts are rarely concepts by themselves.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from infopursuit.queries.language_models.model import Answer
from infopursuit.queries.normalization import normalize

MAX_WORDS = 5
LONGEST_KEPT = 200  # characters


class Reason(StrEnum):
    """Why a line of an answer is no concept."""

    CHATTER = "chatter"
    REASONING = "reasoning"
    NEXT_CAPTION = "after the next caption"
    UNFIT = "unfit caption"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    UNPRINTABLE = "unprintable"
    EMPTY = "empty"
    PARENTHESES = "parentheses"
    OR = "or"
    SEVERAL = "several concepts"
    TOO_MANY_WORDS = "too many words"
    REPEATED = "repeated"
    BEYOND_LIMIT = "beyond limit"


class RejectedLine(NamedTuple):
    """A line as the model wrote it, without surrounding blanks."""

    line: str
    reason: Reason


class ParsedAnswer(NamedTuple):
    """Concepts, normalised and distinct, in the answer's order, and the lines that are none."""

    concepts: list[str]
    rejected: list[RejectedLine]


class _Content(NamedTuple):
    """All that a line says by itself, without its marks."""

    concept: str
    fault: Reason | None  # why it is no concept, where the answer is a list and this line of it
    plain_fault: Reason | None  # the same where the answer is no list
    next_caption: bool
    unfit: bool
    refusal: bool


class _Line(NamedTuple):
    raw: str
    content: _Content
    marked: bool


# The model's thoughts before its answer end with this tag; some servers leave the first tag out.
_THOUGHTS_START, _THOUGHTS_END = "<think>", "</think>"
_EMPHASIS = re.compile(r"\*\*|__|`")
# The number of "2.5 metres" or "12:30" and the hyphen of "2-door car" are no marks of a list.
_MARKS = re.compile(
    r"""(?:
        [-•‣◦▪●■·–—]+\s*
        | [*+>]\s+
        | \(?\d{1,4}\s*[.):\]](?!\d)\s*
        | \[\d{1,4}\]\s*
        | \d{1,4}\s*[-–—]\s+
        | \(?[a-zA-Z][.)]\s+
    )+""",
    re.VERBOSE,
)
_NEXT_CAPTION = re.compile(r"caption\s*:", re.IGNORECASE)
_SENTINEL = re.compile(r"(?:[Aa]nswer\s*:\s*)?UNFIT\b")
_REFUSAL = re.compile(
    r"i['’]?m (?:sorry|unable|not able)|i am (?:sorry|unable|not able)|as an ai\b|unfortunately\b"
    r"|i (?:can(?:not|['’]t| not)|won['’]t|will not)\b|(?:i )?apologi[sz]e\b|sorry\b",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"(?:sure|certainly|absolutely|of course|okay|ok)[,.!:]|here(?: is| are|['’]s)\b|note:"
    r"|let me know\b|please\b|i hope\b|i have\b|these are\b|the following\b|based on\b|\#",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[()（）]")
_OR = re.compile(r"\bor\b")
_SEVERAL = re.compile(r"[,;:|/]|\s[-–—]\s|\s\d{1,3}[.)]\s")


def parse_answer(answer: Answer, limit: int) -> ParsedAnswer:
    """Take the concepts out of an answer.

    Every line that is not blank ends up once, as a concept or as a rejected line.

    Args:
        answer: the model's text; with finish reason `length` its last line is taken to be cut off.
        limit: at most this many concepts; further ones are rejected.
    """
    thoughts, text = without_thoughts(answer.text)
    rejected = [RejectedLine(line, Reason.REASONING) for line in thoughts]
    physical = text.splitlines()
    lines = [_line(stripped) for line in physical if (stripped := line.strip())]
    cut = answer.finish_reason == "length" and bool(physical and physical[-1].strip())
    complete = not cut or text.endswith(("\n", "\r"))

    end = next((i for i, line in enumerate(lines) if line.content.next_caption), len(lines))
    lines, after = lines[:end], lines[end:]
    last = lines.pop() if lines and not complete and not after else None

    has_list = True in [line.marked for line in lines]
    verdict = _verdict(lines, has_list)
    concepts: dict[str, None] = {}
    for raw, content, marked in lines:
        reason = verdict or (content.fault if has_list else content.plain_fault)
        if has_list and not marked and verdict is None and reason is not Reason.EMPTY:
            reason = Reason.CHATTER
        if reason is None:
            if content.concept in concepts:
                reason = Reason.REPEATED
            elif len(concepts) == limit:
                reason = Reason.BEYOND_LIMIT
        if reason is None:
            concepts[content.concept] = None
        else:
            rejected.append(RejectedLine(raw, reason))
    if last is not None:
        rejected.append(RejectedLine(last.raw, verdict or Reason.TRUNCATED))
    rejected += [RejectedLine(line.raw, Reason.NEXT_CAPTION) for line in after]
    return ParsedAnswer(list(concepts), rejected)


def without_thoughts(text: str) -> tuple[list[str], str]:
    """The lines of a reasoning model's thoughts, and the answer after them."""
    if _THOUGHTS_END in text:
        thoughts, _, rest = text.rpartition(_THOUGHTS_END)
    elif text.lstrip().startswith(_THOUGHTS_START):
        thoughts, rest = text, ""
    else:
        return [], text
    return [line.strip() for line in thoughts.splitlines() if line.strip()], rest


def _line(raw: str) -> _Line:
    line = raw
    if "*" in raw or "_" in raw or "`" in raw:
        line = _EMPHASIS.sub("", raw).strip()
    marks = _MARKS.match(line)
    text = line[marks.end() :] if marks else line
    # A line of a thousand characters hardly comes again, and would only fill the memory.
    content = _content(text) if len(text) <= LONGEST_KEPT else _content.__wrapped__(text)
    # A line of marks alone, a rule for example, does not make the answer a list.
    return _Line(raw, content, marks is not None and bool(content.concept))


@lru_cache(maxsize=2**17)
def _content(text: str) -> _Content:
    """Kept for the lines seen last: most concepts are in the answers to many captions."""
    concept = normalize(text)
    fault = _fault(text, concept)
    chatter = bool(concept) and _CHATTER.match(text) is not None
    return _Content(
        concept,
        fault,
        plain_fault=Reason.CHATTER if chatter else fault,
        next_caption=_NEXT_CAPTION.match(text) is not None,
        unfit=_SENTINEL.match(text) is not None or concept == "unfit",
        refusal=_REFUSAL.match(text) is not None,
    )


def _fault(text: str, concept: str) -> Reason | None:
    if not concept:
        return Reason.EMPTY
    if text.rstrip().endswith(":"):
        return Reason.CHATTER
    # The replacement character stands for bytes that were no text.
    if not concept.isprintable() or "\N{REPLACEMENT CHARACTER}" in concept:
        return Reason.UNPRINTABLE
    if _BRACKETS.search(text):
        return Reason.PARENTHESES
    if _OR.search(concept):
        return Reason.OR
    if _SEVERAL.search(concept):
        return Reason.SEVERAL
    if len(concept.split()) > MAX_WORDS:
        return Reason.TOO_MANY_WORDS
    return None


def _verdict(lines: list[_Line], has_list: bool) -> Reason | None:
    """A reason that holds for the whole answer."""
    if True in [line.content.unfit for line in lines]:
        return Reason.UNFIT
    if not has_list and True in [line.content.refusal for line in lines]:
        return Reason.REFUSAL
    return None
