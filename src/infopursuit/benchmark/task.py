"""What every peer is given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.queries.knowledge import TRUE, KnowledgeTable


@dataclass(frozen=True)
class Task:
    """One data set in the space of one CLIP.

    Attributes:
        texts: the u texts of the universe.
        embeddings: (u, d) of them.
        train: images to learn from and, a part of them, to choose settings by.
        test: images that are read once.
        class_embeddings: (c, d) of the names of the classes; None where CLIP cannot embed them.
        control: words that say nothing of images, with their embeddings; None likewise.
        knowledge: what is true of the classes; None where nobody has said.
        judged: what a judge says is true of them; None likewise.
        listed: texts that somebody, or a language model, listed for the task; None likewise.
    """

    texts: tuple[str, ...]
    embeddings: np.ndarray
    train: LabelledImages
    test: LabelledImages
    class_embeddings: np.ndarray | None = None
    control: tuple[tuple[str, ...], np.ndarray] | None = None
    knowledge: KnowledgeTable | None = None
    judged: KnowledgeTable | None = None
    listed: tuple[str, ...] | None = None

    def descriptions(self) -> dict[str, list[str]] | None:
        """The texts that are true of each class; None where a class has none."""
        if self.knowledge is None:
            return None
        names = self.train.class_names
        table = self.knowledge.for_classes_and_texts(names, self.texts) == TRUE
        if not table.any(axis=1).all():
            return None
        return {
            name: [self.texts[text] for text in np.flatnonzero(row)]
            for name, row in zip(names, table, strict=True)
        }


def named(images: LabelledImages) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings (n, d), and the names of the classes (n,)."""
    return images.embeddings.numpy(), np.array(images.class_names)[images.labels.numpy()]
