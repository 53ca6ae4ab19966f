"""Texts, images and classes to Parquet: by functions, by stages, killed and resumed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from math import fsum
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from infopursuit.clip import near_duplicates
from infopursuit.clip.embed_tables import Embedding, embed_classes, embed_images, embed_universe
from infopursuit.clip.near_duplicates import distinct_rows
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.core.errors import InputError
from infopursuit.core.tables import (
    EMBEDDED_CLASSES,
    EMBEDDED_IMAGES,
    EMBEDDED_TEXTS,
    REJECTED_IMAGES,
    UNIVERSE,
    clip_of,
    embedding_matrix,
    read_table,
    write_table,
)
from infopursuit.datasets.decoding import to_rgb
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source
from infopursuit.pipeline.params import load_params
from infopursuit.texts.text_table import TextTable
from tests.clip.conftest import write_params, write_texts, write_universe
from tests.datasets.images import CLASSES, encoded
from tests.stage_scripts import stage

TEXTS = ["red", "blue", "a red thing", "red!", "water"]
SOURCES = [["dictionary/a", "corpus"], ["corpus"], ["corpus"], ["dictionary/b"], ["corpus"]]


def how(tmp_path: Path, batch_size: int = 2, chunk: int = 3) -> Embedding:
    return Embedding(batch_size, chunk, tmp_path / "scratch")


def test_near_texts_are_dropped_but_never_those_of_dictionaries(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    matrix = np.eye(4, dtype=np.float16)[[0, 1, 0, 0, 1]]
    columns = {"text": TEXTS, "source": ["x"] * 5, "embedding": matrix}
    write_table(tmp_path / "table.parquet", EMBEDDED_TEXTS, columns)
    columns = {"text": TEXTS, "sources": SOURCES, "caption_ids": [[]] * 5}
    write_table(universe := tmp_path / "texts.parquet", UNIVERSE, columns)
    clip = load_clip(tmp_path / "table.parquet", "cpu")
    out = tmp_path / "out.parquet"
    with caplog.at_level(logging.INFO):
        rows = embed_universe(universe, out, clip, how(tmp_path), 0.95, "cpu")
    assert rows == (5, 3)
    assert read_table(out, EMBEDDED_TEXTS).column("text").to_pylist() == ["red", "blue", "red!"]
    assert "2 of 5 texts dropped" in caplog.text


def embed(source: ImageSource, tmp_path: Path, clip: Clip, max_rejected: float, **sizes: int):
    out, rejected = tmp_path / "out.parquet", tmp_path / "rejected.parquet"
    rows = embed_images(source, out, rejected, clip, how(tmp_path, **sizes), max_rejected)
    return rows, read_table(out, EMBEDDED_IMAGES), read_table(rejected, REJECTED_IMAGES)


def test_images_are_embedded_in_their_order_without_the_unreadable(
    clip: Clip, image_table: Callable[..., Path], tmp_path: Path
) -> None:
    images = [encoded(row) for row in range(12)]
    images[4] = b"no picture"
    images[11] = encoded(0, "JPEG")[:900]
    source = open_image_source(image_table(image=images), CLASSES)
    message = r"1 of 6 images so far cannot be read \(image-4: not an image .*max_rejected"
    with pytest.raises(InputError, match=message):
        embed(source, tmp_path, clip, 0.05)
    rows, table, rejected = embed(source, tmp_path, clip, 0.2)
    assert rows == (12, 10)
    kept = [row for row in range(12) if row not in (4, 11)]
    assert table.column("id").to_pylist() == [f"image-{row}" for row in kept]
    assert table.column("label").to_pylist() == [row % 3 for row in kept]
    assert rejected.column("id").to_pylist() == ["image-4", "image-11"]
    assert rejected.column("reason")[0].as_py() == "not an image of a known format"
    for row, found in zip(kept, embedding_matrix(table).astype(np.float32), strict=True):
        pixels = torch.stack([clip.preprocess(to_rgb(images[row]))])
        np.testing.assert_allclose(found, clip.encode_images(pixels)[0], atol=1e-3)
    assert clip_of(tmp_path / "out.parquet") == clip.name
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize("batches", [0, 3, 8])
def test_images_resume_to_the_same_bytes(
    clip: Clip, image_table: Callable[..., Path], tmp_path: Path, batches: int
) -> None:
    images = [encoded(row) for row in range(20)]
    images[3] = b"bad"
    source = open_image_source(image_table(20, image=images), CLASSES)
    sizes = {"batch_size": 2, "chunk": 3}
    embed(source, tmp_path, clip, 0.5, **sizes)
    whole = (tmp_path / "out.parquet").read_bytes(), (tmp_path / "rejected.parquet").read_bytes()
    encode, left = clip.encode_images, [False] + [True] * batches

    def killed(batch: torch.Tensor) -> np.ndarray:
        if left.pop():
            return encode(batch)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(clip, "encode_images", killed)
        embed(source, tmp_path, clip, 0.5, **sizes)
    embed(source, tmp_path, clip, 0.5, **sizes)
    resumed = (tmp_path / "out.parquet").read_bytes(), (tmp_path / "rejected.parquet").read_bytes()
    assert resumed == whole


def test_class_names_are_two_prompts_averaged_and_a_table_has_all_or_none(
    clip: Clip, tmp_path: Path
) -> None:
    out = tmp_path / "classes.parquet"
    assert embed_classes(CLASSES, out, clip, batch_size=2) == 3
    table = read_table(out, EMBEDDED_CLASSES)
    prompts = clip.encode_texts([f"a photo of a {name}." for name in CLASSES])
    wanted = clip.encode_texts(CLASSES) + prompts
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(embedding_matrix(table).astype(np.float32), wanted, atol=1e-3)
    assert table.column("class_name").to_pylist() == CLASSES
    write_texts(tmp_path / "table.parquet", [*CLASSES, "water"])
    precomputed = load_clip(tmp_path / "table.parquet", "cpu")
    assert embed_classes(CLASSES, out, precomputed, 2) == 3
    assert embed_classes([*CLASSES, "dog"], out, precomputed, 2) == 0
    table = read_table(out, EMBEDDED_CLASSES)
    assert (len(table), table.schema.field("embedding").type.list_size) == (0, 16)


# -- the stages ----------------------------------------------------------------------------


def test_shards_have_the_rows_of_one_file_and_are_taken_as_images_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["red", "blue", "water"]
    write_texts(tmp_path / "table.parquet", texts)
    columns = {
        "id": [f"image-{row}" for row in range(6)],
        "split": ["test", "train"] * 3,
        "label": [0, 1, 2] * 2,
        "class_name": CLASSES * 2,
        "embedding": 3 * np.random.default_rng(0).normal(size=(6, 16)).astype(np.float16),
    }
    write_table(tmp_path / "embedded.parquet", EMBEDDED_IMAGES, columns)
    write_params(tmp_path, tmp_path / "table.parquet", tmp_path / "embedded.parquet")
    monkeypatch.chdir(tmp_path)
    write_universe(texts, ["hence", "red"])
    images, universe = (
        Path("artifacts", name)
        for name in ("datasets/menagerie/images.parquet", "embeddings/universe.parquet")
    )

    def embedded() -> list[dict]:
        assert stage("embed_universe")(load_params()) == (5, 4)
        # A table gives only the control texts that it has.
        control = TextTable.from_parquet("artifacts/embeddings/control.parquet")
        assert list(control.texts) == ["red"]
        assert stage("embed_images")(load_params(), "menagerie") == (6, 6)
        found = read_table(images, EMBEDDED_IMAGES), read_table(universe, EMBEDDED_TEXTS)
        loaded = TextTable.from_parquet(universe)
        assert list(loaded.texts) == texts
        return [*(table.to_pylist() for table in found), loaded.embeddings.tolist()]

    one_file = embedded()
    yaml = YAML()
    params = yaml.load(tmp_path / "params.yaml")
    kept = tmp_path / "kept.parquet"
    for shards in (2, None):
        params["embeddings"]["shard_rows"] = shards
        yaml.dump(params, tmp_path / "params.yaml")
        assert embedded() == one_file
        if shards:
            assert [len(list(path.iterdir())) for path in (images, universe)] == [3, 2]
            shutil.copytree(images, kept)
            params["datasets"]["menagerie"]["images"] = str(kept)
    assert images.is_file() and universe.is_file()


# -- near duplicates, by blocks against the rule as it is written -----------------------------

CPU = torch.device("cpu")


@pytest.fixture(scope="module", autouse=True)
def _small_blocks() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_duplicates, "BLOCK", 7)
        patch.setattr(near_duplicates, "AGAINST", 5)
        yield


def one_by_one(matrix: np.ndarray, protected: np.ndarray, threshold: float) -> np.ndarray:
    """The rule as it is written, by sums without rounding."""
    kept: list[int] = []
    rows = matrix.astype(np.float64)
    for row, vector in enumerate(rows):
        products = [np.float32(fsum(vector * rows[other])) for other in kept]
        if protected[row] or not any(product >= np.float32(threshold) for product in products):
            kept.append(row)
    return np.isin(np.arange(len(matrix)), kept)


def clustered(seed: int, count: int, centres: int, width: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    # Axes of falling weight and a common direction, as embeddings of texts have.
    scale = 1 / np.arange(1, width + 1)
    middles = rng.normal(size=(centres, width)) * scale + np.eye(width)[0]
    rows = middles[rng.integers(0, centres, count)] + 0.2 * scale * rng.normal(size=(count, width))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([-1.5, 0.2, 0.6, 0.95, 1.0]))
def test_near_duplicates_equal_a_slow_reference(seed: int, count: int, threshold: float) -> None:
    matrix = clustered(seed, count, 8, 6)
    protected = np.random.default_rng(seed).random(count) < 0.2
    kept = distinct_rows(matrix, protected, threshold, CPU)
    np.testing.assert_array_equal(kept, one_by_one(matrix, protected, threshold))
