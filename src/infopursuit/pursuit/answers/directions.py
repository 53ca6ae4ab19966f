"""The direction that a text is measured along: how strongly an image speaks for it.

CLIP's cosines of one image with all texts rise and fall together, and texts share a few strong
directions that tell little about any one of them. So a text is taken relative to the mean text,
and directions that vary much among texts, or among images of one class, are discounted before the
inner product: the matched filter of a text in the noise of the others. The mean text and the
discount are fixed by universe and training images, so a score depends on its own text and image
alone.

How strong a discount should be differs: names of things gain by it, parts and attributes lose. If
it is known what texts are true of, each text gets, of a few strengths, the one whose scores best
rank training images of which the text is true above those of which it is not. No direction is
fitted to labels: one that is becomes a detector of the classes it was fitted on and says little of
others (lab/findings.md, "Directions of texts").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn import functional

from infopursuit.datasets.matrix import UnitMatrix

# Strengths of the discount against the identity, each scatter scaled to a mean variance of one
# (lab/findings.md, "Scores").
TEXT_DISCOUNT, CLASS_DISCOUNT = 0.1, 0.1
# Of so few classes the scatter within them is discounted less (lab/findings.md, "Few classes").
FEW_CLASSES, CLASS_DISCOUNT_OF_FEW = 5, 0.03
# Strengths of the discounts of texts and classes to choose from beside the usual ones.
OTHER_STRENGTHS = (
    (0.0, 0.0),
    (0.03, 0.03),
    (0.1, 0.0),
    (1 / 3, 0.1),
    (0.1, 0.3),
)

# The truth of some texts, given by their rows in the universe, for each class: (c, m), 1 true,
# 0 not true, NaN if that is not known.
Truth = Callable[[Int[Tensor, " m"]], Float[Tensor, "c m"]]


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


def usual_strength(classes: int) -> tuple[float, float]:
    """Return how much the scatter of texts, and that within c classes, are discounted."""
    return TEXT_DISCOUNT, CLASS_DISCOUNT_OF_FEW if classes <= FEW_CLASSES else CLASS_DISCOUNT


def fit_score_map(universe: UnitMatrix, within: Float[Tensor, "d d"], classes: int) -> ScoreMap:
    """Return the mean text of a universe, and what to discount by it and by the training images.

    Args:
        universe: all texts.
        within: scatter of the images around the means of their classes (`ClassMoments.discounted`).
        classes: c, how many there are.
    """
    return fit_score_maps(universe, within, [usual_strength(classes)])[0]


def fit_score_maps(
    universe: UnitMatrix, within: Float[Tensor, "d d"], strengths: Sequence[tuple[float, float]]
) -> list[ScoreMap]:
    """Fit score maps with other strengths: of the scatter of texts, and of that within classes."""
    centre, of_texts = _text_moments(universe)
    identity = torch.eye(universe.width, dtype=torch.float64)
    of_texts, of_images = _unit_variance(of_texts), _unit_variance(within)
    totals = [identity + text * of_texts + image * of_images for text, image in strengths]
    return [ScoreMap(centre, torch.linalg.inv(total).float()) for total in totals]


def score_scatter(universe: UnitMatrix, total: Float[Tensor, "d d"]) -> float:
    """Return the variance of cosines of texts and images, relative to the mean text, mean of texts.

    Args:
        universe: all texts.
        total: scatter of the images (`ClassMoments.total`).
    """
    return (_text_moments(universe)[1] * total).sum().item() / len(universe)


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


class Directions(NamedTuple):
    """Directions of m texts.

    Attributes:
        values: unit norm; a score is image times direction.
        auroc: of pairs of training images, one of which the text is true and one of which it is
            not, the share in which the first has the larger score; NaN if no such pair is known.
    """

    values: Float[Tensor, "m d"]
    auroc: Float[Tensor, " m"]


class TextDirections:
    """How the texts of a universe become directions.

    Args:
        reference: the texts that scores are relative to.
        within: scatter of the training images around the means of their classes.
        classes: c, how many there are.
        truth: what texts are true of; None if nothing is known.
    """

    def __init__(
        self,
        reference: UnitMatrix,
        within: Float[Tensor, "d d"],
        classes: int,
        truth: Truth | None = None,
    ) -> None:
        others = OTHER_STRENGTHS if truth else ()
        self.maps = fit_score_maps(reference, within, [usual_strength(classes), *others])
        self.truth = truth

    @property
    def centre(self) -> Float[Tensor, " d"]:
        """The mean text."""
        return self.maps[0].centre

    def fitted(
        self,
        rows: Int[Tensor, " m"],
        texts: Float[Tensor, "m d"],
        images: Float[Tensor, "n d"],
        labels: Int[Tensor, " n"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> Directions:
        """Return each text's direction of the strengths that rank best; the usual of equals.

        Args:
            rows: of the texts in the universe.
            texts: their unit-norm embeddings.
            images: training images, unit norm.
            labels: their classes 0..c-1.
            weights: of the images; None for 1 each.
        """
        values = self.maps[0].directions(texts)
        auroc = torch.full((len(rows),), torch.nan)
        if self.truth is None:
            return Directions(values, auroc)
        truth = self.truth(rows)
        known = ((truth == 1).any(dim=0) & (truth == 0).any(dim=0)).nonzero().squeeze(1)
        of_classes = truth[:, known].numpy()
        best = torch.full((len(known),), -1.0)
        for score_map in self.maps:
            directions = score_map.directions(texts[known])
            share = _auroc(images @ directions.T, of_classes, labels, weights)
            better = share > best  # NaN is not
            values[known[better]], best[better] = directions[better], share[better]
        auroc[known] = best.masked_fill(best < 0, torch.nan)
        return Directions(values, auroc)


def _auroc(
    scores: Tensor, truth: np.ndarray, labels: Tensor, weights: Tensor | None
) -> Float[Tensor, " m"]:
    counts = None if weights is None else weights.double().numpy()
    of_class = labels.numpy()
    auroc = np.full(scores.shape[1], np.nan)
    for place, column in enumerate(scores.T.contiguous().numpy()):
        right, pairs = ranked_pairs(column, truth[of_class, place], counts)
        if pairs:
            auroc[place] = right / pairs
    return torch.from_numpy(auroc).float()


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
