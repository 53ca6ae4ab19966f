"""Images and texts to arrays: against one image at a time, from threads, and from the cache."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from infopursuit.clip import embed
from infopursuit.clip.embed import VARIABLE, embed_pictures, embed_readable_pictures, embed_texts
from infopursuit.clip.embed_tables import encode_image_rows
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from tests.clip.conftest import write_texts
from tests.datasets.images import encoded

TEXTS = ["a red bird", "four legs", "", "water", "four legs"]


# -- images ----------------------------------------------------------------------------------


def one_by_one(clip: OpenClip, images: list) -> np.ndarray:
    """open_clip's own way; zeros for the unreadable."""
    rows = np.zeros((len(images), clip.width), dtype=np.float32)
    for row, image in enumerate(images):
        try:
            pixels = clip.preprocess(to_rgb(image))
        except UnreadableError:
            continue
        rows[row] = clip.encode_images(pixels[None])[0]
    return rows


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def batches(clip: OpenClip, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that reach the tower."""
    sizes: list[int] = []
    encode = clip.encode_images

    def counted(batch: torch.Tensor) -> np.ndarray:
        sizes.append(len(batch))
        return encode(batch)

    monkeypatch.setattr(clip, "encode_images", counted)
    return sizes


def test_unreadable_images_leave_zero_rows_and_do_not_split_batches(
    clip: OpenClip, batches: list[int]
) -> None:
    images: list[bytes | None] = [encoded(row) for row in range(12)]
    images[1] = b"no picture"
    images[4:8] = [None] * 4
    images[11] = encoded(11, "JPEG")[:200]
    chunk = encode_image_rows(clip, iter(images), 12, 4)
    assert batches == [3, 3]
    bad = [1, 4, 5, 6, 7, 11]
    assert [row for row, reason in enumerate(chunk.reasons) if reason] == bad
    assert (chunk.reasons[1], chunk.reasons[4]) == ("not an image of a known format", "missing")
    assert str(chunk.reasons[11]).startswith("damaged: ")
    np.testing.assert_allclose(chunk.embeddings, one_by_one(clip, images), atol=1e-3)
    assert not chunk.embeddings[bad].any()


def test_errors_of_source_and_tower_come_through_and_no_thread_stays(
    clip: OpenClip, monkeypatch: pytest.MonkeyPatch
) -> None:
    def images() -> Iterator[bytes]:
        yield from [encoded(0)] * 5
        raise InputError("the disk is gone")

    before = threading.active_count()
    with pytest.raises(ValueError, match="expected 7 images, found 5"):
        encode_image_rows(clip, iter([encoded(0)] * 5), 7, 2)
    with pytest.raises(InputError, match="the disk is gone"):
        encode_image_rows(clip, images(), 7, 2)

    def fail(_: torch.Tensor) -> np.ndarray:
        raise InputError("no direction")

    monkeypatch.setattr(clip, "encode_images", fail)
    with pytest.raises(InputError, match="no direction"):
        encode_image_rows(clip, iter([encoded(0)] * 50), 50, 2)
    assert threading.active_count() == before


def test_pictures_of_all_kinds_embed_as_their_pixels(clip: OpenClip, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(0))
    image = to_rgb(encoded(0))
    array = np.asarray(image)
    tensor = torch.from_numpy(array.copy()).permute(2, 0, 1)
    with path.open("rb") as file:
        kinds = [path, str(path), encoded(0), file, image, array, array / 255, tensor]
        rows = embed_pictures(clip, kinds, batch_size=3, progress=False)
    wanted = clip.encode_images(torch.stack([clip.preprocess(image)]))
    assert (rows.shape, rows.dtype) == ((8, 16), np.float32)
    np.testing.assert_allclose(rows, np.repeat(wanted, 8, axis=0), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_unreadable_pictures_are_named(clip: OpenClip, tmp_path: Path) -> None:
    pictures = [encoded(0), tmp_path / "absent.png", b"bad", encoded(1), 7, np.zeros(3)]
    message = (
        r"4 of 6 pictures cannot be read \(.*absent\.png: missing; picture 2: not an image of a "
        r"known format; picture 4: a int; expected a path, bytes or pixels\)"
    )
    with pytest.raises(InputError, match=message):
        embed_pictures(clip, pictures)
    found = embed_readable_pictures(clip, pictures, batch_size=4)
    assert found.rows == [0, 3]
    assert sorted(found.rejected) == [1, 2, 4, 5]
    wanted = embed_pictures(clip, [encoded(0), encoded(1)])
    np.testing.assert_allclose(found.embeddings, wanted, atol=1e-6)
    assert embed_readable_pictures(clip, [b"bad"]).embeddings.shape == (0, 16)
    with pytest.raises(InputError, match=r"found 'photo\.jpg'; write \[picture\]"):
        embed_pictures(clip, "photo.jpg")
    write_texts(tmp_path / "texts.parquet", ["a"])
    with pytest.raises(InputError, match="cannot embed images"):
        embed_pictures(load_clip(tmp_path / "texts.parquet"), [Image.new("RGB", (4, 4))])


def test_each_file_is_embedded_once_by_its_content(
    cache: Path, clip: OpenClip, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "PICTURE_BLOCK", 2)
    cache.mkdir()
    paths = [cache / f"{number}.png" for number in range(5)]
    for number, file in enumerate(paths):
        file.write_bytes(encoded(number % 4))  # the last is a copy of the first
    pixels, wanted = to_rgb(encoded(7)), embed_pictures(clip, [to_rgb(file) for file in paths])
    batches.clear()
    first = embed_readable_pictures(clip, [*paths, pixels, b"bad"], batch_size=2)
    assert (first.rows, sorted(first.rejected), sum(batches)) == ([0, 1, 2, 3, 4, 5], [6], 5)
    np.testing.assert_allclose(first.embeddings[:5], wanted, atol=1e-6)
    paths[1].write_bytes(encoded(9))  # the name is the same, the picture is not
    batches.clear()
    again = embed_readable_pictures(clip, [encoded(0), pixels, paths[1], paths[3], b"bad"])
    assert sum(batches) == 2
    assert np.array_equal(again.embeddings[[0, 3]], first.embeddings[[0, 3]])
    assert not np.array_equal(again.embeddings[2], first.embeddings[1])
    monkeypatch.setattr(clip, "name", "another")
    batches.clear()
    embed_pictures(clip, paths)
    assert sum(batches) == 4


# -- texts and their cache -------------------------------------------------------------------


@pytest.fixture
def embedded(clip: OpenClip, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts that go through the tower, call by call; "stop" interrupts."""
    calls: list[list[str]] = []
    encode = clip.encode_texts

    def noted(texts: list[str], batch_size: int = 64) -> np.ndarray:
        if "stop" in texts:
            raise KeyboardInterrupt
        calls.append(list(texts))
        return encode(texts, batch_size)

    monkeypatch.setattr(clip, "encode_texts", noted)
    return calls


def files(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.parquet"))


def test_each_text_is_embedded_once_by_each_clip(
    cache: Path, clip: OpenClip, embedded: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = clip.encode_texts(TEXTS)
    embedded.clear()
    first = embed_texts(clip, TEXTS)
    np.testing.assert_allclose(first, wanted, atol=1e-6)
    assert np.array_equal(embed_texts(clip, TEXTS[::-1]), first[::-1])
    assert embedded == [TEXTS[:4]]
    more = embed_texts(clip, ["new", *TEXTS[:2]])
    assert embedded == [TEXTS[:4], ["new"]]
    assert np.array_equal(more[1:], first[:2])
    assert embed_texts(clip, []).shape == (0, 16)
    with pytest.raises(InputError, match=r"found 'a'; write \[text\]"):
        embed_texts(clip, "a")
    assert len(files(cache)) == 2
    names = {clip.name.replace(":", "_"), "open_clip_other__1"}
    monkeypatch.setattr(clip, "name", "open_clip:other/:1")
    embed_texts(clip, TEXTS)
    assert embedded[2] == TEXTS[:4]
    assert {folder.name for folder in (cache / "texts").iterdir()} == names


def test_an_interrupted_call_keeps_what_it_has_and_many_files_are_joined(
    cache: Path, clip: OpenClip, embedded: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "FILES", 4)
    monkeypatch.setattr(embed, "BLOCK", 2)
    with pytest.raises(KeyboardInterrupt):
        embed_texts(clip, ["text 1", "text 0", "stop"])
    texts = [f"text {number}" for number in range(9)]
    first = embed_texts(clip, texts)
    assert [len(block) for block in embedded] == [2, 2, 2, 2, 1]
    (joined,) = files(cache)
    assert sorted(pq.read_table(joined).column("text").to_pylist()) == texts
    assert np.array_equal(embed_texts(clip, texts), first)
    assert len(embedded) == 5


def test_a_cache_that_is_damaged_or_cannot_be_written_is_reported(
    cache: Path, clip: OpenClip, embedded: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    first = embed_texts(clip, ["a"])
    (file,) = files(cache)
    file.write_bytes(file.read_bytes()[:-20])
    for reads in (2, 2):  # it was replaced the first time
        assert np.array_equal(embed_texts(clip, ["a"]), first)
        assert len(embedded) == reads
    assert caplog.text.count(f"{file}: skipped") == 1
    shutil.rmtree(cache)
    cache.write_text("a file that replaces the folder")
    assert embed_texts(clip, ["a"]).shape == (1, 16)
    assert "embeddings of texts cannot be kept" in caplog.text and VARIABLE in caplog.text
