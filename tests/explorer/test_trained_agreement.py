"""A trained model: the page in a browser and Python agree on all test images of the menagerie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from infopursuit.answers.table import AnswerTable
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explorer import payload
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.naive_bayes.put_off import PutOff
from infopursuit.pursuit.pursuit import Pursuit
from tests.explorer.conftest import Opened
from tests.explorer.made_up import naive_bayes
from tests.explorer.test_page_agreement import PLANS, assert_agree

KEPT = Path(__file__).parents[2] / "docs/hooks/menagerie.json"
ALL = StoppingRule(None, None)


def restored(model: payload.Model) -> Pursuit:
    """The model in Python, from what the page knows of it."""
    k, c, table = len(model.queries), len(model.classes), model.table
    assert table is not None
    assert model.answers is not None
    likelihood = payload.read_floats(table.log_likelihood, model.answers, k, c).copy()
    prior = payload.read_floats(table.log_prior, c).copy()
    independent = torch.inf if table.independent_answers is None else table.independent_answers
    of = AnswerTable(torch.from_numpy(likelihood), torch.from_numpy(prior), independent)
    worth = None if table.worth is None else torch.from_numpy(read_worth(table.worth, k))
    put_off = None
    if table.put_off is not None:
        pairs = payload.read_labels(table.put_off.pairs).reshape(-1, 3).astype(np.int64)
        put_off = PutOff(torch.from_numpy(pairs), k)
    return Pursuit(
        tuple(model.queries),
        tuple(model.classes),
        naive_bayes(k).rule,  # the answers are there already
        InformationGain(of, worth, put_off),
        NaiveBayes(of),
        model.first,
    )


def read_worth(text: str, k: int) -> np.ndarray:
    return payload.read_floats(text, k).copy()


def test_every_test_image_is_asked_and_judged_as_in_python(open_page: Opened) -> None:
    content = payload.read(KEPT.read_text(encoding="utf-8"))
    (model,) = content.models
    k = len(model.queries)
    shown = [payload.read_levels(each.answers[0], k) for each in content.images.test]
    levels = np.concatenate([*shown, payload.read_levels(content.images.scored.answers[0], k)])
    answers = torch.from_numpy(levels / 2).float()
    assert answers.shape == (960, 48)
    page = open_page(content)
    for stop in (StoppingRule(0.95, None), ALL):  # to the end, where all gains are next to nothing
        plans = page.evaluate(PLANS, [0, {"stop": stop._asdict()}])
        assert_agree(plans, restored(model), answers, stop, 1e-6)
