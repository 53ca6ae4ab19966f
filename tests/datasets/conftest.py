from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.datasets.images import write_image_table


@pytest.fixture
def image_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a Parquet file of encoded images; columns can be overridden."""
    return partial(write_image_table, tmp_path / "images.parquet")
