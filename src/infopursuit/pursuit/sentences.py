"""What explanations say: questions, and sentences, which the explorer's page reads, too."""

from __future__ import annotations

from infopursuit.core.files import packaged_toml
from infopursuit.texts.asking import question, questions

__all__ = ["SENTENCES", "question", "questions", "say"]

SENTENCES = packaged_toml("infopursuit.pursuit", "sentences.toml")


def say(name: str, /, **parts: object) -> str:
    """Return a sentence with its parts filled in; of two forms the first is for a count of 1."""
    forms = SENTENCES[name]
    return (forms if isinstance(forms, str) else forms[parts["count"] != 1]).format(**parts)
