"""The slow reference of `infopursuit.queries.parsing` and `normalization`: every line by itself.

The library looks at a repeated line once, and takes a shorter way for ASCII.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from infopursuit.queries.language_models import Answer
from infopursuit.queries.parsing import (
    _CHATTER,
    _EMPHASIS,
    _MARKS,
    _NEXT_CAPTION,
    _OR,
    _REFUSAL,
    _SENTINEL,
    _SEVERAL,
    MAX_WORDS,
    ParsedAnswer,
    RejectedLine,
    Rejection,
)  # fmt: skip


def normalize(text: str) -> str:
    lowered = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    words = " ".join(lowered.split())
    start, end = 0, len(words)
    while start < end and _outer(words[start]):
        start += 1
    while end > start and _outer(words[end - 1]):
        end -= 1
    return words[start:end]


def _outer(character: str) -> bool:
    return character in " `´^~|<>=+" or unicodedata.category(character).startswith("P")


class _Line(NamedTuple):
    raw: str
    content: str
    marked: bool


# The model's thoughts before its answer end with this tag; some servers leave the first tag out.
_THOUGHTS_START, _THOUGHTS_END = "<think>", "</think>"


def parse_answer(answer: Answer, limit: int) -> ParsedAnswer:
    """Take the concepts out of an answer; each other line is rejected once."""
    thoughts, text = _without_thoughts(answer.text)
    rejected = [RejectedLine(line, Rejection.REASONING) for line in thoughts]
    physical = text.splitlines()
    lines = [_split_marks(line.strip()) for line in physical if line.strip()]
    cut = answer.finish_reason == "length" and bool(physical and physical[-1].strip())
    complete = not cut or text.endswith(("\n", "\r"))

    ends = [i for i, line in enumerate(lines) if _NEXT_CAPTION.match(line.content)]
    after = lines[ends[0] :] if ends else []
    lines = lines[: ends[0]] if ends else lines
    last = lines.pop() if lines and not complete and not after else None

    verdict = _verdict(lines)
    concepts: list[str] = []
    has_list = any(line.marked for line in lines)
    for line in lines:
        concept = normalize(line.content)
        reason = verdict or _line_reason(line, concept, has_list)
        if reason is None and concept in concepts:
            reason = Rejection.REPEATED
        if reason is None and len(concepts) == limit:
            reason = Rejection.BEYOND_LIMIT
        if reason is None:
            concepts.append(concept)
        else:
            rejected.append(RejectedLine(line.raw, reason))
    if last is not None:
        rejected.append(RejectedLine(last.raw, verdict or Rejection.TRUNCATED))
    rejected += [RejectedLine(line.raw, Rejection.NEXT_CAPTION) for line in after]
    return ParsedAnswer(concepts, rejected)


def _without_thoughts(text: str) -> tuple[list[str], str]:
    """The lines of a reasoning model's thoughts, and the answer after them."""
    if _THOUGHTS_END in text:
        thoughts, _, rest = text.rpartition(_THOUGHTS_END)
    elif text.lstrip().startswith(_THOUGHTS_START):
        thoughts, rest = text, ""
    else:
        return [], text
    return [line.strip() for line in thoughts.splitlines() if line.strip()], rest


def _split_marks(raw: str) -> _Line:
    line = _EMPHASIS.sub("", raw).strip()
    marks = _MARKS.match(line)
    content = line[marks.end() :] if marks else line
    # A line of marks alone, a rule for example, does not make the answer a list.
    return _Line(raw, content, marked=marks is not None and bool(normalize(content)))


def _verdict(lines: list[_Line]) -> Rejection | None:
    """A reason that holds for the whole answer."""
    if any(_SENTINEL.match(line.content) or normalize(line.content) == "unfit" for line in lines):
        return Rejection.UNFIT
    has_list = any(line.marked for line in lines)
    if not has_list and any(_REFUSAL.match(line.content) for line in lines):
        return Rejection.REFUSAL
    return None


def _line_reason(line: _Line, concept: str, has_list: bool) -> Rejection | None:
    if not concept:
        return Rejection.EMPTY
    if has_list and not line.marked:
        return Rejection.CHATTER
    if line.content.rstrip().endswith(":") or (not has_list and _CHATTER.match(line.content)):
        return Rejection.CHATTER
    # The replacement character stands for bytes that were no text.
    if not concept.isprintable() or "\N{REPLACEMENT CHARACTER}" in concept:
        return Rejection.UNPRINTABLE
    if any(bracket in line.content for bracket in "()（）"):
        return Rejection.PARENTHESES
    if _OR.search(concept):
        return Rejection.OR
    if _SEVERAL.search(concept):
        return Rejection.SEVERAL
    if len(concept.split()) > MAX_WORDS:
        return Rejection.TOO_MANY_WORDS
    return None
