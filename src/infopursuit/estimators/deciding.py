"""The few answers that decide, as a naive Bayes model tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.explanation.explanation import Explanation
from infopursuit.naive_bayes.decisive import believed, decisive_answers, enough
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes


class DecidingClassifier(PursuitClassifier):
    """A classifier whose evidence is a sum over answers, of which a few can stand for all."""

    def decisive_answers(
        self,
        X: Any,
        probability: float = 0.95,
        most: int = 10,
        overrides: Mapping[str, str | float] | None = None,
        names: Sequence[str] | None = None,
    ) -> list[Explanation]:
        """A few answers of each row, chosen from all, that alone lead to the same class.

        All k questions are answered first. Answers are then added one by one, the one first that
        brings the posterior closest to that of all answers (`infopursuit.naive_bayes.decisive`),
        until the class is this probable, or as probable as after all of them. A greedy choice:
        fewer answers may do. One may follow from another (`turtle`, `sea turtle`).

        Args:
            X: (n, d) embeddings, or pictures where the model knows its CLIP.
            probability: that is enough, in (0, 1].
            most: at most so many answers.
            overrides: answers that replace those of the images, as in `explain`.
            names: of the rows; None for paths, or `image 0`, ...

        Raises:
            InputError: a number is out of its range, the model has no such question, or the answer
                is none.
        """
        if not 0 < probability <= 1:
            raise InputError(f"probability is {probability!r}; expected more than 0, at most 1")
        if isinstance(most, bool) or most != int(most) or most < 1:
            raise InputError(f"most is {most!r}; expected a whole number from 1 on")
        answers, shown, replaced = self._given(X, overrides, names)
        return self.decided(answers, probability, int(most), shown, overridden=replaced)

    def decided(
        self,
        answers: Float[Tensor, "n k"],
        probability: float,
        most: int,
        images: Sequence[str],
        true_classes: Sequence[str | None] | None = None,
        overridden: Sequence[int] = (),
    ) -> list[Explanation]:
        """The same of n images whose answers to all k questions are there.

        Args:
            answers: in [0, 1].
            probability: that is enough.
            most: at most so many answers.
            images: n ids or paths.
            true_classes: n class names, None where unknown.
            overridden: questions whose answers a person gave, by number.
        """
        pursuit, k = self.pursuit_, len(self.queries_)
        classifier = cast(NaiveBayes, pursuit.classifier)
        querier = cast(InformationGain, pursuit.querier)
        rolled = decisive_answers(classifier, answers, min(most, k), querier)
        counts, decided = enough(rolled.posteriors, believed(classifier, answers), probability)
        return pursuit.told(rolled, counts, decided, answers, images, true_classes, overridden, k)
