"""Explanations as data: what they say of themselves, and back from JSON unchanged."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.explanation.explanation import (
    ExplainedImage,
    Explanation,
    Step,
    answer_value,
    read_explanations,
    write_explanations,
)
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explanation.text import explanation_text
from tests.explanation.made_up import explained

TEXTS = st.text(min_size=1, max_size=12)
SHARES = st.floats(0, 1)
CANDIDATES = st.fixed_dictionaries({"query": TEXTS, "value": st.floats(0, 5)})
STEPS = st.fixed_dictionaries(
    {
        "query": TEXTS,
        "answer": SHARES,
        "posterior": st.lists(SHARES, min_size=2, max_size=2),
        "entropy": st.floats(0, 3),
        "value": st.none() | st.floats(0, 5),
        "runners_up": st.lists(CANDIDATES, max_size=3),
        "overridden": st.booleans(),
    }
)
VALUES = st.fixed_dictionaries(
    {
        "image": TEXTS,
        "class_names": st.just(["a", "b"]),
        "prior": st.lists(SHARES, min_size=2, max_size=2),
        "steps": st.lists(STEPS, max_size=4),
        "confident": st.booleans(),
        "true_class": st.none() | st.just("a"),
        "criterion": st.sampled_from(("information gain", "querier probability")),
    }
)


def test_what_it_says_of_itself() -> None:
    told = explained()
    assert told.questions == ("wings", "a <very> long neck")
    assert told.answers == ("no", "yes")
    assert told.posterior == (0.97, 0.02, 0.01)
    assert (told.predicted_class, told.probability, told.correct) == ("giraffe", 0.97, True)
    assert [step.leader for step in told.steps] == [1, 0]
    assert replace(told, true_class="a & b").correct is False
    assert replace(told, true_class=None).correct is None


def test_without_questions_the_prior_decides() -> None:
    told = explained(steps=())
    assert told.posterior == told.prior
    assert (told.predicted_class, told.probability, told.questions) == ("giraffe", 0.5, ())


def test_answers_in_words_keep_the_value_of_soft_ones() -> None:
    words = [Step("q", answer, (1.0,), 0.0).said for answer in (1.0, 0.0, 0.5, 0.73, 0.4)]
    assert words == ["yes", "no", "not sure", "yes 0.73", "no 0.40"]


@pytest.mark.parametrize(
    ("answer", "value"), [("yes", 1.0), ("no", 0.0), ("not sure", 0.5), (1.0, 1.0), (0.25, 0.25)]
)
def test_answers_as_people_give_them(answer: str | float, value: float) -> None:
    assert answer_value(answer) == value


@pytest.mark.parametrize("answer", ["maybe", "", 1.5, -0.1, float("nan")])
def test_what_is_no_answer_is_refused(answer: str | float) -> None:
    with pytest.raises(InputError, match="expected 'yes', 'no', 'not sure', or a number from 0"):
        answer_value(answer)


def test_top_classes_puts_the_first_of_equals_first() -> None:
    told = Explanation("x", ("a", "b", "c", "d"), (0.1, 0.4, 0.4, 0.1), (), False)
    assert told.top_classes(3) == [1, 2, 0]
    assert told.top_classes(9) == [1, 2, 0, 3]
    assert told.predicted_class == "b"


@given(VALUES)
def test_it_goes_to_json_and_back_unchanged(values: dict[str, Any]) -> None:
    told = Explanation.from_dict(values)
    written = json.dumps(told.to_dict())
    assert {name: json.loads(written)[name] for name in values} == values
    assert Explanation.from_dict(json.loads(written)) == told


def test_missing_and_unknown_keys_are_no_explanation() -> None:
    values = explained().to_dict()
    with pytest.raises(TypeError, match="mood"):
        Explanation.from_dict({**values, "mood": "good"})
    del values["steps"]
    with pytest.raises(KeyError, match="steps"):
        Explanation.from_dict(values)


def test_file_gives_back_what_was_written(tmp_path) -> None:
    images = [
        ExplainedImage(explained(image="ä/1"), "1.png"),
        ExplainedImage(explained(true_class=None, steps=()), "2.png", explained(chosen_from=7)),
    ]
    rule = StoppingRule(0.8, 4, None, 3)
    path = tmp_path / "explanations.json"
    write_explanations(path, rule, images)
    assert read_explanations(path) == (rule, images)
    before = path.read_bytes()
    write_explanations(path, *read_explanations(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["[", "[]", "{}", json.dumps({"stop": {}, "images": [{}]})])
def test_a_malformed_file_is_named(tmp_path, content: str) -> None:
    path = tmp_path / "explanations.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"explanations\.json: not the explanations"):
        read_explanations(path)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_explanations(tmp_path / "explanations.json")


class Cells(HTMLParser):
    """Checks that tags nest, and collects tags and words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_notebooks_show_a_table_whose_words_are_no_markup() -> None:
    found = Cells(explained()._repr_html_())
    words = " ".join(found.words)
    assert found.tags == {"table", "caption", "b", "thead", "tbody", "tr", "th", "td"}
    for shown in ("photo <1>.jpg", "a <very> long neck?", "school <bus>, 50 %", "giraffe, 97 %"):
        assert shown in words


def test_print_shows_the_lines_of_text() -> None:
    assert str(explained()) == explanation_text(explained())


@pytest.mark.parametrize("picture", [None, Image.new("RGB", (8, 6), "red")])
def test_plot_gives_a_figure_with_the_questions(picture: Image.Image | None) -> None:
    figure = explained().plot(classes_shown=2, picture=picture)
    assert isinstance(figure, Figure)
    (axes,) = figure.axes
    words = [text.get_text() for text in axes.texts]
    assert "Does it have wings?" in words
    assert "a <very> long neck?" in words
    assert len(axes.images) == (picture is not None)
    assert "a & b" not in words, "two classes are shown"
