"""Fitting an evidence table: no updates, one look at the training images.

The rates of the classes come from the training images; the one number that is left, how fast
evidence wears off (`EvidenceClassifier.patience`), from the images held out.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from infopursuit.evidence.information import class_prior
from infopursuit.evidence.rates import class_rates, score_rates
from infopursuit.pursuit.answers import AnswerRule, fit_threshold_rule
from infopursuit.pursuit.evidence_networks import EvidenceClassifier, InformationGain
from infopursuit.pursuit.images import LabelledImages
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.selection import curve_area
from infopursuit.pursuit.training import Trained

# Evidence may wear off as fast as this or never.
PATIENCES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, torch.inf)
# Images whose posteriors at every budget are held at once.
BLOCK = 256


def fit_evidence(
    train: LabelledImages,
    validation: LabelledImages,
    universe: Float[Tensor, "u d"],
    initial: Int[Tensor, " k"],
    recipe: Recipe,
    budget: int,
    reference: Float[Tensor, "v d"] | None = None,
) -> Trained:
    """Querier and classifier of a dictionary that stays as it is.

    Args:
        train: images to learn from, without the held-out ones.
        validation: images that the patience is chosen on.
        universe: embeddings of all texts.
        initial: rows of the universe that are the dictionary.
        recipe: with `networks` evidence.
        budget: T of the validation curve.
        reference: texts that threshold answers are relative to, where it is not the universe.
    """
    queries = functional.normalize(universe[initial].float(), dim=1)
    if recipe.answers == "threshold":
        reference = universe if reference is None else reference
        rule = fit_threshold_rule(queries, reference, train.embeddings, train.labels)
    else:
        rule = AnswerRule("minmax", queries)
    scores, prior = rule.scores(train.embeddings), class_prior(train.labels)
    if rule.thresholds is None:
        rates = class_rates(rule.answers(scores), train.labels)
    else:
        rates = score_rates(scores, rule.thresholds, train.labels)
    querier = InformationGain(rates, prior)

    answers = rule.answers(rule.scores(validation.embeddings))
    patience, loss = _patience(
        querier, EvidenceClassifier(rates, prior), answers, validation.labels, budget
    )
    classifier = EvidenceClassifier(rates, prior, patience)
    facts = {
        "stage": "evidence",
        "updates": 0,
        "validation_auc": curve_area(querier, classifier, answers, validation.labels, budget),
    }
    log = {
        **facts,
        "dictionary_updates": 0,
        "loss": loss,
        "distinct_queries": len(initial.unique()),
        "queries_changed": 0,
    }
    rows = {"initial": initial, "midway": initial, "final": initial}
    return Trained(querier, classifier, queries, rule, rows, facts, [log])


def _patience(
    querier: InformationGain,
    classifier: EvidenceClassifier,
    answers: Float[Tensor, "n k"],
    labels: Int[Tensor, " n"],
    budget: int,
) -> tuple[float, float]:
    """The patience with the least cross-entropy over all budgets, and that cross-entropy."""
    losses = torch.zeros(len(PATIENCES), dtype=torch.float64)
    asked = torch.arange(1, budget + 1).unsqueeze(1)
    for some, truth in zip(answers.split(BLOCK), labels.split(BLOCK), strict=True):
        rolled = roll_out(querier, classifier, some, budget)
        said = rolled.answers.unsqueeze(2)
        told = torch.lerp(classifier.of_no[rolled.order], classifier.of_yes[rolled.order], said)
        evidence = classifier.log_prior + told.cumsum(dim=1)
        for place, patience in enumerate(PATIENCES):
            logits = evidence / (1 + asked / patience)
            losses[place] += functional.cross_entropy(
                logits.flatten(0, 1), truth.repeat_interleave(budget), reduction="sum"
            )
    best = int(losses.argmin())
    return PATIENCES[best], losses[best].item() / (len(labels) * budget)
