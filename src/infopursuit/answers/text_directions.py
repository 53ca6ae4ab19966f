"""The direction in which each text is measured, where it is known what the texts are true of.

How strongly a score discounts what texts and images have in common (`score_map.py`) suits some
texts and not others: names of things gain by it, parts and attributes lose. So each text gets, of a
few strengths, the one whose scores best rank training images of which the text is true above those
of which it is not. No direction is fitted to labels: one that is becomes a detector of the classes
it was fitted on and says little of others (docs/findings.md, "Directions of texts").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.answers.ranking import ranked_pairs
from infopursuit.answers.score_map import CLASS_DISCOUNT, TEXT_DISCOUNT, fit_score_maps
from infopursuit.datasets.rows import UnitRows

# Strengths of the discounts of texts and classes to choose from; the usual ones first.
STRENGTHS = (
    (TEXT_DISCOUNT, CLASS_DISCOUNT),
    (0.0, 0.0),
    (0.03, 0.03),
    (0.1, 0.0),
    (1 / 3, 0.1),
    (0.1, 0.3),
)

# The truth of some texts, given by their rows in the universe, for each class: (c, m), 1 true,
# 0 not true, NaN where that is not known.
Truth = Callable[[Int[Tensor, " m"]], Float[Tensor, "c m"]]


class Directions(NamedTuple):
    """Directions of m texts.

    Attributes:
        values: unit norm; a score is image times direction.
        auroc: the share of pairs of training images, one where the text is true and one where it is
            not, in which the first has the larger score; NaN where no such pair is known.
    """

    values: Float[Tensor, "m d"]
    auroc: Float[Tensor, " m"]


class TextDirections:
    """How the texts of a universe become directions.

    Args:
        reference: the texts that scores are relative to.
        within: scatter of the training images around the means of their classes.
        truth: what texts are true of; None where nothing is known.
    """

    def __init__(
        self, reference: UnitRows, within: Float[Tensor, "d d"], truth: Truth | None = None
    ) -> None:
        self.maps = fit_score_maps(reference, within, STRENGTHS if truth else STRENGTHS[:1])
        self.truth = truth

    @property
    def centre(self) -> Float[Tensor, " d"]:
        """The mean text."""
        return self.maps[0].centre

    def usual(self, texts: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Directions with the usual strengths."""
        return self.maps[0].directions(texts)

    def fitted(
        self,
        rows: Int[Tensor, " m"],
        texts: Float[Tensor, "m d"],
        images: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> Directions:
        """Each text's direction with the strengths that rank the images best; the usual of equals.

        Args:
            rows: of the texts in the universe.
            texts: their unit-norm embeddings.
            images: training images, unit norm.
            labels: their classes 0..c-1.
            weights: of the images; None for 1 each.
        """
        values = self.usual(texts)
        auroc = torch.full((len(rows),), torch.nan)
        if self.truth is None:
            return Directions(values, auroc)
        truth = self.truth(rows)
        known = ((truth == 1).any(dim=0) & (truth == 0).any(dim=0)).nonzero().squeeze(1)
        of_classes = truth[:, known].numpy()
        best = torch.full((len(known),), -1.0)
        for score_map in self.maps:
            found = score_map.directions(texts[known])
            share = _auroc(images @ found.T, of_classes, labels, weights)
            better = share > best  # NaN is not
            values[known[better]], best[better] = found[better], share[better]
        auroc[known] = best.masked_fill(best < 0, torch.nan)
        return Directions(values, auroc)


def _auroc(
    scores: Tensor, truth: np.ndarray, labels: Tensor, weights: Tensor | None
) -> Float[Tensor, " m"]:
    """Of each text; NaN where all images are of one kind."""
    counts = None if weights is None else weights.double().numpy()
    of_class = labels.numpy()
    found = np.full(scores.shape[1], np.nan)
    for place, column in enumerate(scores.T.contiguous().numpy()):
        right, pairs = ranked_pairs(column, truth[of_class, place], counts)
        if pairs:
            found[place] = right / pairs
    return torch.from_numpy(found).float()
