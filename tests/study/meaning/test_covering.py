"""Covering the place of a yes: a planted world in which one patch alone decides."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import infopursuit
from infopursuit.clip.towers import OpenClip
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.meaning import covering as covering_module
from infopursuit_study.meaning.covering import covering, marked_part
from tests.clip.conftest import tiny_clip as tiny_clip
from tests.planted import PHOTO_TEXTS, picture, write_folder


def test_the_marked_part_is_the_share_where_the_map_is_largest() -> None:
    of_image = np.zeros((4, 4), dtype=np.float32)
    of_image[1, 2] = 1
    marked = marked_part(of_image, (40, 80))
    assert marked.shape == (40, 80)
    assert marked.sum() == round(0.2 * 3200)
    rows, columns = np.nonzero(marked)
    assert abs(rows.mean() - 14.5) < 1.5  # the middle of the patch
    assert abs(columns.mean() - 49.5) < 2.5
    assert marked_part(np.ones((2, 2), dtype=np.float32), (10, 10)).sum() == 20


def test_a_yes_that_one_place_decides_is_taken_back_when_that_is_covered(
    tmp_path: Path, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The score is the red of the brightest patch, and maps are the red of each patch."""
    model = infopursuit.fit(write_folder(tmp_path / "photos"), None, PHOTO_TEXTS, clip=tiny_clip)
    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(12):
        pixels = np.full((32, 32, 3), 60, dtype=np.uint8)
        row, column = rng.integers(4, size=2) * 8
        pixels[row : row + 8, column : column + 8] = 255
        pictures.append(Image.fromarray(pixels))

    def patches(batch: Any) -> Any:
        return np.asarray(batch, dtype=np.float32)[:, 0].reshape(-1, 4, 8, 4, 8).mean(axis=(2, 4))

    def mapped(model: Any, given: Any) -> Any:
        pixels = np.stack([np.asarray(each).transpose(2, 0, 1) for each in given])
        maps = patches(pixels)
        return maps.max(axis=(1, 2))[:, None], maps[:, None]

    def encode(self: OpenClip, batch: Any) -> Any:
        return patches(batch).max(axis=(1, 2))[:, None]

    monkeypatch.setattr(covering_module, "mapped", mapped)
    monkeypatch.setattr(OpenClip, "encode_images", encode)
    step = SimpleNamespace(query="a bright patch", yes=True)
    pursuit = SimpleNamespace(
        device="cpu",
        answers=lambda rows: (rows > 200).float(),
        explain=lambda answers, *_: [SimpleNamespace(steps=[step] * int(a)) for a in answers],
        number=lambda query: 0,
    )
    monkeypatch.setattr(model, "pursuit_", pursuit)
    found = covering(model, pictures, StoppingRule())
    assert (found.pictures, found.yes) == (12, 12)
    assert found.marked == 1
    assert found.random is not None
    assert found.random < 0.5


def test_without_a_yes_there_is_nothing_to_cover(tmp_path: Path, tiny_clip: Path) -> None:
    model = infopursuit.fit(write_folder(tmp_path / "photos"), None, PHOTO_TEXTS, clip=tiny_clip)
    found = covering(model, [picture("red", 9)], StoppingRule(max_queries=0))
    assert found == (1, 0, None, None)
