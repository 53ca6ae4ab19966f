"""params/own-photos.yaml: a folder of photos and a CLIP are all that the pipeline needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infopursuit.texts.vocabulary import visual_vocabulary
from tests.clip.conftest import tiny_clip  # noqa: F401
from tests.estimators.test_pictures import write_folder
from tests.repro.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_folder_of_photos_and_a_clip_are_enough(
    tmp_path: Path,
    tiny_clip: Path,  # noqa: F811
) -> None:
    world = World(tmp_path)
    write_folder(tmp_path / "data/photos", 6)
    world.do("python", "-m", "infopursuit", "configure", "params/own-photos.yaml")
    world.edit({("clip",): str(tiny_clip), ("datasets", "photos", "k"): 8})
    world.edit({("language_model", "recorded"): "params/control_words.txt"})
    world.edit({("baselines", "updates"): 5, ("compute", "threads"): 1})
    world.do("python", "-m", "infopursuit", "check")
    ran = world.repro()
    assert "train@photos-informative-naive_bayes-0" in ran
    assert not [name for name in ran if name.startswith(("generate_dictionary", "draw"))]
    classes = (tmp_path / "artifacts/classes/photos.txt").read_text(encoding="utf-8").split()
    assert classes == sorted(path.name for path in (tmp_path / "data/photos").iterdir())
    queries = (tmp_path / "artifacts/initial/photos-informative-0.txt").read_text(encoding="utf-8")
    assert len(set(queries.splitlines()) & set(visual_vocabulary())) == 8
    metrics = json.loads((tmp_path / "artifacts/baselines/photos.json").read_text(encoding="utf-8"))
    assert metrics["test_images"] == 2 * len(classes), "one in five, rounded up"
    assert metrics["train_images"] == 4 * len(classes)
    page = (tmp_path / "artifacts/report/index.html").read_text(encoding="utf-8")
    assert "No table says what is true of these classes" in page
    assert world.repro() == []
