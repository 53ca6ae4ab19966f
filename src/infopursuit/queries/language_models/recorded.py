"""Answers recorded earlier, shipped in a file with the prompts they answer.

The file has one JSON object a line (UTF-8): first the text of each prompt template,

    {"template": "caption_concepts", "text": "Here is the caption ... Caption: {{ caption }}"}

then an answer for each filling of its variables:

    {"template": "caption_concepts", "variables": {"caption": "A dog.", "max_concepts": 20},
     "answer": "1. four legs", "finish_reason": "stop"}

A prompt as it was recorded has its very answer. Any other is answered by what it is about, whatever
its text says: a caption; queries for classes, of which a reader takes the first k; what is true of
a class, or of a text, if it was asked with the same texts or classes (`RecordedAnswers.recorded`
lists them). Of several answers about one thing that of the most lines counts. What no answer is
about has an empty one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.model import (
    Answer,
    NotRecordedError,
    Prompt,
    Sampling,
    prompt_key,
)
from infopursuit.queries.templates import FilledPrompt, PromptTemplate
from infopursuit.texts.checked_json import Entry, checked_lines
from infopursuit.texts.normalization import normalize

logger = logging.getLogger(__name__)

FORM = 'expected {"template", "text"} or {"template", "variables", "answer", "finish_reason"}'
NOT_RECORDED = "not recorded"  # the finish_reason of what no answer is about
# By the variable that says what a prompt is about: what that is, and what to do without an answer.
KINDS = {
    "caption": (
        "captions",
        "set queries.corpora to {NAME: src/infopursuit/texts/visual_vocabulary.csv} or to a list "
        "(.txt)",
    ),
    "classes": (
        "queries for classes",
        "set queries.dictionaries to {} and run.inits to [informative], or take a list of your own "
        "(.txt)",
    ),
    "class_name": (
        "what is true of classes",
        "set datasets.NAME.knowledge to params/no_knowledge.csv, or to a table of your own",
    ),
}
OR_ASK = "this needs no server; or set language_model.backend to vllm or openai"
NAMED = 3  # how many things a message names

# The variable that says what a prompt is about; its value; and the texts or classes asked with it.
_Subject = tuple[str, str, tuple[str, ...]]


class _TemplateLine(Entry):
    template: str
    text: str


class _AnswerLine(Entry):
    template: str
    variables: dict[str, Any]
    answer: str
    finish_reason: str


class RecordedAnswers:
    """The backend that replays a file of recorded answers."""

    identity: Mapping[str, Any] | None = None
    chunk = sys.maxsize  # all at once: an error if there is an answer to none

    def __init__(self, path: str | Path, remedy: str | None = None) -> None:
        """Read a file.

        Args:
            path: the file.
            remedy: what to do where nothing is recorded; None for keys of params.yaml to set.
        """
        self.path = Path(path)
        self.remedy = remedy
        self._answers: dict[str, Answer] = {}
        self._about: dict[_Subject, Answer] = {}
        self._templates: dict[str, PromptTemplate] = {}
        place_of: dict[str, str] = {}
        for where, line in checked_lines(
            self.path, "expected recorded answers (JSON lines)", FORM, _kind
        ):
            name = line.template
            if isinstance(line, _TemplateLine):
                if name in self._templates:
                    raise InputError(f"{where} gives the template {name!r} for the second time")
                self._templates[name] = PromptTemplate(f"{where}, template {name!r}", line.text)
                continue
            if name not in self._templates:
                raise InputError(
                    f"{where} names the template {name!r}; expected one given on an earlier line, "
                    f"found {', '.join(self._templates) or 'none'}"
                )
            prompt = self._templates[name].render(**line.variables)
            if place_of.setdefault(prompt, where) != where:
                earlier = place_of[prompt].removeprefix(f"{self.path}: ")
                raise InputError(f"{where} answers the same prompt as {earlier}")
            answer = self._answers[prompt] = Answer(line.answer, line.finish_reason)
            subject = _subject(prompt)
            if subject is not None:
                known = self._about.setdefault(subject, answer)
                if answer.text.count("\n") > known.text.count("\n"):
                    self._about[subject] = answer

    def template(self, name: str) -> PromptTemplate:
        """Return the template that the file gives under a name."""
        if name not in self._templates:
            raise InputError(
                f"{self.path}: expected a template {name!r}, "
                f"found {', '.join(self._templates) or 'none'}"
            )
        return self._templates[name]

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Return the recorded answer of each prompt, whatever the sampling.

        Raises:
            NotRecordedError: no prompt has one. If only some have none, a line of the log says so.
        """
        found = [self._find(prompt) for prompt in prompts]
        missing = [prompt for prompt, answer in zip(prompts, found, strict=True) if answer is None]
        if missing and len(missing) == len(prompts):
            subject = _subject(missing[0])
            raise self._not_recorded(subject and subject[0], first_names(list(map(_name, missing))))
        if missing:
            logger.warning(
                "%s: no answer is recorded to %d of %d prompts, about %s",
                self.path, len(missing), len(prompts), first_names(list(map(_name, missing))),
            )  # fmt: skip
        return [answer or Answer("", NOT_RECORDED) for answer in found]

    def recorded(
        self, kind: str, names: Collection[str] = (), others: Collection[str] = ()
    ) -> list[tuple[str, list[str]]]:
        """Return what the answers about captions, classes or texts are about.

        See `AnswersFromRecord`.
        """
        wanted, asked = set(map(normalize, names)), set(map(normalize, others))
        if kind == "classes" and names:
            wanted = {_together(names)}
        found = [
            (name, list(batch))
            for about, name, batch in self._about
            if about == kind
            and (not wanted or normalize(name) in wanted)
            and (not asked or not asked.isdisjoint(map(normalize, batch)))
        ]
        if not found:
            such = " with ".join(first_names(each) for each in (names, others) if each)
            raise self._not_recorded(kind, such)
        return found

    def _find(self, prompt: Prompt) -> Answer | None:
        subject = _subject(prompt)
        return self._answers.get(prompt_key(prompt)) or (
            None if subject is None else self._about.get(subject)
        )

    def _not_recorded(self, kind: str | None, such: str) -> NotRecordedError:
        what, remedy = KINDS.get(kind or "", ("prompts", "record one"))
        return NotRecordedError(
            f"{self.path}: no answer is recorded about {what}{such and f' such as {such}'}; "
            f"{self.remedy or f'{remedy}; {OR_ASK}'}"
        )


