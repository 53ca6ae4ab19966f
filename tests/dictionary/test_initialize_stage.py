"""The stage that chooses the k texts a dictionary starts from, by every init."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDED_TEXTS, write_table
from infopursuit.core.text_lists import read_text_list
from infopursuit.dictionary.settings import INITS
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries.knowledge import KnowledgeTable, write_knowledge
from tests.stage_scripts import ROOT, stage

WIDTH, K = 8, 5
SOURCES = {
    **dict.fromkeys((5, 6), "dictionary/menagerie,corpus/a"),
    **dict.fromkeys((7, 8), "dictionary/menagerie,list/menagerie"),
    9: "dictionary/menagerie",
    12: "dictionary/menagerie2,list/menagerie,corpus/a",
    13: "list/menagerie_x",
}


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def write_texts(path: str, prefix: str, embeddings: np.ndarray) -> None:
    count = len(embeddings)
    columns = {
        "text": [f"{prefix} {row}" for row in range(count)],
        "source": [
            SOURCES.get(row, prefix) if prefix == "concept" else prefix for row in range(count)
        ],
        "embedding": embeddings,
    }
    write_table(path, EMBEDDED_TEXTS, columns, "a clip")


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Texts 0 to 3 are the four classes; all others say nothing of them."""
    monkeypatch.chdir(tmp_path)
    for folder in ("universe", "images", "initial", "knowledge"):
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
    nothing = KnowledgeTable((), (), np.zeros((0, 0), np.float32))
    write_knowledge("artifacts/knowledge/menagerie.parquet", nothing)
    raw = load_params(ROOT / "params.yaml").model_dump()
    raw["datasets"]["menagerie"] |= {"k": K}
    raw["compute"] |= {"device": "cpu"}
    return Params.model_validate(raw)


def chosen(params: Params, init: str, seed: int = 0) -> list[str]:
    read = 12 if init == "random_words" else 30
    count = 3 if init == "list" else K
    assert stage("initialize")(params, "menagerie", init, seed) == Rows(read, count)
    return read_text_list(f"artifacts/initial/menagerie-{init}-{seed}.txt")


@pytest.mark.parametrize("init", INITS)
def test_every_init_chooses_k_texts_and_repeats_them(params: Params, init: str) -> None:
    texts = chosen(params, init)
    assert len(set(texts)) == (3 if init == "list" else K)
    prefix = "word" if init == "random_words" else "concept"
    assert all(text.startswith(f"{prefix} ") for text in texts)
    assert chosen(params, init) == texts


def test_the_llm_s_queries_are_taken_as_they_are(params: Params) -> None:
    assert chosen(params, "llm") == [f"concept {row}" for row in (5, 6, 7, 8, 9)]


@pytest.mark.parametrize("init", INITS)
def test_dictionaries_that_are_chosen_may_have_a_size_of_their_own(
    params: Params, init: str
) -> None:
    raw = params.model_dump()
    raw["initialize"]["k"] = K - 2
    stage("initialize")(Params.model_validate(raw), "menagerie", init, 0)
    texts = read_text_list(f"artifacts/initial/menagerie-{init}-0.txt")
    assert len(texts) == {"llm": K, "list": 3}.get(init, K - 2)


@pytest.mark.parametrize("k", [2, 29])
def test_a_list_of_ones_own_has_its_own_length(params: Params, k: int) -> None:
    raw = params.model_dump()
    raw["datasets"]["menagerie"] |= {"k": k}
    stage("initialize")(Params.model_validate(raw), "menagerie", "list", 0)
    assert read_text_list("artifacts/initial/menagerie-list-0.txt") == [
        f"concept {row}" for row in (7, 8, 12)
    ]


@pytest.mark.parametrize("init", INITS)
def test_texts_to_keep_are_in_every_dictionary_but_the_control(params: Params, init: str) -> None:
    raw = params.model_dump()
    raw["questions"] = {"ban": [], "keep": ["Concept 29", "concept 8"], "first": "concept 28"}
    stage("initialize")(Params.model_validate(raw), "menagerie", init, 0)
    texts = read_text_list(f"artifacts/initial/menagerie-{init}-0.txt")
    kept = {"concept 29", "concept 8", "concept 28"}
    assert kept & set(texts) == (set() if init == "random_words" else kept)
    assert len(set(texts)) == len(texts) == K


def test_more_texts_to_keep_than_there_is_room_for_are_refused(params: Params) -> None:
    raw = params.model_dump()
    raw["questions"] = {"ban": [], "keep": [f"concept {row}" for row in range(6)], "first": None}
    with pytest.raises(InputError, match=r"questions\.keep has 6 texts.*at most the 5"):
        stage("initialize")(Params.model_validate(raw), "menagerie", "random", 0)
    raw["questions"] = {"ban": [], "keep": ["no such text"], "first": None}
    with pytest.raises(InputError, match=r"questions\.keep: the query 'no such text' is not in"):
        stage("initialize")(Params.model_validate(raw), "menagerie", "random", 0)


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
    with pytest.raises(
        InputError, match="--init words: expected one of llm, list, random, medoids"
    ):
        stage("initialize")(params, "menagerie", "words", 0)
