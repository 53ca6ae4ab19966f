"""A model of the pipeline measured as a whole, on images that show what is true of their class."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.answers.rules import AnswerRule, MinMaxAnswers, SoftAnswers
from infopursuit.pursuit.vip.updates import fit_threshold_rule
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.text_table import TextTable
from infopursuit_study.meaning.measures import (
    ReferenceLabels,
    claims_of_images,
    measure_meaning,
    rule_of_texts,
    truth_measures,
)
from infopursuit_study.meaning.question_quality import hard_answers
from tests.study.meaning.made_up import drawn_roll_out

TEXTS = [f"text {number}" for number in range(24)]
CLASSES = tuple("abcdef")
NOTHING = KnowledgeTable(CLASSES, (), np.zeros((6, 0), np.float32))


@pytest.fixture(scope="module")
def world() -> tuple[LabelledImages, LabelledImages, TextTable, KnowledgeTable]:
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
    universe = TextTable(tuple(TEXTS), embeddings.astype(np.float16), None)
    return *splits, universe, KnowledgeTable(CLASSES, tuple(TEXTS), values)


def measured(world, reference: ReferenceLabels, **settings: object) -> dict:
    train, test, universe, _ = world
    model = InformationPursuitClassifier(universe.texts, universe.embeddings, queries=TEXTS[:16])
    model.fit(train.embeddings, train.labels.numpy())
    model = model.with_class_names(CLASSES)
    model.provenance_ = {"settings": settings}
    opening = model.roll_out(test.embeddings, 10)
    return measure_meaning(model, opening, train, test, universe, reference, 3)


def test_reference_labels_are_asked_and_shuffled_names_give_chance(world) -> None:
    truth = world[3]
    answers = KnowledgeTable(CLASSES, truth.texts[4:], truth.values[:, 4:])
    found = measured(world, ReferenceLabels(truth, answers, truth))
    assert found["truth"]["by"] == "answer_reference"
    listed = truth.values[:, 4:].any(axis=0).sum()
    assert found["truth"]["texts"] == listed > 12, "also those that the dictionary lacks"
    assert found["truth"]["precision_of_yes"] > 0.85
    assert found["truth"]["shuffled_balanced"] == pytest.approx(0.5, abs=0.08)
    quality = found["question_quality"]
    assert (quality["by"], quality["questions"]) == ("question_reference", 10)
    assert quality["supported_yes"] > 0.85
    assert quality["reader"] > 0.8 > 2 * quality["shuffled_reader"]


def test_without_reference_labels_the_knowledge_table_is_taken_and_named(world) -> None:
    found = measured(world, ReferenceLabels(NOTHING, NOTHING, world[3]))
    assert found["truth"]["by"] == found["question_quality"]["by"] == "knowledge"
    assert found["truth"]["texts"] <= 16, "of the dictionary alone"


def test_a_list_that_turns_everything_round_finds_false_answers(world) -> None:
    truth = world[3]
    turned = KnowledgeTable(truth.classes, truth.texts, 1 - truth.values)
    found = measured(world, ReferenceLabels(truth, turned, NOTHING))
    assert found["truth"]["precision_of_yes"] < 0.2


def test_the_rule_of_other_texts_is_of_the_same_kind(world) -> None:
    train, _, universe, _ = world
    images, labels = UnitMatrix(train.embeddings, "images"), train.labels

    def rules(queries: list[str]) -> list[AnswerRule]:
        texts = universe.unit_matrix.take(universe.rows(queries))
        model = InformationPursuitClassifier(
            universe.texts, universe.embeddings, queries=queries, validation_fraction=0.0
        )
        return [
            model.fit(train.embeddings, labels.numpy()).pursuit_.rule,
            MinMaxAnswers(texts),
            fit_threshold_rule(texts, universe.unit_matrix, images, labels),
        ]

    for some, others in zip(rules(TEXTS[:8]), rules(TEXTS[8:]), strict=True):
        found = rule_of_texts(some, universe, TEXTS[8:], train, None)
        assert torch.equal(found.answers(train.embeddings), others.answers(train.embeddings))


def test_soft_answers_count_by_their_side() -> None:
    drawn, rule = drawn_roll_out(0), SoftAnswers(torch.eye(9))
    asked = drawn._replace(order=drawn.order[:1], answers=torch.tensor([[0.2, 0.5, 0.9, 1.0]]))
    assert hard_answers(rule, asked).answers.tolist() == [[0.0, 0.5, 1.0, 1.0]]


def test_answers_by_levels_claim_what_is_printed_of_them(world) -> None:
    train, test, universe, _ = world
    model = InformationPursuitClassifier(universe.texts, universe.embeddings, queries=TEXTS[:16])
    rule = model.fit(train.embeddings, train.labels.numpy()).pursuit_.rule
    answers, means = rule.answers(test.embeddings), {"yes": 1.0, "probably": 1.0, "no": 0.0}
    said = [
        [means.get(rule.word(k, a), 0.5) for k, a in enumerate(row)] for row in answers.tolist()
    ]
    assert {value for row in said for value in row} == {0.0, 0.5, 1.0}
    assert claims_of_images(rule, test.embeddings).tolist() == said
    opening = model.roll_out(test.embeddings, 10)
    in_order = torch.tensor(said).gather(1, opening.order)
    assert torch.equal(hard_answers(rule, opening).answers, in_order)


def test_chance_of_truth_is_the_mean_over_the_shuffled_names() -> None:
    table, labels = np.eye(2, dtype=np.float32), np.array([0, 1, 0, 1])
    answers = np.where(table[labels] == 1, 1.0, -1.0)
    found = truth_measures(answers, table, labels, [np.array([0, 1]), np.array([1, 0])])
    assert found["precision_of_yes"] == 1
    assert found["shuffled_precision_of_yes"] == found["shuffled_balanced"] == 0.5
