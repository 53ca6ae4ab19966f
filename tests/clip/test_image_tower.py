"""The image tower fed from threads, against one image at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from open_clip.transform import image_transform
from PIL import Image
from torchvision.transforms import Compose

from infopursuit.clip.image_tower import encode_image_rows, one_ahead
from infopursuit.clip.preprocessing import Preprocessing
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from tests.datasets.images import encoded

PHOTOS = Path(__file__).parents[3] / "shared" / "data" / "coco" / "photos"


@pytest.fixture(scope="module")
def clip(tiny_clip: Path) -> OpenClip:
    clip = load_clip(tiny_clip, "cpu")
    assert isinstance(clip, OpenClip)
    return clip


def transform(size: int, **how: Any) -> Any:
    """What open_clip makes of the preprocessing settings of a CLIP."""
    return image_transform(size, is_train=False, **how)


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
def batches(clip: OpenClip, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that reach the tower."""
    sizes: list[int] = []
    encode = clip.encode_images

    def counted(batch: torch.Tensor) -> np.ndarray:
        sizes.append(len(batch))
        return encode(batch)

    monkeypatch.setattr(clip, "encode_images", counted)
    return sizes


@pytest.mark.parametrize("mode", ["shortest", "longest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
def test_both_parts_of_the_preprocessing_equal_the_whole(mode: str, interpolation: str) -> None:
    whole = transform(32, resize_mode=mode, interpolation=interpolation, std=(0.3, 0.2, 0.1))
    parts = Preprocessing(whole)
    images = [to_rgb(encoded(0, size=size)) for size in [(40, 36), (33, 90), (20, 20), (64, 31)]]
    images.append(images[0].convert("L"))
    pixels = [torch.from_numpy(parts.pixels(image)) for image in images]
    wanted = torch.stack([whole(image) for image in images])
    assert pixels[0].dtype == torch.uint8
    assert torch.equal(parts.normalized(torch.stack(pixels)), wanted)
    assert torch.equal(parts.normalized(wanted), wanted)


def test_real_photos_are_preprocessed_to_the_last_bit_like_open_clip_does() -> None:
    if not PHOTOS.is_dir():
        pytest.skip("the photos of COCO are not beside this checkout")
    whole = transform(224)
    parts = Preprocessing(whole)
    for path in sorted(PHOTOS.iterdir())[:20]:
        with Image.open(path) as image:
            wanted = whole(image.convert("RGB"))
        found = parts.normalized(torch.from_numpy(parts.pixels(to_rgb(path)))[None])
        assert torch.equal(found[0], wanted)


def test_a_transform_that_ends_otherwise_is_refused() -> None:
    whole = transform(32)
    with pytest.raises(TypeError, match="ends in to-tensor and normalise"):
        Preprocessing(Compose([*whole.transforms, torch.nn.Identity()]))


@pytest.mark.parametrize(("count", "batch_size"), [(9, 4), (8, 4), (3, 100), (5, 1)])
def test_rows_equal_those_made_one_by_one(
    clip: OpenClip, batches: list[int], count: int, batch_size: int
) -> None:
    images = [encoded(row, size=(30 + row, 40)) for row in range(count)]
    chunk = encode_image_rows(clip, iter(images), count, batch_size)
    assert chunk.embeddings.dtype == np.float16
    assert chunk.reasons == [None] * count
    assert sum(batches) == count
    assert max(batches) <= batch_size
    np.testing.assert_allclose(chunk.embeddings, one_by_one(clip, images), atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(chunk.embeddings, axis=1), 1, atol=1e-3)


def test_unreadable_images_leave_gaps_and_move_no_other_batch(
    clip: OpenClip, batches: list[int]
) -> None:
    images: list[bytes | None] = [encoded(row) for row in range(12)]
    images[1] = b"no picture"
    images[4:8] = [None] * 4
    images[11] = encoded(11, "JPEG")[:200]
    chunk = encode_image_rows(clip, iter(images), 12, 4)
    assert batches == [3, 3]
    assert [row for row, reason in enumerate(chunk.reasons) if reason] == [1, 4, 5, 6, 7, 11]
    assert chunk.reasons[1] == "not an image of a known format"
    assert chunk.reasons[4] == "missing"
    assert str(chunk.reasons[11]).startswith("damaged: ")
    np.testing.assert_allclose(chunk.embeddings, one_by_one(clip, images), atol=1e-3)
    assert not chunk.embeddings[[1, 4, 5, 6, 7, 11]].any()


def test_nothing_readable_needs_no_tower(clip: OpenClip, batches: list[int]) -> None:
    chunk = encode_image_rows(clip, iter([None, b"", b"no picture"]), 3, 2)
    assert batches == []
    assert chunk.reasons == ["missing", "missing", "not an image of a known format"]
    assert chunk.embeddings.shape == (3, clip.width)
    assert not chunk.embeddings.any()
    empty = encode_image_rows(clip, iter([]), 0, 2)
    assert (empty.embeddings.shape, empty.reasons) == ((0, clip.width), [])


def test_one_reading_in_parts_gives_the_bytes_of_several_readings(clip: OpenClip) -> None:
    images = [encoded(row) for row in range(10)]
    reading = iter(images)
    parts = [encode_image_rows(clip, reading, count, 3) for count in (4, 4, 2)]
    for start, part in zip((0, 4, 8), parts, strict=True):
        again = encode_image_rows(clip, iter(images[start:]), len(part.reasons), 3)
        assert part.embeddings.tobytes() == again.embeddings.tobytes()
    assert next(reading, None) is None


def test_images_are_read_no_further_ahead_than_two_batches(
    clip: OpenClip, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = 0
    ahead: list[int] = []

    def images() -> Iterator[bytes]:
        nonlocal taken
        for row in range(100):
            taken += 1
            yield encoded(row % 3)

    encode = clip.encode_images
    embedded = 0

    def watched(batch: torch.Tensor) -> np.ndarray:
        nonlocal embedded
        embedded += len(batch)
        ahead.append(taken - embedded)
        return encode(batch)

    monkeypatch.setattr(clip, "encode_images", watched)
    encode_image_rows(clip, images(), 40, 4)
    assert len(ahead) == 10
    assert 0 < max(ahead) <= 2 * 4
    assert taken == 40


def test_the_next_item_is_made_while_one_is_in_use() -> None:
    started = [threading.Event() for _ in range(4)]

    def items() -> Iterator[int]:
        for number, event in enumerate(started):
            event.set()
            yield number

    for number in one_ahead(items()):
        if number + 1 < len(started):
            assert started[number + 1].wait(timeout=30)


def test_too_few_images_are_told(clip: OpenClip) -> None:
    with pytest.raises(ValueError, match="expected 7 images, found 5"):
        encode_image_rows(clip, iter([encoded(0)] * 5), 7, 2)


def test_errors_of_source_and_tower_come_through_and_no_thread_stays(
    clip: OpenClip, monkeypatch: pytest.MonkeyPatch
) -> None:
    def images() -> Iterator[bytes]:
        yield from [encoded(0)] * 5
        raise InputError("the disk is gone")

    before = threading.active_count()
    with pytest.raises(InputError, match="the disk is gone"):
        encode_image_rows(clip, images(), 7, 2)
    assert threading.active_count() == before

    def fail(_: torch.Tensor) -> np.ndarray:
        raise InputError("no direction")

    monkeypatch.setattr(clip, "encode_images", fail)
    with pytest.raises(InputError, match="no direction"):
        encode_image_rows(clip, iter([encoded(0)] * 50), 50, 2)
    assert threading.active_count() == before
