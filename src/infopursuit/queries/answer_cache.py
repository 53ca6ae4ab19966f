"""Answers of a language model, kept on disk so that nothing is asked twice."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.files import json_lines
from infopursuit.core.results import ResultFolder, job_digest
from infopursuit.queries.language_models.model import Answer, Cost, Prompt, prompt_key


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
        for path in sorted(self.folder.glob("*.jsonl")):
            try:
                for _, entry in json_lines(path, "expected a chunk of answers", "expected JSON"):
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
        digests, lines = [_digest(prompt_key(prompt)) for prompt in prompts], []
        for digest, answer in zip(digests, answers, strict=True):
            entry = {"prompt": digest, "answer": answer.text, "finish_reason": answer.finish_reason}
            if answer.probability is not None:
                entry |= {"probability": answer.probability}
            if answer.cost is not None:
                entry |= {"tokens": answer.cost[:2]}
            lines.append(json.dumps(entry, ensure_ascii=False))
        self._write(f"{_digest(''.join(digests))}.jsonl", lines)

    def _write(self, key: str, lines: Sequence[str]) -> None:
        with self._results.write(key) as partial:
            text = "".join(f"{line}\n" for line in lines)
            partial.write_text(text, encoding="utf-8", newline="\n")


def _digest(text: str) -> str:
    return job_digest([text], 32)
