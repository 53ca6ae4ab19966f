"""The stage that embeds switched pairs, with the CLIP that is shipped."""

from __future__ import annotations

import io
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from menagerie.counterfactuals import COUNTERFACTUALS, counterfactual_columns, draw_pairs
from menagerie.embedded_pairs import load_pair_embeddings
from PIL import Image

from infopursuit.clip.towers import load_clip
from infopursuit.core.clip_names import clip_of
from infopursuit.core.stage import Rows
from infopursuit.core.tables import write_table
from infopursuit.pipeline.params import load_params

ROOT = Path(__file__).parents[2]
CLIP = ROOT / "stages/menagerie/clip"
DRAWN = Path("artifacts/menagerie/counterfactuals.parquet")
OUT = Path("artifacts/images/menagerie.pairs.parquet")


def test_the_embeddings_are_those_of_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pictures = draw_pairs(1, 2, 64, workers=1)
    write_table(DRAWN, COUNTERFACTUALS, counterfactual_columns(pictures))
    params = load_params(ROOT / "params.yaml").model_copy(update={"clip": str(CLIP)})
    main = runpy.run_path(str(ROOT / "stages/menagerie/embed_pairs.py"))["main"]
    assert main(params, "menagerie") == Rows(24, 24)
    written = OUT.read_bytes()

    clip = load_clip(CLIP, "cpu")
    opened = [Image.open(io.BytesIO(picture.png)).convert("RGB") for picture in pictures]
    expected = clip.encode_images(torch.stack([clip.preprocess(picture) for picture in opened]))
    found = load_pair_embeddings(OUT, DRAWN)
    assert np.abs(found.numpy() - expected).max() < 1e-3
    assert torch.linalg.vector_norm(found, dim=1).tolist() == pytest.approx([1.0] * 24, abs=1e-6)
    assert clip_of(OUT) == clip.name
    main(params, "menagerie")
    assert OUT.read_bytes() == written
