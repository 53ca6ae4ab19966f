"""A fitted pursuit: explanations, questions by name, and leaving questions out."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.naive_bayes.model import NaiveBayes
from infopursuit.pursuit import rollout
from infopursuit.pursuit.pursuit import RUNNERS_UP, Pursuit
from tests.pursuit import reference
from tests.pursuit.conftest import IMAGES, NAMES, QUERIES, K, unit, with_naive_bayes, with_networks

IDS = [f"image {row}" for row in range(IMAGES)]


def test_explanations_hold_what_the_loop_says(pursuit: Pursuit, answers: torch.Tensor) -> None:
    stop = StoppingRule(0.7, 6)
    classes = [NAMES[row % 4] if row % 3 else None for row in range(IMAGES)]
    told = pursuit.explain(answers, stop, IDS, classes)
    for row, explanation in enumerate(told):
        asked = reference.ask(pursuit, answers[row], K)
        steps, confident = stop.steps(torch.stack(asked.posteriors).unsqueeze(0))
        count = int(steps[0])
        assert (explanation.image, explanation.true_class) == (IDS[row], classes[row])
        assert explanation.class_names == NAMES
        assert explanation.questions == tuple(QUERIES[query] for query in asked.order[:count])
        assert explanation.confident == bool(confident[0])
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


class Silent(NaiveBayes):
    """Nobody asks for its opinion."""

    def incremental(self, batch: int) -> Any:
        raise AssertionError(f"{batch} images were judged")


@pytest.mark.parametrize("first", [None, 3])
def test_what_is_asked_is_that_of_the_loop_and_nobody_judges(
    pursuit: Pursuit, answers: torch.Tensor, first: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout, "CPU_BLOCK", 7)
    pursuit = replace(pursuit, first=first)
    silent = replace(pursuit, classifier=Silent(with_naive_bayes().classifier.table))  # pyright: ignore
    found = silent.asked(answers, 6).tolist()
    assert found == [reference.ask(pursuit, each, 6).order for each in answers]
    with pytest.raises(InputError, match=f"expected 0 to {K}"):
        pursuit.asked(answers, K + 1)


@pytest.mark.parametrize(
    ("budget", "classes", "count"), [(127, 100, 1024), (127, 1000, 262), (9, 10**7, 32)]
)
def test_posteriors_held_at_once_take_128_mebibytes_at_most_but_for_32_images(
    budget: int, classes: int, count: int
) -> None:
    assert rollout.images_at_once(budget, classes) == count
    assert count == 32 or count * (budget + 1) * classes * 4 <= 2**27


def test_questions_asked_before_are_no_runners_up(pursuit: Pursuit, answers: torch.Tensor) -> None:
    for told in pursuit.explain(answers, StoppingRule(None, None), IDS):
        assert len(told.steps) == K
        for t, step in enumerate(told.steps):
            others = {each.query for each in step.runners_up}
            assert not others & set(told.questions[: t + 1])
            assert len(others) == min(RUNNERS_UP, K - 1 - t)


def test_the_criterion_is_named() -> None:
    for pursuit, criterion in (
        (with_networks(), "querier probability"),
        (with_naive_bayes(), "information gain"),
    ):
        answers = pursuit.answers(unit(1, 0))
        assert pursuit.explain(answers, StoppingRule(), ["x"])[0].criterion == criterion


def test_a_forced_first_question_opens_every_explanation(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    forced = replace(pursuit, first=pursuit.number("whiskers"))
    for told in forced.explain(answers, StoppingRule(None, 3), IDS):
        assert told.questions[0] == "whiskers"
        assert len(set(told.questions)) == 3


def test_overridden_answers_are_marked(pursuit: Pursuit, answers: torch.Tensor) -> None:
    (told,) = pursuit.explain(answers[:1], StoppingRule(None, None), ["x"], overridden=[2, 5])
    marked = {step.query for step in told.steps if step.overridden}
    assert marked == {"four wheels", "red body"}


def test_a_question_is_found_by_its_text_and_similar_ones_are_named(pursuit: Pursuit) -> None:
    assert pursuit.number("striped body") == 4
    assert pursuit.number("Does it have a striped body?") == 4, "as explanations put it"
    with pytest.raises(InputError, match=r"no question 'stripped body'; .* 'striped body'"):
        pursuit.number("stripped body")
    with pytest.raises(InputError, match="no question '4711'; expected one such as 'wings'"):
        pursuit.number("4711")


def test_without_a_question_the_answers_to_the_others_stay() -> None:
    pursuit, images = with_naive_bayes(), unit(IMAGES, 2)
    fewer = pursuit.without([1, 7])
    kept = [query for query in range(K) if query not in (1, 7)]
    assert fewer.queries == tuple(QUERIES[query] for query in kept)
    assert torch.equal(fewer.answers(images), pursuit.answers(images)[:, kept])
    # Asked everything that is left, both believe the same of it.
    mask = torch.zeros(IMAGES, K)
    mask[:, kept] = 1
    expected = pursuit.classifier(pursuit.answers(images), mask).softmax(dim=1)
    found = fewer.roll_out(images, len(kept)).posteriors[:, -1]
    torch.testing.assert_close(found, expected)
    assert len(pursuit.queries) == K, "the model itself keeps its questions"


def test_the_first_question_moves_with_its_number_or_goes() -> None:
    pursuit = replace(with_naive_bayes(), first=5)
    assert pursuit.without([1]).first == 4
    assert pursuit.without([5]).first is None


def test_what_cannot_be_left_out_is_refused() -> None:
    with pytest.raises(InputError, match="no query would be left"):
        with_naive_bayes().without(range(K))
    with pytest.raises(InputError, match="networks of this model were trained on its whole dict"):
        with_networks().without([0])


def test_a_pursuit_moves_to_a_device(pursuit: Pursuit) -> None:
    moved = pursuit.to("cpu")
    assert moved.device == torch.device("cpu")
    images = unit(5, 0)
    assert torch.equal(moved.roll_out(images, K).order, pursuit.roll_out(images, K).order)
