from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.templates import PromptTemplate
from tests.queries.recordings import Recording, write_recorded

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=0)
CONCEPTS = "At most {{ max_concepts }} concepts.\n\nCaption: {{ caption }}\n"
CLASSES = "Classes:{% for name in classes %}\n- {{ name }}{% endfor %}\nWrite {{ k }}.\nBe brief."


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.jsonl"
    dog = {"caption": "A dog\u2028é.", "max_concepts": 20}
    cat = {"caption": "A cat.", "max_concepts": 20}
    classes = {"classes": ["zebra", "bus"], "k": 2}
    write_recorded(
        path,
        {"concepts": CONCEPTS, "classes": CLASSES},
        [
            Recording("concepts", dog, Answer("1. four legs\n2. tail", "length")),
            Recording("concepts", cat, Answer("1. whiskers", "stop")),
            Recording("classes", classes, Answer("1. stripes\n2. wheels", "stop")),
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


def test_a_caption_without_answer_is_quoted(recorded: Path) -> None:
    prompt = PromptTemplate("p", CONCEPTS).render(caption="A cow.", max_concepts=20)
    with pytest.raises(InputError, match=r"ends in 'Caption: A cow\.'.*vllm or openai"):
        RecordedAnswers(recorded).answer([prompt], SAMPLING)


def test_a_changed_prompt_file_is_reported_with_the_changed_line(recorded: Path) -> None:
    model = RecordedAnswers(recorded)
    prompt = PromptTemplate("p", CONCEPTS).render(caption="A cat.", max_concepts=9)
    with pytest.raises(InputError, match=r"line 1 was 'At most 20 concepts\.' and is 'At most 9"):
        model.answer([prompt], SAMPLING)
    prompt = PromptTemplate("p", CLASSES).render(classes=["zebra", "car"], k=2)
    with pytest.raises(InputError, match="line 3 was '- bus' and is '- car'"):
        model.answer([prompt], SAMPLING)


def test_the_templates_of_the_file_by_name(recorded: Path) -> None:
    model = RecordedAnswers(recorded)
    assert model.template("classes").text == CLASSES
    message = r"recorded\.jsonl: expected a template 'colours', found concepts, classes"
    with pytest.raises(InputError, match=message):
        model.template("colours")


@given(st.integers(), st.text())
def test_seeds_fit_every_server(seed: int, prompt: str) -> None:
    assert 0 <= replace(SAMPLING, seed=seed).seed_for(prompt) < 2**31


def test_each_prompt_and_each_seed_has_its_own_seed() -> None:
    models = [replace(SAMPLING, seed=seed) for seed in range(10)]
    seeds = {model.seed_for(f"prompt {number}") for model in models for number in range(100)}
    assert len(seeds) == 1000
