"""params/cifar10-vocabulary.yaml: from a download to the report, and no network after the download.

The hub is on this machine and has a small data set and a tiny CLIP, in the forms of the real ones.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from infopursuit.core.files import read_text_list
from infopursuit.core.settings import read_yaml
from infopursuit.texts.vocabulary import visual_vocabulary
from tests.clip.conftest import tiny_clip  # noqa: F401
from tests.datasets.test_packed_pictures import hub_parquet
from tests.repro.world import World
from tests.small_hub import serving, write_card

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OVERLAY, PIN, COMMIT = "params/cifar10-vocabulary.yaml", "params/images/cifar10.yaml", "c" * 40
CLIP = f"hub: zoo/tiny\nrevision: {COMMIT}\nweights: {{}}\n"


def test_the_first_step_runs_from_download_to_report(
    tmp_path: Path,
    tiny_clip: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, hub = World(tmp_path / "world"), tmp_path / "hub"
    pin = read_yaml(world.folder / PIN, "a pin")
    classes = read_text_list(world.folder / "params/classes/cifar10.txt")
    data = hub / "datasets" / pin["hub"] / pin["revision"]
    for split, count in (("train", 60), ("test", 20)):
        labels = pa.array([row % len(classes) for row in range(count)], pa.int64())
        first = 0 if split == "train" else 60
        hub_parquet(data / f"{split}-0.parquet", count, first, names=classes, label=labels)
    write_card(data, pin["config"], {"train": "train-*", "test": "test-*"})
    shutil.copytree(tiny_clip, hub / "models/zoo/tiny" / COMMIT)
    [weights] = tiny_clip.glob("*.safetensors")
    (world.folder / "params/clip/tiny.yaml").write_text(CLIP.format(weights.name))
    world.edit({("counts",): {"train": 60, "test": 20}}, PIN)
    world.edit({("clip",): "params/clip/tiny.yaml", ("datasets", "cifar10", "k"): 8}, OVERLAY)
    world.edit({("compute", "threads"): 1})
    with serving(hub) as env:
        monkeypatch.setenv("HF_HOME", env["HF_HOME"])
        done = subprocess.run(
            [sys.executable, "-m", "infopursuit", "fetch", OVERLAY],
            cwd=world.folder,
            env={**world.environment(), **env, "HF_HUB_OFFLINE": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    for key, name in (("clip", "zoo/tiny"), ("datasets.cifar10.images", pin["hub"])):
        line = rf"^{key}: {name}, 0\.0\d GB to come; licence: mit$"
        assert re.search(line, done.stderr, re.MULTILINE), done.stderr
    assert "needs no network" in done.stderr
    world.do("python", "-m", "infopursuit", "configure", OVERLAY)
    ran = world.repro()
    assert "train@cifar10-informative-gaussian-0" in ran
    assert not [name for name in ran if name.startswith(("generate_dictionary", "draw"))]
    artifacts = world.folder / "artifacts"
    queries = (artifacts / "initial/cifar10-informative-0.txt").read_text(encoding="utf-8")
    assert len(set(queries.splitlines()) & set(visual_vocabulary())) == 8
    metrics = json.loads((artifacts / "baselines/cifar10.json").read_text(encoding="utf-8"))
    assert (metrics["train_images"], metrics["test_images"]) == (60, 20)
    assert (artifacts / "report/index.html").is_file()
    assert world.repro() == []
