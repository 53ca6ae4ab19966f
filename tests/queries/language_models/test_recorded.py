import json
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling, open_language_model
from infopursuit.queries.language_models.recorded import RecordedAnswers, Recording, write_recorded
from infopursuit.queries.templates import PromptTemplate

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
    model = open_language_model({"backend": "recorded", "recorded": str(recorded)})
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


def test_a_changed_prompt_file_is_told_from_a_new_caption(recorded: Path) -> None:
    model = RecordedAnswers(recorded)
    prompt = PromptTemplate("p", CONCEPTS).render(caption="A cat.", max_concepts=9)
    with pytest.raises(InputError, match=r"line 1 was 'At most 20 concepts\.' and is 'At most 9"):
        model.answer([prompt], SAMPLING)
    prompt = PromptTemplate("p", CLASSES).render(classes=["zebra", "car"], k=2)
    with pytest.raises(InputError, match="line 3 was '- bus' and is '- car'"):
        model.answer([prompt], SAMPLING)


def test_whoever_opens_the_file_says_what_to_do_about_a_missing_prompt(recorded: Path) -> None:
    with pytest.raises(InputError, match=r"ends in 'x'; ask somebody else$"):
        RecordedAnswers(recorded, remedy="ask somebody else").answer(["x"], SAMPLING)


def test_the_templates_of_the_file_by_name(recorded: Path) -> None:
    model = RecordedAnswers(recorded)
    assert model.template("classes").text == CLASSES
    message = r"recorded\.jsonl: expected a template 'colours', found concepts, classes"
    with pytest.raises(InputError, match=message):
        model.template("colours")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 3 is not valid JSON"),
        ("[1]", r"line 3 is list; expected a JSON object"),
        ('{"template": "concepts"}', r"line 3 has the keys template; expected"),
        ('{"template": "concepts", "text": "again"}', r"line 3 gives the template 'concepts'"),
        ('{"template": "concepts", "text": 5}', r"line 3: text is 5; expected str"),
        (
            '{"template": "new", "variables": {}, "answer": "", "finish_reason": "stop"}',
            r"line 3 names the template 'new'; expected one given on an earlier line, found con",
        ),
        (
            '{"template": "concepts", "variables": {"caption": "x", "max_concepts": 1},'
            ' "answer": "other", "finish_reason": "stop"}',
            r"line 3 answers the same prompt as line 2",
        ),
        (
            '{"template": "concepts", "variables": {"caption": "y"},'
            ' "answer": "", "finish_reason": "stop"}',
            r"line 1, template 'concepts': UndefinedError: 'max_concepts' is undefined",
        ),
        (
            '{"template": "concepts", "variables": {"caption": "y", "max_concepts": 1},'
            ' "answer": "\\ud83d", "finish_reason": "stop"}',
            r"line 3 holds half of a surrogate pair",
        ),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "recorded.jsonl"
    variables = {"caption": "x", "max_concepts": 1}
    write_recorded(
        path, {"concepts": CONCEPTS}, [Recording("concepts", variables, Answer("1. a", "stop"))]
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=message):
        RecordedAnswers(path)


def test_missing_and_undecodable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; expected recorded answers"):
        RecordedAnswers(tmp_path / "nowhere.jsonl")
    path = tmp_path / "binary.jsonl"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="not a readable UTF-8"):
        RecordedAnswers(path)


def test_the_format_is_one_json_object_a_line(recorded: Path) -> None:
    entries = [json.loads(line) for line in recorded.read_text(encoding="utf-8").split("\n")[:-1]]
    assert entries[0] == {"template": "concepts", "text": CONCEPTS}
    assert entries[3] == {
        "template": "concepts",
        "variables": {"caption": "A cat.", "max_concepts": 20},
        "answer": "1. whiskers",
        "finish_reason": "stop",
    }
