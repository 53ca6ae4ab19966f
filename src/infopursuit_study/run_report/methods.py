"""What a method is and how it is drawn: names are free, settings tell the methods apart.

`settings` are those of a trained model: `method` is `variational` (the paper's networks) or
`gaussian`; the others follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from infopursuit.core.files import packaged_toml

WORDS = packaged_toml("infopursuit_study.run_report", "words.toml")
INITS, DICTIONARIES, ANSWERS = (WORDS[name] for name in ("inits", "dictionaries", "answers"))
# The control: what a dictionary without concepts reaches.
CONTROL = "random_words"


def dictionary_of(settings: Mapping[str, Any]) -> str:
    """Return how the dictionary is learned; ours keeps it."""
    return settings.get("dictionary", "fixed")


def answers_of(settings: Mapping[str, Any]) -> str:
    """Return how images answer; ours by levels."""
    return settings.get("answers", "levels")


def asks_texts(settings: Mapping[str, Any]) -> bool:
    """Whether queries are texts; False for the ablation whose queries lie between texts."""
    return settings.get("quantize_queries", True)


def meaning(settings: Mapping[str, Any]) -> str:
    """Say in a few words how a method differs from the paper's."""
    words = (
        DICTIONARIES[dictionary_of(settings)],
        ANSWERS[answers_of(settings)],
        WORDS["methods"].get(settings["method"], settings["method"].replace("_", " ")),
        "" if asks_texts(settings) else "queries between the texts",
    )
    return ", ".join(word for word in words if word)


def line_styles(methods: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Give each method a hue of 8 and a dash pattern of 4; 32 methods are distinct."""
    distinct = dict.fromkeys(methods)
    return {method: (place % 8, (place + place // 8) % 4) for place, method in enumerate(distinct)}


def has_updates(settings: Mapping[str, Any]) -> bool:
    """Whether a method is trained in updates; others are fitted in one pass."""
    return settings["method"] == "variational"


def explains_in_words(settings: Mapping[str, Any]) -> bool:
    """Whether every question is a text, and every answer a word."""
    return asks_texts(settings) and answers_of(settings) != "soft"


def stands_alone(settings: Mapping[str, Any]) -> bool:
    """Whether every answer depends on its own question and the image alone."""
    return answers_of(settings) in ("threshold", "levels")


def is_paper_method(
    settings: Mapping[str, Any], dictionary: str, answers: str = "minmax", quantized: bool = True
) -> bool:
    """Whether a method is one of the paper's: its networks, and these three settings."""
    return (
        settings["method"] == "variational"
        and dictionary_of(settings) == dictionary
        and answers_of(settings) == answers
        and asks_texts(settings) == quantized
    )


def first_of_best(measured: Sequence[Sequence[tuple[float, int]]]) -> int:
    """Return the first group of runs that ties with the best in validation, by number.

    Means over seeds tie within the best one's standard error: a few images tell no more.

    Args:
        measured: of each group, the simplest first, and seed: validation AUC, and number of images.
    """
    means = [fmean(area for area, _ in group) for group in measured]
    best = max(range(len(means)), key=means.__getitem__)
    images = sum(count for _, count in measured[best])
    # An image has an AUC in [0, 1]: its variance is at most that of right and wrong.
    share = (means[best] * images + 1) / (images + 2)
    error = math.sqrt(share * (1 - share) / images) if images else 0.0
    return next(place for place, mean in enumerate(means) if mean >= means[best] - error)
