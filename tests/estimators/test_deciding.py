"""The few answers that decide, of a fitted model."""

from __future__ import annotations

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.stopping import StoppingRule
from tests.estimators.conftest import World

ALL = StoppingRule(probability=None, max_queries=None)


def test_few_answers_lead_to_the_class_of_all(world: World, model) -> None:
    whole = model.explain(world.unseen, ALL)
    short = model.decisive_answers(world.unseen)
    for all_, few in zip(whole, short, strict=True):
        assert few.confident
        assert few.chosen_from == len(all_.steps) == 6
        assert few.predicted_class == all_.predicted_class
        assert few.probability >= min(0.95, all_.probability) - 1e-6
        answers = {step.query: step.answer for step in all_.steps}
        assert all(answers[step.query] == step.answer for step in few.steps)
        assert few.familiarity == all_.familiarity
    asked = model.explain(world.unseen)
    assert sum(len(each.steps) for each in short) < sum(len(each.steps) for each in asked)


def test_the_answers_alone_give_the_posterior(world: World, model) -> None:
    few = model.decisive_answers(world.unseen[:1], probability=1.0, most=3)[0]
    dialogue = model.dialogue()
    for step in few.steps:
        dialogue.answer(step.said, step.query)
    assert dialogue.explanation().posterior == pytest.approx(few.posterior, abs=1e-6)


def test_the_most_allowed_is_told(world: World, model) -> None:
    few = model.decisive_answers(world.unseen, probability=1.0, most=1)
    assert {len(each.steps) for each in few} <= {0, 1}
    short = next(each for each in few if not each.confident)
    assert "by 1 of 6 answers, the most allowed." in str(short)
    assert "by 1 of 6 answers" in short._repr_html_()
    assert Explanation.from_dict(short.to_dict()) == short
    assert short.criterion == "decisive answers"


def test_an_override_is_one_of_all_answers(world: World, model) -> None:
    before = model.decisive_answers(world.unseen[:1], probability=1.0, most=6)[0]
    first = before.steps[0]
    after = model.decisive_answers(
        world.unseen[:1], 1.0, 6, overrides={first.query: "no" if first.yes else "yes"}
    )[0]
    changed = next(step for step in after.steps if step.query == first.query)
    assert changed.overridden
    assert changed.answer == 1 - first.answer


def test_names_are_those_given(world: World, model) -> None:
    assert model.decisive_answers(world.unseen[:1], names=["x"])[0].image == "x"


def test_a_model_of_columns_decides_too(world: World) -> None:
    model = world.unfitted(texts=None, text_embeddings=None).fit(world.X, world.y)
    right = [each.predicted_class for each in model.decisive_answers(world.unseen)]
    assert right == model.predict(world.unseen, ALL).tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"probability": 0.0}, "probability is 0.0; expected more than 0, at most 1"),
        ({"probability": 1.5}, "probability is 1.5"),
        ({"most": 0}, "most is 0; expected a whole number from 1 on"),
        ({"most": True}, "most is True"),
    ],
)
def test_numbers_out_of_range_are_told(
    world: World, model, settings: dict[str, float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        model.decisive_answers(world.unseen[:1], **settings)


def test_no_rows_have_no_answers(model) -> None:
    assert model.decisive_answers(np.empty((0, 48), np.float32)) == []
