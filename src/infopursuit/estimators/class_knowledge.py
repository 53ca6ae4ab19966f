"""What is known of the classes before any image is seen, as the classifier uses it.

The knowledge table never answers a question: answers come from images alone. It says which
questions are worth asking, and of how many images an answer should be yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.queries.knowledge import KnowledgeTable

# A text is true of a class, at least sometimes, from this value on.
TRUE_OF_A_CLASS = 0.5
# What the information of a text counts that is true of no class: such a text tells classes apart by
# what its words do not say.
UNEXPLAINED = 0.35


class ClassKnowledge:
    """What is known of c classes and u texts.

    Attributes:
        values: (c, u) in [0, 1]; NaN where nothing is known.
    """

    def __init__(self, knowledge: Any, classes: np.ndarray, texts: Sequence[str]) -> None:
        """Check and align what a person gave.

        Args:
            knowledge: a `KnowledgeTable`, or an array (c, u) in the order of classes and texts.
            classes: the class labels.
            texts: of the universe.

        Raises:
            InputError: the array has another shape, or a value outside [0, 1].
        """
        if isinstance(knowledge, KnowledgeTable):
            values = knowledge.for_classes_and_texts([str(each) for each in classes], texts)
        else:
            values = np.asarray(knowledge, dtype=np.float32)
        shape = (len(classes), len(texts))
        if values.shape != shape:
            raise InputError(
                f"knowledge has the shape {values.shape}; expected {shape}, a row for each class "
                "and a column for each text"
            )
        wrong = ~(((values >= 0) & (values <= 1)) | np.isnan(values))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InputError(
                f"knowledge: {values[row, column]} for the class {classes[row]!r} and the text "
                f"{texts[column]!r}; expected a number in [0, 1], or NaN where nothing is known"
            )
        self.values = torch.from_numpy(values)

    def true_shares(self, prior: Float[Tensor, " c"]) -> Float[Tensor, " u"]:
        """Of how many images each text is true; NaN where nothing is known of it.

        A value counts by its square: what is true of some pictures only (0.5) by a quarter. A yes
        that is wrong is worse than one that is missed.

        Args:
            prior: the share of each class.
        """
        known = ~self.values.isnan()
        return (prior @ self.values.nan_to_num(0).square()) / (prior @ known.to(prior.dtype))

    def worth(self) -> Float[Tensor, " u"]:
        """What the information of each text counts: less where it is true of no class."""
        known = ~self.values.isnan()
        unexplained = known.any(dim=0) & ~(self.values >= TRUE_OF_A_CLASS).any(dim=0)
        return torch.where(unexplained, UNEXPLAINED, 1.0)
