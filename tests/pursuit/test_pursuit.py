"""Explanations of a fitted pursuit and dialogues with it, against the loop for one image."""

import json
from dataclasses import replace

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.pursuit import RUNNERS_UP, Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from tests.pursuit import reference
from tests.pursuit.conftest import IMAGES, NAMES, QUERIES, K, unit, with_naive_bayes, with_networks

IDS = [f"image {row}" for row in range(IMAGES)]


def test_explanations_hold_what_the_loop_says(pursuit: Pursuit, answers: torch.Tensor) -> None:
    stop = StoppingRule(0.9, 8)
    classes = [NAMES[row % 4] if row % 3 else None for row in range(IMAGES)]
    together = pursuit.explain(answers, stop, IDS, classes)
    alone = [pursuit.explain(answers[[n]], stop, [IDS[n]], [classes[n]])[0] for n in range(IMAGES)]
    for row, explanation in [*enumerate(together), *enumerate(alone)]:
        asked = reference.ask(pursuit, answers[row], K)
        steps, held = stop.steps(torch.stack(asked.posteriors).unsqueeze(0))
        count = int(steps[0])
        assert (explanation.image, explanation.true_class) == (IDS[row], classes[row])
        assert explanation.class_names == NAMES
        gains = isinstance(pursuit.querier, InformationGain)
        assert explanation.criterion == ("information gain" if gains else "querier probability")
        assert explanation.questions == tuple(QUERIES[query] for query in asked.order[:count])
        assert explanation.ended == stop.ended(int(held[0]), count, K)
        assert explanation.prior == pytest.approx(asked.posteriors[0].tolist(), abs=1e-5)
        for t, step in enumerate(explanation.steps):
            posterior = asked.posteriors[t + 1]
            query = asked.order[t]
            assert step.answer == answers[row, query]
            assert step.posterior == pytest.approx(posterior.tolist(), abs=1e-5)
            entropy = float(-(posterior * posterior.log()).sum())
            assert step.entropy == pytest.approx(entropy, abs=1e-4)
            assert step.value == pytest.approx(float(asked.values[t][query]), abs=1e-5)
            others = asked.ranked[t][1 : RUNNERS_UP + 1]
            assert [each.query for each in step.runners_up] == [QUERIES[i] for i in others]
            expected = asked.values[t][others].tolist()
            assert [each.value for each in step.runners_up] == pytest.approx(expected, abs=1e-5)
            assert not step.overridden


