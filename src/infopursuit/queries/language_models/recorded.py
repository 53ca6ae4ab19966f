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

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import json_lines
from infopursuit.queries.language_models.model import Answer, Sampling
from infopursuit.queries.templates import PromptTemplate

TEMPLATE_KEYS = {"template": str, "text": str}
ANSWER_KEYS = {"template": str, "variables": dict, "answer": str, "finish_reason": str}
REMEDY = (
    "set language_model.backend to vllm or openai to have it answered, "
    "or record an answer to this prompt"
)


class Recording(NamedTuple):
    """One recorded answer: the name of its template, the variables that fill it, the answer."""

    template: str
    variables: dict[str, Any]
    answer: Answer


class RecordedAnswers:
    """The backend that replays a file of recorded answers."""

    identity: Mapping[str, Any] | None = None
    chunk = 4096

    def __init__(self, path: str | Path, remedy: str = REMEDY) -> None:
        """Read the recorded answers.

        Args:
            path: the file.
            remedy: what to do about a prompt that is not in it, the end of that message.

        Raises:
            InputError: the file is missing or not UTF-8, a line is no JSON object with the right
                keys, names an unknown template, or answers a prompt for the second time.
        """
        self.path = Path(path)
        self.remedy = remedy
        self._answers: dict[str, Answer] = {}
        self._templates: dict[str, PromptTemplate] = {}
        line_of: dict[str, int] = {}
        for number, entry in _entries(self.path):
            where = f"{self.path}: line {number}"
            name = entry["template"]
            if "text" in entry:
                if name in self._templates:
                    raise InputError(f"{where} gives the template {name!r} for the second time")
                self._templates[name] = PromptTemplate(f"{where}, template {name!r}", entry["text"])
                continue
            if name not in self._templates:
                raise InputError(
                    f"{where} names the template {name!r}; expected one given on an earlier line, "
                    f"found {', '.join(self._templates) or 'none'}"
                )
            prompt = self._templates[name].render(**entry["variables"])
            if prompt in line_of:
                raise InputError(f"{where} answers the same prompt as line {line_of[prompt]}")
            line_of[prompt] = number
            self._answers[prompt] = Answer(entry["answer"], entry["finish_reason"])

    def template(self, name: str) -> PromptTemplate:
        """The template that the file gives under a name.

        Raises:
            InputError: the file has no template of that name.
        """
        if name not in self._templates:
            raise InputError(
                f"{self.path}: expected a template {name!r}, "
                f"found {', '.join(self._templates) or 'none'}"
            )
        return self._templates[name]

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        """The recorded answer of each prompt, whatever the sampling.

        Raises:
            InputError: no answer is recorded for one of the prompts; the message quotes its last
                line, or the first line that differs from a recorded prompt with the same end.
        """
        for prompt in prompts:
            if prompt not in self._answers:
                raise InputError(f"{self.path}: {self._what_differs(prompt)}; {self.remedy}")
        return [self._answers[prompt] for prompt in prompts]

    def _what_differs(self, prompt: str) -> str:
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


def write_recorded(
    path: str | Path, templates: Mapping[str, str], recordings: Iterable[Recording]
) -> None:
    """Write a file that RecordedAnswers reads.

    Args:
        path: the file to write.
        templates: the text of each template by its name, equal to the text of its prompt file.
        recordings: the answers, each with the name of one of the templates.
    """
    entries: list[dict[str, Any]] = [
        {"template": name, "text": text} for name, text in templates.items()
    ]
    for template, variables, (answer, finish_reason) in recordings:
        entries.append(
            {
                "template": template,
                "variables": variables,
                "answer": answer,
                "finish_reason": finish_reason,
            }
        )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for entry in entries:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _entries(path: Path) -> Iterable[tuple[int, dict[str, Any]]]:
    for number, entry in json_lines(
        path, "expected recorded answers (JSON lines)", "expected a JSON object"
    ):
        yield number, _checked_entry(f"{path}: line {number}", entry)


def _checked_entry(where: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(f"{where} is {type(entry).__name__}; expected a JSON object")
    expected = TEMPLATE_KEYS if "text" in entry else ANSWER_KEYS
    if set(entry) != set(expected):
        raise InputError(
            f"{where} has the keys {', '.join(entry) or 'none'}; expected template, text "
            f"or {', '.join(ANSWER_KEYS)}"
        )
    for key, kind in expected.items():
        if not isinstance(entry[key], kind):
            raise InputError(f"{where}: {key} is {entry[key]!r}; expected {kind.__name__}")
    return entry


def _last_line(prompt: str) -> str:
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _quoted(line: str | None) -> str:
    return "absent" if line is None else repr(line)
