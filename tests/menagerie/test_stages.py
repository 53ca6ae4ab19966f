"""The stage scripts on a shrunken world: what they write, and that repeats are equal bytes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.clip.towers import load_clip
from infopursuit.core.errors import InputError
from infopursuit.core.stage import RowCounts
from infopursuit.core.tables import IMAGES, clip_of, read_table, write_table
from infopursuit.pipeline.params import load_params
from menagerie.counterfactuals import COUNTERFACTUALS, counterfactual_columns, draw_pairs
from menagerie.embedded_pairs import load_pair_embeddings
from menagerie.pairs import PAIRS
from menagerie.pictures import ATTRIBUTES
from menagerie.settings import load_settings

ROOT = Path(__file__).parents[2]
SHRUNKEN = {
    "size": "32",
    "train_per_class": "2",
    "test_per_class": "1",
    "switched_pairs": "1",
    "scenes": "20",
    "steps": "3",
    "batch_size": "16",
    "phrases": "8",
    # Of the first updates, in the section `early`.
    "  steps": "1",
    "  phrases": "4",
    "descriptions": "8",
    "workers": "1",
    "threads": "1",
}
# Of the captions in each section, in the order of the file: of the world, the pairs, the training.
CAPTIONS = ("20", "2", "4")
STAGES = {
    "draw.py": "92 rows out",
    "draw_pairs.py": "40 rows out",
    "train_clip.py": "40 rows in, 1 model out",
}
WORLD = {
    "images.parquet",
    "attributes.parquet",
    "classes.txt",
    "captions.json",
    "counterfactuals.parquet",
    "places.parquet",
}


def run(stage: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = ROOT / "stages/menagerie" / stage
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    return subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True
    )


def shrink(folder: Path) -> None:
    text = (ROOT / "stages/menagerie/params.yaml").read_text(encoding="utf-8")
    for key, value in SHRUNKEN.items():
        text, found = re.subn(rf"(?m)^(  {key}:).*$", rf"\1 {value}", text)
        assert found == 1, key
    numbers = iter(CAPTIONS)
    text, found = re.subn(r"(?m)^(  captions:).*$", lambda line: f"{line[1]} {next(numbers)}", text)
    assert found == len(CAPTIONS)
    (folder / "stages/menagerie").mkdir(parents=True)
    (folder / "stages/menagerie/params.yaml").write_text(text, encoding="utf-8")


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    shrink(folder)
    for stage, last in STAGES.items():
        finished = run(stage, folder)
        assert finished.returncode == 0, finished.stderr
        assert last in finished.stderr
        assert "warn" not in finished.stderr.lower()
        assert "randomly" not in finished.stderr
    return folder


def test_the_stages_write_the_whole_world(world: Path) -> None:
    out = world / "artifacts/menagerie"
    assert set(digests(out)) == {*WORLD, "pairs.parquet"}
    assert set(digests(world / "stages/menagerie/clip")) == {
        "open_clip_config.json",
        "open_clip_model.safetensors",
    }
    assert digests(world / ".scratch") == {}
    images = read_table(out / "images.parquet", IMAGES)
    assert images.column("split").to_pylist() == ["train"] * 32 + ["test"] * 16
    assert read_table(out / "attributes.parquet", ATTRIBUTES).num_rows == 48
    assert read_table(out / "counterfactuals.parquet", COUNTERFACTUALS).num_rows == 24
    assert read_table(out / "pairs.parquet", PAIRS).num_rows == 40
    assert len((out / "classes.txt").read_text(encoding="utf-8").splitlines()) == 16
    captions = json.loads((out / "captions.json").read_text(encoding="utf-8"))
    assert len(captions["annotations"]) == 20


def test_repeats_are_equal_bytes(world: Path) -> None:
    before = digests(world)
    for stage in STAGES:
        assert run(stage, world).returncode == 0
    assert digests(world) == before


def test_a_mistake_ends_with_one_line_and_status_1(tmp_path: Path) -> None:
    shrink(tmp_path)
    finished = run("train_clip.py", tmp_path)
    assert finished.returncode == 1
    assert "pairs.parquet: no such file" in finished.stderr.splitlines()[-1]


SHIPPED = Path(__file__).parents[2] / "stages/menagerie/params.yaml"


def test_the_shipped_settings_are_valid() -> None:
    settings = load_settings(SHIPPED)
    assert settings.draw.seed == 2
    assert settings.draw.captions == 240


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  seed: 2", "  sede: 2", "draw.seed"),
        ("  steps: ", "  steps: many #", "training.steps"),
        ("layers: [1, 1, 2, 1]", "layers: [1, 1]", "training.vision.layers"),
        ("  size: 64", "  size: 8", "draw.size"),
        ("  batch_size: 64", "  batch_size: 65", "training.batch_size"),
        ("draw:", "draw: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "params.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_settings(path)


CLIP = ROOT / "stages/menagerie/clip"
DRAWN = Path("artifacts/menagerie/counterfactuals.parquet")
OUT = Path("artifacts/images/menagerie.pairs.parquet")


def test_the_embeddings_are_those_of_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pictures = draw_pairs(1, 2, 64, workers=1)
    write_table(DRAWN, COUNTERFACTUALS, counterfactual_columns(pictures))
    params = load_params(ROOT / "params.yaml").model_copy(update={"clip": str(CLIP)})
    main = runpy.run_path(str(ROOT / "stages/menagerie/embed_pairs.py"))["main"]
    assert main(params, "menagerie") == RowCounts(24, 24)
    written = OUT.read_bytes()

    clip = load_clip(CLIP, "cpu")
    opened = [Image.open(io.BytesIO(picture.png)).convert("RGB") for picture in pictures]
    expected = clip.encode_images(torch.stack([clip.preprocess(picture) for picture in opened]))
    found = load_pair_embeddings(OUT, DRAWN)
    assert np.abs(found.numpy() - expected).max() < 1e-3
    assert torch.linalg.vector_norm(found, dim=1).tolist() == pytest.approx([1.0] * 24, abs=1e-6)
    assert clip_of(OUT) == clip.name
    main(params, "menagerie")
    assert OUT.read_bytes() == written
