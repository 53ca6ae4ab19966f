"""Texts of others in Markdown."""

from __future__ import annotations

import re

from infopursuit.core.errors import printable

# What Markdown, or HTML in it, could read as markup.
MARKUP = re.compile(r"([\\`*_\[\]<>|&]|(?<=:)//|(?<=www)\.)")
LEADING = re.compile(r"^(\d*)([#+\-=~.)])")


def plain(text: str) -> str:
    """Return any text as one line that Markdown shows as it is."""
    words = printable(" ".join(text.split()))
    return LEADING.sub(r"\1\\\2", MARKUP.sub(r"\\\1", words))
