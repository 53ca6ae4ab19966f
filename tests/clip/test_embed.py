"""Texts, images and classes to Parquet, at the level of the library."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from infopursuit.clip.embed_images import embed_images
from infopursuit.clip.embed_universe import embed_classes, embed_universe
from infopursuit.clip.embedding_chunks import Embedding
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.core.clip_names import clip_of
from infopursuit.core.errors import InputError
from infopursuit.core.tables import (
    EMBEDDED_CLASSES,
    EMBEDDED_IMAGES,
    EMBEDDED_TEXTS,
    REJECTED_IMAGES,
    UNIVERSE,
    embedding_matrix,
    read_table,
    write_table,
)
from infopursuit.datasets.embedded_images import copy_embedded_images
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source
from tests.clip.test_clip import write_texts
from tests.datasets.images import CLASSES, encoded

TEXTS = ["red", "blue", "a red thing", "red!", "water"]
SOURCES = [["dictionary/a", "corpus"], ["corpus"], ["corpus"], ["dictionary/b"], ["corpus"]]


@pytest.fixture(scope="session")
def clip(tiny_clip: Path) -> Clip:
    return load_clip(tiny_clip, "cpu")


def how(tmp_path: Path, batch_size: int = 2, chunk: int = 3) -> Embedding:
    return Embedding(batch_size, chunk, tmp_path / "scratch")


def universe(path: Path, texts: list[str] = TEXTS, sources: list[list[str]] = SOURCES) -> Path:
    columns = {"text": texts, "sources": sources, "caption_ids": [[] for _ in texts]}
    write_table(path / "texts.parquet", UNIVERSE, columns)
    return path / "texts.parquet"


def test_the_universe_is_embedded_in_its_order(clip: Clip, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    rows = embed_universe(universe(tmp_path), out, clip, how(tmp_path), None, "cpu")
    assert rows == (5, 5)
    table = read_table(out, EMBEDDED_TEXTS)
    assert table.column("text").to_pylist() == TEXTS
    assert table.column("source").to_pylist() == [",".join(several) for several in SOURCES]
    matrix = embedding_matrix(table).astype(np.float32)
    np.testing.assert_allclose(matrix, clip.encode_texts(TEXTS), atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-3)
    assert clip_of(out) == clip.name
    assert not (tmp_path / "scratch").exists()


def test_near_texts_are_dropped_but_never_those_of_dictionaries(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    matrix = np.eye(4, dtype=np.float16)[[0, 1, 0, 0, 1]]
    columns = {"text": TEXTS, "source": ["x"] * 5, "embedding": matrix}
    write_table(tmp_path / "table.parquet", EMBEDDED_TEXTS, columns)
    clip = load_clip(tmp_path / "table.parquet", "cpu")
    out = tmp_path / "out.parquet"
    with caplog.at_level(logging.INFO):
        rows = embed_universe(universe(tmp_path), out, clip, how(tmp_path), 0.95, "cpu")
    assert rows == (5, 3)
    assert read_table(out, EMBEDDED_TEXTS).column("text").to_pylist() == ["red", "blue", "red!"]
    assert "2 of 5 texts dropped" in caplog.text


def test_an_empty_universe_and_an_unknown_text_are_told(clip: Clip, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with pytest.raises(InputError, match="no rows"):
        embed_universe(universe(tmp_path, [], []), out, clip, how(tmp_path), None, "cpu")
    write_texts(tmp_path / "table.parquet", TEXTS[:-1])
    table = load_clip(tmp_path / "table.parquet", "cpu")
    with pytest.raises(InputError, match="'water' not among its 4 texts"):
        embed_universe(universe(tmp_path), out, table, how(tmp_path), None, "cpu")
    assert not out.exists()


class StoppedError(Exception):
    """Stands for a kill between two calls of a tower."""


@contextlib.contextmanager
def stopping_after(clip: Clip, calls: int, method: str) -> Iterator[None]:
    """Make one of the towers of `clip` raise after so many calls."""
    original = getattr(clip, method)
    left = calls

    def encode(*batch: object) -> object:
        nonlocal left
        if not left:
            raise StoppedError
        left -= 1
        return original(*batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clip, method, encode)
        yield


@pytest.mark.parametrize("chunks", range(3))
def test_texts_resume_to_the_same_bytes(clip: Clip, tmp_path: Path, chunks: int) -> None:
    texts = [f"thing {number}" for number in range(7)]
    path = universe(tmp_path, texts, [["corpus"]] * 7)
    whole, resumed = tmp_path / "whole.parquet", tmp_path / "resumed.parquet"
    embed_universe(path, whole, clip, how(tmp_path), None, "cpu")
    with pytest.raises(StoppedError), stopping_after(clip, chunks, "encode_texts"):
        embed_universe(path, resumed, clip, how(tmp_path), None, "cpu")
    assert not resumed.exists()
    with stopping_after(clip, 3 - chunks, "encode_texts"):
        embed_universe(path, resumed, clip, how(tmp_path), None, "cpu")
    assert resumed.read_bytes() == whole.read_bytes()


def test_other_texts_do_not_resume(clip: Clip, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with pytest.raises(StoppedError), stopping_after(clip, 1, "encode_texts"):
        embed_universe(universe(tmp_path), out, clip, how(tmp_path), None, "cpu")
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    texts = [text.upper() for text in TEXTS]
    embed_universe(universe(tmp_path, texts), out, clip, how(tmp_path), None, "cpu")
    matrix = embedding_matrix(read_table(out, EMBEDDED_TEXTS)).astype(np.float32)
    np.testing.assert_allclose(matrix, clip.encode_texts(texts), atol=1e-3)
    assert not (tmp_path / "scratch").exists()


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
    rows, table, rejected = embed(source, tmp_path, clip, 0.2)
    assert rows == (12, 10)
    kept = [row for row in range(12) if row not in (4, 11)]
    assert table.column("id").to_pylist() == [f"image-{row}" for row in kept]
    assert table.column("label").to_pylist() == [row % 3 for row in kept]
    assert rejected.column("id").to_pylist() == ["image-4", "image-11"]
    assert rejected.column("reason")[0].as_py() == "not an image of a known format"
    from infopursuit.datasets.decoding import to_rgb

    for row, found in zip(kept, embedding_matrix(table).astype(np.float32), strict=True):
        pixels = torch.stack([clip.preprocess(to_rgb(images[row]))])
        np.testing.assert_allclose(found, clip.encode_images(pixels)[0], atol=1e-3)
    assert clip_of(tmp_path / "out.parquet") == clip.name
    assert not (tmp_path / "scratch").exists()


def test_too_many_unreadable_images_stop_the_run_with_reasons(
    clip: Clip, image_table: Callable[..., Path], tmp_path: Path
) -> None:
    images = [encoded(row) for row in range(12)]
    images[4] = images[5] = b"no picture"
    source = open_image_source(image_table(image=images), CLASSES)
    message = r"2 of 6 images so far cannot be read \(image-4: not an image .*max_rejected"
    with pytest.raises(InputError, match=message):
        embed(source, tmp_path, clip, 0.1)
    assert embed(source, tmp_path, clip, 0.2)[0] == (12, 10)


def test_a_chunk_without_a_readable_image_and_a_null_image_pass(
    clip: Clip, image_table: Callable[..., Path], tmp_path: Path
) -> None:
    import pyarrow as pa

    path = image_table()
    table = pq.read_table(path)
    images = [None if row in (3, 4, 5) else encoded(row) for row in range(12)]
    pq.write_table(table.set_column(4, "image", pa.array(images, pa.binary())), path)
    rows, _, rejected = embed(open_image_source(path, CLASSES), tmp_path, clip, 0.5)
    assert rows == (12, 9)
    assert rejected.column("reason").to_pylist() == ["missing"] * 3


def test_rejections_that_empty_a_split_are_told(
    clip: Clip, image_table: Callable[..., Path], tmp_path: Path
) -> None:
    path = image_table(3, image=[b"bad", encoded(1), encoded(2)])
    with pytest.raises(InputError, match="split 'test' is empty"):
        embed(open_image_source(path, CLASSES), tmp_path, clip, 1.0)


@pytest.mark.parametrize("batches", range(0, 12, 2))
def test_images_resume_to_the_same_bytes(
    clip: Clip, image_table: Callable[..., Path], tmp_path: Path, batches: int
) -> None:
    images = [encoded(row) for row in range(20)]
    images[3] = b"bad"
    source = open_image_source(image_table(20, image=images), CLASSES)
    sizes = {"batch_size": 2, "chunk": 3}
    embed(source, tmp_path, clip, 0.5, **sizes)
    whole = (tmp_path / "out.parquet").read_bytes(), (tmp_path / "rejected.parquet").read_bytes()
    with pytest.raises(StoppedError), stopping_after(clip, batches, "encode_images"):
        embed(source, tmp_path, clip, 0.5, **sizes)
    embed(source, tmp_path, clip, 0.5, **sizes)
    resumed = (tmp_path / "out.parquet").read_bytes(), (tmp_path / "rejected.parquet").read_bytes()
    assert resumed == whole


def test_class_names_are_two_prompts_averaged(clip: Clip, tmp_path: Path) -> None:
    out = tmp_path / "classes.parquet"
    assert embed_classes(CLASSES, out, clip, batch_size=2) == 3
    table = read_table(out, EMBEDDED_CLASSES)
    prompts = clip.encode_texts([f"a photo of a {name}." for name in CLASSES])
    wanted = clip.encode_texts(CLASSES) + prompts
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(embedding_matrix(table).astype(np.float32), wanted, atol=1e-3)
    assert table.column("class_name").to_pylist() == CLASSES


def test_a_table_embeds_all_class_names_or_none(tmp_path: Path) -> None:
    out = tmp_path / "classes.parquet"
    write_texts(tmp_path / "table.parquet", [*CLASSES, "water"])
    clip = load_clip(tmp_path / "table.parquet", "cpu")
    assert embed_classes(CLASSES, out, clip, 2) == 3
    assert embed_classes([*CLASSES, "dog"], out, clip, 2) == 0
    table = read_table(out, EMBEDDED_CLASSES)
    assert len(table) == 0
    assert table.schema.field("embedding").type.list_size == 16


def embedded_images(path: Path, clip: str | None = None, **columns: object) -> Path:
    matrix = 3 * np.random.default_rng(0).normal(size=(6, 16)).astype(np.float16)
    whole: dict[str, object] = {
        "id": [f"image-{row}" for row in range(6)],
        "split": ["test", "train"] * 3,
        "label": [0, 1, 2] * 2,
        "class_name": CLASSES * 2,
        "embedding": matrix,
    }
    write_table(path / "embedded.parquet", EMBEDDED_IMAGES, {**whole, **columns}, clip)
    return path / "embedded.parquet"


def copy(path: Path, clip: Clip, classes: list[str] = CLASSES) -> Path:
    out = path.with_name("copy.parquet")
    rejected = path.with_name("rejected.parquet")
    assert copy_embedded_images(path, classes, out, rejected, clip.width, clip.name) == (6, 6)
    assert len(read_table(rejected, REJECTED_IMAGES)) == 0
    return out


def test_precomputed_images_come_out_with_unit_norm(clip: Clip, tmp_path: Path) -> None:
    path = embedded_images(tmp_path, clip.name)
    out = copy(path, clip)
    table = read_table(out, EMBEDDED_IMAGES)
    before = embedding_matrix(read_table(path, EMBEDDED_IMAGES)).astype(np.float32)
    after = embedding_matrix(table).astype(np.float32)
    wanted = before / np.linalg.norm(before, axis=1, keepdims=True)
    np.testing.assert_allclose(after, wanted, atol=1e-3)
    assert table.column("id").to_pylist() == [f"image-{row}" for row in range(6)]
    assert clip_of(out) == clip.name


def test_precomputed_images_that_do_not_fit_are_told(clip: Clip, tmp_path: Path) -> None:
    nan = np.ones((6, 16), dtype=np.float16)
    nan[4, 3] = np.nan
    with pytest.raises(InputError, match="row 4 is NaN"):
        copy(embedded_images(tmp_path, embedding=nan), clip)
    with pytest.raises(InputError, match="width 8, but `clip` has width 16"):
        copy(embedded_images(tmp_path, embedding=np.ones((6, 8), dtype=np.float16)), clip)
    with pytest.raises(InputError, match="embedded by open_clip:other"):
        copy(embedded_images(tmp_path, "open_clip:other"), clip)
    with pytest.raises(InputError, match="label 2 of row 2 has no class name"):
        copy(embedded_images(tmp_path), clip, CLASSES[:2])
    with pytest.raises(InputError, match="id 'x' of row 1"):
        copy(embedded_images(tmp_path, id=["x"] * 6), clip)
