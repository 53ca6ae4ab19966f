"""Where questions come from, as the universe names it and as the page says it."""

from __future__ import annotations

from infopursuit.explorer.origins import origins
from infopursuit.queries.visual_vocabulary import visual_vocabulary


def test_sources_are_told_in_words() -> None:
    sources = {
        "zzz a": "corpus/coco",
        "zzz b": "dictionary/birds,corpus/coco",
        "zzz c": "dictionary/birds",
        "zzz d": "list/birds,kept",
        "zzz e": "corpus/coco,corpus/flickr",
        "zzz f": "control",
        "zzz g": "visual vocabulary",
    }
    assert list(origins(sources).values()) == [
        "captions",
        "captions and class prompts",
        "class prompts",
        "a list and kept by hand",
        "captions",
        "control",
        "visual vocabulary",
    ]
    assert origins({}) == {}


def test_a_corpus_of_the_visual_vocabulary_is_called_so() -> None:
    first, second, third = visual_vocabulary()[:3]
    sources = {first: "corpus/words", second.upper(): "corpus/words", third: "corpus/coco"}
    found = origins({**sources, "zzz": "corpus/coco"})
    assert list(found.values()) == ["visual vocabulary"] * 2 + ["captions"] * 2
