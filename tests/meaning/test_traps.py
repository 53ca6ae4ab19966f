import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.meaning.reader import reader_accuracy
from infopursuit.meaning.traps import chain_trap, word_trap
from infopursuit.queries.knowledge import KnowledgeTable
from tests.meaning.made_up import roll_out_of

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


def test_permutations_are_of_the_seed_and_leave_the_true_chains_alone() -> None:
    draw = np.random.default_rng(2)
    labels = draw.integers(0, 4, 50)
    judged = (draw.random((4, 6)) < 0.5).astype(np.float32)
    asked = chains(labels, judged, 0.1)
    one, again, other = (chain_trap(asked, judged, labels, seed, 1) for seed in (0, 0, 1))
    assert one == again
    assert one.permuted != other.permuted
    assert one.true == other.true == reader_accuracy(asked, judged, labels)
