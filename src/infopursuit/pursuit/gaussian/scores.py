"""The scores of k questions, jointly normal in each of c classes with one covariance.

In class y the answers a of an image to all questions have

    p(a | y) = N(a; mean_y, covariance)

so the evidence of an answer is what it adds to the answers before it: correlated questions do not
count twice. Answers are numbers in [0, 1], affine in the scores (`levels.LevelAnswers`). A word
that a person gives is an answer with noise: it has the mean and the variance of the training images
of that word. `not sure` tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.rules import NOT_SURE, WORDS
from infopursuit.pursuit.parts import Expected, Sizes

# The words that a person may give and that tell something, by their values, ascending.
TOLD = tuple(value for value in sorted(WORDS.values()) if value != NOT_SURE)
# What belongs to a class in its first dimension, and to a question in its last.
OF_CLASSES = ("log_prior", "means")
OF_QUESTIONS = ("means", "word_means", "word_variances")


def given_in_words(answers: Float[Tensor, " ..."]) -> Bool[Tensor, " ..."]:
    """Return which answers people gave: no image answers exactly so."""
    return torch.isin(answers, torch.tensor(list(WORDS.values())).to(answers))


@dataclass(frozen=True)
class NormalScores:
    """What is expected of the answers of images of each class.

    Attributes:
        log_prior: of the classes.
        means: of the answers of each class.
        covariance: of the answers within a class, the same in all.
        word_means: of the answers that people put into each word of TOLD.
        word_variances: of the same.
        temperature: w, t and g: after q questions evidence counts w / (1 + q / t)^g.
    """

    log_prior: Float[Tensor, " c"]
    means: Float[Tensor, "c k"]
    covariance: Float[Tensor, "k k"]
    word_means: Float[Tensor, "w k"]
    word_variances: Float[Tensor, "w k"]
    temperature: Float[Tensor, " 3"]

    @cached_property
    def means_by_question(self) -> Float[Tensor, "k c"]:
        """The means, a row for each question."""
        return self.means.T.contiguous()

    def weight(self, asked: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """Return what evidence counts after this many questions."""
        weight, scale, growth = self.temperature
        return weight / (1 + asked / scale) ** growth

    def logits(
        self, evidence: Float[Tensor, "b c"], asked: Float[Tensor, " b"] | Int[Tensor, " b"]
    ) -> Float[Tensor, "b c"]:
        """Return the class logits after `asked` questions; the largest is 0, precise in float32."""
        logits = self.log_prior + self.weight(asked.to(evidence)).unsqueeze(1) * evidence
        return (logits - logits.amax(dim=1, keepdim=True)).float()

    def evidence_of_all(self, answers: Float[Tensor, "n k"]) -> Float[Tensor, "n c"]:
        """Return the log-likelihood of the answers to all questions, up to a constant."""
        inverse = torch.linalg.inv(self.covariance)
        centre = self.means.mean(dim=0)
        rows, means = answers.to(self.means) - centre, self.means - centre
        return rows @ inverse @ means.T - ((means @ inverse) * means).sum(dim=1) / 2

    def observed(
        self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]
    ) -> tuple[Float[Tensor, " r"], Float[Tensor, " r"]]:
        """Return the value and the noise of answers: those of words are known of them alone.

        The noise of `not sure` is infinite.
        """
        values, noise = answers.to(self.means), torch.zeros_like(answers, dtype=self.means.dtype)
        if not bool(given_in_words(answers).any()):
            return values, noise
        for word, (mean, variance) in zip(
            TOLD, zip(self.word_means, self.word_variances, strict=True), strict=True
        ):
            given = answers == word
            values = torch.where(given, mean[queries], values)
            noise = torch.where(given, variance[queries], noise)
        return values, noise.masked_fill(answers == NOT_SURE, torch.inf)

    def double(self) -> NormalScores:
        """Return the same in float64."""
        return self._changed(lambda _, tensor: tensor.double())

    def to(self, device: torch.device | str) -> NormalScores:
        """Return the same on a device."""
        return self._changed(lambda _, tensor: tensor.to(device))

    def select(self, columns: Int[Tensor, " m"]) -> NormalScores:
        """Return the same of m of the questions."""
        of = {
            name: each[:, columns] for name, each in self.tensors().items() if name in OF_QUESTIONS
        }
        return replace(self, **of, covariance=self.covariance[columns][:, columns])

    def for_classes(self, classes: Int[Tensor, " m"]) -> NormalScores:
        """Return the same of m of the classes, as if there were no others."""
        some = self._changed(lambda name, tensor: tensor[classes] if name in OF_CLASSES else tensor)
        return replace(some, log_prior=some.log_prior.log_softmax(dim=0))

    def _changed(self, change: Callable[[str, Tensor], Tensor]) -> NormalScores:
        return NormalScores(**{name: change(name, each) for name, each in self.tensors().items()})

    def equal(self, other: NormalScores) -> bool:
        """Return whether the same is expected."""
        pairs = zip(self.tensors().values(), other.tensors().values(), strict=True)
        return all(one is another or torch.equal(one, another) for one, another in pairs)

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of each tensor."""
        words = len(TOLD), sizes.k
        return {
            "log_prior": Expected((sizes.c,), most=0),
            "means": Expected((sizes.c, sizes.k)),
            "covariance": Expected((sizes.k, sizes.k), covariance=True),
            "word_means": Expected(words),
            "word_variances": Expected(words, least=0),
            "temperature": Expected((3,), least=0),
        }
