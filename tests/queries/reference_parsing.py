"""The obvious version of `infopursuit.queries.parsing` and `normalization`: every line by itself.

The library looks at a line once however often it comes, and takes a shorter way for ASCII; here
nothing is remembered and nothing is shorter. Both have to find the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from infopursuit.queries.language_models import Answer
from infopursuit.queries.parsing import ParsedAnswer, Reason, RejectedLine

MAX_WORDS = 5


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
_OR = re.compile(r"\bor\b")
_SEVERAL = re.compile(r"[,;:|/]|\s[-–—]\s|\s\d{1,3}[.)]\s")


def parse_answer(answer: Answer, limit: int) -> ParsedAnswer:
    """Take the concepts out of an answer.

    Every line that is not blank ends up once, as a concept or as a rejected line.

    Args:
        answer: the model's text; with finish reason `length` its last line is taken to be cut off.
        limit: at most this many concepts; further ones are rejected.
    """
    thoughts, text = _without_thoughts(answer.text)
    rejected = [RejectedLine(line, Reason.REASONING) for line in thoughts]
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
            reason = Reason.REPEATED
        if reason is None and len(concepts) == limit:
            reason = Reason.BEYOND_LIMIT
        if reason is None:
            concepts.append(concept)
        else:
            rejected.append(RejectedLine(line.raw, reason))
    if last is not None:
        rejected.append(RejectedLine(last.raw, verdict or Reason.TRUNCATED))
    rejected += [RejectedLine(line.raw, Reason.NEXT_CAPTION) for line in after]
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


def _verdict(lines: list[_Line]) -> Reason | None:
    """A reason that holds for the whole answer."""
    if any(_SENTINEL.match(line.content) or normalize(line.content) == "unfit" for line in lines):
        return Reason.UNFIT
    has_list = any(line.marked for line in lines)
    if not has_list and any(_REFUSAL.match(line.content) for line in lines):
        return Reason.REFUSAL
    return None


def _line_reason(line: _Line, concept: str, has_list: bool) -> Reason | None:
    if not concept:
        return Reason.EMPTY
    if has_list and not line.marked:
        return Reason.CHATTER
    if line.content.rstrip().endswith(":") or (not has_list and _CHATTER.match(line.content)):
        return Reason.CHATTER
    # The replacement character stands for bytes that were no text.
    if not concept.isprintable() or "\N{REPLACEMENT CHARACTER}" in concept:
        return Reason.UNPRINTABLE
    if any(bracket in line.content for bracket in "()（）"):
        return Reason.PARENTHESES
    if _OR.search(concept):
        return Reason.OR
    if _SEVERAL.search(concept):
        return Reason.SEVERAL
    if len(concept.split()) > MAX_WORDS:
        return Reason.TOO_MANY_WORDS
    return None
