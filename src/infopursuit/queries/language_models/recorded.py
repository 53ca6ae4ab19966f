"""Answers recorded earlier, shipped in a file with the very prompts they answer.

The file has one JSON object a line (UTF-8): first the text of each prompt template,

    {"template": "caption_concepts", "text": "Here is the caption ... Caption: {{ caption }}"}

then an answer for each filling of its variables:

    {"template": "caption_concepts", "variables": {"caption": "A dog.", "max_concepts": 20},
     "answer": "1. four legs", "finish_reason": "stop"}

Template and variables make the full prompt, and only an equal prompt is answered: after a change
to a prompt file or a caption the recording no longer fits, and the message says where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.model import Answer, Prompt, Sampling, prompt_key
from infopursuit.queries.templates import PromptTemplate
from infopursuit.texts.checked_json import Entry, checked_lines

FORM = 'expected {"template", "text"} or {"template", "variables", "answer", "finish_reason"}'
REMEDY = (
    "set language_model.backend to vllm or openai to have it answered, "
    "or record an answer to this prompt"
)


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
    chunk = 4096

    def __init__(self, path: str | Path, remedy: str = REMEDY) -> None:
        self.path = Path(path)
        self.remedy = remedy
        self._answers: dict[str, Answer] = {}
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
            self._answers[prompt] = Answer(line.answer, line.finish_reason)

    def template(self, name: str) -> PromptTemplate:
        """Return the template that the file gives under a name."""
        if name not in self._templates:
            raise InputError(
                f"{self.path}: expected a template {name!r}, "
                f"found {', '.join(self._templates) or 'none'}"
            )
        return self._templates[name]

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Return the recorded answer of each prompt, whatever the sampling."""
        for prompt in map(prompt_key, prompts):
            if prompt not in self._answers:
                raise InputError(f"{self.path}: {self._difference(prompt)}; {self.remedy}")
        return [self._answers[prompt_key(prompt)] for prompt in prompts]

    def _difference(self, prompt: str) -> str:
        end = _last_line(prompt)
        for recorded in self._answers:
            if _last_line(recorded) == end:
                lines = zip_longest(prompt.splitlines(), recorded.splitlines())
                for number, (asked, known) in enumerate(lines, start=1):
                    if asked != known:
                        return (
                            f"the answer to a prompt that ends in {end!r} was recorded for another "
                            f"prompt; line {number} was {_quoted(known)} and is {_quoted(asked)}"
                        )
        return f"no answer is recorded for the prompt that ends in {end!r}"


def _kind(value: Any) -> type[_TemplateLine] | type[_AnswerLine]:
    return _TemplateLine if isinstance(value, dict) and "text" in value else _AnswerLine


def _last_line(prompt: str) -> str:
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _quoted(line: str | None) -> str:
    return "absent" if line is None else repr(line)
