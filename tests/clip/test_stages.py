"""The two stage scripts as they are run, one of them killed with SIGKILL."""

from __future__ import annotations

import logging
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from infopursuit.clip.towers import load_clip
from infopursuit.core.same_space import check_same_space
from infopursuit.core.tables import (
    EMBEDDED_CLASSES,
    EMBEDDED_IMAGES,
    EMBEDDED_TEXTS,
    UNIVERSE,
    read_table,
    write_table,
)
from infopursuit.core.text_lists import write_text_list
from infopursuit.dictionary.universe import load_universe
from infopursuit.pipeline.params import load_params
from tests.clip.test_clip import write_texts
from tests.clip.test_embed import embedded_images
from tests.datasets.images import CLASSES
from tests.stage_scripts import ROOT, stage

SHARED = ROOT / "../shared/data"


def write_params(folder: Path, clip: Path, images: Path) -> None:
    """The repository's parameters with another CLIP and data set, in small batches and chunks."""
    yaml = YAML()
    params = yaml.load(ROOT / "params.yaml")
    params["clip"] = str(clip)
    params["datasets"]["menagerie"].update(images=str(images))
    params["compute"].update(embed_batch_size=3, embed_chunk=8)
    yaml.dump(params, folder / "params.yaml")
    write_text_list(folder / "artifacts" / "classes" / "menagerie.txt", CLASSES)


