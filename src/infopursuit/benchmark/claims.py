"""Whether what explanations say of images is true, by a judge's table; the same for all peers.

An explanation claims the texts that the image is taken to show: answers of yes, scores above the
mean, positive coefficients. Counted are the FIRST claims of each image that matter most to the
predicted class, by the size of their contribution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Peer

# Explanations of at most BLOCK images are held at once, fewer where they are more than VALUES
# numbers: each has one for every class and text.
FIRST, BLOCK, VALUES = 10, 64, 2**24


class Claims(NamedTuple):
    """Shares in [0, 1], over all claims of all images; None where there are none.

    Attributes:
        true: of the claims, those whose text fits the class of the image.
        supported: of the claims that speak for the predicted class, those whose text fits it.
        plausible: of the texts that matter most, claimed or not, those that fit some class.
        texts: how many texts a decision rests on, on average over images.
        in_model: how many texts any of the decisions rests on.
    """

    true: float | None
    supported: float | None
    plausible: float | None
    texts: float
    in_model: int


def claims_of(
    model: Peer,
    X: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    fits: Bool[np.ndarray, "c u"] | None,
    universe: tuple[str, ...],
) -> Claims:
    """Count the claims of explanations of all images.

    Args:
        model: fitted, with the c classes in the order of `fits`.
        X: images.
        labels: their classes 0..c-1.
        fits: whether a text is true of a class, or often; None where nobody has judged.
        universe: the u texts.
    """
    columns = {text: column for column, text in enumerate(universe)}
    counts = np.zeros((3, 2))
    used, seen = 0, set()
    size = max(1, min(BLOCK, VALUES // (len(model.classes_) * max(1, len(model.texts_)))))
    for start in range(0, len(X), size):
        told = model.explain(X[start : start + size])
        used += told.used.sum()
        seen |= {told.texts[text] for text in np.flatnonzero(told.used.any(axis=0))}
        if fits is not None and told.texts:
            kept = [columns[text] for text in told.texts]
            counts += _counted(told, labels[start : start + size], fits[:, kept])
    shares = [right / all_ if all_ else None for right, all_ in counts]
    return Claims(*shares, texts=used / len(X), in_model=len(seen))


def _counted(
    told: Contributions, labels: Int[np.ndarray, " b"], fits: Bool[np.ndarray, "c m"]
) -> Float[np.ndarray, "3 2"]:
    """For true, supported and plausible: how many count, and how many there are."""
    added = told.for_predicted()
    predicted = told.scores.argmax(axis=1)
    claims = _largest(np.abs(added), told.shows)
    speaking = _largest(added, told.shows & (added > 0))
    first = _largest(np.abs(added), told.used)
    return np.array(
        [
            [(claims & fits[labels]).sum(), claims.sum()],
            [(speaking & fits[predicted]).sum(), speaking.sum()],
            [(first & fits.any(axis=0)).sum(), first.sum()],
        ],
        dtype=float,
    )


def _largest(
    values: Float[np.ndarray, "b m"], allowed: Bool[np.ndarray, "b m"]
) -> Bool[np.ndarray, "b m"]:
    """The FIRST of the allowed values of each row, the largest first."""
    ranked = np.where(allowed, values, -np.inf)
    order = np.argsort(-ranked, axis=1, kind="stable")[:, :FIRST]
    chosen = np.zeros_like(allowed)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & allowed
