"""A tiny CLIP with random weights, as a folder that open_clip reads, and tables for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ruamel.yaml import YAML

from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.core.files import write_text_list
from infopursuit.core.tables import EMBEDDED_TEXTS, UNIVERSE, write_table
from tests.datasets.images import CLASSES, write_image_table

ROOT = Path(__file__).parents[2]
VISION = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 8}
TEXT = {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1}
MODEL: dict[str, Any] = {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": TEXT}


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that open_clip reads, of width 16."""
    folder = tmp_path_factory.mktemp("clip")
    write_tiny_clip(folder)
    return folder


@pytest.fixture(scope="session")
def clip(tiny_clip: Path) -> OpenClip:
    clip = load_clip(tiny_clip, "cpu")
    assert isinstance(clip, OpenClip)
    return clip


@pytest.fixture
def image_table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a Parquet file of encoded images; columns can be overridden."""
    return partial(write_image_table, tmp_path / "images.parquet")


def write_tiny_clip(folder: Path) -> None:
    """Write the configuration and the weights, the same in every process; embeddings are of 16."""
    import open_clip
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    config = {"model_cfg": MODEL, "preprocess_cfg": {"interpolation": "bicubic"}}
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.CLIP(**MODEL)
    save_file(model.state_dict(), folder / "open_clip_model.safetensors")


def write_texts(path: Path, texts: list[str], clip: str | None = None) -> np.ndarray:
    """Write a table of texts with embeddings of width 16, and return these."""
    matrix = np.random.default_rng(0).normal(size=(len(texts), 16)).astype(np.float16)
    columns = {"text": texts, "source": ["here"] * len(texts), "embedding": matrix}
    write_table(path, EMBEDDED_TEXTS, columns, clip)
    return matrix.astype(np.float32)


def write_params(folder: Path, clip: Path, images: Path) -> None:
    """Write the repository's parameters with another CLIP and data set, in small chunks."""
    yaml = YAML()
    params = yaml.load(ROOT / "params.yaml")
    params["clip"] = str(clip)
    params["datasets"]["menagerie"].update(images=str(images))
    params["compute"].update(embed_batch_size=3, embed_chunk=8)
    yaml.dump(params, folder / "params.yaml")
    write_text_list(folder / "artifacts" / "classes" / "menagerie.txt", CLASSES)


def write_universe(texts: list[str], control: list[str]) -> None:
    """Write the two tables that `build_universe` leaves in the working folder."""
    for name, source, rows in (("texts", "corpus", texts), ("control", "control", control)):
        columns = {"text": rows, "sources": [[source]] * len(rows), "caption_ids": [[]] * len(rows)}
        write_table(f"artifacts/universe/{name}.parquet", UNIVERSE, columns)
