"""What each text adds to the score of each class: the explanation that all peers can give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float


@dataclass(frozen=True)
class Contributions:
    """How n decisions come about.

    The softmax over classes of `offset + values.sum(axis=2)` is what `predict_proba` gives: what
    the texts do not account for is in the offset.

    Attributes:
        classes: (c,) labels.
        texts: m texts that the model can use.
        values: what each text adds to the score of each class.
        offset: what is left of the scores: intercepts, priors, and all that has no words.
        used: whether the decision on a row rests on a text at all.
        shows: whether the row is taken to show the text: an answer of yes, a score above the mean,
            a positive coefficient.
    """

    classes: np.ndarray
    texts: tuple[str, ...]
    values: Float[np.ndarray, "n c m"]
    offset: Float[np.ndarray, "n c"]
    used: Bool[np.ndarray, "n m"]
    shows: Bool[np.ndarray, "n m"]

    @property
    def scores(self) -> Float[np.ndarray, "n c"]:
        """The score of each class: logarithms of probabilities, up to a constant for each row."""
        return self.offset + self.values.sum(axis=2)

    @property
    def predicted(self) -> np.ndarray:
        """(n,) the class with the largest score."""
        return self.classes[self.scores.argmax(axis=1)]

    def for_predicted(self) -> Float[np.ndarray, "n m"]:
        """What each text adds to the predicted class, less what it adds to the mean class."""
        best = self.scores.argmax(axis=1)
        return self.values[np.arange(len(best)), best] - self.values.mean(axis=1)

    def strongest(self, row: int, count: int = 10) -> list[tuple[str, float]]:
        """The texts that matter most to the predicted class of a row, by size, with their sign."""
        added = self.for_predicted()[row]
        order = np.argsort(-np.abs(added), kind="stable")[:count]
        return [(self.texts[text], float(added[text])) for text in order if added[text]]
