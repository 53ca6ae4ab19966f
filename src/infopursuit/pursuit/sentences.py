"""What explanations say: a table of sentences that the page of the explorer reads, too."""

from __future__ import annotations

from infopursuit.core.files import packaged_toml

SENTENCES = packaged_toml("infopursuit.pursuit", "sentences.toml")


def say(name: str, /, **parts: object) -> str:
    """Return a sentence with its parts filled in; of two forms the first is for a count of 1."""
    forms = SENTENCES[name]
    return (forms if isinstance(forms, str) else forms[parts["count"] != 1]).format(**parts)
