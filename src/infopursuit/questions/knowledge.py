"""What is known of the classes before any image is seen, as the classifier uses it.

The knowledge table never answers a question: answers come from images alone. It says which
questions are worth asking, and of how many images an answer should be yes. If nobody has written
one, the CLIP drafts it: a class is what its training images are closest to.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.pursuit.answers.information import information_of_words
from infopursuit.pursuit.answers.rules import NO, NOT_SURE, YES
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.rollout import RollOut
from infopursuit.questions.constraints import check_share
from infopursuit.texts.knowledge import VALUES, KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.normalization import normalize

# A text is true of a class, at least sometimes, from this value on.
TRUE_OF_A_CLASS = 0.5
CERTAINLY_TRUE = 0.9
# A table that names a smaller share of the classes or texts was probably made for others.
FEW = 0.5
# The word of `knowledge` that lets the CLIP draft a table that nobody has written.
BY_CLIP = "clip"
# A text follows from another if that is so in at least this many classes and this many lack it, and
# if the answers contradict it in at most this share of the images.
SUPPORT, CONTRADICTED = 3, 0.1
# A text is certified if its scores rank at least this share of pairs of images correctly.
CERTIFIED = 0.75


class TextWeights(NamedTuple):
    """What the information of a text counts by what is known of it, each from 0 to 1.

    Attributes:
        unexplained: if it is true of no class: it separates classes by what its words do not say.
            The same if it is not certified.
        impossible: if it cannot be true of any class.
        beyond: of the part that its words do not explain.
    """

    unexplained: float
    impossible: float
    beyond: float = 1.0


# Of a table that a person or a language model wrote.
OBEYED = TextWeights(0.35, 0.03)


class Asked(NamedTuple):
    """Questions to n images, which were chosen on others.

    Attributes:
        querier: with the uncalibrated rates of the other images.
        answers: of the images to all k questions.
        labels: their classes 0..c-1.
        fitting: which questions are true of which class; none if nothing is known.
    """

    querier: InformationGain
    answers: Float[Tensor, "n k"]
    labels: Int[Tensor, " n"]
    fitting: Bool[Tensor, "c k"]


@dataclass(frozen=True)
class Knowledge:
    """Knowledge as people give it, and how much information counts that it does not explain.

    Attributes:
        given: (c, u) values, a `KnowledgeTable`, its file, or `clip` to let the CLIP draft it.
        unexplained_weight: what information counts that the words of a question do not explain,
            from 0 to 1. Less makes explanations easier to follow, for some accuracy.
    """

    given: Any
    unexplained_weight: float = 1.0

    def __post_init__(self) -> None:
        weight = self.unexplained_weight
        check_share("unexplained_weight", weight)
        if self.drafted and weight != 1:
            expected = "expected 1: fit chooses it for a draft"
            raise InputError(f"unexplained_weight is {weight}; {expected}")

    @classmethod
    def of(cls, knowledge: Any) -> Knowledge | None:
        """Return knowledge as a setting gives it; None for none."""
        return knowledge if knowledge is None or isinstance(knowledge, cls) else cls(knowledge)

    @property
    def drafted(self) -> bool:
        """Whether nobody has written it: the CLIP drafts it."""
        return isinstance(self.given, str) and self.given == BY_CLIP


class ClassKnowledge:
    """What is known of c classes and u texts.

    Attributes:
        values: (c, u) in [0, 1]; NaN if nothing is known.
        weights: what the information of a text counts.
        drafted: whether nobody has written it: the CLIP drafted it (`questions.draft`).
        coverage: how many classes and texts a table names, in a sentence; None without names.
        impossible: (u,) which texts cannot be true of any class, by their words; None for none.
    """

    def __init__(
        self,
        knowledge: Any,
        classes: np.ndarray,
        texts: Sequence[str],
        weights: TextWeights = OBEYED,
        drafted: bool = False,
        impossible: Bool[np.ndarray, " u"] | None = None,
    ) -> None:
        """Check and align what a person gave."""
        self.impossible = impossible
        self.drafted = drafted
        self.coverage: str | None = None
        where = "knowledge"
        if isinstance(knowledge, str | Path):
            if not Path(knowledge).suffix:
                raise InputError(
                    f"knowledge {str(knowledge)!r}: expected {BY_CLIP} to let the CLIP draft it, "
                    "a table (.csv, .parquet), or none"
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
        self.values, self.weights = torch.from_numpy(values), weights
        self._classes, self._texts = tuple(str(each) for each in classes), tuple(texts)

    def table(self) -> KnowledgeTable | None:
        """Return what is known, of texts of which something is; None if a value is between."""
        values = self.values.numpy()
        if not (np.isin(values, VALUES) | np.isnan(values)).all():
            return None
        first: dict[str, int] = {}
        stated = ~np.isnan(values).all(axis=0)
        if self.drafted:  # a person who corrects the draft reads what it takes as true
            stated = (values >= TRUE_OF_A_CLASS).any(axis=0)
        for column in np.flatnonzero(stated).tolist():
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
        knowledge says: then its answers are often false. Information beyond its words counts less,
        too (`TextWeights`).
        """
        values = self.values[:, rows]
        known = (~values.isnan()).any(dim=0)
        unexplained = known & ~(values >= TRUE_OF_A_CLASS).any(dim=0)
        if auroc is not None:
            unexplained |= auroc < CERTIFIED  # not of NaN
        weights = torch.where(unexplained, self.weights.unexplained, 1.0)
        if self.impossible is not None:
            weights[torch.from_numpy(self.impossible)[rows]] = self.weights.impossible
        if table is None or self.weights.beyond == 1:
            return weights
        explained = torch.from_numpy(information_of_words(table, values.numpy()).explained)
        beyond = torch.where(known, 1 - explained.float(), 0)
        return weights * (1 - (1 - self.weights.beyond) * beyond)

    def explained(
        self, rows: Int[Tensor, " m"], table: AnswerTable, asked: RollOut
    ) -> dict[str, Any]:
        """Return how far the words of some texts go, as plain values.

        Args:
            rows: of the texts that are asked.
            table: how classes answer them.
            asked: the first questions to some images.

        Returns:
            `explained`: of what the answers to these questions tell of the class, the share that
            the words explain (`information_of_words`); None if they tell nothing. `fits`: of the
            answers yes, the share that the table calls true of the class that leads; None without
            a yes. `unnamed`: the classes that no text is true of.
        """
        values = self.values[:, rows]
        information, order = information_of_words(table, values.numpy()), asked.order.numpy()
        whole = float(information.of_class[order].sum())
        fitting, yes = values >= TRUE_OF_A_CLASS, asked.answers > NOT_SURE
        fits = fitting[asked.posteriors[:, -1].argmax(dim=1).unsqueeze(1), asked.order][yes]
        named = fitting.any(dim=1).tolist()
        return {
            "explained": float(information.of_words[order].sum()) / whole if whole > 0 else None,
            "fits": fits.double().mean().item() if len(fits) else None,
            "unnamed": [each for each, some in zip(self._classes, named, strict=True) if not some],
        }

    def implied(self, rows: Int[Tensor, " m"], table: AnswerTable) -> Int[Tensor, "p 3"]:
        """Return which of some texts follow from which answers to others (`RedundantQuestions`).

        If all classes with kittens have animals, a yes to "kitten" implies one to "animal", and a
        no to "animal" one to "kitten". A drafted table implies nothing.
        """
        values = self.values[:, rows]
        some, known = (values >= TRUE_OF_A_CLASS).float(), (~values.isnan()).float()
        lacks = (values < CERTAINLY_TRUE).float()
        follows = (some.T @ known >= SUPPORT) & (some.T @ lacks == 0)
        follows &= ((values < TRUE_OF_A_CLASS).sum(dim=0) >= SUPPORT) & (not self.drafted)
        follows.fill_diagonal_(False)
        prior, half = table.log_prior.exp(), table.levels // 2
        rates = table.log_likelihood.exp()
        no, yes = rates[:half].sum(dim=0), rates[-half:].sum(dim=0)
        contradicted = (prior * yes) @ no.T  # P(yes, no), independent given the class
        after_yes = follows & (contradicted <= CONTRADICTED * (yes @ prior).unsqueeze(1))
        after_no = (follows & (contradicted <= CONTRADICTED * (no @ prior))).T
        return torch.cat(
            [functional.pad(after_yes.nonzero(), (0, 1), value=YES),
             functional.pad(after_no.nonzero(), (0, 1), value=NO)]
        )  # fmt: skip

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
