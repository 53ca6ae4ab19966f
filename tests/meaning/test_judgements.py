"""Judgements are read as they are written; the recorded ones are about the classes they name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.text_lists import read_text_list
from infopursuit.meaning.judgements import read_judge, read_strict
from infopursuit.queries.knowledge_lists import open_knowledge
from infopursuit.queries.normalization import normalize
from tests.stage_scripts import ROOT

KNOWLEDGE = ROOT / "params/precomputed/knowledge"
SAID = ROOT / "params/precomputed/meaning"
STRICT = sorted(path.stem for path in (SAID / "strict").glob("*.jsonl"))
JUDGE = sorted(path.stem for path in (SAID / "judge").glob("*.jsonl"))
CLASSES = ["cat", "zebra"]
ZEBRA = '{"text": "stripes", "true": ["zebra"], "often": ["cat"]}\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "said.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", STRICT)
def test_each_strict_text_tells_classes_apart(name: str) -> None:
    classes = open_knowledge(KNOWLEDGE / f"{name.split('-')[0]}.jsonl").classes
    found = read_strict(SAID / f"strict/{name}.jsonl", classes)
    assert len({normalize(text) for text in found.texts}) == len(found.texts) > 0
    assert (found.values == 1).any(axis=0).all()
    assert (found.values == 0).any(axis=0).all()


@pytest.mark.parametrize("name", JUDGE)
def test_the_judge_speaks_of_the_classes_of_the_knowledge_and_of_random_words(name: str) -> None:
    knowledge = open_knowledge(KNOWLEDGE / f"{name}.jsonl")
    found = read_judge(SAID / f"judge/{name}.jsonl", knowledge.classes, knowledge.texts)
    values = found.for_classes_and_texts(knowledge.classes, knowledge.texts)
    assert not np.isnan(values).any()
    assert (values >= 0.5).any(axis=1).all(), "nothing fits some class"
    traps = read_text_list(SAID / "traps.txt")
    assert len(traps) == 60
    assert set(traps) <= set(read_text_list(ROOT / "params/control_words.txt"))
    assert set(traps) <= set(read_judge(SAID / f"judge/{name}.jsonl", knowledge.classes).texts)


def test_unknown_is_neither_true_nor_false_and_the_order_of_classes_is_that_asked_for() -> None:
    classes = list(open_knowledge(KNOWLEDGE / "food10.jsonl").classes)
    found = read_strict(SAID / "strict/food10-vitb32.jsonl", classes)
    fries = found.values[:, found.texts.index("french fries")]
    assert fries[classes.index("french fries")] == 1
    assert np.isnan(fries[classes.index("hamburger")])
    assert fries[classes.index("sushi")] == 0
    turned = read_strict(SAID / "strict/food10-vitb32.jsonl", classes[::-1])
    assert np.array_equal(turned.values, found.values[::-1], True)


def test_a_complete_judge_speaks_of_every_text_once(tmp_path: Path) -> None:
    texts = ["Stripes", "wheels", "Wheels"]
    whole = read_judge(written(tmp_path, '{"complete": true}\n' + ZEBRA), CLASSES, texts)
    assert whole.texts == ("stripes", "wheels")
    assert whole.values.tolist() == [[0.5, 0.0], [1.0, 0.0]]
    partial = read_judge(written(tmp_path, ZEBRA), CLASSES, texts)
    assert partial.texts == ("stripes",)


def test_the_file_that_says_nothing_says_nothing() -> None:
    path = ROOT / "params/no_knowledge.jsonl"
    for found in (read_judge(path, CLASSES, ["stripes"]), read_strict(path, CLASSES)):
        assert found.texts == ()
        assert found.values.shape == (2, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is not valid JSON"),
        ('{"text": "a", "true": []}', r'line 1 is .*; expected {"text": TEXT, "true"'),
        ('{"text": "a", "true": [], "often": "cat"}', r"line 1 is .*; expected"),
        (ZEBRA + ZEBRA.replace("str", "Str"), "line 2, 'Stripes': the text is on line 1, too"),
        (ZEBRA.replace("cat", "dog"), "line 1, 'stripes': 'dog' is no class of the data set"),
        (ZEBRA.replace("cat", "zebra"), "the class 'zebra' comes twice"),
        (ZEBRA + '{"complete": true}', "line 2 is"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"said\.jsonl: {message}|{message}"):
        read_judge(written(tmp_path, text), CLASSES)


def test_missing_and_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: no such file; expected judgements"):
        read_strict(tmp_path / "none.jsonl", CLASSES)
    (tmp_path / "odd.jsonl").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"odd\.jsonl: not a readable UTF-8"):
        read_strict(tmp_path / "odd.jsonl", CLASSES)
