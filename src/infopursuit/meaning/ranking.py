"""Whether scores rank the images of which a text is true above those of which it is not."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from infopursuit.answers.ranking import ranked_pairs


def auroc_of_texts(
    scores: Float[np.ndarray, "n q"],
    table: Float[np.ndarray, "c q"],
    labels: Int[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> Float[np.ndarray, " q"]:
    """The area under the ROC curve of each text, over the pairs of images of one group.

    That is the share of pairs (a text is true of one image and not of the other) in which the first
    has the larger score; ties count half. Scores of different models compare within a group alone.

    Args:
        scores: of n images and q texts.
        table: 1 true, 0 not true, anything else where a class does not tell.
        labels: the class of each image, 0..c-1.
        groups: images are compared with those of their group.

    Returns:
        NaN for a text without such pairs.
    """
    truth = table[labels]
    return np.array(
        [_auroc(scores[:, place], truth[:, place], groups) for place in range(scores.shape[1])]
    )


def _auroc(scores: np.ndarray, truth: np.ndarray, groups: np.ndarray) -> float:
    members = [groups == group for group in np.unique(groups)]
    found = np.array([ranked_pairs(scores[each], truth[each]) for each in members])
    right, pairs = found.sum(axis=0)
    return right / pairs if pairs else np.nan
