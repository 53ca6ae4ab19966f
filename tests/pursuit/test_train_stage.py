"""The stage that trains, on a small made-up universe: what the control replaces, and what not."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.errors import InputError
from infopursuit.params import load_params
from infopursuit.pursuit.answers import fit_threshold_rule
from infopursuit.pursuit.images import hold_out, load_images
from infopursuit.pursuit.model import TrainedModel
from infopursuit.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.text_lists import write_text_list

ROOT = Path(__file__).parents[2]
WIDTH = 8
IMAGES = "artifacts/images/menagerie.parquet"


def write_texts(name: str, prefix: str, count: int, seed: int, clip: str = "a clip") -> np.ndarray:
    embeddings = np.random.default_rng(seed).normal(size=(count, WIDTH))
    embeddings[:, 0] += seed  # each table has a mean text of its own
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    columns = {
        "text": [f"{prefix} {row}" for row in range(count)],
        "source": [prefix] * count,
        "embedding": embeddings,
    }
    write_table(f"artifacts/universe/{name}.parquet", EMBEDDED_TEXTS, columns, clip)
    return embeddings


def test_the_control_replaces_the_dictionary_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("universe", "images", "initial"):
        Path("artifacts", folder).mkdir(parents=True)
    universe = write_texts("embeddings", "concept", 30, seed=0)
    words = write_texts("control_embeddings", "word", 12, seed=1)
    labels = np.arange(80) % 4
    columns = {
        "id": [f"image {row}" for row in range(80)],
        "split": ["train"] * 80,
        "label": labels,
        "class_name": [f"class {label}" for label in labels],
        "embedding": np.random.default_rng(2).normal(size=(80, WIDTH)) + universe[labels],
    }
    write_table(IMAGES, EMBEDDED_IMAGES, columns, "a clip")
    write_text_list("artifacts/initial/menagerie-words-0.txt", [f"word {row}" for row in range(6)])
    train = runpy.run_path(str(ROOT / "stages/train.py"))["main"]
    params = load_params(ROOT / "params.yaml")
    train(params, "menagerie", "words", "evidence", 0)

    model = TrainedModel.load("artifacts/models/menagerie-words-evidence-0")
    assert model.queries == tuple(f"word {row}" for row in range(6))
    assert {"universe", "control"} <= set(model.settings["inputs"])
    shown, _ = hold_out(load_images(IMAGES, "train"), 0.1, 0)
    queries, *references = (torch.from_numpy(np.float16(each)) for each in (words, universe, words))
    rules = [
        fit_threshold_rule(
            torch.nn.functional.normalize(queries[:6].float(), dim=1),
            reference,
            shown.embeddings,
            shown.labels,
        )
        for reference in references
    ]
    torch.testing.assert_close(model.rule.directions, rules[0].directions)
    assert not torch.allclose(model.rule.directions, rules[1].directions, atol=1e-2)

    write_texts("control_embeddings", "word", 12, seed=1, clip="another clip")
    with pytest.raises(InputError, match="another clip"):
        train(params, "menagerie", "words", "evidence", 0)
