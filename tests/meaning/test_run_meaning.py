"""A model of the pipeline measured as a whole, on images that show what is true of their class."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.dictionary.universe import Universe
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.meaning.measures import hard_answers, truth_measures
from infopursuit.meaning.run_meaning import Judgements, RunMeaning, coded, measure_run
from infopursuit.meaning.text_rule import rule_of_texts
from infopursuit.queries.knowledge import KnowledgeTable
from tests.meaning.made_up import drawn_roll_out

TEXTS = [f"text {number}" for number in range(24)]
CLASSES = tuple("abcdef")
STOP = StoppingRule(0.85, 20)
NOTHING = KnowledgeTable(CLASSES, (), np.zeros((6, 0), np.float32))


@pytest.fixture(scope="module")
def world() -> tuple[LabelledImages, LabelledImages, Universe, KnowledgeTable]:
    """Images of the two splits, texts, and which text is true of which class."""
    draw = np.random.default_rng(0)
    values = (draw.random((6, 24)) < 0.3).astype(np.float32)
    embeddings = draw.standard_normal((24, 64))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    splits = []
    for count in (360, 180):
        labels = np.arange(count) % 6
        rows = values[labels] @ embeddings + 0.1 * draw.standard_normal((count, 64))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        ids = tuple(map(str, range(count)))
        images = torch.tensor(rows).float()
        splits.append(LabelledImages(ids, torch.tensor(labels), images, CLASSES))
    universe = Universe(tuple(TEXTS), embeddings.astype(np.float16), None)
    return *splits, universe, KnowledgeTable(CLASSES, tuple(TEXTS), values)


def measured(world, said: Judgements, **settings: object) -> RunMeaning:
    train, test, universe, _ = world
    answers = settings.pop("answers", "three_valued")
    model = InformationPursuitClassifier(
        universe.texts, universe.embeddings, queries=TEXTS[:16], answers=answers
    )
    model.fit(train.embeddings, train.labels.numpy())
    model = model.with_class_names(CLASSES)
    model.provenance_ = {"settings": settings}
    return measure_run(model, train, test, universe, said, STOP, 3)


def some(table: KnowledgeTable, columns: slice) -> KnowledgeTable:
    return KnowledgeTable(table.classes, table.texts[columns], table.values[:, columns])


def test_judge_and_strict_list_are_asked_and_shuffled_names_give_chance(world) -> None:
    truth = world[3]
    found = measured(world, Judgements(truth, some(truth, slice(4, 24)), truth)).figures
    assert (found["truth"]["by"], found["sense"]["by"]) == ("strict", "judge")
    listed = truth.values[:, 4:].any(axis=0).sum()
    assert found["truth"]["texts"] == listed > 12, "also those that the dictionary lacks"
    assert found["truth"]["precision_of_yes"] > 0.85
    assert found["truth"]["shuffled_balanced"] == pytest.approx(0.5, abs=0.08)
    assert found["sense"]["questions"] == 10
    assert found["sense"]["supported_yes"] > 0.85
    assert found["sense"]["reader"] > 0.8 > 2 * found["sense"]["shuffled_reader"]
    assert found["explained"]["explained"] > 2 * found["explained"]["shuffled_explained"]
    assert found["explained"]["explained"] <= found["explained"]["at_most"] + 1e-9


def test_without_judge_and_list_the_knowledge_table_is_taken_and_named(world) -> None:
    found = measured(world, Judgements(NOTHING, NOTHING, world[3]))
    assert found.figures["truth"]["by"] == found.figures["sense"]["by"] == "knowledge"
    assert found.figures["truth"]["texts"] <= 16, "of the dictionary alone"
    assert {each.by for each in found.worst} <= {"knowledge"}
    assert all(each.yes for each in found.worst)


def test_where_nobody_says_anything_nothing_is_measured(world) -> None:
    found = measured(world, Judgements(NOTHING, NOTHING, NOTHING))
    assert found.figures == {"truth": None, "sense": None, "explained": None}
    assert found.worst == []


def test_a_list_that_turns_everything_round_finds_false_answers(world) -> None:
    truth = world[3]
    turned = KnowledgeTable(truth.classes, truth.texts, 1 - truth.values)
    found = measured(world, Judgements(truth, turned, NOTHING))
    assert len(found.worst) <= 10
    assert found.worst
    harms = [each.after - each.before - each.true_after + each.true_before for each in found.worst]
    assert harms == sorted(harms, reverse=True)
    assert {each.by for each in found.worst} == {"strict"}
    assert found.figures["truth"]["precision_of_yes"] < 0.2
    assert found.figures["explained"] is None


def test_queries_between_texts_are_not_measured_as_words(world) -> None:
    truth = world[3]
    found = measured(world, Judgements(truth, truth, truth), quantize_queries=False)
    assert found.figures["sense"] is found.figures["explained"] is None
    assert found.figures["truth"]["by"] == "strict"
    assert found.worst == []


@pytest.mark.parametrize("answers", ["three_valued", "threshold", "minmax"])
def test_the_rule_of_other_texts_is_of_the_same_kind(world, answers: str) -> None:
    train, _, universe, _ = world

    def fitted(queries: list[str]) -> InformationPursuitClassifier:
        model = InformationPursuitClassifier(
            universe.texts, universe.embeddings, queries=queries, answers=answers,
            validation_fraction=0.0,
        )  # fmt: skip
        return model.fit(train.embeddings, train.labels.numpy())

    rule = rule_of_texts(fitted(TEXTS[:8]).pursuit_.rule, universe, TEXTS[8:], train, None)
    assert torch.equal(
        rule.answers(train.embeddings), fitted(TEXTS[8:]).pursuit_.rule.answers(train.embeddings)
    )


def test_soft_answers_count_by_their_side() -> None:
    asked = drawn_roll_out(0)._replace(answers=torch.tensor([[0.2, 0.5, 0.9, 1.0]]))
    assert hard_answers(asked).answers.tolist() == [[0.0, 0.5, 1.0, 1.0]]
    assert coded(torch.tensor([[0.2, 0.5, 0.9]])).tolist() == [[-1, 0, 1]]


def test_chance_of_truth_is_the_mean_over_the_shuffled_names() -> None:
    table, labels = np.eye(2, dtype=np.float32), np.array([0, 1, 0, 1])
    answers = np.where(table[labels] == 1, 1, -1)
    found = truth_measures(answers, table, labels, [np.array([0, 1]), np.array([1, 0])])
    assert found["precision_of_yes"] == 1
    assert found["shuffled_precision_of_yes"] == found["shuffled_balanced"] == 0.5