def first_names(names: Collection[str]) -> str:
    """Return the first names, quoted, for a message."""
    shown = ", ".join(map(repr, list(names)[:NAMED]))
    return f"{shown}, ..." if len(names) > NAMED else shown


def _subject(prompt: Prompt) -> _Subject | None:
    """Return what a prompt is about; None if it does not say."""
    match _variables(prompt):
        case {"caption": str(caption)}:
            return "caption", normalize(caption), ()
        case {"class_name": str(name), "texts": [*texts]}:
            return "class_name", name, tuple(map(str, texts))
        case {"text": str(text), "classes": [*classes]}:
            return "text", text, tuple(map(str, classes))
        case {"classes": [*classes], "k": _}:
            return "classes", _together(map(str, classes)), ()
        case _:
            return None


def _together(classes: Iterable[str]) -> str:
    return ", ".join(sorted(map(normalize, classes)))


def _name(prompt: Prompt) -> str:
    """Return what a prompt is about, as a message says it; of an unknown kind its last line."""
    subject = _subject(prompt)
    if subject is None:
        return prompt_key(prompt).strip().rsplit("\n", 1)[-1]
    value = _variables(prompt)[subject[0]]
    return value if isinstance(value, str) else ", ".join(map(str, value))


def _variables(prompt: Prompt) -> Mapping[str, Any]:
    return prompt.variables if isinstance(prompt, FilledPrompt) else {}


def _kind(value: Any) -> type[_TemplateLine] | type[_AnswerLine]:
    return _TemplateLine if isinstance(value, dict) and "text" in value else _AnswerLine
