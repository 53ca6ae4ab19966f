"""Where questions come from, in words."""

from __future__ import annotations

from collections.abc import Mapping

# What a source of the universe, KIND/NAME, is called; any other is called as it is.
KINDS = {
    "corpus": "captions",
    "dictionary": "class prompts",
    "list": "a list",
    "kept": "kept by hand",
}


def origins(sources: Mapping[str, str]) -> dict[str, str]:
    """The origin of each query.

    Args:
        sources: of queries, as the provenance of a model has them: one or more, joined by commas.
    """
    found = {}
    for query, source in sources.items():
        kinds = [each.partition("/")[0] for each in source.split(",")]
        words = sorted({KINDS.get(kind, kind) for kind in kinds})
        found[query] = " and ".join(words)
    return found
