"""Write files of recorded answers for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from infopursuit.generation.language_models import Answer


class Recording(NamedTuple):
    """One recorded answer: the name of its template, the variables that fill it, the answer."""

    template: str
    variables: dict[str, Any]
    answer: Answer


def write_recorded(
    path: str | Path, templates: Mapping[str, str], recordings: Iterable[Recording]
) -> None:
    """Write a file that RecordedAnswers reads."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for name, text in templates.items():
            file.write(json.dumps({"template": name, "text": text}, ensure_ascii=False) + "\n")
        for recording in recordings:
            entry = {
                "template": recording.template,
                "variables": recording.variables,
                "answer": recording.answer.text,
                "finish_reason": recording.answer.finish_reason,
            }
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
