"""The recorded lists are about the classes they name, and say one thing of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infopursuit.queries.knowledge_lists import open_knowledge
from infopursuit.queries.normalization import normalize
from tests.meaning.recorded import HERE, judged_table, strict_truth

KNOWLEDGE = Path(__file__).parents[2] / "params/precomputed/knowledge"
STRICT = sorted(path.stem for path in (HERE / "strict").glob("*.jsonl"))
JUDGE = sorted(path.stem for path in (HERE / "judge").glob("*.jsonl"))


@pytest.mark.parametrize("name", STRICT)
def test_each_strict_text_tells_classes_apart(name: str) -> None:
    classes = open_knowledge(KNOWLEDGE / f"{name.split('-')[0]}.jsonl").classes
    texts, table = strict_truth(name, classes)
    assert len({normalize(text) for text in texts}) == len(texts)
    assert table.shape == (len(classes), len(texts))
    assert (table == 1).any(axis=0).all()
    assert (table == 0).any(axis=0).all()


@pytest.mark.parametrize("name", JUDGE)
def test_the_judge_speaks_of_the_classes_of_the_knowledge(name: str) -> None:
    knowledge = open_knowledge(KNOWLEDGE / f"{name}.jsonl")
    found = judged_table(name, knowledge.classes, knowledge.texts)
    assert found.counts()["unknown"] == 0
    assert (found.values >= 0.5).any(axis=1).all(), "nothing fits some class"


def test_unknown_is_neither_true_nor_false_and_the_order_of_classes_is_that_asked_for() -> None:
    classes = list(open_knowledge(KNOWLEDGE / "food10.jsonl").classes)
    texts, table = strict_truth("food10-vitb32", classes)
    fries = table[:, texts.index("french fries")]
    assert fries[classes.index("french fries")] == 1
    assert np.isnan(fries[classes.index("hamburger")])
    assert fries[classes.index("sushi")] == 0
    assert np.array_equal(strict_truth("food10-vitb32", classes[::-1])[1], table[::-1], True)
