"""What is known of the classes before any image is seen, as the classifier uses it.

The knowledge table never answers a question: answers come from images alone. It says which
questions are worth asking, and of how many images an answer should be yes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.texts.knowledge import VALUES, KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.normalization import normalize

# A text is true of a class, at least sometimes, from this value on.
TRUE_OF_A_CLASS = 0.5
# A table that names a smaller share of the classes or texts was probably made for others.
FEW = 0.5
# What a text counts that is true of no class: it separates classes by what its words do not say.
UNEXPLAINED = 0.35


class ClassKnowledge:
    """What is known of c classes and u texts.

    Attributes:
        values: (c, u) in [0, 1]; NaN if nothing is known.
        coverage: how many classes and texts a table names, in a sentence; None without names.
    """

    def __init__(self, knowledge: Any, classes: np.ndarray, texts: Sequence[str]) -> None:
        """Check and align what a person gave."""
        self.coverage: str | None = None
        where = "knowledge"
        if isinstance(knowledge, str | Path):
            if not Path(knowledge).suffix:
                raise InputError(
                    f"knowledge {str(knowledge)!r}: expected a table (.csv, .parquet), or none"
                )
            where, knowledge = str(knowledge), open_knowledge(knowledge)
        if isinstance(knowledge, KnowledgeTable):
            self.coverage = check_names(knowledge, classes, texts, where)
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
                f"{texts[column]!r}; expected a number in [0, 1], or NaN if nothing is known"
            )
        self.values = torch.from_numpy(values)
        self._classes, self._texts = tuple(str(each) for each in classes), tuple(texts)

    def table(self) -> KnowledgeTable | None:
        """Return what is known, of texts of which something is; None if a value is between."""
        values = self.values.numpy()
        if not (np.isin(values, VALUES) | np.isnan(values)).all():
            return None
        first: dict[str, int] = {}
        for column in np.flatnonzero(~np.isnan(values).all(axis=0)).tolist():
            first.setdefault(normalize(self._texts[column]), column)
        columns = list(first.values())
        texts = tuple(self._texts[column] for column in columns)
        return KnowledgeTable(self._classes, texts, values[:, columns])

    def true_shares(self, prior: Float[Tensor, " c"]) -> Float[Tensor, " u"]:
        """Return the share of images of which each text is true; NaN if nothing is known of it.

        A value counts by its square: what is true of some pictures only (0.5) by a quarter. A wrong
        yes is worse than a missed one.
        """
        known = ~self.values.isnan()
        return (prior @ self.values.nan_to_num(0).square()) / (prior @ known.to(prior.dtype))

    def query_weights(self, rows: Int[Tensor, " m"]) -> Float[Tensor, " m"]:
        """Return the weight of some texts: lower if something is known, and true of no class."""
        values = self.values[:, rows]
        known = (~values.isnan()).any(dim=0)
        return torch.where(known & ~self.fitting(rows).any(dim=0), UNEXPLAINED, 1.0)

    def fitting(self, rows: Int[Tensor, " m"]) -> Bool[Tensor, "c m"]:
        """Return which of some texts are true of which class, at least of some pictures."""
        return self.values[:, rows] >= TRUE_OF_A_CLASS


def check_names(
    table: KnowledgeTable,
    classes: np.ndarray,
    texts: Sequence[str],
    where: str = "knowledge",
) -> str | None:
    """Return how many classes and texts a table names, in a sentence; warn if they are few.

    Raises:
        InputError: it says something, but of none of the classes or of none of the texts.
    """
    if not table.classes and not table.texts:
        return None
    known = {normalize(text) for text in table.texts}
    named = set(map(composed, table.classes))
    parts = {
        "classes": ([composed(each) in named for each in classes], table.classes, classes),
        "texts": ([normalize(text) in known for text in texts], table.texts, texts),
    }
    counts = [f"{sum(matches)} of {len(matches)} {what}" for what, (matches, _, _) in parts.items()]
    message = f"{where}: names {' and '.join(counts)}"
    for what, (matches, there, own) in parts.items():
        if not any(matches) and (there or what == "classes"):
            raise InputError(
                f"{message}; expected {what} such as {str(own[0])!r}, found "
                f"{', '.join(map(repr, there[:3])) or 'none'}"
            )
    shares = [sum(matches) / len(matches) for matches, there, _ in parts.values() if there]
    if min(shares, default=1.0) < FEW:
        warnings.warn(f"{message}; expected most of them", UserWarning, stacklevel=6)
        return None
    return message
