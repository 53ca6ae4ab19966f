"""The page's own engine, in the browser, against Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explorer import payload
from infopursuit.explorer.described_model import Facts, described, joined_answers, written_answers
from infopursuit.naive_bayes.model import InformationGain
from infopursuit.naive_bayes.put_off import PutOff
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut, roll_out
from tests.explorer.conftest import Opened
from tests.explorer.made_up import naive_bayes, networks, unit

CLASSES = tuple(f"class {number}" for number in range(16))
STOP = StoppingRule(0.95, 20)
PLANS = """
async ([model, whatIf]) => {
  const plans = [];
  for (const image of explorer.scorable) {
    const plan = await explorer.plan(model, image, {
      stop: whatIf.stop,
      struck: new Set(whatIf.struck ?? []),
      chosen: new Map(whatIf.chosen ?? []),
      given: new Map(whatIf.given ?? []),
    });
    plans.push({
      queries: plan.steps.map((each) => each.query),
      answers: plan.steps.map((each) => each.answer),
      values: plan.steps.map((each) => each.value),
      runnersUp: plan.steps.map((each) => each.runnersUp.map((other) => other.query)),
      posteriors: [plan.prior, ...plan.steps.map((each) => each.posterior)].map((p) => [...p]),
      confident: plan.confident,
    });
  }
  return plans;
}
"""


def document(pursuit: Pursuit, answers: Tensor, stop: StoppingRule = STOP) -> payload.Payload:
    """A page of images without pictures: half of them samples, half scored."""
    labels = np.arange(len(answers)) % len(pursuit.class_names)
    half = len(answers) // 2
    test = [
        payload.Image(id=f"image {row}", label=int(labels[row]), thumbnail=None, answers=[written])
        for row, written in enumerate(written_answers(pursuit, answers[:half]))
    ]
    scored = payload.Scored(
        labels=payload.labels(labels[half:]), answers=[joined_answers(pursuit, answers[half:])]
    )
    return payload.Payload(
        format=1,
        title="Agreement",
        served=False,
        models=[described(pursuit, Facts("model", stop))],
        images=payload.Images(test=test, train=[], scored=scored),
    )


def assert_agree(
    plans: list[dict[str, Any]], pursuit: Pursuit, answers: Tensor, stop: StoppingRule, close: float
) -> None:
    """The same questions and answers, and posteriors that differ by at most `close`."""
    rolled = pursuit_roll_out(pursuit, answers, stop)
    counts, confident = stop.steps(rolled.posteriors)
    assert len(plans) == len(answers)
    for row, plan in enumerate(plans):
        t = int(counts[row])
        assert plan["queries"] == rolled.order[row, :t].tolist(), row
        assert np.allclose(plan["answers"], rolled.answers[row, :t], rtol=0, atol=1e-7)
        assert plan["confident"] == bool(confident[row])
        assert (
            np.abs(np.array(plan["posteriors"]) - rolled.posteriors[row, : t + 1].numpy()).max()
            <= close
        )
        for step in range(t):
            best = rolled.best[row, step].tolist()
            left = [
                each
                for each, value in zip(best, rolled.values[row, step], strict=True)
                if value > -torch.inf
            ]
            others = [each for each in left if each != plan["queries"][step]][:3]
            assert plan["runnersUp"][step] == others
            if plan["queries"][step] in best:
                value = rolled.values[row, step, best.index(plan["queries"][step])]
                assert plan["values"][step] == pytest.approx(float(value), abs=close)


def pursuit_roll_out(pursuit: Pursuit, answers: Tensor, stop: StoppingRule) -> RollOut:
    budget = stop.budget(len(pursuit.queries))
    return roll_out(pursuit.querier, pursuit.classifier, answers, budget, pursuit.first, 4)


@pytest.mark.parametrize(("levels", "count"), [(2, 200), (3, 1000)])
def test_1000_images_are_asked_and_judged_as_in_python(
    open_page: Opened, levels: int, count: int
) -> None:
    worth = None if levels == 2 else torch.linspace(0.7, 1, 48)
    pursuit = naive_bayes(48, CLASSES, levels, first=None if levels == 2 else 7)
    pursuit = with_worth(pursuit, worth)
    answers = pursuit.answers(unit(count, 11))
    page = open_page(document(pursuit, answers))
    plans = page.evaluate(PLANS, [0, {}])
    assert len({tuple(plan["queries"]) for plan in plans}) > count / 10  # not the same for all
    assert_agree(plans, pursuit, answers, STOP, 1e-6)


def with_worth(pursuit: Pursuit, worth: Tensor | None) -> Pursuit:
    return replace(pursuit, querier=InformationGain(pursuit.querier.table, worth))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "stop",
    [
        StoppingRule(0.6, 5),
        StoppingRule(None, None),
        StoppingRule(None, 30, entropy=0.4),
        StoppingRule(None, 30, stability=3),
        StoppingRule(0.9, 0),
    ],
)
def test_all_stopping_rules(open_page: Opened, stop: StoppingRule) -> None:
    pursuit = naive_bayes(24, CLASSES)
    answers = pursuit.answers(unit(60, 5))
    page = open_page(document(pursuit, answers, stop))
    assert_agree(page.evaluate(PLANS, [0, {}]), pursuit, answers, stop, 1e-6)


def test_duplicate_questions_are_asked_in_the_same_order(open_page: Opened) -> None:
    """Their gains are equal, so that only the rule for equals decides."""
    pursuit = naive_bayes(12, CLASSES)
    columns = torch.tensor([*range(12), *range(12), *range(12)])
    pursuit = replace(
        pursuit,
        queries=tuple(f"query {number}" for number in range(36)),
        rule=pursuit.rule.select(columns),
        querier=pursuit.querier.select(columns),
        classifier=pursuit.classifier.select(columns),
        familiarity=None,
    )
    answers = pursuit.answers(unit(200, 5))
    page = open_page(document(pursuit, answers))
    assert_agree(page.evaluate(PLANS, [0, {}]), pursuit, answers, STOP, 1e-6)


def test_questions_are_put_off_as_in_python(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES)
    generator = torch.Generator().manual_seed(1)
    pairs = torch.randint(0, 24, (60, 3), generator=generator)
    pairs[:, 2] %= 2
    plain = pursuit.querier
    querier = InformationGain(plain.table, None, PutOff(pairs, 24))  # type: ignore[attr-defined]
    answers = pursuit.answers(unit(200, 5))
    put_off = replace(pursuit, querier=querier)
    page = open_page(document(put_off, answers))
    plans = page.evaluate(PLANS, [0, {}])
    assert_agree(plans, put_off, answers, STOP, 1e-6)
    without = pursuit_roll_out(pursuit, answers, STOP).order
    assert any(
        plan["queries"] != without[row, : len(plan["queries"])].tolist()
        for row, plan in enumerate(plans)
    )


@pytest.mark.parametrize("hard", [True, False])
def test_networks_think_as_in_python(open_page: Opened, hard: bool) -> None:
    pursuit = networks(24, CLASSES, hard)
    answers = pursuit.answers(unit(100, 5))
    page = open_page(document(pursuit, answers))
    assert_agree(page.evaluate(PLANS, [0, {}]), pursuit, answers, STOP, 1e-5)


def test_a_changed_answer_is_as_an_override_in_python(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES)
    answers = pursuit.answers(unit(60, 5))
    page = open_page(document(pursuit, answers))
    changed = answers.clone()
    changed[:, 3], changed[:, 5], changed[:, 9] = 1, 0.5, 0
    plans = page.evaluate(PLANS, [0, {"given": [[3, 1], [5, 0.5], [9, 0]]}])
    assert_agree(plans, pursuit, changed, STOP, 1e-6)


def test_struck_questions_are_as_a_model_without_them(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES, first=4)
    answers = pursuit.answers(unit(60, 5))
    page = open_page(document(pursuit, answers))
    struck = [4, 11, 20]
    kept = [query for query in range(24) if query not in struck]
    plans = page.evaluate(PLANS, [0, {"struck": struck}])
    for plan in plans:
        plan["queries"] = [kept.index(query) for query in plan["queries"]]
        plan["runnersUp"] = [[kept.index(each) for each in step] for step in plan["runnersUp"]]
    assert_agree(plans, pursuit.without(struck), answers[:, kept], STOP, 1e-6)


def test_a_chosen_question_is_as_in_a_dialogue(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES)
    answers = pursuit.answers(unit(8, 5))
    page = open_page(document(pursuit, answers))
    plans = page.evaluate(PLANS, [0, {"chosen": [[1, 17]]}])
    for row, plan in enumerate(plans):
        dialogue = Dialogue(pursuit, answers[row], stop=STOP)
        dialogue.step()
        if plan["queries"][0] != 17:
            dialogue.step("query 17")
        expected = dialogue.finish().explanation()
        asked = [f"query {query}" for query in plan["queries"]]
        assert asked == list(expected.questions)
        assert np.allclose(plan["posteriors"][-1], expected.posterior, atol=1e-6)


def test_answers_between_levels_count_as_in_python(open_page: Opened) -> None:
    """A person may say "not sure" to a model that heard only yes and no."""
    pursuit = naive_bayes(24, CLASSES, levels=2)
    answers = pursuit.answers(unit(60, 5))
    page = open_page(document(pursuit, answers))
    changed = answers.clone()
    changed[:, 3], changed[:, 8] = 0.5, 0.75
    plans = page.evaluate(PLANS, [0, {"given": [[3, 0.5], [8, 0.75]]}])
    assert_agree(plans, pursuit, changed, STOP, 1e-6)


@pytest.mark.parametrize("struck", [[], [0, 3, 13]])
def test_accuracy_is_that_of_python(open_page: Opened, struck: list[int]) -> None:
    pursuit = naive_bayes(24, CLASSES, first=2)
    answers = pursuit.answers(unit(300, 5))
    page = open_page(document(pursuit, answers))
    page.evaluate(f"location.hash = 'view=dictionary&strike={'.'.join(map(str, struck))}'")
    kept = [query for query in range(24) if query not in struck]
    ending = pursuit.without(struck).ask_until(answers[:, kept], STOP)
    labels = torch.arange(300) % 16
    right = (ending.posterior.argmax(dim=1) == labels).double().mean()
    said = page.locator(".effect p").first
    said.filter(has_text=f"{100 * right:.1f}\u00a0% of 300 test images").wait_for()
    said.filter(has_text=f"{ending.length.double().mean():.1f} questions").wait_for()


def test_familiarity_is_that_of_python(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES)
    assert pursuit.familiarity is not None
    answers = pursuit.answers(unit(40, 5))
    flipped = 1 - answers
    both = torch.cat((answers, flipped))
    page = open_page(document(pursuit, both))
    expected = pursuit.familiarity.of(both)
    found = page.evaluate("explorer.scorable.map((image) => explorer.familiarity(image))")
    assert np.allclose(found, expected, atol=1e-6)
    assert len(set(found)) > 5
