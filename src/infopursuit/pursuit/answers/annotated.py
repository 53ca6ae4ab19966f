"""Texts that people answered for single images: their directions and cuts follow these answers.

A text's direction is a logistic regression on the embeddings, drawn towards the text's own
direction: that is a coordinate of its own, which the penalty hardly touches, so that few answers
change little. The penalty, and whether the learned direction is kept, come from fits without the
images that they are measured on.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from infopursuit.pursuit.answers.directions import ranked_pairs

# A text with fewer answers of either kind keeps its direction and its cuts.
FEWEST = 5
FOLDS = 5
# Inverse strengths of the penalty on what is not the text's own direction; 0 for this alone.
STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
# Not sure lies at most this far from even odds, in nats: the least for which the answers given are
# right often enough, if enough images get one.
MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
RIGHT, ANSWERED = 0.85, 0.3


class Annotated(NamedTuple):
    """A text with the answers of people, and what they teach and say of it.

    Attributes:
        direction: (d,), a score is image times direction.
        cuts: no at most at the first, yes above the second, a firm yes above the last.
        facts: how true its answers are, of images that neither a fit nor the choice among fits saw
            (`truth_of`).
    """

    direction: Float[np.ndarray, " d"]
    cuts: tuple[float, float, float]
    facts: dict[str, Any]


def fit_annotated(
    images: Float[np.ndarray, "n d"],
    said: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
    own: Float[np.ndarray, " d"] | None,
    seed: int,
) -> Annotated | None:
    """Fit one text to the answers of people.

    Args:
        images: annotated images, unit norm.
        said: 1 yes, 0 no, NaN for nothing.
        groups: the classes of the images.
        own: the text's own direction; None for a text without embedding.
        seed: of the folds.

    Returns:
        None if there are too few answers of either kind.
    """
    known = np.flatnonzero(~np.isnan(said))
    truth = said[known].astype(np.int64)
    if min(np.bincount(truth, minlength=2)) < FEWEST:
        return None
    centre = images[known].mean(axis=0)
    rows, of_groups = images[known] - centre, groups[known]
    weights, offset, margin, scores = _selected(rows, truth, own, of_groups, seed)
    offset -= centre @ weights
    lower, upper = float(-offset - margin), float(-offset + margin)
    # What is chosen is judged on answers that neither the fit nor the choice saw.
    new, margins, folds = np.empty(len(known)), np.empty(len(known)), _folds(truth, of_groups, seed)
    for fold in range(FOLDS):
        rest, out = folds != fold, folds == fold
        fitted = _selected(rows[rest], truth[rest], own, of_groups[rest], seed)
        new[out], margins[out] = rows[out] @ fitted[0] + fitted[1], fitted[2]
    facts = truth_of(new, -margins, margins, truth, of_groups)
    yes = scores[scores > margin] - offset
    firm_yes = float(np.median(yes)) if len(yes) else upper
    return Annotated(weights.astype(np.float32), (lower, upper, max(firm_yes, upper)), facts)


def _selected(
    rows: Float[np.ndarray, "n d"],
    truth: Int[np.ndarray, " n"],
    own: Float[np.ndarray, " d"] | None,
    groups: Int[np.ndarray, " n"],
    seed: int,
) -> tuple[Float[np.ndarray, " d"], float, float, Float[np.ndarray, " n"]]:
    """Return weights, offset and margin, chosen on folds, and the scores of rows left out there."""
    folds = _folds(truth, groups, seed)
    best: tuple[float, np.ndarray, float] | None = None
    for strength in STRENGTHS:
        if strength == 0 and own is None:
            continue
        scores = np.empty(len(truth))
        for fold in range(FOLDS):
            weights, offset = _regression(rows[folds != fold], truth[folds != fold], own, strength)
            scores[folds == fold] = rows[folds == fold] @ weights + offset
        loss = float(np.logaddexp(0, np.where(truth == 1, -scores, scores)).mean())
        if best is not None and best[2] == 0:  # the own direction, unless it ranks worse
            first, now = (within_auroc(each, truth, groups) for each in (best[1], scores))
            loss = loss if np.isnan(first) or now > first else np.inf
        if best is None or loss < best[0]:
            best = loss, scores, strength
    assert best is not None
    _, scores, strength = best
    return *_regression(rows, truth, own, strength), _margin(scores, truth), scores


def truth_of(
    scores: Float[np.ndarray, " n"],
    lower: float | Float[np.ndarray, " n"],
    upper: float | Float[np.ndarray, " n"],
    truth: Shaped[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> dict[str, Any]:
    """Return how true the answers of n images are: counts, and AUROC overall and within groups.

    A scorer that only knows the group of an image has an AUROC of 0.5 within groups.
    """
    yes, no = scores > upper, scores <= lower
    right, pairs = ranked_pairs(scores, truth)
    return {
        "images": len(truth),
        "yes": int(yes.sum()),
        "yes_right": int((truth[yes] == 1).sum()),
        "no": int(no.sum()),
        "no_right": int((truth[no] == 0).sum()),
        "auroc": right / pairs if pairs else None,
        "auroc_within": None if np.isnan(w := within_auroc(scores, truth, groups)) else w,
    }


def within_auroc(
    scores: Float[np.ndarray, " n"],
    truth: Float[np.ndarray, " n"] | Int[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"],
) -> float:
    """Return the AUROC over the pairs of images of one group; NaN without any."""
    counted = [
        ranked_pairs(scores[groups == group], truth[groups == group]) for group in np.unique(groups)
    ]
    right, pairs = np.sum(counted, axis=0)
    return float(right / pairs) if pairs else float("nan")


def _margin(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return how far from even odds, in nats, an answer is not sure."""
    best, right_of_best = 0.0, -1.0
    for margin in MARGINS:
        answered = np.abs(scores) > margin
        if answered.mean() < ANSWERED:
            break
        right = float(((scores > 0) == truth)[answered].mean())
        if right > right_of_best:
            best, right_of_best = margin, right
        if right >= RIGHT:
            break
    return best


def _folds(truth: np.ndarray, groups: np.ndarray, seed: int) -> Int[np.ndarray, " n"]:
    order = np.lexsort((np.random.default_rng(seed).permutation(len(truth)), groups, truth))
    folds = np.empty(len(truth), np.int64)
    folds[order] = np.arange(len(truth)) % FOLDS
    return folds


def _regression(
    rows: Float[np.ndarray, "n d"],
    truth: Int[np.ndarray, " n"],
    own: Float[np.ndarray, " d"] | None,
    strength: float,
) -> tuple[Float[np.ndarray, " d"], float]:
    from sklearn.linear_model import LogisticRegression  # takes half a second, and is rarely used

    columns, scale = [], 1.0
    if own is not None:
        along = rows @ own
        scale = 1 / max(float(along.std()), 1e-9)
        columns.append(along[:, None] * scale)
    if strength:
        # The own direction keeps the weak penalty of C = 1, whatever the strength.
        columns.append(rows * np.sqrt(strength))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separable answers: the penalty bounds the weights
        model = LogisticRegression(C=1.0, max_iter=300).fit(np.hstack(columns), truth)
    weights, [coefficients] = np.zeros(rows.shape[1]), model.coef_
    if own is not None:
        weights += coefficients[0] * scale * own
        coefficients = coefficients[1:]
    if strength:
        weights += coefficients * np.sqrt(strength)
    return weights, float(model.intercept_[0])
