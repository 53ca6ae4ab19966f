import math

import numpy as np
import pytest
import torch

from infopursuit.answers.table import AnswerTable
from infopursuit.answers.words import information_of_words
from infopursuit.meaning.explained import explained_share, most_explained
from tests.meaning.made_up import drawn_answer_table, drawn_roll_out, drawn_table

VALUES = (-1.0, 0.0, 0.5, 1.0)


def mutual_information(joint: dict[tuple[int, float], float]) -> float:
    """Of a joint distribution, from its definition."""
    first, second = {}, {}
    for (a, b), share in joint.items():
        first[a] = first.get(a, 0) + share
        second[b] = second.get(b, 0) + share
    return sum(s * math.log(s / (first[a] * second[b])) for (a, b), s in joint.items() if s)


@pytest.mark.parametrize("levels", [2, 3])
def test_as_defined(levels: int) -> None:
    table, knowledge = drawn_answer_table(levels, levels), drawn_table(levels)
    found = information_of_words(table, knowledge)
    for query in range(9):
        of_words: dict[tuple[int, float], float] = {}
        of_class: dict[tuple[int, float], float] = {}
        for label in range(5):
            value = -1.0 if np.isnan(knowledge[label, query]) else float(knowledge[label, query])
            for answer in range(levels):
                share = float((table.log_likelihood[answer, query, label]).exp())
                share *= float(table.log_prior[label].exp())
                of_class[answer, label] = share
                of_words[answer, value] = of_words.get((answer, value), 0) + share
        assert found.of_words[query] == pytest.approx(mutual_information(of_words), abs=1e-6)
        assert found.of_class[query] == pytest.approx(mutual_information(of_class), abs=1e-6)
        shares = [sum(s for (_, v), s in of_words.items() if v == value) for value in VALUES]
        entropy = -sum(share * math.log(share) for share in shares if share)
        assert found.words[query] == pytest.approx(entropy, abs=1e-6)
    assert (found.leakage > -1e-9).all()
    assert (found.of_words <= found.words + 1e-9).all()


def test_the_share_of_the_questions_asked() -> None:
    table, knowledge, asked = drawn_answer_table(0, 3), drawn_table(0), drawn_roll_out(0)
    found = information_of_words(table, knowledge)
    of_words = sum(found.of_words[query] for query in asked.order.flatten().tolist())
    of_class = sum(found.of_class[query] for query in asked.order.flatten().tolist())
    assert explained_share(asked, table, knowledge) == pytest.approx(of_words / of_class)
    most = sum(min(found.words[q], found.of_class[q]) for q in asked.order.flatten().tolist())
    assert most_explained(asked, table, knowledge) == pytest.approx(most / of_class)


def test_words_that_tell_every_class_explain_all_and_words_true_of_all_nothing() -> None:
    table = drawn_answer_table(0, 3, c=2)
    found = information_of_words(table, np.array([[0] * 9, [1] * 9], dtype=np.float32))
    assert found.leakage == pytest.approx(0, abs=1e-9)
    same = information_of_words(table, np.ones((2, 9), dtype=np.float32))
    assert same.of_words == pytest.approx(0, abs=1e-9)
    assert (same.of_class > 0).any()


def test_answers_that_tell_nothing_have_no_share() -> None:
    table = AnswerTable(torch.full((2, 9, 5), 0.5).log(), torch.full((5,), 0.2).log())
    assert explained_share(drawn_roll_out(0), table, drawn_table(0)) is None
    assert most_explained(drawn_roll_out(0), table, drawn_table(0)) is None
