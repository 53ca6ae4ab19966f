"""Traps for a judge: does the judge's table say anything, or does it say yes to everything?

Two traps. Random words, mixed into the texts that are judged, fit no class: a judge who finds one
for many of them finds one for every text. And the reader who uses the judge's table must name the
class from the chain of questions and answers of an image, and must fail with that of another image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from infopursuit.core.errors import InputError
from infopursuit.estimators.sense import FITS, reader_accuracy
from infopursuit.pursuit.rollout import RollOut
from infopursuit.texts.knowledge import KnowledgeTable


class WordTrap(NamedTuple):
    """What a judge says of random words.

    Attributes:
        words: how many there are.
        given: those that the judge gives to some class, with these classes.
    """

    words: int
    given: dict[str, list[str]]

    @property
    def caught(self) -> float:
        """The share that is given to some class: 0 is best."""
        return len(self.given) / self.words


class ChainTrap(NamedTuple):
    """How often the reader on a judge's table names the right class.

    Attributes:
        true: from the chain of the image itself.
        permuted: from that of another image.
        guessing: what permuted chains come to if the reader names each class as often as it occurs:
            how often two images drawn at random are of one class.
    """

    true: float
    permuted: float
    guessing: float


def word_trap(judged: KnowledgeTable, words: Sequence[str]) -> WordTrap:
    """Find the random words that a judge gives to a class, true or often.

    Args:
        judged: the judge's table, as `read_judge` gives it; with the words among its texts.
        words: the random words.

    Raises:
        InputError: there are no words, or one of them is not judged.
    """
    if not words:
        raise InputError("no random words; expected some, mixed into the texts that are judged")
    values = judged.for_classes_and_texts(judged.classes, words)
    for column, word in enumerate(words):
        if np.isnan(values[:, column]).any():
            raise InputError(f"the judge says nothing of the random word {word!r}")
    given = {
        word: [name for name, value in zip(judged.classes, values[:, column], strict=True)
               if value >= FITS]
        for column, word in enumerate(words)
    }  # fmt: skip
    return WordTrap(len(words), {word: names for word, names in given.items() if names})


def chain_trap(
    asked: RollOut,
    judged: np.ndarray,
    labels: Int[np.ndarray, " n"],
    seed: int = 0,
    permutations: int = 20,
) -> ChainTrap:
    """Measure the reader on true chains, and on chains that are permuted among the images.

    Args:
        asked: `model.roll_out(X, 10)`: the chains of n images, of ten questions each.
        judged: (c, k) of the classes and the k queries of the model: 1 true, 0.5 often, 0 or NaN
            otherwise.
        labels: the class of each image, 0..c-1.
        seed: of the permutations.
        permutations: how many; the mean over them is given.
    """
    draw = np.random.default_rng(seed)
    permuted = [
        reader_accuracy(asked, judged, labels[draw.permutation(len(labels))])
        for _ in range(permutations)
    ]
    shares = np.bincount(labels, minlength=len(judged)) / len(labels)
    true = reader_accuracy(asked, judged, labels)
    return ChainTrap(true, float(np.mean(permuted)), float((shares**2).sum()))