def test_killed_while_embedding_images_it_resumes_to_the_same_bytes(
    tiny_clip: Path,
    image_table: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images = image_table(600)
    main = stage("embed_images")
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        write_params(tmp_path / name, tiny_clip, images)

    monkeypatch.chdir(tmp_path / "whole")
    assert main(load_params(), "menagerie") == (600, 600)

    command = [sys.executable, ROOT / "stages" / "embed_images.py", "--dataset", "menagerie"]
    scratch = tmp_path / "killed" / ".scratch" / "embed" / "images-menagerie"
    with subprocess.Popen(command, cwd=tmp_path / "killed", stderr=subprocess.PIPE) as process:
        while process.poll() is None and len(list(scratch.glob("*/*.parquet"))) < 5:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, process.stderr and process.stderr.read()
    finished = len(list(scratch.glob("*/*.parquet")))
    assert 5 <= finished < 75
    assert not (tmp_path / "killed" / "artifacts" / "images" / "menagerie.parquet").exists()

    monkeypatch.chdir(tmp_path / "killed")
    first = min(scratch.glob("*/*.parquet"))
    kept = first.stat().st_mtime_ns
    resumed: list[int] = []
    shutil_rmtree = shutil.rmtree

    def remove(folder: Path) -> None:
        resumed.append(first.stat().st_mtime_ns)
        shutil_rmtree(folder)

    monkeypatch.setattr("infopursuit.clip.embedding_chunks.shutil.rmtree", remove)
    assert main(load_params(), "menagerie") == (600, 600)
    assert resumed == [kept]
    assert not scratch.exists()
    files = sorted((tmp_path / "whole" / "artifacts" / "images").iterdir())
    assert [file.name.partition(".")[2] for file in files] == [
        "classes.parquet",
        "duplicates.parquet",
        "parquet",
        "rejected.parquet",
    ]
    for file in files:
        other = tmp_path / "killed" / "artifacts" / "images" / file.name
        assert other.read_bytes() == file.read_bytes()


def write_universe(texts: list[str], control: list[str]) -> None:
    """The two tables that `build_universe` leaves in the working folder."""
    for name, source, rows in (("texts", "corpus", texts), ("control", "control", control)):
        columns = {"text": rows, "sources": [[source]] * len(rows), "caption_ids": [[]] * len(rows)}
        write_table(f"artifacts/universe/{name}.parquet", UNIVERSE, columns)


def test_universe_and_control_texts_are_embedded_apart_and_repeatably(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_params(tmp_path, tiny_clip, tmp_path / "images.parquet")
    monkeypatch.chdir(tmp_path)
    control = [f"abstract {number}" for number in range(11)]
    write_universe(["red", "blue"], control)
    files = [Path("artifacts/universe") / f"{name}embeddings.parquet" for name in ("", "control_")]
    main = stage("embed_universe")
    assert main(load_params()) == (13, 13)
    first = [file.read_bytes() for file in files]
    assert read_table(files[0], EMBEDDED_TEXTS).column("text").to_pylist() == ["red", "blue"]
    apart = load_universe(files[1])
    assert list(apart.texts) == control
    clip = load_clip(tiny_clip, "cpu")
    np.testing.assert_allclose(apart.embeddings, clip.encode_texts(control), atol=1e-3)
    check_same_space(*files)
    assert main(load_params()) == (13, 13)
    assert [file.read_bytes() for file in files] == first
    assert not any((tmp_path / ".scratch" / "embed").iterdir())


@pytest.mark.parametrize(
    ("control", "kept"), [([], []), (["hence"], []), (["hence", "red"], ["red"])]
)
def test_a_table_of_texts_gives_the_control_texts_that_it_has(
    control: list[str],
    kept: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write_texts(tmp_path / "table.parquet", ["red", "blue"])
    write_params(tmp_path, tmp_path / "table.parquet", tmp_path / "images.parquet")
    monkeypatch.chdir(tmp_path)
    write_universe(["blue"], control)
    with caplog.at_level(logging.INFO):
        assert stage("embed_universe")(load_params()) == (1 + len(control), 1 + len(kept))
    told = f"{len(control) - len(kept)} of {len(control)} control texts have no embedding"
    assert told in caplog.text
    apart = load_universe("artifacts/universe/control_embeddings.parquet")
    assert list(apart.texts) == kept
    assert apart.embeddings.shape == (len(kept), 16)


def test_the_stages_take_precomputed_texts_and_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["red", "blue", "water"]
    write_texts(tmp_path / "table.parquet", texts)
    write_params(tmp_path, tmp_path / "table.parquet", embedded_images(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_universe(texts, [])
    assert stage("embed_universe")(load_params()) == (3, 3)
    assert stage("embed_images")(load_params(), "menagerie") == (6, 6)
    assert len(read_table("artifacts/images/menagerie.parquet", EMBEDDED_IMAGES)) == 6
    assert len(read_table("artifacts/images/menagerie.classes.parquet", EMBEDDED_CLASSES)) == 0


def test_shards_have_the_rows_of_one_file_and_are_taken_as_images_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["red", "blue", "water"]
    write_texts(tmp_path / "table.parquet", texts)
    write_params(tmp_path, tmp_path / "table.parquet", embedded_images(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_universe(texts, ["hence"])
    images, universe = (
        Path("artifacts", name)
        for name in ("images/menagerie.parquet", "universe/embeddings.parquet")
    )

    def embedded() -> list[dict]:
        assert stage("embed_universe")(load_params())[1] == 3
        assert stage("embed_images")(load_params(), "menagerie") == (6, 6)
        found = read_table(images, EMBEDDED_IMAGES), read_table(universe, EMBEDDED_TEXTS)
        loaded = load_universe(universe)
        assert list(loaded.texts) == texts
        return [*(table.to_pylist() for table in found), loaded.embeddings.tolist()]

    one_file = embedded()
    yaml = YAML()
    params = yaml.load(tmp_path / "params.yaml")
    params["embeddings"]["shard_rows"] = 2
    yaml.dump(params, tmp_path / "params.yaml")
    assert embedded() == one_file
    assert [len(list(path.iterdir())) for path in (images, universe)] == [3, 2]
    kept = tmp_path / "kept.parquet"
    shutil.copytree(images, kept)
    params["datasets"]["menagerie"]["images"] = str(kept)
    params["embeddings"]["shard_rows"] = None
    yaml.dump(params, tmp_path / "params.yaml")
    assert embedded() == one_file
    assert images.is_file() and universe.is_file()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real embeddings are not here")
@pytest.mark.parametrize(
    ("space", "classes", "count"),
    [
        ("clip_rn50", "caltech101", 3249),
        ("clip_vitb32", "food10", 2500),
        ("clip_vitb32", "oxford_pets", 4997),
    ],
)
def test_real_precomputed_embeddings_pass(
    space: str, classes: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = SHARED / space
    write_params(tmp_path, shared / "texts.parquet", shared / f"{classes}.parquet")
    names = ROOT / "params" / "precomputed" / "classes" / f"{classes}.txt"
    shutil.copy(names, tmp_path / "artifacts" / "classes" / "menagerie.txt")
    monkeypatch.chdir(tmp_path)
    assert stage("embed_images")(load_params(), "menagerie") == (count, count)
