"""How images answer while networks train: of a dictionary that learns, or by fitted thresholds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.answers.rules import AnswerRule, MinMaxAnswers, fit_threshold_rule
from infopursuit.answers.thresholds import THRESHOLD_IMAGES
from infopursuit.datasets.rows import UnitRows
from infopursuit.datasets.samples import even_sample
from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.vip.batches import ImageShard
from infopursuit.vip.settings import VariationalSettings


def rule_of(
    settings: VariationalSettings,
    dictionary: LearnableDictionary,
    images: ImageShard,
    labels: Int[Tensor, " n"],
    reference: Float[Tensor, "v d"],
) -> Callable[[], AnswerRule]:
    """How images answer: a function that gives the rule of the dictionary as it is when called.

    Thresholds are fitted on at most THRESHOLD_IMAGES of the n training images.
    """
    if settings.answers == "threshold":  # of a dictionary that stays as it is
        queries = dictionary().detach()
        sample = even_sample(labels, THRESHOLD_IMAGES, torch.Generator().manual_seed(0))
        shown = images.take(sample.to(images.own.device)).cpu()
        texts = UnitRows(reference, "texts")
        rule = fit_threshold_rule(queries.cpu(), texts, UnitRows(shown, "images"), labels[sample])
        fitted = rule.to(queries.device)
        return lambda: fitted
    return lambda: MinMaxAnswers(dictionary(), hard=settings.answers == "minmax")
