"""A knowledge table that the CLIP drafts, and how much it may change.

If nobody has written what is true of the classes, the CLIP says it: a class is what its training
images are closest to. Where no text fits the classes, as of fine kinds of one thing, such a draft
takes away the questions that tell. So it has to earn its place. On training images that the
questions were not chosen on, several weights of its words are tried; of those that cost at most
`COST` of the accuracy, the ones are taken whose yes fit the draft most (`select_weights`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import percent
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.naive_bayes.fit import FEWEST_OF_A_CLASS
from infopursuit.pursuit.naive_bayes.model import NaiveBayes
from infopursuit.pursuit.naive_bayes.training_set import (
    KEY_BITS,
    MIX,
    InMemorySet,
    TrainingSet,
)
from infopursuit.pursuit.rollout import roll_out
from infopursuit.questions.knowledge import (
    BY_CLIP,
    TRUE_OF_A_CLASS,
    Asked,
    ClassKnowledge,
    TextWeights,
)
from infopursuit.texts.class_kinds import of_other_kinds, unknown_words

# From how many texts on a draft by CLIP has a meaning.
FEWEST_TEXTS = 200
# The share of the texts that it takes as true of a class, and as true of some of its pictures; and
# how much of the mean of all classes it leaves out (lab/findings.md, "A table by CLIP").
CLOSEST, CLOSE, IN_COMMON = 0.005, 0.01, 0.25
# Texts that decide of what kind a word is that WordNet lacks; such words that are compared at once.
NEIGHBOURS, AT_ONCE = 5, 256
# What the information of a text may count, the mildest first: of texts that tell almost the same
# the one that fits a class is asked; then more is given for the words.
CANDIDATES = (
    TextWeights(1.0, 1.0),
    TextWeights(0.9, 0.8),
    TextWeights(0.9, 0.8, 0.8),
    TextWeights(0.9, 0.8, 0.6),
    TextWeights(0.6, 0.3),
    TextWeights(0.35, 0.03),
)
# If there are too few images to try weights on.
UNTRIED = CANDIDATES[1]
# What may be given for words: this much of the mean accuracy after 1 to FIRST questions, and of
# that after all. Of the first LOOKED_AT questions yes are looked at; shares of yes that fit are
# equal if they differ by less than EQUAL.
COST, FIRST, LOOKED_AT, EQUAL = 0.01, 20, 10, 0.02
# Images are tried in two halves, each with the questions of the other; few images in other halves,
# too, up to REPEATS times, until there are TRIALS of an image.
HALVES, REPEATS, TRIALS = 2, 2, 4096


class Trial(NamedTuple):
    """What questions do on n images that they were not chosen on.

    Attributes:
        right: (n, 2) whether each image is classified right: the share of the first FIRST
            questions after which it is, and after all.
        yes: how many of the first LOOKED_AT questions it answers with yes.
        fitting: how many of these the draft calls true of the class predicted; 0 without a draft.
    """

    right: Float[Tensor, "n 2"]
    yes: Float[Tensor, " n"]
    fitting: Float[Tensor, " n"]

    @classmethod
    def joined(cls, parts: Sequence[Trial]) -> Trial:
        """Return what several lots of images gave."""
        return cls(*(torch.cat(values) for values in zip(*parts, strict=True)))

    @classmethod
    def mean(cls, repeats: Sequence[Trial]) -> Trial:
        """Return the means of what the same images gave several times."""
        return cls(*(torch.stack(values).mean(dim=0) for values in zip(*repeats, strict=True)))

    def sorted(self, order: Int[Tensor, " n"]) -> Trial:
        """Return the same of the images in another order."""
        return Trial(*(values[order] for values in self))

    @property
    def fits(self) -> float:
        """The share of yes that fit."""
        return float(self.fitting.sum() / self.yes.sum().clamp_min(1))


class SelectedWeights(NamedTuple):
    """What a draft may change.

    Attributes:
        weights: of the information of texts; None if the draft is not used.
        cost: the accuracy that it costs, as a share: the larger of the two that `COST` limits; None
            if it was not tried.
        fits: the share of yes that fit the draft if all texts count the same, and with these
            weights; None if there are none, or they were not tried.
    """

    weights: TextWeights | None
    cost: float | None = None
    fits: tuple[float, float] | None = None

    def facts(self) -> dict[str, Any]:
        """Return them as plain values, for the provenance."""
        facts: dict[str, Any] = {"weights": None if self.weights is None else list(self.weights)}
        if self.cost is not None:
            facts["cost"] = round(self.cost, 4)
        if self.fits is not None:
            facts["fits"] = [round(each, 4) for each in self.fits]
        return facts

    def __str__(self) -> str:
        """Return what the draft may change, and why, in a sentence."""
        if self.weights is None:
            return "CLIP's draft: the texts fit your classes poorly, and nothing was ruled out"
        if self.cost is None or self.fits is None:
            return "CLIP's draft: too few images to try it on; it chooses among almost equal texts"
        if self.weights == CANDIDATES[0]:
            return "CLIP's draft: the texts fit your classes poorly; it takes yes back, no more"
        before, after = (percent(each) for each in self.fits)
        return (
            f"CLIP's draft: {after} of the yes fit it, {before} if all texts count the same, for "
            f"at most {percent(max(self.cost, 0.0))} of the accuracy"
        )


# The questions that some images choose, asked of others: without a draft, and with it by the
# weights of a ladder.
WaysToAsk = Callable[[Sequence[TextWeights], InMemorySet], list[Callable[[InMemorySet], Asked]]]


def earned_on(images: InMemorySet, ways_to_ask: WaysToAsk) -> SelectedWeights:
    """Try a draft on images that its questions were not chosen on; return what it may change.

    Each half of the images is asked the questions of the other, few images in several halvings.
    """
    repeats = min(max(round(TRIALS / len(images)), 1), REPEATS)
    trials = [_halves(images, ways_to_ask, draw * MIX % 2**KEY_BITS) for draw in range(repeats)]
    if not all(trials):
        return SelectedWeights(UNTRIED)
    without, *with_draft = (Trial.mean(each) for each in zip(*trials, strict=True))
    return select_weights(without, with_draft)


def _halves(images: InMemorySet, ways_to_ask: WaysToAsk, draw: int) -> list[Trial]:
    """Return what the ways do on images in the order of their keys; nothing without two halves."""
    halves, keys = list[list[Trial]](), list[np.ndarray]()
    for rest, others in images.folds(HALVES, FEWEST_OF_A_CLASS, draw):
        halves.append([tried(ask(others)) for ask in ways_to_ask(CANDIDATES, rest)])
        keys.append(others.keys)
    if not halves:
        return []
    order = torch.from_numpy(np.concatenate(keys).argsort(kind="stable"))
    return [Trial.joined(each).sorted(order) for each in zip(*halves, strict=True)]


def select_weights(without: Trial, tried: Sequence[Trial]) -> SelectedWeights:
    """Return the weights under which most yes fit, of those that cost little accuracy.

    A cost is the larger of two means, which chance makes larger than they are. Of weights under
    which about as many yes fit, the cheapest are taken.

    Args:
        without: the draft.
        tried: with it, by the weights of the ladder; on the same images.
    """
    losses = [(without.right - each.right).double().mean(dim=0) for each in tried]
    costs = [float(each.max()) for each in losses]
    cheap = [place for place, cost in enumerate(costs) if cost <= COST]
    if not cheap:
        return SelectedWeights(None, min(costs))
    most = max(tried[place].fits for place in cheap)
    fitting = [place for place in cheap if tried[place].fits >= most - EQUAL]
    best = min(fitting, key=costs.__getitem__)
    return SelectedWeights(CANDIDATES[best], costs[best], (tried[0].fits, tried[best].fits))


def tried(asked: Asked) -> Trial:
    """Return which images are classified right, and which yes fit the class."""
    querier, answers, labels, fitting = asked
    classifier = NaiveBayes(querier.table)
    rolled = roll_out(querier, classifier, answers, min(FIRST, answers.shape[1]))
    right = rolled.posteriors[:, 1:].argmax(dim=2) == labels.unsqueeze(1)
    final = classifier(answers, torch.ones_like(answers)).argmax(dim=1)
    order, replies = rolled.order[:, :LOOKED_AT], rolled.answers[:, :LOOKED_AT]
    yes, fits = replies > NOT_SURE, fitting[final.unsqueeze(1), order]
    return Trial(
        torch.stack([right.float().mean(dim=1), (final == labels).float()], dim=1),
        yes.sum(dim=1).float(),
        (yes & fits).sum(dim=1).float(),
    )


def drafted_knowledge(
    data: TrainingSet, texts: Sequence[str], embeddings: UnitMatrix, reference: UnitMatrix
) -> ClassKnowledge:
    """Return what the CLIP says of the classes, with the weights that it may have untried.

    Args:
        data: images of c >= 2 classes.
        texts: u texts.
        embeddings: of the texts.
        reference: the texts that scores are relative to.

    Raises:
        InputError: the texts are few.
    """
    names = tuple(str(each) for each in data.classes)
    other = impossible_texts(names, texts, embeddings, reference)
    values = drafted_by_clip(data.moments.means, embeddings, reference, names, other)
    return ClassKnowledge(values, data.classes, texts, UNTRIED, True, other)


def impossible_texts(
    classes: Sequence[str], texts: Sequence[str], embeddings: UnitMatrix, reference: UnitMatrix
) -> Bool[np.ndarray, " u"]:
    """Return which of u texts cannot be true of any class, since they name things of other kinds.

    A word that WordNet lacks is taken as most of the texts closest to it are: for cats, "baozi" as
    "dumpling" and "steamed bun". Cosines are less the mean of the reference texts.

    Args:
        classes: their names.
        texts: u texts.
        embeddings: of the texts.
        reference: the texts whose mean is taken.
    """
    other = of_other_kinds(tuple(classes), tuple(texts)).copy()
    unknown = torch.from_numpy(unknown_words(texts))
    if not other.any() or not unknown.any() or (~unknown).sum() < NEIGHBOURS:
        return other
    centre, blocks = _mean(reference), embeddings.blocks()
    rows = torch.cat([functional.normalize(some - centre, dim=1) for _, some in blocks])
    known, like = rows[~unknown], torch.from_numpy(other)[~unknown].float()
    nearest = [(some @ known.T).topk(NEIGHBOURS).indices for some in rows[unknown].split(AT_ONCE)]
    other[unknown.numpy()] = (like[torch.cat(nearest)].mean(dim=1) > 0.5).numpy()
    return other


def _mean(rows: UnitMatrix) -> Float[Tensor, " d"]:
    count = sum(len(some) for _, some in rows.blocks())
    return torch.stack([some.sum(dim=0) for _, some in rows.blocks()]).sum(dim=0) / count


def drafted_by_clip(
    means: Float[Tensor, "c d"],
    texts: UnitMatrix,
    reference: UnitMatrix,
    classes: Sequence[str],
    impossible: Bool[np.ndarray, " u"],
) -> Float32[np.ndarray, "c u"]:
    """Return a knowledge table of the texts that are closest to the images of each class.

    Texts are compared by cosine with the mean image of a class, less a part of the mean of all
    classes, after the mean of the reference texts is taken from them: CLIP keeps images and texts
    apart. The closest are true of the class, the next are true of some of its pictures, and no
    other text is true of it. Nor is a text that names a thing of another kind than the classes;
    if there are many of them, fewer texts are true of each class.

    Args:
        means: of the training images of c >= 2 classes.
        texts: u texts.
        reference: the texts whose mean is taken.
        classes: their c names, for messages.
        impossible: which texts cannot be true of any class (`impossible_texts`).

    Raises:
        InputError: the texts are few.
    """
    if len(texts) < FEWEST_TEXTS:
        raise InputError(
            f"knowledge {BY_CLIP!r}: {len(texts)} texts for {len(classes)} classes; expected at "
            f"least {FEWEST_TEXTS} texts, of which CLIP finds the closest to each class"
        )
    centre = _mean(reference)
    means = (means - IN_COMMON * means.mean(dim=0)).float()
    scores = torch.cat(
        [means @ functional.normalize(rows - centre, dim=1).T for _, rows in texts.blocks()], dim=1
    )
    scores[:, torch.from_numpy(impossible)] = -math.inf
    # Shares are of the geometric mean of all texts and those that are left.
    several = math.sqrt(len(texts) * (~impossible).sum())
    values = np.zeros(scores.shape, dtype=np.float32)
    for share, value in ((CLOSE, TRUE_OF_A_CLASS), (CLOSEST, 1.0)):
        best = scores.topk(math.ceil(share * several), dim=1).indices.numpy()
        np.put_along_axis(values, best, value, axis=1)
    return values
