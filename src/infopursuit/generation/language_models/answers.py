"""Answers by prompt, in files: recorded ones, and those of earlier calls, so that none comes twice.

A file has one JSON object a line (UTF-8). What a call was answered is kept by the prompt's digest,

    {"prompt": "0f3c...", "answer": "1. four legs", "finish_reason": "stop"}

A recording has first the text of each prompt template,

    {"template": "caption_concepts", "text": "Here is the caption ... Caption: {{ caption }}"}

then an answer for each filling of its variables:

    {"template": "caption_concepts", "variables": {"caption": "A dog.", "max_concepts": 20},
     "answer": "1. four legs", "finish_reason": "stop"}

A prompt as it was recorded has its very answer. Any other is answered by what it is about, whatever
its text says: a caption; queries for classes, of which a reader takes the first k; what is true of
a class, if it was asked with the same texts (`RecordedAnswers.recorded` lists them). Of several
answers about one thing that of the most lines counts. What no answer is about has an empty one.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from infopursuit.core.errors import InputError
from infopursuit.core.results import job_digest
from infopursuit.generation.language_models.model import (
    NOT_RECORDED,
    Answer,
    Prompt,
    Sampling,
    prompt_key,
)
from infopursuit.generation.templates import PromptTemplate
from infopursuit.texts.checked_json import Entry, checked_lines
from infopursuit.texts.normalization import normalize

logger = logging.getLogger(__name__)

KEPT = ("prompt", "answer", "finish_reason")
FORM = 'expected {"template", "text"} or {"template", "variables", "answer", "finish_reason"}'
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


class NotRecordedError(InputError):
    """Of all that recorded answers are asked, they answer nothing."""


class _TemplateLine(Entry):
    template: str
    text: str


class _AnswerLine(Entry):
    template: str
    variables: dict[str, Any]
    answer: str
    finish_reason: str


class KeptAnswers:
    """What one model answered with one sampling: in a folder, with a file for each process.

    So several may keep answers at once, and be killed at any moment.
    """

    def __init__(self, parent: str | Path, settings: Mapping[str, Any]) -> None:
        self.folder = Path(parent) / _digest(json.dumps(settings, sort_keys=True))
        self._path = self.folder / f"{uuid4().hex}.jsonl"

    def load(self, prompts: Collection[Prompt]) -> dict[Prompt, Answer]:
        """Return the kept answers to `prompts`, by prompt."""
        prompt_of = {_digest(prompt_key(prompt)): prompt for prompt in prompts}
        answers: dict[Prompt, Answer] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in path.read_bytes().split(b"\n")[:-1]:  # the last one may be cut off
                try:
                    digest, *answer = map(json.loads(line).__getitem__, KEPT)
                    if not all(isinstance(each, str) for each in answer):
                        raise TypeError("an answer is not a text")
                except (ValueError, LookupError, TypeError, AttributeError) as error:
                    raise InputError(
                        f"{path}: not a file of kept answers ({error}); delete it to ask for them "
                        "again"
                    ) from error
                if digest in prompt_of:
                    answers[prompt_of[digest]] = Answer(*answer)
        return answers

    def add(self, prompts: Sequence[Prompt], answers: Sequence[Answer]) -> None:
        """Keep answers at once."""
        entries = [
            dict(zip(KEPT, (_digest(prompt_key(prompt)), *answer), strict=True))
            for prompt, answer in zip(prompts, answers, strict=True)
        ]
        lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write("".join(lines).encode())


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
        for where, line in checked_lines(
            self.path, "expected recorded answers (JSON lines)", FORM, _kind
        ):
            name = line.template
            if isinstance(line, _TemplateLine):
                self._templates[name] = PromptTemplate(f"{where}, template {name!r}", line.text)
                continue
            if name not in self._templates:
                raise InputError(
                    f"{where} names the template {name!r}; expected one given on an earlier line, "
                    f"found {', '.join(self._templates) or 'none'}"
                )
            prompt = self._templates[name].render(**line.variables)
            answer = self._answers[prompt] = Answer(line.answer, line.finish_reason)
            subject = _subject(prompt)
            known = self._about.get(subject)
            if subject[0] and (known is None or answer.text.count("\n") > known.text.count("\n")):
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
        subjects = [_subject(prompt) for prompt in prompts]
        answers = [
            self._answers.get(prompt_key(prompt)) or self._about.get(subject)
            for prompt, subject in zip(prompts, subjects, strict=True)
        ]
        missing = [each for each, answer in zip(subjects, answers, strict=True) if answer is None]
        names = first_names([name for _, name, _ in missing])
        if missing and len(missing) == len(prompts):
            raise self._not_recorded(missing[0][0], names)
        if missing:
            logger.warning(
                "%s: no answer is recorded to %d of %d prompts, about %s",
                *(self.path, len(missing), len(prompts), names),
            )
        return [answer or Answer("", NOT_RECORDED) for answer in answers]

    def recorded(
        self, kind: str, names: Collection[str] = (), others: Collection[str] = ()
    ) -> list[tuple[str, list[str]]]:
        """Return what the answers about captions or classes are about.

        Args:
            kind: the variable of prompts that says it: `caption` or `class_name`; or `classes`, of
                prompts for queries.
            names: those of interest, of `classes` all together; any if there are none. Case and
                outer punctuation do not matter.
            others: texts, of which a `class_name` was asked with one at least; any if there are
                none.

        Returns:
            Names, each with the texts that one answer is about, as they were recorded.

        Raises:
            NotRecordedError: there is none; the message says how to do without.
        """
        wanted_names, wanted_texts = set(map(normalize, names)), set(map(normalize, others))
        if kind == "classes" and names:
            wanted_names = {_together(names)}
        records = [
            (name, list(batch))
            for about, name, batch in self._about
            if about == kind
            and (not wanted_names or normalize(name) in wanted_names)
            and (not wanted_texts or not wanted_texts.isdisjoint(map(normalize, batch)))
        ]
        if not records:
            such = " with ".join(first_names(each) for each in (names, others) if each)
            raise self._not_recorded(kind, such)
        return records

    def _not_recorded(self, kind: str, such: str) -> NotRecordedError:
        what, remedy = KINDS.get(kind, ("prompts", "record one"))
        return NotRecordedError(
            f"{self.path}: no answer is recorded about {what}{such and f' such as {such}'}; "
            f"{self.remedy or f'{remedy}; {OR_ASK}'}"
        )


def first_names(names: Collection[str]) -> str:
    """Return the first names, quoted, for a message."""
    shown = ", ".join(map(repr, list(names)[:NAMED]))
    return f"{shown}, ..." if len(names) > NAMED else shown


def _subject(prompt: Prompt) -> _Subject:
    """Return what a prompt is about; of an unknown kind its last line."""
    match getattr(prompt, "variables", None):
        case {"caption": str(caption)}:
            return "caption", normalize(caption), ()
        case {"class_name": str(name), "texts": [*texts]}:
            return "class_name", name, tuple(map(str, texts))
        case {"classes": [*classes], "k": _}:
            return "classes", _together(map(str, classes)), ()
        case _:
            return "", prompt_key(prompt).strip().rsplit("\n", 1)[-1], ()


def _together(classes: Iterable[str]) -> str:
    return ", ".join(sorted(map(normalize, classes)))


def _kind(value: Any) -> type[_TemplateLine] | type[_AnswerLine]:
    return _TemplateLine if isinstance(value, dict) and "text" in value else _AnswerLine


def _digest(text: str) -> str:
    return job_digest([text], 32)
