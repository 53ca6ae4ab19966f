"""What is known of the classes before any image is seen, as the classifier uses it.

The knowledge table never answers a question: answers come from images alone. It says which
questions are worth asking, and of how many images an answer should be yes.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.information import information_of_words
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.texts.knowledge import VALUES, KnowledgeTable, open_knowledge
from infopursuit.texts.normalization import normalize

logger = logging.getLogger(__name__)

# A text is true of a class, at least sometimes, from this value on.
TRUE_OF_A_CLASS = 0.5
CERTAINLY_TRUE = 0.9
# The weight of the information of a text that is true of no class: such a text separates classes by
# what its words do not say. The same for a text that is not certified.
UNEXPLAINED = 0.35
# A table that names a smaller share of the classes or texts was probably made for others.
FEW = 0.5
# A text is certified if its scores rank at least this share of pairs of images correctly.
CERTIFIED = 0.75


class ClassKnowledge:
    """What is known of c classes and u texts.

    Attributes:
        values: (c, u) in [0, 1]; NaN if nothing is known.
        leakage: the weight, from 0 to 1, of information that the words of a text do not explain.
    """

    def __init__(
        self, knowledge: Any, classes: np.ndarray, texts: Sequence[str], leakage: float = 1.0
    ) -> None:
        """Check and align what a person gave."""
        if isinstance(knowledge, str | Path):
            check_names(open_knowledge(knowledge), classes, texts, str(knowledge))
            knowledge = open_knowledge(knowledge, texts)
        elif isinstance(knowledge, KnowledgeTable):
            check_names(knowledge, classes, texts)
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
                f"{texts[column]!r}; expected a number in [0, 1], or NaN if nothing is known"
            )
        self.values, self.leakage = torch.from_numpy(values), leakage
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

    def query_weights(
        self,
        rows: Int[Tensor, " m"],
        auroc: Float[Tensor, " m"] | None = None,
        table: AnswerTable | None = None,
    ) -> Float[Tensor, " m"]:
        """Return the weight of the information of some texts.

        It is lower if a text is true of no class, or if its scores do not rank the images as the
        knowledge says: then its answers are often false. Information beyond its words counts
        `leakage`.
        """
        values = self.values[:, rows]
        known = (~values.isnan()).any(dim=0)
        unexplained = known & ~(values >= TRUE_OF_A_CLASS).any(dim=0)
        if auroc is not None:
            unexplained |= auroc < CERTIFIED  # not of NaN
        weights = torch.where(unexplained, UNEXPLAINED, 1.0)
        if table is None or self.leakage == 1:
            return weights
        explained = torch.from_numpy(information_of_words(table, values.numpy()).explained)
        beyond = torch.where(known, 1 - explained.float(), 0)
        return weights * (1 - (1 - self.leakage) * beyond)

    def truth(self, rows: Int[Tensor, " m"]) -> Float[Tensor, "c m"]:
        """Return the classes that some texts are true of: 1 true, 0 not true, NaN unknown.

        If a text is certainly true of some class, classes with some pictures only are unknown;
        otherwise they count as true.
        """
        values = self.values[:, rows]
        certain = values >= CERTAINLY_TRUE
        sometimes = values >= TRUE_OF_A_CLASS
        true = torch.where(certain.any(dim=0), certain, sometimes)
        unknown = values.isnan() | (sometimes & ~true)
        return true.float().masked_fill(unknown, torch.nan)


def check_names(
    table: KnowledgeTable, classes: np.ndarray, texts: Sequence[str], where: str = "knowledge"
) -> None:
    """Say how many classes and texts a table names; warn if they are few.

    Raises:
        InputError: it says something, but of none of the classes or of none of the texts.
    """
    if not table.classes and not table.texts:
        return
    known = {normalize(text) for text in table.texts}
    parts = {
        "classes": ([str(each) in table.classes for each in classes], table.classes, classes),
        "texts": ([normalize(text) in known for text in texts], table.texts, texts),
    }
    counts = [f"{sum(found)} of {len(found)} {what}" for what, (found, _, _) in parts.items()]
    told = f"{where}: names {' and '.join(counts)}"
    for what, (found, there, wanted) in parts.items():
        if not any(found) and (there or what == "classes"):
            raise InputError(
                f"{told}; expected {what} such as {str(wanted[0])!r}, found "
                f"{', '.join(map(repr, there[:3])) or 'none'}"
            )
    if min(sum(found) / len(found) for found, there, _ in parts.values() if there) < FEW:
        warnings.warn(f"{told}; expected most of them", UserWarning, stacklevel=6)
    else:
        logger.info("%s", told)
