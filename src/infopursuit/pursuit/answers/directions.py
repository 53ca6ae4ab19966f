"""The direction that a text is measured along: how strongly an image speaks for it.

CLIP's cosines of one image with all texts rise and fall together, and texts share a few strong
directions that tell little about any one of them. So a text is taken relative to the mean text,
and directions that vary much among texts, or among images of one class, are discounted before the
inner product: the matched filter of a text in the noise of the others. The mean text and the
discount are fixed by universe and training images, so a score depends on its own text and image
alone.
No direction is fitted to labels: one that is becomes a detector of the classes it was fitted on and
says little of others (lab/findings.md, "Directions of texts").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.nn import functional

from infopursuit.datasets.matrix import UnitMatrix

# Strengths of the discount against the identity, each scatter scaled to a mean variance of one
# (lab/findings.md, "Scores").
TEXT_DISCOUNT, CLASS_DISCOUNT = 0.1, 0.1
# Of so few classes the scatter within them is discounted less (lab/findings.md, "Few classes").
FEW_CLASSES, CLASS_DISCOUNT_OF_FEW = 5, 0.03


class ScoreMap(NamedTuple):
    """Turns texts into the directions that images are measured along.

    Attributes:
        centre: the mean text.
        discount: symmetric; the inverse of identity plus scatters.
    """

    centre: Float[Tensor, " d"]
    discount: Float[Tensor, "d d"]

    def directions(self, texts: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Return unit-norm directions of unit-norm texts; a score is image times direction."""
        return functional.normalize((texts - self.centre) @ self.discount, dim=1)


def fit_score_map(
    universe: UnitMatrix, within: Float[Tensor, "d d"] | None, classes: int
) -> ScoreMap:
    """Return the mean text of a universe, and what to discount by it and by the training images.

    Args:
        universe: all texts.
        within: scatter of the images around the means of their classes (`ClassMoments.discounted`);
            None for images without labels.
        classes: c, how many there are.
    """
    centre, of_texts = _text_moments(universe)
    total = torch.eye(universe.width, dtype=torch.float64)
    total = total + TEXT_DISCOUNT * _unit_variance(of_texts)
    if within is not None:
        few = classes <= FEW_CLASSES
        discount = CLASS_DISCOUNT_OF_FEW if few else CLASS_DISCOUNT
        total = total + discount * _unit_variance(within)
    return ScoreMap(centre, torch.linalg.inv(total).float())


def _text_moments(universe: UnitMatrix) -> tuple[Float[Tensor, " d"], Float[Tensor, "d d"]]:
    width = universe.width
    centre, squares = torch.zeros(width), torch.zeros(width, width)
    for _, block in universe.blocks():
        centre += block.sum(dim=0) / len(universe)
    for _, block in universe.blocks():
        deviations = block - centre
        squares += deviations.T @ deviations
    return centre, squares


def _unit_variance(scatter: Tensor) -> Tensor:
    """Scale a scatter so that the mean of its diagonal is one; zero stays zero."""
    scatter = scatter.double()
    mean = scatter.diagonal().mean()
    return scatter / mean if mean > 0 else scatter


def ranked_pairs(
    scores: Float[np.ndarray, " n"],
    truth: Shaped[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"] | None = None,
) -> tuple[float, float]:
    """Count the pairs of images that are ranked correctly, and all pairs; the ratio is AUROC.

    A pair is an image of which a text is true and one of which it is not. It is ranked correctly
    if the first has the larger score; equal scores count half. One pass over thousands of texts
    takes a seventh of the time of sklearn's `roc_auc_score`, and counts of groups add up.

    Args:
        scores: of n images.
        truth: 1 true, 0 not true, anything else if that is not known.
        weights: of the images, a pair counts their product; None for 1 each.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    true, false = truth == 1, truth == 0
    order = scores[false].argsort(kind="stable")
    ranked = scores[false][order]
    below = np.concatenate([[0.0], weights[false][order].cumsum()])
    left, right = (np.searchsorted(ranked, scores[true], side) for side in ("left", "right"))
    right_pairs = float(weights[true] @ (below[left] + below[right])) / 2
    return right_pairs, float(weights[true].sum() * below[-1])
