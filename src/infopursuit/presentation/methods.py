"""What a method is and how it is drawn: names are free, recipes tell the methods apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

INITS = {
    "llm": "asked of a language model",
    "random": "drawn at random",
    "medoids": "medoids of the universe",
    "informative": "texts that tell most of the class on training images",
    "words": "control: random words that have nothing to do with the images",
}
# The control: what a dictionary without concepts reaches.
CONTROL = "words"

DICTIONARIES = {
    "fixed": "fixed dictionary",
    "alternating": "dictionary learned in turn with the networks",
    "joint": "dictionary and networks learned in every step",
}
ANSWERS = {
    "minmax": "",
    "soft": "soft answers",
    "threshold": "a threshold for each answer",
}
NETWORKS = {"mlp": "", "evidence": "evidence added up in place of networks"}

# The style sheet has so many colours and dash patterns; together they are distinct for 32 methods.
HUES, DASHES = 8, 4


def meaning(recipe: Mapping[str, Any]) -> str:
    """What sets a method apart, in a few words; what is as in the paper goes without saying."""
    words = (
        DICTIONARIES[recipe["dictionary"]],
        ANSWERS[recipe["answers"]],
        NETWORKS[recipe["networks"]],
        "" if recipe["quantize_queries"] else "queries between the texts",
    )
    return ", ".join(word for word in words if word)


def line_styles(methods: Iterable[str]) -> dict[str, str]:
    """Classes of the style sheet for each method: its colour and its dash pattern."""
    distinct = dict.fromkeys(methods)
    return {
        method: f"hue-{place % HUES} dash-{(place + place // HUES) % DASHES}"
        for place, method in enumerate(distinct)
    }


def explains_in_words(recipe: Mapping[str, Any]) -> bool:
    """Whether every question is a text, and every answer a yes or a no."""
    return recipe["quantize_queries"] and recipe["answers"] != "soft"


def stands_alone(recipe: Mapping[str, Any]) -> bool:
    """Whether every answer depends on its own question and the image alone."""
    return recipe["answers"] == "threshold"


def is_paper_method(
    recipe: Mapping[str, Any], dictionary: str, answers: str = "minmax", quantized: bool = True
) -> bool:
    """Whether a recipe is one of the paper's: its networks, and these three settings."""
    return (
        recipe["networks"] == "mlp"
        and recipe["dictionary"] == dictionary
        and recipe["answers"] == answers
        and recipe["quantize_queries"] == quantized
    )
