"""Answers of a language model, kept on disk so that nothing is asked twice.

A folder for each combination of model and sampling, named by its hash, holds one file (JSON lines)
for each chunk of answers. A chunk's file appears under its name only when it is complete, and is
never changed afterwards: a process may be killed at any moment, and two may share the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.text_files import json_lines
from infopursuit.core.whole_files import whole_file
from infopursuit.queries.language_models.model import Answer


class AnswerCache:
    """The answers of one model with one sampling."""

    def __init__(self, folder: str | Path, settings: Mapping[str, Any]) -> None:
        """Choose the folder; nothing is read or written yet.

        Args:
            folder: where the folders of all settings lie.
            settings: all that changes an answer beside the prompt, as JSON values.
        """
        self.settings = dict(settings)
        self.folder = Path(folder) / _digest(json.dumps(self.settings, sort_keys=True))

    def load(self, prompts: Collection[str]) -> dict[str, Answer]:
        """The kept answers to `prompts`, by prompt.

        Raises:
            InputError: a file of the cache is damaged; the message names it.
        """
        prompt_of = {_digest(prompt): prompt for prompt in prompts}
        answers: dict[str, Answer] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            try:
                for _, entry in json_lines(path, "expected a chunk of answers", "expected JSON"):
                    prompt = prompt_of.get(entry["prompt"])
                    answer = Answer(entry["answer"], entry["finish_reason"])
                    if not all(isinstance(each, str) for each in answer):
                        raise TypeError("an answer is no text")
                    if prompt is not None:
                        answers[prompt] = answer
            except (ValueError, LookupError, TypeError) as error:
                raise InputError(
                    f"{path}: not a chunk of answers ({error}); delete it to have them asked again"
                ) from error
        return answers

    def add(self, prompts: Sequence[str], answers: Sequence[Answer]) -> None:
        """Keep the answers to one chunk of prompts."""
        self.folder.mkdir(parents=True, exist_ok=True)
        described = json.dumps(self.settings, sort_keys=True, indent=2) + "\n"
        mark = f".{os.getpid()}"
        with whole_file(self.folder / "settings.json", mark) as partial:
            partial.write_text(described, encoding="utf-8")
        path = self.folder / f"{_digest(''.join(map(_digest, prompts)))}.jsonl"
        with (
            whole_file(path, mark) as partial,
            partial.open("w", encoding="utf-8", newline="\n") as file,
        ):
            for prompt, answer in zip(prompts, answers, strict=True):
                entry = {"prompt": _digest(prompt), "answer": answer.text}
                entry["finish_reason"] = answer.finish_reason
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]
