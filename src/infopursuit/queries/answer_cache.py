"""Answers of a language model, kept on disk so that nothing is asked twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from infopursuit.core.errors import InputError
from infopursuit.core.files import json_lines
from infopursuit.core.results import ResultFolder, job_digest
from infopursuit.queries.language_models.model import Answer, Cost, Prompt, prompt_key

# Of a file of answers to a chunk that has not got all of them.
OPEN = ".open"


class AnswerCache:
    """The answers of one model with one sampling: a JSON lines file for each chunk of prompts."""

    def __init__(self, folder: str | Path, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._results = ResultFolder(folder, _digest(json.dumps(self._settings, sort_keys=True)))
        self.folder = self._results.folder

    def load(self, prompts: Collection[Prompt]) -> dict[Prompt, Answer]:
        """Return the kept answers to `prompts`, by prompt."""
        prompt_of = {_digest(prompt_key(prompt)): prompt for prompt in prompts}
        answers: dict[Prompt, Answer] = {}
        for path in sorted([*self.folder.glob("*.jsonl"), *self.folder.glob(f"*{OPEN}")]):
            try:
                for entry in _entries(path):
                    prompt = prompt_of.get(entry["prompt"])
                    probability = entry.get("probability")
                    tokens = entry.get("tokens")
                    cost = None if tokens is None else Cost(*map(int, tokens), seconds=None)
                    answer = Answer(entry["answer"], entry["finish_reason"], probability, cost)
                    if not all(isinstance(each, str) for each in answer[:2]):
                        raise TypeError("an answer is not a text")
                    if prompt is not None:
                        answers[prompt] = answer
            except (ValueError, LookupError, TypeError) as error:
                raise InputError(
                    f"{path}: not a chunk of answers ({error}); delete it to ask these prompts "
                    "again"
                ) from error
        return answers

    def add(self, prompts: Sequence[Prompt], answers: Sequence[Answer]) -> None:
        """Keep the answers to one chunk of prompts."""
        self._write("settings.json", [json.dumps(self._settings, sort_keys=True, indent=2)])
        lines = [_line(*each) for each in zip(prompts, answers, strict=True)]
        key = _key(prompts)
        self._write(f"{key}.jsonl", lines)
        for path in self.folder.glob(f"{key}.*{OPEN}"):  # all that they hold is in the chunk
            path.unlink(missing_ok=True)

    @contextmanager
    def one_by_one(self, prompts: Sequence[Prompt]) -> Iterator[Callable[[Prompt, Answer], None]]:
        """Give what keeps one answer to a chunk of prompts, until `add` keeps all of them."""
        self._write("settings.json", [json.dumps(self._settings, sort_keys=True, indent=2)])
        path = self.folder / f"{_key(prompts)}.{uuid4().hex[:8]}{OPEN}"
        with path.open("w", encoding="utf-8", newline="\n") as file:

            def keep(prompt: Prompt, answer: Answer) -> None:
                file.write(f"{_line(prompt, answer)}\n")
                file.flush()

            yield keep

    def _write(self, key: str, lines: Sequence[str]) -> None:
        with self._results.write(key) as partial:
            text = "".join(f"{line}\n" for line in lines)
            partial.write_text(text, encoding="utf-8", newline="\n")


def _entries(path: Path) -> Iterator[Any]:
    """Yield the entries of a file; the last line of an open one may be cut off."""
    if path.suffix == OPEN:
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)
        return
    for _, entry in json_lines(path, "expected a chunk of answers", "expected JSON"):
        yield entry


def _line(prompt: Prompt, answer: Answer) -> str:
    entry: dict[str, Any] = {
        "prompt": _digest(prompt_key(prompt)),
        "answer": answer.text,
        "finish_reason": answer.finish_reason,
    }
    if answer.probability is not None:
        entry |= {"probability": answer.probability}
    if answer.cost is not None:
        entry |= {"tokens": answer.cost[:2]}
    return json.dumps(entry, ensure_ascii=False)


def _key(prompts: Sequence[Prompt]) -> str:
    return _digest("".join(_digest(prompt_key(prompt)) for prompt in prompts))


def _digest(text: str) -> str:
    return job_digest([text], 32)
