"""CLIP's zero-shot classifier and ensembles of descriptions: nothing is learned from images.

- Zero-shot (Radford et al., "Learning Transferable Visual Models From Natural Language
  Supervision", ICML 2021): the class whose name is nearest. The texts are the names.
- Descriptions (DCLIP: Menon and Vondrick, "Visual Classification via Description from Large
  Language Models", ICLR 2023): the score of class c is the mean over the descriptions
  D(c) of the cosine of image and description.

Both are one formula: each class has texts, and its score is the scale times the mean cosine.

What differs from the authors' code. Descriptions are the texts that a knowledge table says are true
of a class, in place of what GPT-3 wrote; and DCLIP writes the class name into every description
("a hen, which has two legs"), which given text embeddings cannot. A class without descriptions has
its name alone, where that is given. The scale is the one that CLIP ends training with, 100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Peer, linear_contributions

SCALE = 100.0


class DescriptionEnsemble(Peer):
    """The class whose descriptions are nearest on average.

    Args:
        texts: m texts: descriptions, or names of classes.
        text_embeddings: (m, d) of them.
        descriptions: for each class, some of the texts; None where each class has the text that
            is its name (zero-shot).

    Attributes:
        weights_: (m, c) how much of each text is in each class; columns sum to one.
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        descriptions: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.texts, self.text_embeddings, self.descriptions = texts, text_embeddings, descriptions

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor) -> None:
        """Look up the texts of each class; of the images the mean alone is kept, for explanations.

        Raises:
            InputError: a class has no description, or one is not among the texts.
        """
        places = {text: place for place, text in enumerate(self.texts_)}
        self.directions_, self.mean_ = texts, X.mean(dim=0)
        self.weights_ = torch.zeros(len(texts), len(self.classes_))
        for column, label in enumerate(self.classes_.tolist()):
            chosen = [label] if self.descriptions is None else self.descriptions.get(label, [])
            if not len(chosen):
                raise InputError(
                    f"descriptions: none for the class {label!r}; expected at least one"
                )
            for text in chosen:
                if text not in places:
                    raise InputError(
                        f"descriptions: {text!r} of the class {label!r} is not among the texts"
                    )
                self.weights_[places[text], column] = 1 / len(chosen)

    def _scores(self, X: Tensor) -> Tensor:
        return SCALE * X @ self.directions_.T @ self.weights_

    def _explain(self, X: Tensor) -> Contributions:
        return linear_contributions(
            self.classes_,
            self.texts_,
            SCALE * X @ self.directions_.T,
            self.weights_,
            torch.zeros(1, len(self.classes_)),
            usual=SCALE * self.directions_ @ self.mean_,
        )