def test_answers_of_a_person_that_no_question_asked_for_are_listed(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    overrides, given = {5: 1.0, 2: 1.0}, answers.clone()
    given[:, [2, 5]] = 1.0
    for stop, asked in ((StoppingRule(None, 3), 3), (StoppingRule(None, 0), 0)):
        for row, found in enumerate(pursuit.explain(answers, stop, IDS, overrides=overrides)):
            numbers = [QUERIES.index(query) for query in found.questions]
            left = [query for query in (5, 2) if query not in numbers]
            assert [step.query for step in found.not_asked] == [QUERIES[query] for query in left]
            assert Explanation.from_dict(json.loads(json.dumps(found.to_dict()))) == found
            assert len(numbers) == asked
            for query, step in zip(left, found.not_asked, strict=True):
                mask = torch.zeros(1, K)
                mask[0, [*numbers, query]] = 1
                expected = pursuit.classifier(given[row : row + 1], mask).softmax(dim=1)[0]
                assert step.posterior == pytest.approx(expected.tolist(), abs=1e-5)


def test_without_a_question_the_answers_to_the_others_stay() -> None:
    pursuit, images = with_naive_bayes(), unit(IMAGES, 2)
    fewer = pursuit.without([1, 7])
    kept = [query for query in range(K) if query not in (1, 7)]
    assert fewer.queries == tuple(QUERIES[query] for query in kept)
    assert torch.equal(fewer.answers(images), pursuit.answers(images)[:, kept])
    # After everything that is left, both have the same posterior.
    mask = torch.zeros(IMAGES, K)
    mask[:, kept] = 1
    expected = pursuit.classifier(pursuit.answers(images), mask).softmax(dim=1)
    found = fewer.roll_out(images, len(kept)).posteriors[:, -1]
    torch.testing.assert_close(found, expected)
    assert len(pursuit.queries) == K, "the model itself keeps its questions"

    first = replace(pursuit, first=5)
    assert (first.without([1]).first, first.without([5]).first) == (4, None)


EVERYTHING = StoppingRule(None, stability=None)


def assert_alike(one: Explanation, two: Explanation) -> None:
    """Equal but for the rounding of sums."""
    assert (one.questions, one.answers) == (two.questions, two.answers)
    assert (one.ended, one.criterion) == (two.ended, two.criterion)
    assert one.prior == pytest.approx(two.prior, abs=1e-5)
    for first, second in zip(one.steps, two.steps, strict=True):
        assert first.posterior == pytest.approx(second.posterior, abs=1e-5)
        assert first.entropy == pytest.approx(second.entropy, abs=1e-5)
        assert first.value == pytest.approx(second.value, abs=1e-5)
        assert [each.query for each in first.runners_up] == [
            each.query for each in second.runners_up
        ]


def explained(pursuit: Pursuit, answers: torch.Tensor, stop: StoppingRule) -> Explanation:
    return pursuit.explain(answers.unsqueeze(0), stop, ["image"])[0]


@pytest.mark.parametrize("stop", [StoppingRule(0.7, 5), EVERYTHING, StoppingRule(0.99, 0)], ids=str)
@pytest.mark.parametrize("first", [None, 6])
def test_a_dialogue_without_changes_is_the_explanation(
    pursuit: Pursuit, answers: torch.Tensor, stop: StoppingRule, first: int | None
) -> None:
    pursuit = replace(pursuit, first=first)
    for row in answers[:12]:
        dialogue = Dialogue(pursuit, row).finish(stop)
        assert_alike(dialogue.explanation(stop), explained(pursuit, row, stop))


def test_a_changed_answer_plans_the_rest_again(pursuit: Pursuit, answers: torch.Tensor) -> None:
    replanned = 0
    for row in answers[:12]:
        dialogue = Dialogue(pursuit, row).finish(EVERYTHING)
        before = dialogue.explanation().questions
        changed, place = row.clone(), QUERIES.index(before[2])
        changed[place] = 1 - row[place]
        dialogue.answer(float(changed[place]), before[2])
        assert dialogue.explanation().questions == before[:3], "what came after is forgotten"
        after = dialogue.finish(EVERYTHING).explanation(EVERYTHING)
        assert_alike(after, explained(pursuit, changed, EVERYTHING))
        assert [step.overridden for step in after.steps] == [False] * 2 + [True] + [False] * (K - 3)
        replanned += after.questions != before
    assert replanned, "no answer made a difference"


def test_a_person_answers_as_an_image_would(pursuit: Pursuit, answers: torch.Tensor) -> None:
    dialogue = Dialogue(pursuit)
    while (question := dialogue.next_question()) is not None:
        dialogue.answer("yes" if answers[0, pursuit.number(question)] else "no")
    explanation = dialogue.explanation(EVERYTHING)
    assert_alike(explanation, explained(pursuit, answers[0], EVERYTHING))
    assert all(step.overridden for step in explanation.steps)
    with pytest.raises(InputError, match="all"):
        dialogue.answer("yes")


def test_what_cannot_be_asked_or_answered_is_refused(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    dialogue, without_image = Dialogue(pursuit, answers[0]), Dialogue(pursuit)
    start = dialogue.posterior
    asked = dialogue.step()
    dialogue.undo()
    assert dialogue.posterior == start
    assert dialogue.step() == asked
    dialogue.undo()
    with pytest.raises(InputError, match="nothing"):
        dialogue.undo()
    dialogue.step("wings")
    for refused, word in [
        (lambda: dialogue.step("wings"), "already"),
        (lambda: dialogue.step("wing"), "'wings'"),
        (lambda: dialogue.answer("maybe"), "maybe"),
        (lambda: dialogue.finish(StoppingRule(2.0)), "probability"),
        (without_image.step, "image"),
        (lambda: without_image.finish(EVERYTHING), "image"),
        (lambda: with_naive_bayes().without(range(K)), "left"),
        (lambda: with_networks().without([0]), "networks"),
    ]:
        with pytest.raises(InputError, match=word):
            refused()
    assert dialogue.explanation().questions == ("wings",), "nothing else was asked"
