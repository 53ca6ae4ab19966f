"""The page's own engine, in the browser, against Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.explorer import payload
from infopursuit.explorer.contents import AnsweredImages, Chosen, Facts, contents, described
from infopursuit.pursuit.answers.subclasses import SubclassTable
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import ending
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes, RedundantQuestions
from infopursuit.pursuit.naive_bayes.subclasses import SubclassBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut
from infopursuit.pursuit.sentences import SENTENCES
from infopursuit.pursuit.stopping import StoppingRule
from tests.explorer.conftest import Opened
from tests.explorer.made_up import naive_bayes, networks, unit, with_scores

pytestmark = pytest.mark.slow  # minutes in a browser

CLASSES = tuple(f"class {number}" for number in range(16))
STOP = StoppingRule(0.95, 20)
PLANS = """
async (whatIf) => {
  const plans = [];
  explorer.state.known = new Map(whatIf.known ?? []);
  explorer.state.classes = whatIf.classes ? new Set(whatIf.classes) : null;
  for (const image of explorer.scorable) {
    const plan = await explorer.plan(image, {
      stop: whatIf.stop,
      struck: new Set(whatIf.struck ?? []),
      chosen: new Map(whatIf.chosen ?? []),
      given: new Map(whatIf.given ?? []),
    }, explorer.mind());
    plans.push({
      queries: plan.steps.map((each) => each.query),
      answers: plan.steps.map((each) => each.answer),
      values: plan.steps.map((each) => each.value),
      runnersUp: plan.steps.map((each) => each.runnersUp.map((other) => other.query)),
      posteriors: [plan.prior, ...plan.steps.map((each) => each.posterior)].map((p) => [...p]),
      ended: plan.ended,
      notAsked: [...plan.notAsked].map(([query, posterior]) => [query, [...posterior]]),
    });
  }
  return plans;
}
"""


def document(pursuit: Pursuit, answers: Tensor, stop: StoppingRule = STOP) -> payload.Payload:
    """A page of images without pictures."""
    ids = [f"image {row}" for row in range(len(answers))]
    labels = np.arange(len(answers)) % len(pursuit.class_names)
    images, chosen = AnsweredImages(ids, labels, answers), Chosen(len(answers))
    return contents((pursuit, Facts("model", stop)), images, title="Agreement", chosen=chosen)


def assert_agree(
    plans: list[dict[str, Any]],
    pursuit: Pursuit,
    answers: Tensor,
    stop: StoppingRule,
    close: float,
) -> None:
    """The same questions and answers, and posteriors that differ by at most `close`."""
    rolled = roll_out_of(pursuit, answers, stop)
    counts, held = stop.steps(rolled.posteriors)
    new = (rolled.values > -torch.inf).any(dim=2).long().cumprod(dim=1).sum(dim=1)  # or implied
    held[counts > new] = 0
    counts = counts.minimum(new)
    assert len(plans) == len(answers)
    for row, plan in enumerate(plans):
        t = int(counts[row])
        assert plan["queries"] == rolled.order[row, :t].tolist(), row
        assert np.allclose(plan["answers"], rolled.answers[row, :t], rtol=0, atol=1e-7)
        assert plan["ended"] == stop.ended(int(held[row]), t, len(pursuit.queries))
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
                assert plan["values"][step] == pytest.approx(float(value), rel=1e-6, abs=close)


def roll_out_of(pursuit: Pursuit, answers: Tensor, stop: StoppingRule) -> RollOut:
    return pursuit.rolled(answers, stop.budget(len(pursuit.queries)), 4)


# Each case: the model, the number of images, the rule to stop and by how much numbers may differ.
Case = tuple[Pursuit, int, StoppingRule, float]


def naive_bayes_case(
    stop: StoppingRule = STOP, k: int = 24, count: int = 60, levels: int = 3, **more: Any
) -> Case:
    return naive_bayes(k, CLASSES, levels, **more), count, stop, 1e-6


def rare_classes_case() -> Case:
    """A class has 98 % before any question, and needs more than 95 %."""
    pursuit, *others = naive_bayes_case(k=48, count=200)
    rest = torch.full((len(CLASSES) - 1,), 0.02 / (len(CLASSES) - 1))
    prior = torch.cat([torch.tensor([0.98]), rest]).log()
    table = replace(pursuit.classifier.table, log_prior=prior)  # type: ignore[union-attr]
    uneven = replace(pursuit, querier=InformationGain(table), classifier=NaiveBayes(table))
    answers = uneven.answers(unit(200, 5))
    assert STOP.steps(roll_out_of(uneven, answers, STOP).posteriors)[0].min() > 0
    return uneven, *others


def duplicates_case() -> Case:
    """Gains of equal questions are equal, so that only the rule for equals decides."""
    pursuit, _, *others = naive_bayes_case(k=12)
    columns = torch.arange(36) % 12
    pursuit = replace(
        pursuit,
        queries=tuple(f"query {number}" for number in range(36)),
        rule=pursuit.rule.select(columns),
        querier=pursuit.querier.select(columns),
        classifier=pursuit.classifier.select(columns),
        conformity=None,
    )
    return pursuit, 200, *others


def asking(pursuit: Pursuit, querier: InformationGain) -> Pursuit:
    """The same with a querier that asks in another order."""
    other, answers = replace(pursuit, querier=querier), pursuit.answers(unit(200, 5))
    orders = [roll_out_of(each, answers, STOP).order for each in (pursuit, other)]
    assert not torch.equal(*orders), "otherwise the case tests nothing"
    return other


def redundant_case() -> Case:
    pursuit, _, *others = naive_bayes_case()
    pairs = torch.randint(0, 24, (60, 3), generator=torch.Generator().manual_seed(1))
    pairs[:, 2] %= 3
    table = pursuit.querier.table  # type: ignore[attr-defined]
    return asking(pursuit, InformationGain(table, RedundantQuestions(pairs, 24))), 200, *others


def values_case() -> Case:
    rows = unit(900, 3).double()
    labels = np.array(CLASSES)[rows[:, : len(CLASSES)].argmax(dim=1)]
    rows[:, 0] = (rows[:, 0] * 4).round()
    rows[::7, 1] = torch.nan
    model = InformationPursuitClassifier().fit(rows.numpy(), labels)
    assert len({len(set(each)) for each in model.pursuit_.words}) > 1
    return model.pursuit_, 200, STOP, 1e-6


def costs_case(subclasses: bool = False) -> Case:
    pursuit, _, *others = (subclasses_case if subclasses else redundant_case)()
    querier: Any = pursuit.querier
    costs = torch.tensor([1.5, 7.0, 2.25, 4.0]).repeat(6).double()
    dear = InformationGain(querier.table, querier.redundant, costs)
    return asking(pursuit, dear), 200, *others


def subclasses_case() -> Case:
    """Classes of one to three kinds."""
    pursuit, *others = naive_bayes_case(levels=3)
    kinds = tuple(map(str, range(32)))
    plain: Any = naive_bayes(24, kinds).classifier.table
    of = torch.arange(16).repeat_interleave(torch.tensor([1, 2, 3, 2] * 4))
    table = SubclassTable(**vars(plain), of=of)
    made = {"querier": InformationGain(table), "classifier": SubclassBayes(table)}
    return replace(pursuit, **made), *others


CASES: dict[str, Callable[[], Case]] = {
    "two answers": partial(naive_bayes_case, k=48, count=200, levels=2),
    "five answers": partial(naive_bayes_case, k=48, count=200, levels=5, first=7),
    "less certainty, 5 questions": partial(naive_bayes_case, StoppingRule(0.6, 5)),
    "all questions": partial(naive_bayes_case, StoppingRule(None, stability=None)),
    "entropy": partial(naive_bayes_case, StoppingRule(None, 30, 0.4, None)),
    "stability": partial(naive_bayes_case, StoppingRule(None, 30, stability=3)),
    "no question": partial(naive_bayes_case, StoppingRule(0.9, 0)),
    "rare classes": rare_classes_case,
    "duplicates": duplicates_case,
    "redundant questions": redundant_case,
    "values of columns": values_case,
    "subclasses": subclasses_case,
    "costs": costs_case,
    # Jointly normal scores, in whose answers are words of people, too.
    "scores": lambda: (with_scores(), 200, STOP, 1e-6),
    "scores, all questions": lambda: (with_scores(), 200, StoppingRule(None, stability=None), 1e-6),
    "costs of subclasses": partial(costs_case, True),
    "networks": lambda: (networks(24, CLASSES, True), 100, STOP, 1e-5),
    "networks, soft answers": lambda: (networks(24, CLASSES, False), 100, STOP, 1e-5),
}


@pytest.mark.parametrize("name", CASES)
def test_images_are_asked_and_classified_as_in_python(open_page: Opened, name: str) -> None:
    pursuit, count, stop, close = CASES[name]()
    answers = pursuit.answers(unit(count, 5))
    plans = open_page(document(pursuit, answers, stop)).evaluate(PLANS, {})
    assert_agree(plans, pursuit, answers, stop, close)
    explained = pursuit.explain(answers, stop, [""] * count)
    assert [each["ended"] for each in plans] == [each.ended for each in explained]
    assert [len(each["queries"]) for each in plans] == [len(each.steps) for each in explained]
    if name == "two answers":
        assert len({tuple(plan["queries"]) for plan in plans}) > count / 10  # they differ


def test_a_sentence_that_changes_does_so_in_python_and_in_the_page(
    open_page: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SENTENCES, "ended_maximum", "{after} <it> is to stop")
    pursuit, stop = naive_bayes(24, CLASSES), StoppingRule(1.0, 3)
    answers = pursuit.answers(unit(2, 5))
    said = ending(pursuit.explain(answers, stop, ["", ""])[0])
    assert said == "not certain: after 3 questions <it> is to stop"
    expect(open_page(document(pursuit, answers, stop)).locator(".ending")).to_contain_text(said)


@pytest.mark.parametrize(
    "name", ["five answers", "redundant questions", "subclasses", "costs", "networks"]
)
def test_what_is_known_and_which_classes_there_are_count_as_in_python(
    open_page: Opened, name: str
) -> None:
    pursuit, count, stop, close = CASES[name]()
    known, classes = {7: 1.0, 2: 0.0, 11: 0.5}, [0, 2, 3, 9, 12]
    answers = pursuit.answers(unit(min(count, 60), 5))
    page = open_page(document(pursuit, answers, stop))
    for given, some in (known, None), ({}, classes), (known, classes):
        plans = page.evaluate(PLANS, {"known": [*given.items()], "classes": some})
        said = {pursuit.queries[query]: answer for query, answer in given.items()}
        view = pursuit.given(said, some and [CLASSES[each] for each in some])
        for plan in plans:
            posteriors = np.array(plan["posteriors"])
            plan["posteriors"] = posteriors[:, some] if some else posteriors
            assert not some or not np.delete(posteriors, some, axis=1).any()
        assert_agree(plans, view, answers, stop, close)


@pytest.mark.parametrize(
    ("levels", "given"),
    [
        (3, {3: 1.0, 5: 0.5, 9: 0.0}),
        (2, {3: 0.5, 8: 0.75}),
        (5, {3: 0.75, 5: 0.25, 8: 0.0, 9: 0.6}),
    ],
)
def test_a_changed_answer_acts_like_an_override_in_python(
    open_page: Opened, levels: int, given: dict[int, float]
) -> None:
    """A person may also say "not sure" to a model that heard only yes and no."""
    pursuit = naive_bayes(24, CLASSES, levels)
    answers = pursuit.answers(unit(60, 5))
    page = open_page(document(pursuit, answers))
    plans = page.evaluate(PLANS, {"given": [*given.items()]})
    images = [f"image {row}" for row in range(60)]
    explained = pursuit.explain(answers, STOP, images, overrides=given)
    for query, answer in given.items():
        answers[:, query] = answer
    assert_agree(plans, pursuit, answers, STOP, 1e-6)
    for plan, explanation in zip(plans, explained, strict=True):
        expected = [(pursuit.number(each.query), each.posterior) for each in explanation.not_asked]
        assert [query for query, _ in plan["notAsked"]] == [query for query, _ in expected]
        for (_, found), (_, posterior) in zip(plan["notAsked"], expected, strict=True):
            assert found == pytest.approx(posterior, abs=2e-6)
    assert any(explanation.not_asked for explanation in explained)


def test_struck_questions_act_like_a_model_without_them(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES, first=4)
    answers = pursuit.answers(unit(60, 5))
    page = open_page(document(pursuit, answers))
    struck = [4, 11, 20]
    kept = [query for query in range(24) if query not in struck]
    plans = page.evaluate(PLANS, {"struck": struck})
    for plan in plans:
        plan["queries"] = [kept.index(query) for query in plan["queries"]]
        plan["runnersUp"] = [[kept.index(each) for each in step] for step in plan["runnersUp"]]
    assert_agree(plans, pursuit.without(struck), answers[:, kept], STOP, 1e-6)


def test_a_chosen_question_acts_like_a_dialogue_in_python(open_page: Opened) -> None:
    pursuit = naive_bayes(24, CLASSES)
    answers = pursuit.answers(unit(8, 5))
    page = open_page(document(pursuit, answers))
    plans = page.evaluate(PLANS, {"chosen": [[1, 17]]})
    for row, plan in enumerate(plans):
        dialogue = Dialogue(pursuit, answers[row], stop=STOP)
        dialogue.step()
        if plan["queries"][0] != 17:
            dialogue.step("query 17")
        expected = dialogue.finish().explanation()
        asked = [f"query {query}" for query in plan["queries"]]
        assert asked == list(expected.questions)
        assert np.allclose(plan["posteriors"][-1], expected.posterior, atol=1e-6)


@pytest.mark.parametrize("name", ["five answers", "scores"])
def test_below_a_certainty_the_question_comes_to_the_person_as_in_python(
    open_page: Opened, name: str
) -> None:
    """With the number of `dialogue --ask-below`, whose dialogue has a `person_cost` of 1."""
    pursuit = CASES[name]()[0]
    answers = pursuit.answers(unit(8, 6))
    texts = described(pursuit, Facts("model", STOP)).questions
    asked: dict[int, int] = {}
    for below in (50, 75, 76, 100):
        for row in range(2):
            page = open_page(
                document(pursuit, answers), hash=f"view=you&with=1&image=image {row}&below={below}"
            )
            dialogue = Dialogue(pursuit, answers[row], "image", STOP, 1, below / 100)
            while (question := dialogue.listen()) is not None:
                wanted = texts[pursuit.number(question)]
                expect(page.locator(".stage h2")).to_have_text(wanted)
                page.get_by_role("button", name="not sure", exact=True).click()
                dialogue.answer("not sure")
                asked[below] = asked.get(below, 0) + 1
            found = dialogue.explanation()
            expect(page.locator(".stage h2")).to_have_text(found.predicted_class)
            rows = page.locator(".said li")
            expect(rows).to_have_count(len(found.steps))
            of_picture = len([step for step in found.steps if not step.overridden])
            expect(rows.locator(".tag", has_text="picture")).to_have_count(of_picture)
    assert 50 not in asked
    assert 0 < asked[75] < asked[76] == asked[100]


def test_subclasses_are_pooled_as_in_python(open_page: Opened) -> None:
    """In the rates of the classes, and in what each answer says of one."""
    pursuit: Any = subclasses_case()[0]
    answers, table = pursuit.answers(unit(4, 5)), pursuit.classifier.exact_rates
    page = open_page(document(pursuit, answers))
    rates = table.marginal.log_likelihood.exp().flatten()
    assert np.allclose(page.evaluate("[...explorer.rates()]"), rates, atol=1e-9)
    answers[0, [3, 5]] = torch.tensor([1.0, 0.75])
    found = page.evaluate(
        "(given) => { const { predictor, model } = explorer; const all = predictor.evidence(given);"
        "return model.classes.map((_, y) => predictor.evidenceOf(all, y)); }",
        [{"query": 3, "answer": 1}, {"query": 5, "answer": 0.75}],
    )
    mask = torch.zeros(1, 24)
    mask[0, [3, 5]] = 1
    assert np.allclose(found, table.pooled(table.evidence(answers[:1], mask))[0], atol=1e-6)


def test_the_page_says_what_questions_cost(open_page: Opened) -> None:
    pursuit, _, stop, _ = costs_case()
    querier, answers = pursuit.querier, torch.ones(1, 24)
    page = open_page(document(pursuit, answers, stop), "view=you&known=0y")
    rolled = roll_out_of(pursuit.given({pursuit.queries[0]: 1.0}), answers, stop)
    assert isinstance(querier, InformationGain)
    spent = querier.spent(rolled.order)[0]
    for now, then in zip(spent[:4].tolist(), spent[1:].tolist(), strict=False):
        expect(page.locator(".stage")).to_contain_text(
            f"It costs {then - now:g}. Spent so far: {now:g}."
        )
        page.get_by_role("button", name="yes", exact=True).click()


def test_answers_are_grouped_as_in_python(open_page: Opened) -> None:
    pursuit, stop = naive_bayes(48, CLASSES), StoppingRule(max_queries=48)
    answers = pursuit.answers(unit(8, 5))
    images = [f"image {row}" for row in range(4)]
    for image, explained in zip(images, pursuit.explain(answers[:4], stop, images), strict=True):
        page = open_page(document(pursuit, answers, stop), hash=f"view=image&image={image}")
        rows = page.locator(".steps > li")
        runs = explained.grouped()
        assert max(map(len, runs)) > 1 == len(runs[-1])
        expect(rows).to_have_count(len(runs))
        for row, run in zip(rows.all(), runs, strict=True):
            one = explained.steps[run[0]].question
            many = f"{len(run)} answers moved no class by more than"
            expect(row).to_contain_text(many if len(run) > 1 else one)
