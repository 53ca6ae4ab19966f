"""`infopursuit fit --llm` in the embedded world: a real HTTP server says what is recorded."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import infopursuit
from infopursuit import InformationPursuitClassifier
from infopursuit.clip.embed import embed_pictures, embed_texts
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.estimators import language_model
from infopursuit.queries.class_knowledge import TEXTS_PER_PROMPT
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit_study.meaning.sense import hard_answers, sense_of_questions
from menagerie.pictures import draw_pictures
from menagerie.species import CLASS_NAMES
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
    """Say what the table says of a class."""

    def reply(prompt: str) -> str:
        asked = prompt.strip().splitlines()[-1]
        block = prompt.rsplit("\n\n", 2)[1]
        named = [re.sub(r"^\d+\. ", "", line) for line in block.splitlines()[1:]]
        [values] = table.for_classes_and_texts([asked.removeprefix("Class: ")], named)
        given = list(enumerate(values.tolist(), start=1))
        return lines([n for n, value in given if value == 1], [n for n, v in given if v == 0.5])

    return reply


class Fitting(NamedTuple):
    """A CLIP, the texts with their embeddings, and `infopursuit fit --llm` on pictures."""

    clip: Clip
    whole: KnowledgeTable
    rows: np.ndarray
    fit: Callable[[np.ndarray, np.ndarray], InformationPursuitClassifier]

    def pictures(self, count: int, seed: int, split: str) -> tuple[np.ndarray, np.ndarray]:
        """Return embeddings and class names of drawn pictures, `count` of each class."""
        drawn = draw_pictures(count * len(CLASSES), seed, split, 64, 1)
        names = np.array([CLASS_NAMES[each.label] for each in drawn])
        return embed_pictures(self.clip, [each.png for each in drawn]), names


@pytest.fixture
def fitting(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fitting:
    monkeypatch.setattr(language_model, "CANDIDATES", CANDIDATES)
    whole, clip = recorded(), load_clip(str(WORLD / "clip"), "cpu")
    rows, reply = embed_texts(clip, whole.texts, cache=False), replying(whole)
    images, texts, model = (tmp_path / name for name in ("images.npz", "texts.npz", "model"))
    np.savez(texts, texts=np.array(whole.texts), embeddings=rows)

    def fit(X: np.ndarray, y: np.ndarray) -> InformationPursuitClassifier:
        np.savez(images, train_embeddings=X, train_labels=y)
        with serving(lambda request: completion(reply(prompt_of(request)))) as (url, requests):
            status, _, log = run(
                "fit", images, "--texts", texts, "--queries", K, "--out", model, "--llm", url,
                "--llm-model", "recorded",
            )  # fmt: skip
        assert status == 0, log
        assert len(requests) == len(CLASSES) * CANDIDATES // TEXTS_PER_PROMPT
        shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        return infopursuit.load(model.rename(tmp_path / "kept"))

    return Fitting(clip, whole, rows, fit)


def test_a_language_model_is_asked_of_the_candidates_alone(fitting: Fitting) -> None:
    known = fitting.fit(*fitting.pictures(TRAIN, 0, "train")).knowledge_
    assert known is not None
    assert len(known.texts) == CANDIDATES < len(fitting.whole.texts) == 784
    expected = fitting.whole.for_classes_and_texts(known.classes, known.texts)
    assert np.array_equal(known.values, expected)


@pytest.mark.slow
def test_a_table_of_the_candidates_is_worth_what_the_whole_one_is(fitting: Fitting) -> None:
    """Statistical: a mean of six draws of training images, each of which has other questions.

    The supported yes of one draw differed by -4 to +8 points, as its questions change with the last
    bits of the embeddings.
    """
    unseen, unseen_y = fitting.pictures(TEST, 0, "test")
    texts, labels = list(fitting.whole.texts), np.searchsorted(CLASSES, unseen_y)
    judge = open_knowledge(WORLD / "judge.csv")

    def measured(model: InformationPursuitClassifier) -> tuple[float, float]:
        assert list(model.classes_) == CLASSES
        asked = hard_answers(model.roll_out(unseen, 10))
        table = judge.for_classes_and_texts(CLASSES, model.queries_)
        sense = sense_of_questions(asked, table, labels)
        return model.accuracy_by_budget(unseen, unseen_y)[1:].mean(), sense["supported_yes"]

    figures = []
    for seed in range(6):
        X, y = fitting.pictures(TRAIN, seed, "train")
        none, of_all = (
            InformationPursuitClassifier(texts, fitting.rows, K, knowledge=each).fit(X, y)
            for each in (None, fitting.whole)
        )
        figures.append([measured(each) for each in (fitting.fit(X, y), of_all, none)])
    areas, supported = np.mean(figures, axis=0).T
    assert areas[0] > areas[1] - 0.01, figures
    assert supported[0] > supported[1] - 0.04, figures
    assert supported[0] > supported[2] + 0.01, figures
