"""A dialogue, step by step: the same as an explanation, until somebody changes an answer."""

from dataclasses import replace

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.pursuit import Pursuit
from tests.pursuit.conftest import NAMES, QUERIES, K

EVERYTHING = StoppingRule(None, None)


def assert_alike(one: Explanation, two: Explanation) -> None:
    """Equal but for the rounding of sums."""
    assert (one.questions, one.answers) == (two.questions, two.answers)
    assert (one.confident, one.criterion) == (two.confident, two.criterion)
    assert one.prior == pytest.approx(two.prior, abs=1e-5)
    for first, second in zip(one.steps, two.steps, strict=True):
        assert first.posterior == pytest.approx(second.posterior, abs=1e-5)
        assert first.entropy == pytest.approx(second.entropy, abs=1e-5)
        assert first.value == pytest.approx(second.value, abs=1e-5)
        assert [each.query for each in first.runners_up] == [
            each.query for each in second.runners_up
        ]


def explained(pursuit: Pursuit, answers: torch.Tensor, stop: StoppingRule) -> Explanation:
    (told,) = pursuit.explain(answers.unsqueeze(0), stop, ["image"])
    return told


@pytest.mark.parametrize("stop", [StoppingRule(0.7, 5), EVERYTHING, StoppingRule(0.99, 0)], ids=str)
@pytest.mark.parametrize("first", [None, 6])
def test_a_dialogue_that_nobody_disturbs_is_the_explanation(
    pursuit: Pursuit, answers: torch.Tensor, stop: StoppingRule, first: int | None
) -> None:
    pursuit = replace(pursuit, first=first)
    for row in answers[:12]:
        dialogue = Dialogue(pursuit, row).finish(stop)
        assert_alike(dialogue.explanation(stop), explained(pursuit, row, stop))


def test_a_step_asks_the_next_question(pursuit: Pursuit, answers: torch.Tensor) -> None:
    dialogue = Dialogue(pursuit, answers[0], "photo.jpg")
    expected = explained(pursuit, answers[0], EVERYTHING)
    for step in expected.steps:
        best = dialogue.candidates(2)
        assert dialogue.next_question() == step.query == best[0].query
        assert dialogue.step() == (step.query, step.answer)
        posterior = dict(zip(NAMES, step.posterior, strict=True))
        assert dialogue.posterior == pytest.approx(posterior, abs=1e-5)
    assert dialogue.next_question() is None
    assert dialogue.candidates() == []
    assert dialogue.explanation().image == "photo.jpg"


def test_candidates_are_those_that_can_be_asked(pursuit: Pursuit, answers: torch.Tensor) -> None:
    dialogue = Dialogue(pursuit, answers[0])
    for left in range(K, 0, -1):
        found = dialogue.candidates(K + 3)
        assert len(found) == left
        values = [each.value for each in found]
        assert values == sorted(values, reverse=True)
        dialogue.step()


def test_a_changed_answer_plans_the_rest_anew(pursuit: Pursuit, answers: torch.Tensor) -> None:
    replanned = 0
    for row in answers[:12]:
        dialogue = Dialogue(pursuit, row).finish(EVERYTHING)
        before = dialogue.explanation().questions
        changed, place = row.clone(), QUERIES.index(before[2])
        changed[place] = 1 - row[place]
        dialogue.answer(float(changed[place]), before[2])
        assert dialogue.explanation().questions == before[:3], "what came after is forgotten"
        told = dialogue.finish(EVERYTHING).explanation(EVERYTHING)
        assert_alike(told, explained(pursuit, changed, EVERYTHING))
        assert [step.overridden for step in told.steps] == [False] * 2 + [True] + [False] * (K - 3)
        replanned += told.questions != before
    assert replanned, "no answer made a difference"


def test_undo_forgets_the_last_question(pursuit: Pursuit, answers: torch.Tensor) -> None:
    dialogue = Dialogue(pursuit, answers[0])
    start = dialogue.posterior
    asked = dialogue.step()
    dialogue.undo()
    assert dialogue.posterior == start
    assert dialogue.step() == asked
    dialogue.undo()
    with pytest.raises(InputError, match="nothing has been asked; expected a question to take"):
        dialogue.undo()


def test_a_person_answers_as_an_image_would(pursuit: Pursuit, answers: torch.Tensor) -> None:
    dialogue = Dialogue(pursuit)
    while (question := dialogue.next_question()) is not None:
        dialogue.answer("yes" if answers[0, pursuit.number(question)] else "no")
    told = dialogue.explanation(EVERYTHING)
    assert_alike(told, explained(pursuit, answers[0], EVERYTHING))
    assert all(step.overridden for step in told.steps)
    with pytest.raises(InputError, match=f"all {K} questions have been asked"):
        dialogue.answer("yes")


def test_a_person_chooses_the_question(pursuit: Pursuit, answers: torch.Tensor) -> None:
    dialogue = Dialogue(pursuit, answers[0])
    best = dialogue.next_question()
    other = next(query for query in QUERIES if query != best)
    assert dialogue.step(other) == (other, float(answers[0, QUERIES.index(other)]))
    (step,) = dialogue.explanation().steps
    assert step.value is None, "the querier did not choose it"
    assert best in [each.query for each in step.runners_up]


def test_a_person_may_be_not_sure(pursuit: Pursuit) -> None:
    dialogue = Dialogue(pursuit)
    dialogue.answer("not sure", "wings")
    (step,) = dialogue.explanation().steps
    assert (step.answer, step.said) == (0.5, "not sure")


def test_what_cannot_be_asked_or_answered_is_refused(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    dialogue = Dialogue(pursuit, answers[0])
    dialogue.step("wings")
    with pytest.raises(InputError, match="'wings' has been asked already; expected another"):
        dialogue.step("wings")
    with pytest.raises(InputError, match=r"the model has no question 'wing'.*'wings'"):
        dialogue.step("wing")
    with pytest.raises(InputError, match="the answer 'maybe'; expected 'yes', 'no'"):
        dialogue.answer("maybe")
    with pytest.raises(InputError, match="stop at probability 2"):
        dialogue.finish(StoppingRule(2.0))
    assert dialogue.explanation().questions == ("wings",), "nothing else was asked"
    with pytest.raises(InputError, match="this dialogue has no image; expected answer"):
        Dialogue(pursuit).step()
    with pytest.raises(InputError, match="this dialogue has no image"):
        Dialogue(pursuit).finish(EVERYTHING)
