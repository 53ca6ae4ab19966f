"""A tiny CLIP, and tables of images for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.clip.tiny import write_tiny_clip
from tests.datasets.images import write_image_table


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that open_clip reads, of width 16."""
    folder = tmp_path_factory.mktemp("clip")
    write_tiny_clip(folder)
    return folder


@pytest.fixture
def image_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a Parquet file of encoded images; columns can be overridden."""
    return partial(write_image_table, tmp_path / "images.parquet")
