"""CLIP's zero-shot classifier: an image is of the class whose name is nearest to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit.core.same_space import check_same_space
from infopursuit.core.tables import EMBEDDED_CLASSES, embedding_matrix, read_table
from infopursuit.datasets.labelled_images import LabelledImages


class ZeroShot:
    """The class whose text is nearest by cosine.

    Args:
        classes: unit-norm embeddings of the class names, row i that of label i.
    """

    def __init__(self, classes: Float[Tensor, "c d"]) -> None:
        self.classes = classes

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> ZeroShot:
        """Nothing is learned."""
        return self

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """The nearest class of each unit-norm image."""
        return (embeddings @ self.classes.T).argmax(dim=1).numpy()


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
