"""How strongly an image speaks for a text: the cosine, less what it has in common with all texts.

CLIP's cosines of one image with all texts rise and fall together, and texts share a few strong
directions that tell little about any one of them. So a text is taken relative to the mean text,
and directions that vary much among texts, or among images of one class, are discounted before the
inner product: the matched filter of a text in the noise of the others. The mean text and the
discount are fixed by universe and training images, so that a score depends on its own text and
image alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from infopursuit.datasets.rows import UnitRows

# Strengths of the discount against the identity, each scatter scaled to a mean variance of one
# (docs/findings.md, "Scores").
TEXT_DISCOUNT, CLASS_DISCOUNT = 0.1, 0.1


class ScoreMap(NamedTuple):
    """Turns texts into the directions that images are measured along.

    Attributes:
        centre: the mean text.
        discount: symmetric; the inverse of identity plus scatters.
    """

    centre: Float[Tensor, " d"]
    discount: Float[Tensor, "d d"]

    def directions(self, texts: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Unit-norm directions of unit-norm texts; a score is image times direction."""
        return functional.normalize((texts - self.centre) @ self.discount, dim=1)


def fit_score_map(universe: UnitRows, within: Float[Tensor, "d d"]) -> ScoreMap:
    """The mean text of a universe, and what to discount by it and by the training images.

    Args:
        universe: all texts.
        within: scatter of the images around the means of their classes (`ClassMoments.within`).
    """
    return fit_score_maps(universe, within, [(TEXT_DISCOUNT, CLASS_DISCOUNT)])[0]


def fit_score_maps(
    universe: UnitRows, within: Float[Tensor, "d d"], strengths: Sequence[tuple[float, float]]
) -> list[ScoreMap]:
    """The same with other strengths of the discount.

    Args:
        universe: all texts.
        within: scatter of the images around the means of their classes.
        strengths: for each map those of the scatter of texts around their mean, and of the scatter
            of images around the means of their classes.
    """
    width = universe.width
    centre, of_texts = torch.zeros(width), torch.zeros(width, width)
    for _, block in universe.blocks():
        centre += block.sum(dim=0) / len(universe)
    for _, block in universe.blocks():
        of_texts += _scatter(block - centre)
    identity = torch.eye(width, dtype=torch.float64)
    scatters = _unit_variance(of_texts), _unit_variance(within)
    totals = [identity + text * scatters[0] + own * scatters[1] for text, own in strengths]
    return [ScoreMap(centre, torch.linalg.inv(total).float()) for total in totals]


def _scatter(rows: Float[Tensor, "m d"]) -> Float[Tensor, "d d"]:
    return rows.T @ rows


def _unit_variance(scatter: Tensor) -> Tensor:
    """Scaled so that the mean of the diagonal is one; zero stays zero."""
    scatter = scatter.double()
    mean = scatter.diagonal().mean()
    return scatter / mean if mean > 0 else scatter
