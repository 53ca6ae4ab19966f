"""Where questions come from, in words."""

from __future__ import annotations

from collections.abc import Mapping

from infopursuit.queries.visual_vocabulary import phrase_kinds

# What a source of the universe, KIND/NAME, is called; any other is called as it is.
KINDS = {
    "corpus": "captions",
    "dictionary": "class prompts",
    "list": "a list",
    "kept": "kept by hand",
}
VOCABULARY = "visual vocabulary"


def origins(sources: Mapping[str, str]) -> dict[str, str]:
    """The origin of each query.

    A corpus all of whose queries are phrases of the visual vocabulary is the visual vocabulary.

    Args:
        sources: of queries, as the provenance of a model has them: one or more, joined by commas.
    """
    vocabulary = phrase_kinds()
    of_query = {query: source.split(",") for query, source in sources.items()}
    others = {
        source
        for query, found in of_query.items()
        for source in found
        if query.casefold() not in vocabulary
    }

    def called(source: str) -> str:
        kind = source.partition("/")[0]
        if kind == "corpus" and source not in others:
            return VOCABULARY
        return KINDS.get(kind, kind)

    return {query: " and ".join(sorted(set(map(called, each)))) for query, each in of_query.items()}
