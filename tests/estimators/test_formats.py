"""Models that were saved before load, and predict what they did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import infopursuit
from infopursuit.estimators.saved import FORMAT, REQUIRES, UNRELEASED
from tests.estimators.formats import FOLDER, RECORDED, made

KEPT = sorted(path.parent for path in FOLDER.rglob(RECORDED))


def test_there_is_one_of_each_kind_and_format() -> None:
    formats = [number for number in range(1, FORMAT + 1) if number not in UNRELEASED]
    names = ("naive_bayes", "networks", "table")
    expected = {FOLDER / f"format_{number}" / name for number in formats for name in names}
    assert set(KEPT) == expected
    assert sum(file.stat().st_size for file in FOLDER.rglob("*")) < 100_000


@pytest.mark.parametrize("folder", KEPT, ids=[f"{each.parent.name}-{each.name}" for each in KEPT])
def test_a_kept_model_predicts_what_it_did(folder: Path) -> None:
    model = infopursuit.load(folder, device="cpu")
    known = json.loads((folder / RECORDED).read_text(encoding="utf-8"))
    rows = np.array(known["images"], np.float64 if folder.name == "table" else np.float32)
    assert model.classes_.tolist() == known["classes"]
    np.testing.assert_allclose(model.predict_proba(rows), known["probabilities"], atol=1e-5)
    assert [list(each.questions) for each in model.explain(rows)] == known["questions"]


def test_todays_models_have_the_keys_of_todays_format(tmp_path: Path) -> None:
    """A key that comes or goes is another format, once a release wrote this one."""
    for name, model in made().items():
        model.save(tmp_path)
        kept = json.loads((FOLDER / f"format_{FORMAT}" / name / "model.json").read_text())
        today = json.loads((tmp_path / "model.json").read_text())
        assert today.keys() == kept.keys()
        assert today["settings"].keys() == kept["settings"].keys()
        assert (today["format"], today["requires"]) == (FORMAT, REQUIRES)
