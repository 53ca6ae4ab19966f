"""Concepts out of a language model's answer, and every other line with the reason it is rejected.

A concept is the text of one line of a list, at most five words, one thing. The marks of the list
may be of any style (`1.`, `2)`, `(3)`, `4:`, `a.`, `-`, `*`, bullets), in bold or in quotes. If any
line has a mark, lines without one are chatter around the list. A line that enumerates several
things ("red, blue and green") is rejected, not split: its parts are rarely concepts by themselves.

`answer_pattern` describes such an answer to engines that let a model write nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from infopursuit.generation.language_models.model import Answer
from infopursuit.texts.normalization import normalize

MAX_WORDS = 5
LONGEST_KEPT = 200  # characters
SENTINEL = "UNFIT"


class Rejection(StrEnum):
    """Why a line of an answer is not a concept."""

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
    reason: Rejection


class ParsedAnswer(NamedTuple):
    """Concepts, normalised and distinct, in the answer's order, and all other lines."""

    concepts: list[str]
    rejected: list[RejectedLine]


class _Content(NamedTuple):
    """All that a line says by itself, without its marks."""

    concept: str
    fault: Rejection | None  # why it is not a concept, if the line is in a list
    plain_fault: Rejection | None  # the same if the answer is not a list
    next_caption: bool
    unfit: bool
    refusal: bool


class _Line(NamedTuple):
    raw: str
    content: _Content
    marked: bool


