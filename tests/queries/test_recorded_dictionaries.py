"""The recorded dictionaries that are shipped, for the data sets of params/paper.yaml."""

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from infopursuit.core.text_lists import read_text_list
from infopursuit.queries.class_queries import ask_dictionary, open_prompt
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.normalization import normalize
from infopursuit.queries.parsing import MAX_WORDS, parse_answer

ROOT = Path(__file__).parents[2]
PROMPT = ROOT / "src/infopursuit/queries/prompts/class_queries.jinja"
RECORDED = sorted((ROOT / "params/dictionaries").glob("*.jsonl"))
PAPER = YAML(typ="safe").load((ROOT / "params/paper.yaml").read_text("utf-8"))
DATASETS = PAPER["datasets"]
SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=400, seed=0)

each = pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])


def entries(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def names_in(text: str, names: list[str]) -> list[str]:
    """The class names, in singular or plural, that occur in a text as words of their own."""
    return [
        name
        for name in names
        if re.search(rf"\b{re.escape(name)}(?:s|es)?\b", text)
        or (name.endswith("y") and re.search(rf"\b{re.escape(name[:-1])}ies\b", text))
    ]


def test_a_class_name_is_found_in_singular_and_plural() -> None:
    names = ["bus", "pony", "sea lion"]
    assert names_in("two buses and ponies", names) == ["bus", "pony"]
    assert names_in("sea lions", names) == ["sea lion"]
    assert names_in("busy road by the sea", names) == []


def test_every_data_set_of_the_paper_has_its_own() -> None:
    assert [path.stem for path in RECORDED] == sorted(DATASETS)
    for name, settings in DATASETS.items():
        dictionary = PAPER["queries"]["dictionaries"][name]
        assert dictionary == f"params/dictionaries/{name}.jsonl"
        assert (ROOT / dictionary).is_file(), dictionary
        for key in ("images", "classes"):
            assert (ROOT / settings[key]).is_file(), settings[key]


@each
def test_the_shipped_prompt_is_answered_for_these_classes_and_k_alone(path: Path) -> None:
    template, answer = entries(path)
    classes = read_text_list(ROOT / DATASETS[path.stem]["classes"])
    assert template == {"template": "class_queries", "text": PROMPT.read_text("utf-8")}
    assert answer["template"] == "class_queries"
    assert answer["variables"] == {"classes": classes, "k": DATASETS[path.stem]["k"]}
    assert answer["finish_reason"] == "stop"


@each
def test_every_line_is_a_query(path: Path, tmp_path: Path) -> None:
    k = DATASETS[path.stem]["k"]
    classes = read_text_list(ROOT / DATASETS[path.stem]["classes"])
    names = [normalize(name) for name in classes]
    recorded = entries(path)[1]["answer"]
    assert recorded.count("\n") == k - 1
    parsed = parse_answer(Answer(recorded, "stop"), limit=k)
    assert parsed.rejected == []
    assert len(set(parsed.concepts)) == k
    assert max(len(concept.split()) for concept in parsed.concepts) <= MAX_WORDS
    assert [concept for concept in parsed.concepts if names_in(concept, names)] == []
    model, template = open_prompt(path, {"backend": "not asked"})
    assert ask_dictionary(model, template, classes, k, SAMPLING, tmp_path) == parsed.concepts


def test_rival10_has_the_answer_of_cifar10_to_a_prompt_of_its_own() -> None:
    cifar10, rival10 = (
        entries(ROOT / f"params/dictionaries/{name}.jsonl")[1] for name in ("cifar10", "rival10")
    )
    assert cifar10["answer"] == rival10["answer"]
    assert cifar10["variables"] != rival10["variables"]
