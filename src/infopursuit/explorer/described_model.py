"""A fitted model as the page gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from infopursuit.answers.rules import MinMaxAnswers
from infopursuit.answers.table import AnswerTable
from infopursuit.core.errors import InputError
from infopursuit.explanation.explanation import UNFAMILIAR
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explanation.text import question
from infopursuit.explorer import payload
from infopursuit.explorer.origins import origins
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.naive_bayes.put_off import COUNTS
from infopursuit.pursuit.familiarity import ROUNDING as LIKELIHOOD_ROUNDING
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.vip.networks import HistoryNetwork

# Numbers in the networks of one model that the page still takes with it: 2 MiB.
SMALL = 2**19


@dataclass(frozen=True)
class Facts:
    """What is known of a model beside the model.

    Attributes:
        name: what the page calls it.
        stop: its stopping rule.
        origins: of queries, where each comes from: `captions`, `class prompts`, ...
        truth: of queries, how true their answers are.
        sees: whether its CLIP is there to take pictures.
    """

    name: str
    stop: StoppingRule
    origins: Mapping[str, str] = field(default_factory=dict)
    truth: Mapping[str, payload.Truth] | None = None
    sees: bool = False

    @classmethod
    def of(
        cls, name: str, stop: StoppingRule, provenance: Mapping[str, Any], sees: bool = False
    ) -> Facts:
        """What the provenance of a classifier tells."""
        return cls(name, stop, origins(provenance.get("sources", {})), sees=sees)


def described(pursuit: Pursuit, facts: Facts) -> payload.Model:
    """The model.

    Raises:
        InputError: it has no question or no class, or its querier and classifier are of no kind
            that the page knows.
    """
    if not pursuit.queries or not pursuit.class_names:
        raise InputError(
            f"{facts.name}: {len(pursuit.queries)} questions and {len(pursuit.class_names)} "
            "classes; expected at least one of each"
        )
    table = networks = None
    querier, classifier = pursuit.querier, pursuit.classifier
    if isinstance(querier, InformationGain) and isinstance(classifier, NaiveBayes):
        table = _table(querier, classifier.table)
    elif isinstance(querier, HistoryNetwork) and isinstance(classifier, HistoryNetwork):
        if (
            sum(each.numel() for part in (querier, classifier) for each in part.parameters())
            < SMALL
        ):
            networks = payload.Networks(querier=_layers(querier), classifier=_layers(classifier))
    else:
        raise InputError(
            f"{facts.name}: asked by {type(querier).__name__}; expected a naive Bayes model or "
            "networks"
        )
    truth = None
    if facts.truth is not None:
        truth = [facts.truth.get(query) for query in pursuit.queries]
    return payload.Model(
        name=payload.inert(facts.name),
        kind="networks" if table is None else "naive_bayes",
        classes=[payload.inert(each) for each in pursuit.class_names],
        queries=[payload.inert(each) for each in pursuit.queries],
        questions=[payload.inert(question(each)) for each in pursuit.queries],
        origins=[facts.origins.get(each) for each in pursuit.queries],
        first=pursuit.first,
        stop=payload.Stop(**facts.stop.checked()._asdict()),
        answers=answer_levels(pursuit),
        table=table,
        networks=networks,
        truth=truth,
        familiar=_familiar(pursuit),
        sees=facts.sees,
    )


def answer_levels(pursuit: Pursuit) -> Literal[2, 3] | None:
    """How many answers a model hears, 2 or 3; None where they are soft.

    A model with networks that was fitted on yes and no knows nothing between.
    """
    if isinstance(pursuit.rule, MinMaxAnswers) and not pursuit.rule.hard:
        return None
    if isinstance(pursuit.classifier, NaiveBayes) and pursuit.classifier.table.levels == 3:
        return 3
    return 2


def written_answers(pursuit: Pursuit, answers: Tensor) -> list[str]:
    """The answers (n, k) of n images as the page gets them."""
    return [_answers(pursuit, row) for row in _rows(answers)]


def joined_answers(pursuit: Pursuit, answers: Tensor) -> str:
    """The same, of all images together."""
    return _answers(pursuit, answers.cpu())


def _rows(answers: Tensor) -> tuple[Tensor, ...]:
    return answers.cpu().split(1)


def _answers(pursuit: Pursuit, answers: Tensor) -> str:
    count = answer_levels(pursuit)
    if count is None:
        return payload.floats(answers.float().numpy())
    return payload.levels((answers * (count - 1)).round().numpy().astype(np.uint8))


def _table(querier: InformationGain, table: AnswerTable) -> payload.Table:
    independent = table.independent_answers
    return payload.Table(
        log_likelihood=_numbers(table.log_likelihood),
        log_prior=_numbers(table.log_prior),
        independent_answers=None if np.isinf(independent) else float(independent),
        worth=None if querier.worth is None else _numbers(querier.worth),
        put_off=_put_off(querier),
        rounding=querier.rounding,
    )


def _put_off(querier: InformationGain) -> payload.PutOff | None:
    found = querier.put_off
    if found is None or not len(found.pairs):
        return None
    return payload.PutOff(pairs=payload.labels(found.pairs.cpu().numpy()), counts=COUNTS)


def _layers(network: HistoryNetwork) -> payload.Layers:
    first_norm, _, second, second_norm, _ = network.rest
    assert isinstance(first_norm, nn.LayerNorm)
    assert isinstance(second_norm, nn.LayerNorm)
    assert isinstance(second, nn.Linear)
    linear = {"first": network.first, "second": second, "head": network.head}
    values = {
        f"{name}_{part}": _numbers(tensor)
        for name, layer in linear.items()
        for part, tensor in (("weight", layer.weight), ("bias", layer.bias))
    }
    for name, norm in (("first", first_norm), ("second", second_norm)):
        values[f"{name}_scale"] = _numbers(norm.weight)
        values[f"{name}_shift"] = _numbers(norm.bias)
    return payload.Layers(
        widths=(network.first.out_features, second.out_features),
        outputs=network.head.out_features,
        epsilon=first_norm.eps,
        **values,
    )


def _numbers(tensor: Tensor) -> str:
    return payload.floats(tensor.detach().cpu().numpy())


def _familiar(pursuit: Pursuit) -> payload.Familiar | None:
    familiarity = pursuit.familiarity
    if familiarity is None or answer_levels(pursuit) is None:
        return None
    likelihood, classifier = familiarity.table.log_likelihood, pursuit.classifier
    known = isinstance(classifier, NaiveBayes) and torch.equal(
        likelihood, classifier.table.log_likelihood
    )
    return payload.Familiar(
        log_likelihood=None if known else _numbers(likelihood),
        held_out=_numbers(familiarity.ordered),
        rounding=LIKELIHOOD_ROUNDING,
        unfamiliar=UNFAMILIAR,
    )
