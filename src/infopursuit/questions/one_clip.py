"""Whether texts and images can be of one CLIP, and the texts in the order of their embeddings."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.directions import ranked_pairs
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from infopursuit.texts.text_table import TextTable

# At most this many images and texts are looked at; fewer, or in fewer dimensions, tell nothing.
MOST, LEAST, DIMENSIONS = 4096, 20, 128
# Standard deviations: two spaces that have nothing to do with each other rarely agree by more.
CHANCE = 4.0
# Class names among the texts rank the images of their classes by chance up to this mean AUROC.
RANKED, NAMES = 0.7, 3


def warn_unless_one_clip(texts: TextTable, images: InMemorySet) -> None:
    """Warn if texts and images seem to be of two spaces, or texts in another order."""
    rows = images.rows.tensor()
    places = torch.linspace(0, len(texts.texts) - 1, min(len(texts.texts), MOST)).long()
    of_texts = texts.unit_matrix.take(places)
    if min(len(rows), len(places)) < LEAST or rows.shape[1] < DIMENSIONS:
        return
    deviations = agreement(rows, of_texts)
    if deviations < CHANCE:
        warnings.warn(
            "texts and images do not seem to be of one CLIP: their embeddings agree no more than "
            f"those of unrelated spaces ({deviations:.1f} standard deviations from chance, "
            f"expected at least {CHANCE:g}); questions and answers would have no meaning",
            UserWarning,
            stacklevel=4,
        )
        return
    ranks = ranks_of_class_names(texts, rows, images.labels, [str(c) for c in images.classes])
    if len(ranks) >= NAMES and float(np.mean(ranks)) < RANKED:
        warnings.warn(
            f"texts that name {len(ranks)} of the classes rank the images of these classes little "
            f"better than chance (mean AUROC {np.mean(ranks):.2f}, expected at least {RANKED}): "
            "the texts are in another order than their embeddings, or the CLIP does not know the "
            "classes",
            UserWarning,
            stacklevel=4,
        )


def agreement(images: Float[Tensor, "n d"], texts: Float[Tensor, "u d"]) -> float:
    """Return by how many standard deviations two sets of unit rows agree more than by chance.

    Chance is a random rotation of one of them. CLIPs keep images and texts apart, so the angle of
    their means is telling; what varies among images also varies among texts. The larger counts.
    """
    d = images.shape[1]
    first, second = images.double().mean(dim=0), texts.double().mean(dim=0)
    norms = first.norm() * second.norm()
    of_means = abs(float(first @ second / norms)) * math.sqrt(d) if norms > 0 else 0.0
    covariances = [torch.cov(each.float().T).double() for each in (images, texts)]
    one, other = [each - torch.eye(d) * each.trace() / d for each in covariances]
    # The variance of tr(A Q B Q') over rotations Q, for symmetric A and B without trace.
    scale = (2 * one.square().sum() * other.square().sum() / ((d - 1) * (d + 2))).sqrt()
    return max(of_means, float((one * other).sum() / scale) if scale > 0 else 0.0)


def ranks_of_class_names(
    texts: TextTable,
    rows: Float[Tensor, "n d"],
    labels: Int[Tensor, " n"],
    class_names: Sequence[str],
) -> list[float]:
    """Return the AUROC of the images of each class that a text names, by that text.

    A text names a class if it is its name, or, where none is, if it contains it. Numbers are none.
    """
    spelled = [_spelled(text) for text in texts.texts]
    exact: dict[str, list[int]] = {}
    for row, text in enumerate(spelled):
        exact.setdefault(text, []).append(row)
    directions, numbers = list[Tensor](), list[int]()
    lines, ends = "\n".join(spelled), np.cumsum([len(text) + 1 for text in spelled])
    for number, name in enumerate(class_names):
        key = _spelled(name)
        containing = ends.searchsorted(_places(key, lines), "right").tolist()
        naming = exact.get(key) or [*dict.fromkeys(containing)]
        if naming and re.search(r"[^\W\d_]", key):
            directions.append(texts.unit_matrix.take(torch.tensor(naming)).mean(dim=0))
            numbers.append(number)
    if not directions:
        return []
    mean = texts.unit_matrix.take(torch.arange(min(len(spelled), MOST))).mean(dim=0)
    scores = (rows @ (torch.stack(directions) - mean).T).numpy()
    owned = (labels.unsqueeze(1) == torch.tensor(numbers)).numpy()
    ranked = (ranked_pairs(*each) for each in zip(scores.T, owned.T, strict=True))
    return [right / pairs for right, pairs in ranked if pairs]


def _places(key: str, lines: str) -> list[int]:
    """Return where a text is in a longer one; many times as fast as line by line."""
    places = [lines.find(key)]
    while places[-1] >= 0:
        places.append(lines.find(key, places[-1] + 1))
    return places[:-1]


def _spelled(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "
