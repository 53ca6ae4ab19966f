"""Answers that are known before the first question, and classes that are all there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.known import classes_in_words, known_in_words
from infopursuit.pursuit.naive_bayes.model import AnswerTable, InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.report.explanations import as_csv, as_html
from tests.pursuit.conftest import IMAGES, QUERIES, K, unit, with_naive_bayes, with_networks
from tests.shapes import UNTYPED

SAID = {"wings": "yes", "Red body?": "no"}


def test_what_is_known_is_shown_first_and_asked_of_no_one(
    pursuit: Pursuit, answers: torch.Tensor
) -> None:
    view, stop = pursuit.given(SAID), StoppingRule(0.8, 6, stability=None)
    explained = view.explain(answers, stop, [f"image {row}" for row in range(IMAGES)])
    endings = view.ask_until(answers, stop)
    for row, each in enumerate(explained):
        assert [(step.question, step.said) for step in each.known] == [
            ("Does it have wings?", "yes"), ("Does it show a red body?", "no")
        ]  # fmt: skip
        assert {step.posterior for step in each.known} == {each.prior}
        assert len(each.steps) == int(endings.length[row])
        assert not {"wings", "red body"} & set(each.questions)
        assert each == Explanation.from_dict(each.to_dict())
        old = {key: value for key, value in each.to_dict().items() if key != "known"}
        assert Explanation.from_dict(old) == replace(each, known=())
        dialogue = Dialogue(view, answers[row], stop=stop).finish()
        asked = dialogue.explanation()
        assert (asked.questions, asked.ended) == (each.questions, each.ended)
        assert [step.query for step in asked.known] == [step.query for step in each.known]
        assert asked.posterior == pytest.approx(each.posterior, abs=2e-6)
    one = explained[0]
    for shown in (str(one), as_csv([one]), as_html([one], {})):
        assert "wings?" in shown
    for refused in (lambda: dialogue.step("wings"), lambda: dialogue.answer("yes", "wings")):
        with pytest.raises(InputError, match="known"):
            refused()


def test_naive_bayes_among_classes_is_the_model_of_their_columns() -> None:
    pursuit, kept = with_naive_bayes(), [1, 3]
    table = pursuit.classifier.table
    assert table is not None
    prior = torch.tensor([0.75, 0.25]).log()  # 0.3 and 0.1
    fewer = AnswerTable(table.log_likelihood[:, :, kept], prior, table.independent_answers)
    expected = replace(
        pursuit,
        class_names=("bus", "ship"),
        querier=InformationGain(fewer),
        classifier=NaiveBayes(fewer),
    )
    found, images = pursuit.given(classes=["ship", "bus", "ship"]), unit(IMAGES, 2)
    assert found.class_names == expected.class_names
    one, two = found.roll_out(images, K, 3), expected.roll_out(images, K, 3)
    assert torch.equal(one.order, two.order)
    assert torch.allclose(one.posteriors, two.posteriors, atol=1e-6)
    assert torch.allclose(one.values, two.values, atol=1e-6)
    assert not torch.equal(one.order, pursuit.roll_out(images, K).order)


def test_networks_among_classes_have_no_logits_of_others(answers: torch.Tensor) -> None:
    pursuit, images = with_networks(), unit(IMAGES, 2)
    before = {name: each.clone() for name, each in pursuit.classifier.tensors().items()}
    found, whole = pursuit.given(classes=["giraffe", "bird"]), pursuit.roll_out(images, K)
    assert found.class_names == ("bird", "giraffe")
    rolled = found.roll_out(images, K)
    assert torch.equal(rolled.order, whole.order)
    kept = whole.posteriors[:, :, [0, 2]]
    expected = kept / kept.sum(dim=2, keepdim=True)
    assert torch.allclose(rolled.posteriors, expected, atol=1e-5)
    assert all(
        torch.equal(each, before[name]) for name, each in pursuit.classifier.tensors().items()
    )


def test_classes_go_by_label_or_name(pursuit: Pursuit) -> None:
    labelled = replace(pursuit, labels=(3, 5, 7, 9))
    assert labelled.given(classes=[9, "bird"]).labels == (3, 9)
    commas = replace(pursuit, class_names=("bird", "bus, red", "giraffe", "ship"))
    assert classes_in_words(commas, ["bus, red", "ship, bird"]) == ["bus, red", "ship", "bird"]
    assert classes_in_words(commas, []) is None


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"classes": []}, "empty"),
        ({"classes": ["bird", "girafe"]}, "girafe"),
        ({"classes": "bird"}, "list"),
        ({"classes": 3}, "list"),
        pytest.param({"known": [["yes"]]}, "dict", marks=UNTYPED),
        ({"known": {"wings": "yes", "Wings?": "yes"}}, "twice"),
        ({"known": {"wings": "perhaps"}}, "perhaps"),
    ],
)
def test_other_answers_and_classes_are_refused(
    pursuit: Pursuit, given: dict[str, Any], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        pursuit.given(**given)


def test_texts_are_parted_at_the_equals_sign_behind_a_question(pursuit: Pursuit) -> None:
    odd = replace(pursuit, queries=("cap=bell", "a=b=c", *QUERIES[2:]))
    known = known_in_words(odd, ["cap=bell=yes", "a=b=c = not sure", "whiskers=0.8"])
    assert odd.given(known).known == {0: 1.0, 1: 0.5, 7: 0.8}
    for text, word in (
        ("wings", "QUESTION=ANSWER"),
        ("wing=yes", "wing"),
        ("whiskers=perhaps", "perhaps"),
        ("=" * 9999, "''"),
    ):
        with pytest.raises(InputError, match=word):
            odd.given(known_in_words(odd, [text]))
    with pytest.raises(InputError, match="twice"):
        known_in_words(odd, ["whiskers=yes", "whiskers=no"])
