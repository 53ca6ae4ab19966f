"""The figure: equal bytes, no dates, and nothing beyond its edges."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from infopursuit.explanation.explanation import Explanation, Step
from infopursuit.explanation.figure import _facts, explanation_png
from infopursuit.explanation.stopping import StoppingRule

LONG = "smoke rising into the air from a tall chimney stack of brick"


def explained(queries=("wings", "$5 & <b>", LONG), c=12, true_class="class 3") -> Explanation:
    names = tuple(f"class {index}" for index in range(c))
    posteriors = np.random.default_rng(0).dirichlet(np.ones(c), len(queries) + 1)
    steps = tuple(
        Step(query, float(row % 2), tuple(posterior.tolist()), 1.0)
        for row, (query, posterior) in enumerate(zip(queries, posteriors[1:], strict=True))
    )
    return Explanation("x", names, tuple(posteriors[0].tolist()), steps, False, true_class)


def pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


def test_equal_input_gives_equal_bytes_without_dates():
    picture = Image.new("RGB", (40, 30), "red")
    first = explanation_png(explained(), 10, picture)
    assert first == explanation_png(explained(), 10, picture)
    with Image.open(io.BytesIO(first)) as image:
        assert set(image.info) <= {"dpi"}


@pytest.mark.parametrize("picture", [None, Image.new("L", (20, 90), 10)])
@pytest.mark.parametrize(
    "explanation",
    [
        explained(),
        explained(queries=()),
        explained(queries=(LONG,) * 20, true_class=None),
        explained(queries=("a",), c=2, true_class="class 1"),
    ],
)
def test_nothing_touches_the_edge(explanation, picture):
    shown = pixels(explanation_png(explanation, 10, picture))
    for edge in (shown[:8], shown[-8:], shown[:, :8], shown[:, -8:]):
        assert (edge == 255).all()


def test_not_sure_is_neither_green_nor_red():
    step = explained(queries=("wings",)).steps[0]
    for answer, coloured in ((0.0, True), (0.5, False)):
        told = Explanation(
            "x",
            ("a", "b"),
            (0.5, 0.5),
            (replace(step, answer=answer, posterior=(0.5, 0.5)),),
            False,
        )
        shown = pixels(explanation_png(told)).astype(int)
        red = shown[..., 0] - shown[..., 1] > 60
        assert (red.sum() > 50) == coloured


def test_the_rule_and_an_image_of_none_of_the_classes_are_told_beside_the_heat_map():
    unfamiliar = replace(explained(queries=("a",)), familiarity=0.002)
    facts = {fact.label: fact.value for fact in _facts(unfamiliar, StoppingRule(0.85, 20))}
    assert facts["It looks like"] == "none of the classes"
    assert facts["Questions stop"] == "at a probability of 85 % or after 20 questions"
    assert facts["Explanation"] == "1 question (the limit)"
    familiar = replace(unfamiliar, familiarity=0.2)
    assert {fact.label for fact in _facts(familiar, None)} == {*facts} - {
        "It looks like",
        "Questions stop",
    }
    shown = pixels(explanation_png(unfamiliar, 10, Image.new("L", (9, 9)), StoppingRule()))
    assert (shown[-8:] == 255).all()
    assert len(shown) > len(pixels(explanation_png(familiar, 10, Image.new("L", (9, 9)))))


def test_long_class_names_lean_into_the_figure():
    told = explained()
    names = ("a class name that is long beyond all reason and measure", *told.class_names[1:])
    shown = pixels(explanation_png(Explanation("x", names, told.prior, told.steps, True), 12))
    assert (shown[:8] == 255).all()
    assert (shown[:, -8:] == 255).all()


def test_picture_is_drawn():
    with_picture = pixels(explanation_png(explained(), 10, Image.new("RGB", (64, 64), "red")))
    red = (with_picture == (255, 0, 0)).all(axis=2)
    assert red.sum() > 200 * 200


def test_answers_differ_in_shape_as_well_as_colour():
    step = explained(queries=("wings",)).steps[0]
    for answer, filled in ((1.0, True), (0.0, False)):
        told = Explanation(
            "x", ("a", "b"), (0.5, 0.5), (step.__class__("q", answer, (0.5, 0.5), 0.7),), False
        )
        shown = pixels(explanation_png(told)).astype(int)
        green = (shown[..., 1] - shown[..., 0] > 40) & (shown[..., 1] - shown[..., 2] > 20)
        assert (green.sum() > 200) == filled
