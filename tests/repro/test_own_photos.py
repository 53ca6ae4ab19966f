"""params/own-photos.yaml: a folder of photos and a CLIP are all that the pipeline needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infopursuit.texts.vocabulary import visual_vocabulary
from tests.clip.conftest import tiny_clip  # noqa: F401
from tests.planted import write_folder
from tests.repro.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_folder_of_photos_and_a_clip_are_enough(
    tmp_path: Path,
    tiny_clip: Path,  # noqa: F811
) -> None:
    world = World(tmp_path)
    write_folder(tmp_path / "data/photos", 6)
    names = [
        path.relative_to(tmp_path / "data/photos").as_posix()
        for path in sorted((tmp_path / "data/photos").rglob("*.png"))
    ]
    world.do("python", "-m", "infopursuit", "configure", "params/own-photos.yaml")
    world.edit({("clip",): str(tiny_clip), ("datasets", "photos", "k"): 8})
    said = [f"{name},{visual_vocabulary()[0]},{'yes' if 'red' in name else 'no'}" for name in names]
    (tmp_path / "said.csv").write_text("\n".join(["image,text,answer", *said, ""]))
    world.edit({("datasets", "photos", "annotations"): "said.csv"})
    world.edit({("questions", "keep"): [visual_vocabulary()[0]]})
    world.edit({("language_model", "recorded"): "params/control_words.txt"})
    world.edit({("compute", "threads"): 1})
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
    assert "By what people say of test images" in page
    model = json.loads(
        (tmp_path / "artifacts/models/photos-informative-naive_bayes-0/model.json").read_text()
    )
    assert "annotations" in model["provenance"]["inputs"]
    assert world.repro() == []
