import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import (
    Answer,
    AnswersFromRecord,
    NotRecordedError,
    Sampling,
)
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.templates import FilledPrompt, PromptTemplate
from tests.queries.recordings import Recording, write_recorded

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=0)
CONCEPTS = "At most {{ max_concepts }} concepts.\n\nCaption: {{ caption }}\n"
CLASSES = "Classes:{% for name in classes %}\n- {{ name }}{% endfor %}\nWrite {{ k }}.\nBe brief."

KNOWN = "{{ texts }} of {{ class_name }}"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.jsonl"
    dog = {"caption": "A dog\u2028é.", "max_concepts": 20}
    cat = {"caption": "A cat.", "max_concepts": 20}
    classes = {"classes": ["zebra", "bus"], "k": 2}
    write_recorded(
        path,
        {"concepts": CONCEPTS, "classes": CLASSES, "known": KNOWN},
        [
            Recording("concepts", dog, Answer("1. four legs\n2. tail", "length")),
            Recording("concepts", cat, Answer("1. whiskers", "stop")),
            Recording("classes", classes, Answer("1. stripes\n2. wheels", "stop")),
            Recording(
                "known",
                {"class_name": "bus", "texts": ["wheels", "fur"]},
                Answer("true: 1\nsometimes:", "stop"),
            ),
        ],
    )
    return path


def test_replays_what_was_written(recorded: Path) -> None:
    model = RecordedAnswers(recorded)
    prompts = [
        PromptTemplate("p", CLASSES).render(classes=["zebra", "bus"], k=2),
        PromptTemplate("p", CONCEPTS).render(caption="A cat.", max_concepts=20),
        PromptTemplate("p", CONCEPTS).render(caption="A dog\u2028é.", max_concepts=20),
    ]
    assert model.answer(prompts, SAMPLING) == [
        Answer("1. stripes\n2. wheels", "stop"),
        Answer("1. whiskers", "stop"),
        Answer("1. four legs\n2. tail", "length"),
    ]


OTHER_PROMPT = PromptTemplate(
    "p", "{{ caption }} {{ k }} {{ class_name }} {{ text }} {{ texts }} {{ classes }}"
)


def filled(**variables: Any) -> FilledPrompt:
    """A prompt that was never recorded, about something."""
    offered = dict.fromkeys(OTHER_PROMPT.variables(), "")
    prompt = OTHER_PROMPT.render(**offered | variables)
    prompt.variables = variables
    return prompt


@pytest.mark.parametrize(
    ("variables", "answer"),
    [
        ({"caption": "A cat.", "max_concepts": 3}, "1. whiskers"),
        ({"caption": "a  cat"}, "1. whiskers"),
        ({"classes": ["zebra", "bus"], "k": 9}, "1. stripes\n2. wheels"),
        ({"classes": ["Bus", "zebra"], "k": 1}, "1. stripes\n2. wheels"),
        ({"class_name": "bus", "texts": ["wheels", "fur"], "classes": []}, "true: 1\nsometimes:"),
        ({"text": "wheels", "classes": ["bus", "cat"]}, "true: 1\nsometimes: 2"),
    ],
)
def test_any_prompt_is_answered_by_what_it_is_about(
    recorded: Path, variables: dict[str, Any], answer: str
) -> None:
    for prompt in (filled(**variables), pickle.loads(pickle.dumps(filled(**variables)))):
        [found] = RecordedAnswers(recorded).answer([prompt], SAMPLING)
        assert found == Answer(answer, "stop")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"caption": "A cow."},
            r"about captions such as 'A cow\.'; .*visual_vocabulary.*vllm or openai",
        ),
        (
            {"classes": ["zebra", "car"], "k": 2},
            r"about queries for classes such as 'zebra, car'; .*run\.inits to \[informative\]",
        ),
        (
            {"class_name": "bus", "texts": ["fur", "hat"]},
            r"about what is true of classes such as 'bus'; .*params/no_knowledge\.csv",
        ),
        ({"colour": "red"}, "about prompts such as"),
    ],
)
def test_what_is_not_recorded_is_an_error_with_the_way_out_if_nothing_else_is_asked(
    recorded: Path,
    variables: dict[str, Any],
    message: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = RecordedAnswers(recorded)
    with pytest.raises(
        NotRecordedError, match=rf"recorded\.jsonl: no answer is recorded {message}"
    ):
        model.answer([filled(**variables)], SAMPLING)
    known, unknown = model.answer([filled(caption="A cat."), filled(**variables)], SAMPLING)
    assert (known.text, unknown) == ("1. whiskers", Answer("", "not recorded"))
    assert "no answer is recorded to 1 of 2 prompts, about " in caplog.text


def test_the_very_prompt_comes_first_then_the_longest_answer(tmp_path: Path) -> None:
    answers = {2: "1. a\n2. b", 4: "1. c\n2. d\n3. e\n4. f", 3: "1. g\n2. h\n3. i"}
    write_recorded(
        tmp_path / "r.jsonl",
        {"classes": CLASSES},
        [
            Recording("classes", {"classes": ["bus"], "k": k}, Answer(text, "stop"))
            for k, text in answers.items()
        ],
    )
    model = RecordedAnswers(tmp_path / "r.jsonl")
    same = [PromptTemplate("p", CLASSES).render(classes=["bus"], k=k) for k in answers]
    assert [each.text for each in model.answer(same, SAMPLING)] == list(answers.values())
    assert model.answer([filled(classes=["bus"], k=2)], SAMPLING)[0].text == answers[4]


@pytest.mark.parametrize(
    ("kind", "names", "others", "expected"),
    [
        ("class_name", [], [], [("bus", ["wheels", "fur"])]),
        ("class_name", ["Bus", "car"], ["Fur"], [("bus", ["wheels", "fur"])]),
        ("class_name", ["bus"], ["hat"], "what is true of classes such as 'bus' with 'hat'"),
        ("class_name", ["car"], [], "what is true of classes such as 'car'; set datasets"),
        ("text", ["wheels"], ["cat"], [("wheels", ["bus", "cat"])]),
        ("classes", ["bus"], [], "queries for classes such as 'bus'"),
        ("classes", ["bus", "zebra"], [], [("bus, zebra", [])]),
    ],
)
def test_what_answers_are_about(
    recorded: Path, kind: str, names: list[str], others: list[str], expected: Any
) -> None:
    model = RecordedAnswers(recorded)
    assert isinstance(model, AnswersFromRecord)
    if isinstance(expected, str):
        with pytest.raises(NotRecordedError, match=expected):
            model.recorded(kind, names, others)
    else:
        assert model.recorded(kind, names, others) == expected


def test_the_templates_of_the_file_by_name(recorded: Path) -> None:
    model = RecordedAnswers(recorded)
    assert model.template("classes").text == CLASSES
    message = r"recorded\.jsonl: expected a template 'colours', found concepts, classes, known"
    with pytest.raises(InputError, match=message):
        model.template("colours")


@given(st.integers(), st.text())
def test_seeds_fit_every_server(seed: int, prompt: str) -> None:
    assert 0 <= replace(SAMPLING, seed=seed).seed_for(prompt) < 2**31


def test_each_prompt_and_each_seed_has_its_own_seed() -> None:
    models = [replace(SAMPLING, seed=seed) for seed in range(10)]
    seeds = {model.seed_for(f"prompt {number}") for model in models for number in range(100)}
    assert len(seeds) == 1000