# Thoughts that come before an answer, as reasoning models wrap them: in tags, in the channels of
# gpt-oss and Gemma, under headings, or as Ollama prints them. Some servers leave the first tag out,
# or take special tokens away.
_THOUGHT = (
    r"(?:(?:inner|internal|chain_of)[_-])?"
    r"(?:think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad|monologue)"
    r"(?:[_-](?:process|content|steps?))?"
)
_THOUGHTS_START = re.compile(
    rf"""<(?:\w+:)?{_THOUGHT}(?:\s[^<>]*)?> | \[{_THOUGHT}\] | ◁{_THOUGHT}▷
        | <\|(?:(?:begin|start)_(?:of_)?)?{_THOUGHT}\|>
        | <\|?channel\|?>\s*(?:analysis|commentary|thought) | \A\s*analysis(?=[A-Z])
        | <unused94>\s*thought | \A\s*Thinking(?:\.\.\.|…)\s*$
        | \A\s*(?:\#+|\*\*)\s*(?:{_THOUGHT}|thought\ process)\s*:?\s*(?:\*\*)?:?\s*$
        | \A\s*here\ is\ my\ thought\ process:""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_THOUGHTS_END = re.compile(
    rf"""</(?:\w+:)?{_THOUGHT}> | \[/{_THOUGHT}\] | ◁/{_THOUGHT}▷
        | <\|(?:end_(?:of_)?|/){_THOUGHT}\|>
        | <\|channel\|>\s*final[^<]*<\|message\|> | assistantfinal | <channel\|>
        | <unused95> | ^\s*(?:\.\.\.|…)\s*done\ thinking\.?\s*$
        | ^\s*(?:\#+|\*\*)\s*final\ (?:answer|response)\s*:?\s*(?:\*\*)?:?\s*$
        | ^\s*here\ is\ my\ response:""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
# The fence of code; JSON within an answer; a comma that no JSON has, but people and models write;
# and the keys under which an object has its text.
_FENCE = re.compile(r"(?:```|~~~)\s*\w*")
_JSON = re.compile(r"^[ \t]*(?:\[\s*[\[{\"\]]|\{\s*[\"}]).*[\]}]", re.DOTALL | re.MULTILINE)
_LAST_COMMA = re.compile(r",(\s*[\]}])")
_TEXT_KEYS = ("text", "question", "concept", "query", "phrase", "name", "value", "answer")
# What may stand around the answer itself.
_AROUND = re.compile(
    r"</?(?:answer|response|output)>|<\|(?:end|return|start)\|>"
    r"|<\|(?:begin|start|end)_(?:of_)?(?:answer|response|solution)\|>",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\*\*|__|`")
# The number of "2.5 metres" or "12:30" and the hyphen of "2-door car" do not mark a list.
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
_SENTINEL = re.compile(rf"(?:[Aa]nswer\s*:\s*)?{SENTINEL}\b")
_REFUSAL = re.compile(
    r"i['’]?m (?:sorry|unable|not able)|i am (?:sorry|unable|not able)|as an ai\b|unfortunately\b"
    r"|i (?:can(?:not|['’]t| not)|won['’]t|will not)\b|(?:i )?apologi[sz]e\b|sorry\b",
    re.IGNORECASE,
)
# The first line of an answer that goes on as a list, not as thoughts.
_OPENING = re.compile(
    r"(?:sure|certainly|absolutely|of course|here (?:is|are))\b.*:\W*", re.IGNORECASE
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

    Every line that is not blank ends up once, as a concept or as a rejected line. An answer that
    was cut off may be thoughts whose end never came: it counts only if it is a plain list.
    """
    thoughts, text = without_thoughts(answer.text)
    text = _listed(text)
    rejected = [RejectedLine(line, Rejection.REASONING) for line in thoughts]
    physical = text.splitlines()
    lines = [_line(stripped) for line in physical if (stripped := line.strip())]
    cut = answer.cut and bool(physical and physical[-1].strip())
    complete = not cut or text.endswith(("\n", "\r"))

    end = next((i for i, line in enumerate(lines) if line.content.next_caption), len(lines))
    lines, after = lines[:end], lines[end:]
    last = lines.pop() if lines and not complete and not after else None

    has_list = any(line.marked for line in lines)
    verdict = _verdict(lines, has_list)
    if answer.cut and not _flat(lines, text):
        verdict = verdict or Rejection.TRUNCATED
    concepts: dict[str, None] = {}
    for raw, content, marked in lines:
        reason = verdict or (content.fault if has_list else content.plain_fault)
        if has_list and not marked and verdict is None and reason is not Rejection.EMPTY:
            reason = Rejection.CHATTER
        if reason is None and content.concept in concepts:
            reason = Rejection.REPEATED
        elif reason is None and len(concepts) == limit:
            reason = Rejection.BEYOND_LIMIT
        if reason is None:
            concepts[content.concept] = None
        else:
            rejected.append(RejectedLine(raw, reason))
    if last is not None:
        rejected.append(RejectedLine(last.raw, verdict or Rejection.TRUNCATED))
    rejected += [RejectedLine(line.raw, Rejection.NEXT_CAPTION) for line in after]
    return ParsedAnswer(list(concepts), rejected)


def without_thoughts(text: str) -> tuple[list[str], str]:
    """Return the lines of a reasoning model's thoughts, and the answer after them.

    The answer is what follows the last end of thoughts, up to thoughts that have no end.
    """
    ends = [match.span() for match in _THOUGHTS_END.finditer(text)]
    thoughts, rest = (text[: ends[-1][0]], text[ends[-1][1] :]) if ends else ("", text)
    again = _THOUGHTS_START.search(rest)
    if again is not None:
        thoughts, rest = f"{thoughts}\n{rest[again.start() :]}", rest[: again.start()]
    lines = [line.strip() for line in thoughts.splitlines() if line.strip()]
    return lines, _AROUND.sub("", rest)


def _listed(text: str) -> str:
    """Return an answer in JSON as a list of its texts, and any other answer as it is."""
    match = _JSON.search(text)
    try:
        content = json.loads(_LAST_COMMA.sub(r"\1", match[0])) if match else []
    except (ValueError, RecursionError):
        return text
    texts = [" ".join(each.split()) for each in _texts_in(content)]
    return "".join(f"- {each}\n" for each in texts) if texts else text


def _texts_in(content: Any) -> Iterator[str]:
    """Yield the texts of lists and objects in JSON; of an object that has more, those it names."""
    if isinstance(content, dict):
        texts = [each for key, each in content.items() if str(key).lower() in _TEXT_KEYS]
        nested = [each for each in content.values() if isinstance(each, list | dict)]
        content = texts or nested or list(content.values())
    for each in content:
        if isinstance(each, str):
            yield each
        elif isinstance(each, list | dict):
            yield from _texts_in(each)


def _flat(lines: Sequence[_Line], text: str) -> bool:
    """Return whether the complete lines of an answer are one list, from the first line on."""
    indents = [len(each) - len(each.lstrip()) for each in text.splitlines() if each.strip()]
    rows = list(zip(indents, lines, strict=False))
    if rows and not rows[0][1].marked and _OPENING.fullmatch(rows[0][1].raw):
        del rows[0]
    forms: set[tuple[int, str]] = set()
    numbers: list[int] = []
    for indent, line in rows:
        if not line.marked and line.content.plain_fault is not None:
            return False
        mark = _MARKS.match(_EMPHASIS.sub("", line.raw).strip()) if line.marked else None
        mark = "" if mark is None else mark[0].strip()
        numbers += [int(each) for each in re.findall(r"\d+", mark)[:1]]
        forms.add((indent, re.sub(r"\d+|[a-zA-Z]", "1", mark)))
    return len(forms) <= 1 and numbers == list(range(1, len(numbers) + 1))


def _line(raw: str) -> _Line:
    line = "" if _FENCE.fullmatch(raw) else raw
    if "*" in line or "_" in line or "`" in line:
        line = _EMPHASIS.sub("", line).strip()
    marks = _MARKS.match(line)
    text = line[marks.end() :] if marks else line
    # A line of a thousand characters hardly comes again, and would only fill the memory.
    content = _content(text) if len(text) <= LONGEST_KEPT else _content.__wrapped__(text)
    # A line of marks alone, a rule for example, does not make the answer a list.
    return _Line(raw, content, marks is not None and bool(content.concept))


@lru_cache(maxsize=2**17)  # most concepts are in the answers to many captions
def _content(text: str) -> _Content:
    concept = normalize(text)
    fault = _fault(text, concept)
    chatter = bool(concept) and _CHATTER.match(text) is not None
    return _Content(
        concept,
        fault,
        plain_fault=Rejection.CHATTER if chatter else fault,
        next_caption=_NEXT_CAPTION.match(text) is not None,
        unfit=_SENTINEL.match(text) is not None or concept == SENTINEL.lower(),
        refusal=_REFUSAL.match(text) is not None,
    )


def _fault(text: str, concept: str) -> Rejection | None:
    if not concept:
        return Rejection.EMPTY
    if text.rstrip().endswith((":", "[", "{")):  # a heading, or the key of a list in JSON
        return Rejection.CHATTER
    # The replacement character stands for bytes that were not text.
    if not concept.isprintable() or "\N{REPLACEMENT CHARACTER}" in concept:
        return Rejection.UNPRINTABLE
    if _BRACKETS.search(text):
        return Rejection.PARENTHESES
    if _OR.search(concept):
        return Rejection.OR
    if _SEVERAL.search(concept):
        return Rejection.SEVERAL
    if len(concept.split()) > MAX_WORDS:
        return Rejection.TOO_MANY_WORDS
    return None


def _verdict(lines: list[_Line], has_list: bool) -> Rejection | None:
    if any(line.content.unfit for line in lines):
        return Rejection.UNFIT
    if not has_list and any(line.content.refusal for line in lines):
        return Rejection.REFUSAL
    return None


# Words of languages in Latin script; nothing here changes its letters under NFKC.
_CHARACTERS = "A-Za-z0-9À-ÖØ-öø-ÿ"
_NOT_O = "A-NP-Za-np-z0-9À-ÖØ-öø-ÿ"
_NOT_R = "A-QS-Za-qs-z0-9À-ÖØ-öø-ÿ"
# Longer runs are not English words; four parts make "black-and-white's".
_LONGEST_RUN = 20
_MOST_PARTS = 4


def answer_pattern(prompt: str, limit: int) -> str:
    """Return a regular expression of the whole answer to a prompt.

    It admits what `parse_answer` takes without rejecting a line, and lines that repeat an earlier
    one. The constraint is compiled to an automaton over the model's tokens, so it has no
    look-around, and every run of characters has a length: a model that never stops by itself comes
    to an end, too.
    """
    line = rf"[1-9][0-9]{{0,{len(str(limit)) - 1}}}\. {_concept()}"
    several = rf"{line}(?:\n{line}){{0,{limit - 1}}}"
    return f"(?:{SENTINEL}|{several})" if re.search(rf"\b{SENTINEL}\b", prompt) else several


def _concept() -> str:
    # A run of characters other than "or", which would ask two questions at once.
    run = (
        rf"(?:[{_NOT_O}][{_CHARACTERS}]{{0,{_LONGEST_RUN - 1}}}"
        rf"|[Oo](?:[{_NOT_R}][{_CHARACTERS}]{{0,{_LONGEST_RUN - 2}}}"
        rf"|[Rr][{_CHARACTERS}]{{1,{_LONGEST_RUN - 2}}})?)"
    )
    word = rf"{run}(?:[-'’]{run}){{0,{_MOST_PARTS - 1}}}"
    return rf"{word}(?: {word}){{0,{MAX_WORDS - 1}}}"
