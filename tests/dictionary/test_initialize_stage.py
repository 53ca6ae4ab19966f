"""The stage that chooses the k texts a dictionary starts from, by every init."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.core.text_lists import read_text_list, write_text_list
from infopursuit.dictionary.settings import INITS
from infopursuit.pipeline.params import Params, load_params
from tests.stage_scripts import ROOT, stage

WIDTH, K = 8, 5


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def write_texts(path: str, prefix: str, embeddings: np.ndarray) -> None:
    count = len(embeddings)
    columns = {
        "text": [f"{prefix} {row}" for row in range(count)],
        "source": [prefix] * count,
        "embedding": embeddings,
    }
    write_table(path, EMBEDDED_TEXTS, columns, "a clip")


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Texts 0 to 3 are the four classes; all others say nothing of them."""
    monkeypatch.chdir(tmp_path)
    for folder in ("universe", "images", "dictionaries", "initial"):
        Path("artifacts", folder).mkdir(parents=True)
    generator = np.random.default_rng(0)
    texts = generator.normal(size=(30, WIDTH))
    texts[:4], texts[4:, :4] = np.eye(4, WIDTH), 0
    write_texts("artifacts/universe/embeddings.parquet", "concept", unit(texts))
    write_texts(
        "artifacts/universe/control_embeddings.parquet",
        "word",
        unit(generator.normal(size=(12, WIDTH))),
    )
    labels = np.arange(200) % 4
    images = np.eye(4, WIDTH)[labels] + 0.2 * generator.normal(size=(200, WIDTH))
    columns = {
        "id": [f"image {row}" for row in range(200)],
        "split": ["train"] * 200,
        "label": labels,
        "class_name": [f"class {label}" for label in labels],
        "embedding": unit(images),
    }
    write_table("artifacts/images/menagerie.parquet", EMBEDDED_IMAGES, columns, "a clip")
    write_text_list(
        "artifacts/dictionaries/menagerie.txt", [f"concept {row}" for row in (9, 8, 7, 6, 5)]
    )
    raw = load_params(ROOT / "params.yaml").model_dump()
    raw["datasets"]["menagerie"] |= {"k": K}
    raw["compute"] |= {"device": "cpu"}
    return Params.model_validate(raw)


def chosen(params: Params, init: str, seed: int = 0) -> list[str]:
    read = 12 if init == "random_words" else 30
    assert stage("initialize")(params, "menagerie", init, seed) == Rows(read, K)
    return read_text_list(f"artifacts/initial/menagerie-{init}-{seed}.txt")


@pytest.mark.parametrize("init", INITS)
def test_every_init_chooses_k_texts_and_repeats_them(params: Params, init: str) -> None:
    texts = chosen(params, init)
    assert len(set(texts)) == K
    prefix = "word" if init == "random_words" else "concept"
    assert all(text.startswith(f"{prefix} ") for text in texts)
    assert chosen(params, init) == texts


def test_the_llm_s_queries_are_taken_as_they_are(params: Params) -> None:
    assert chosen(params, "llm") == [f"concept {row}" for row in (9, 8, 7, 6, 5)]


def test_informative_texts_tell_the_classes_apart(params: Params) -> None:
    texts = chosen(params, "informative")
    assert {f"concept {row}" for row in range(4)} <= set(texts)


@pytest.mark.parametrize("init", ["random", "random_words"])
def test_another_seed_is_another_choice(params: Params, init: str) -> None:
    assert chosen(params, init, 0) != chosen(params, init, 1)


def test_more_queries_than_texts_are_refused(params: Params) -> None:
    raw = params.model_dump()
    raw["datasets"]["menagerie"] |= {"k": 13}
    with pytest.raises(InputError, match="k is 13; expected at most the 12 texts"):
        stage("initialize")(Params.model_validate(raw), "menagerie", "random_words", 0)


def test_an_unknown_init_is_refused(params: Params) -> None:
    with pytest.raises(InputError, match="--init words: expected one of llm, random, medoids"):
        stage("initialize")(params, "menagerie", "words", 0)
