"""`infopursuit fit --llm` in the embedded world: a real HTTP server says what is recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from menagerie.pictures import draw_pictures
from menagerie.species import CLASS_NAMES

import infopursuit
from infopursuit import InformationPursuitClassifier
from infopursuit.clip.embed import embed_pictures, embed_texts
from infopursuit.clip.towers import load_clip
from infopursuit.estimators import language_model
from infopursuit.meaning.measures import hard_answers, sense_measures, shuffled_names
from infopursuit.queries.class_knowledge import TEXTS_PER_PROMPT
from infopursuit.texts.knowledge import KnowledgeTable, read_judge
from tests.cli.conftest import cache as cache
from tests.cli.conftest import run as run
from tests.cli.test_language_model import lines
from tests.queries.language_models.test_openai_server import completion, prompt_of, serving
from tests.stage_scripts import ROOT

WORLD = ROOT / "stages/menagerie"
CLASSES = sorted(CLASS_NAMES)
K, CANDIDATES, TRAIN, TEST = 48, 400, 24, 12


def recorded() -> KnowledgeTable:
    """The whole table: what the recorded answers say of 784 texts."""
    values: dict[str, dict[str, float]] = {name: {} for name in CLASSES}
    for line in (WORLD / "recorded_answers.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["template"] != "class_knowledge" or "answer" not in entry:
            continue
        texts, of_class = entry["variables"]["texts"], values[entry["variables"]["class_name"]]
        true, sometimes = (
            {int(number) for number in re.findall(r"\d+", each)}
            for each in entry["answer"].splitlines()
        )
        for number, text in enumerate(texts, start=1):
            of_class[text] = 1.0 if number in true else 0.5 if number in sometimes else 0.0
    texts = list(values[CLASSES[0]])
    table = np.array([[values[name][text] for text in texts] for name in CLASSES], np.float32)
    return KnowledgeTable(tuple(CLASSES), tuple(texts), table)


def replying(table: KnowledgeTable) -> Callable[[str], str]:
    """Say what the table says: of a class, or, to the judge's prompt, of a text."""

    def reply(prompt: str) -> str:
        asked = prompt.strip().splitlines()[-1]
        block = prompt.rsplit("\n\n", 2)[1]
        named = [re.sub(r"^\d+\. ", "", line) for line in block.splitlines()[1:]]
        if asked.startswith("Class: "):
            [values] = table.for_classes_and_texts([asked.removeprefix("Class: ")], named)
        else:
            text = asked.removeprefix("Question about: ")
            values = table.for_classes_and_texts(named, [text])[:, 0]
        given = list(enumerate(values.tolist(), start=1))
        return lines([n for n, value in given if value == 1], [n for n, v in given if v == 0.5])

    return reply


def test_a_table_of_the_candidates_loses_nothing(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_model, "CANDIDATES", CANDIDATES)
    whole, clip, arrays = recorded(), load_clip(str(WORLD / "clip"), "cpu"), {}
    for split, count in (("train", TRAIN), ("test", TEST)):
        drawn = draw_pictures(count * len(CLASSES), 0, split, 64, 1)
        arrays[f"{split}_embeddings"] = embed_pictures(clip, [each.png for each in drawn])
        arrays[f"{split}_labels"] = np.array([CLASS_NAMES[each.label] for each in drawn])
    texts, rows = list(whole.texts), embed_texts(clip, whole.texts, cache=False)
    np.savez(tmp_path / "images.npz", **arrays)
    np.savez(tmp_path / "texts.npz", texts=np.array(texts), embeddings=rows)
    reply = replying(whole)
    with serving(lambda request: completion(reply(prompt_of(request)))) as (url, requests):
        status, _, log = run(
            "fit", tmp_path / "images.npz", "--texts", tmp_path / "texts.npz", "--queries", K,
            "--out", tmp_path / "model", "--llm", url, "--llm-model", "recorded",
        )  # fmt: skip
    assert status == 0, log
    assert len(requests) == len(CLASSES) * CANDIDATES // TEXTS_PER_PROMPT + K
    of_candidates = infopursuit.load(tmp_path / "model")
    known = of_candidates.knowledge_
    assert known is not None
    assert len(known.texts) == CANDIDATES < len(texts) == 784
    assert np.array_equal(known.values, whole.for_classes_and_texts(known.classes, known.texts))

    X, y = arrays["train_embeddings"], arrays["train_labels"]
    of_all = InformationPursuitClassifier(texts, rows, K, knowledge=whole).fit(X, y)
    judge = read_judge(WORLD / "judge.jsonl", CLASSES, texts)
    labels = np.searchsorted(CLASSES, arrays["test_labels"])
    figures = []
    for model in (of_candidates, of_all):
        assert list(model.classes_) == CLASSES
        curve = model.accuracy_by_budget(arrays["test_embeddings"], arrays["test_labels"])
        asked = hard_answers(model.roll_out(arrays["test_embeddings"], 10))
        table = judge.for_classes_and_texts(CLASSES, model.queries_)
        sense = sense_measures(asked, table, labels, shuffled_names(len(CLASSES), 0, 1))
        figures.append((curve[1:].mean(), sense["supported_yes"]))
    (area, supported), (whole_area, whole_supported) = figures
    assert area > whole_area - 0.01
    assert supported > whole_supported - 0.02
