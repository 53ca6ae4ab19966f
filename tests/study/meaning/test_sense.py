"""Questions, answers and a reader, against counts one by one; and traps for a judge."""

import math

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.estimators.sense import plausible_questions, reader_accuracy, supported_yes
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit_study.experiments.traps import chain_trap, word_trap
from tests.study.meaning.made_up import drawn_roll_out, drawn_table, roll_out_of


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_one_by_one(seed: int) -> None:
    asked, judged = drawn_roll_out(seed), drawn_table(seed)
    judged[:, 3] = 0
    plausible, supported = [], []
    for image in range(len(asked.order)):
        predicted = int(asked.posteriors[image, -1].argmax())
        for step in range(asked.order.shape[1]):
            query = int(asked.order[image, step])
            plausible.append(any(judged[label, query] >= 0.5 for label in range(5)))
            if asked.answers[image, step] == 1:
                supported.append(judged[predicted, query] >= 0.5)
    assert plausible_questions(asked, judged) == pytest.approx(np.mean(plausible))
    assert supported_yes(asked, judged) == pytest.approx(np.mean(supported))


def test_without_yes_nothing_is_supported_or_not() -> None:
    asked = roll_out_of([[0]], [[0.5]], [0], 2)
    assert supported_yes(asked, np.ones((2, 1), dtype=np.float32)) is None


@pytest.mark.parametrize("seed", range(5))
def test_as_reckoned_one_by_one(seed: int) -> None:
    asked, judged = drawn_roll_out(seed), drawn_table(seed)
    labels = np.random.default_rng(seed).integers(0, 5, len(asked.order))
    right = 0.0
    for image, label in enumerate(labels):
        posterior = [1.0] * 5
        for query, answer in zip(asked.order[image], asked.answers[image], strict=True):
            for each in range(5):
                says_yes = {1.0: 0.9, 0.5: 0.5}.get(float(judged[each, query]), 0.1)
                if answer == 1:
                    posterior[each] *= says_yes
                elif answer == 0:
                    posterior[each] *= 1 - says_yes
        best = [math.isclose(each, max(posterior)) for each in posterior]
        right += best[label] / sum(best)
    assert reader_accuracy(asked, judged, labels) == pytest.approx(right / len(labels))


WORDS = ("tacit", "escrow", "warrant")
CLASSES = ("cat", "zebra", "bus")


def test_random_words_that_fit_a_class_are_told_with_their_classes() -> None:
    values = np.array([[0, 0.5, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], np.float32)
    judged = KnowledgeTable(CLASSES, (*WORDS, "whiskers"), values)
    found = word_trap(judged, WORDS)
    assert found.given == {"escrow": ["cat", "bus"]}
    assert found.caught == 1 / 3
    with pytest.raises(InputError, match="says nothing of the random word 'rarely'"):
        word_trap(judged, ["rarely"])
    with pytest.raises(InputError, match="no random words"):
        word_trap(judged, [])


def chains(labels: np.ndarray, judged: np.ndarray, wrong: float):
    """All questions asked of every image, answered by its class, some of them the wrong way."""
    draw = np.random.default_rng(1)
    answers = (judged[labels] == 1) ^ (draw.random((len(labels), judged.shape[1])) < wrong)
    order = [list(range(judged.shape[1]))] * len(labels)
    return roll_out_of(order, answers.astype(float).tolist(), labels.tolist(), len(judged))


def test_a_reader_names_the_class_from_true_chains_and_not_from_permuted_ones() -> None:
    draw = np.random.default_rng(0)
    labels = draw.choice(4, 600, p=[0.4, 0.3, 0.2, 0.1])
    judged = (draw.random((4, 12)) < 0.4).astype(np.float32)
    found = chain_trap(chains(labels, judged, 0.05), judged, labels)
    assert found.true > 0.95
    assert found.guessing == pytest.approx(((np.bincount(labels) / 600) ** 2).sum())
    assert found.permuted == pytest.approx(found.guessing, abs=0.03)


def test_a_judge_who_says_the_same_of_all_classes_is_caught() -> None:
    labels = np.arange(40) % 4
    judged = np.ones((4, 6), np.float32)
    found = chain_trap(chains(labels, judged, 0.3), judged, labels)
    assert found.true == pytest.approx(found.permuted) == pytest.approx(0.25)
