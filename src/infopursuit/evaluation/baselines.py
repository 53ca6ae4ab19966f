"""Baselines that train little or nothing: a linear probe, and CLIP's zero-shot classifier."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from infopursuit.errors import InputError
from infopursuit.pursuit.images import LabelledImages
from infopursuit.tables import EMBEDDED_CLASSES, check_same_space, embedding_matrix, read_table

# Inverse strengths of the penalty. Coordinates of unit vectors are small, so weights are large.
PROBE_STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
PROBE_ITERATIONS = 2000


class LinearProbe(NamedTuple):
    """A logistic regression on the embeddings.

    Attributes:
        correct: (n,) bool, whether each test image's predicted class is its label.
        strength: the inverse penalty C that was chosen.
        held_out_accuracy: the accuracy it was chosen by.
    """

    correct: Bool[np.ndarray, " n"]
    strength: float
    held_out_accuracy: float


def linear_probe(
    train: LabelledImages,
    held_out: LabelledImages,
    test: LabelledImages,
    strengths: tuple[float, ...] = PROBE_STRENGTHS,
) -> LinearProbe:
    """Fit on `train` for each inverse penalty, choose by `held_out`, fit on both, predict `test`.

    The smallest of equally good inverse penalties is chosen.
    """
    chosen, best = strengths[0], -1.0
    for strength in sorted(strengths):
        probe = _fit(train.embeddings, train.labels, strength)
        accuracy = float(_correct(probe, held_out).mean())
        if accuracy > best:
            chosen, best = strength, accuracy
    probe = _fit(
        torch.cat([train.embeddings, held_out.embeddings]),
        torch.cat([train.labels, held_out.labels]),
        chosen,
    )
    return LinearProbe(_correct(probe, test), chosen, best)


def _fit(embeddings: Tensor, labels: Tensor, strength: float) -> LogisticRegression:
    probe = LogisticRegression(C=strength, max_iter=PROBE_ITERATIONS)
    return probe.fit(embeddings.numpy(), labels.numpy())


def _correct(probe: LogisticRegression, images: LabelledImages) -> np.ndarray:
    return np.equal(probe.predict(images.embeddings.numpy()), images.labels.numpy())


def load_class_embeddings(
    path: str | Path, images_path: str | Path, class_names: tuple[str, ...]
) -> Float[Tensor, "c d"] | None:
    """The class names' unit-norm float32 text embeddings, row i that of label i.

    Args:
        path: a file of embedded classes.
        images_path: the embedded images that they are to classify.
        class_names: of those images.

    Returns:
        None where the file has no rows, as CLIP's text tower was not there to embed them.

    Raises:
        InputError: the labels or names are not those of the images, or the CLIP is another.
    """
    table = read_table(path, EMBEDDED_CLASSES)
    if not table.num_rows:
        return None
    check_same_space(images_path, path)
    names = dict(
        zip(table.column("label").to_pylist(), table.column("class_name").to_pylist(), strict=True)
    )
    if names != dict(enumerate(class_names)) or table.num_rows != len(names):
        raise InputError(
            f"{path}: {table.num_rows} classes; expected each of the {len(class_names)} classes "
            f"of {images_path} once"
        )
    matrix = torch.from_numpy(embedding_matrix(table, path).astype(np.float32))
    order = torch.from_numpy(table.column("label").to_numpy().copy()).argsort()
    return functional.normalize(matrix[order], dim=1)


def zero_shot(classes: Float[Tensor, "c d"], images: LabelledImages) -> Bool[np.ndarray, " n"]:
    """Whether the class whose text is nearest by cosine is the label; (n,) bool."""
    return ((images.embeddings @ classes.T).argmax(dim=1) == images.labels).numpy()
