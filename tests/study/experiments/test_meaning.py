"""The benchmark of truth and sense, on made-up images that show what is true of their class."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit_study.experiments import meaning
from infopursuit_study.experiments.meaning_tables import interval

WIDTH, TRAIN, TEST = 48, 12, 6


def write_data(folder: Path) -> None:
    """Write Food-10 in a made-up space: images are sums of the texts of their class, with noise."""
    draw = np.random.default_rng(0)
    knowledge = open_knowledge(meaning.ROOT / "params/precomputed/knowledge/food10.csv")
    classes = knowledge.classes
    texts = meaning.strict_truth("food10-vitb32", classes)[0]
    texts += [text for text in knowledge.texts if text not in texts][:60]
    texts += [f"thing {number}" for number in range(120)]
    embeddings = draw.standard_normal((len(texts), WIDTH))
    judged = open_knowledge(meaning.JUDGEMENTS / "judge/food10.csv")
    fits = judged.for_classes_and_texts(classes, texts) == 1
    labels = np.repeat(np.arange(len(classes)), TRAIN + TEST)
    images = fits[labels] @ embeddings + draw.standard_normal((len(labels), WIDTH))
    split = np.where(np.arange(len(labels)) % (TRAIN + TEST) < TRAIN, "train", "test")
    (folder / "clip_vitb32").mkdir(parents=True)
    pq.write_table(
        pa.table({"text": texts, "embedding": embeddings.tolist()}),
        folder / "clip_vitb32/texts.parquet",
    )
    columns = {
        "id": [str(number) for number in range(len(labels))],
        "split": split.tolist(),
        "class_name": [classes[label] for label in labels],
        "embedding": images.tolist(),
    }
    pq.write_table(pa.table(columns), folder / "clip_vitb32/food10.parquet")


@pytest.mark.slow
def test_figures_are_repeatable_fall_to_chance_and_skip_missing_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_data(tmp_path / "data")
    monkeypatch.setattr(meaning, "ATTRIBUTES", {"food10": "food10-vitb32"})
    command = ["meaning", "--seeds", "2", "--tasks", "food10", "pets"]
    for run in ("one", "two"):
        monkeypatch.setattr(meaning, "OUT", tmp_path / run)
        monkeypatch.setattr(sys, "argv", [*command, "--data", str(tmp_path / "data")])
        meaning.main()
    text = (tmp_path / "one/meaning.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "two/meaning.json").read_text(encoding="utf-8")
    assert "pets: skipped, since" in capsys.readouterr().out
    figures = json.loads(text)["food10"]
    for seed in figures["five_valued, T"]:
        assert seed["auc"] > 0.6
        assert seed["strict_balanced"] > 0.75
        assert seed["strict_shuffled_balanced"] == pytest.approx(0.5, abs=0.06)
        assert seed["reader"] > 2 * seed["shuffled_reader"]
        assert seed["attributes_auroc"] > 0.75
    drafted = figures["five_valued, T by CLIP"]
    for without, with_draft in zip(figures["five_valued"], drafted, strict=True):
        assert with_draft["plausible"] > without["plausible"]
    more = figures["five_valued, T"]
    less = figures["five_valued, T, leakage 0.35"]
    for with_all, with_less in zip(more, less, strict=True):
        assert with_less["explained"] >= with_all["explained"]
    page = (tmp_path / "one/meaning.md").read_text(encoding="utf-8")
    assert "| food10 | five_valued, T |" in page


def test_intervals_over_seeds_by_students_t() -> None:
    assert interval([None, None]) == (None, None)
    assert interval([0.25, None]) == (0.25, None)
    mean, half = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.3027 / 3**0.5, abs=1e-3)
