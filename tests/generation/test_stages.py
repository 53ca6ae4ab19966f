"""The stages of queries and knowledge."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list, write_text_list
from infopursuit.core.stage import RowCounts
from infopursuit.core.tables import UNIVERSE, read_table, write_table
from infopursuit.generation.language_models import Answer
from infopursuit.pipeline.params import Params, load_params
from infopursuit.texts.knowledge_tables import read_knowledge
from tests.generation.language_models.test_openai_server import completion, serving
from tests.generation.recordings import Recording, write_recorded
from tests.pursuit.vip import stage_world
from tests.stage_scripts import ROOT, stage

embedded = stage_world.params
PROMPTS = ROOT / "src/infopursuit/generation/prompts"
ANSWERED = {
    "A zebra in the grass.": "1. Striped coat\n2. green grass\n3. mane or tail",
    "A bus.": "Sure! Here are:\n- four wheels\n- glass windows\n- red bus",
    "There is no picture.": "UNFIT",
}


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """Settings for a temporary folder with captions, class names and recorded answers."""
    monkeypatch.chdir(tmp_path)
    texts = [*ANSWERED, "A bus."]
    annotations = [{"id": 10 - row, "caption": text} for row, text in enumerate(texts)]
    Path("captions.json").write_text(json.dumps({"annotations": annotations}), encoding="utf-8")
    Path("nouns.txt").write_text("Street Lamp\nfour wheels\n", encoding="utf-8")
    Path("control.txt").write_text("Therefore\nGreen grass\nmortgage\n", encoding="utf-8")
    Path("classes.txt").write_text("zebra\nbus\n", encoding="utf-8")
    templates = {path.stem: path.read_text(encoding="utf-8") for path in PROMPTS.glob("*.jinja")}
    recordings = [
        Recording("caption_concepts", {"caption": text, "max_concepts": 20}, Answer(answer, "stop"))
        for text, answer in ANSWERED.items()
    ]
    asked = {"classes": ["zebra", "bus"], "k": 2}
    answer = Answer("1. Striped coat\n2. four wheels", "stop")
    recordings.append(Recording("class_queries", asked, answer))
    write_recorded("recorded.jsonl", templates, recordings)

    raw = load_params(ROOT / "params.yaml").model_dump(mode="json")
    raw["language_model"]["recorded"] = "recorded.jsonl"
    raw["queries"]["corpora"] = {"coco": "captions.json", "nouns": "nouns.txt"}
    raw["queries"]["prompt"] = str(PROMPTS / "caption_concepts.jinja")
    raw["universe"] |= {"drop_class_names": "artifacts/classes", "control_words": "control.txt"}
    raw["queries"]["dictionaries"] = {"menagerie": str(PROMPTS / "class_queries.jinja")}
    nothing = str(ROOT / "params/no_knowledge.csv")
    unsaid = str(ROOT / "params/no_annotations.csv")
    raw["datasets"]["menagerie"] |= {"question_reference": nothing, "answer_reference": nothing}
    raw["datasets"]["menagerie"] |= {"annotations": unsaid, "classes": "classes.txt"}
    raw["datasets"]["menagerie"] |= {"k": 2, "budget": None}
    return Params.model_validate(raw)


def test_the_corpora_alone_are_a_universe(params: Params) -> None:
    raw = params.model_dump(mode="json")
    raw["queries"] |= {"corpora": {"nouns": "nouns.txt"}, "dictionaries": {}}
    raw["language_model"]["recorded"] = "nowhere.jsonl"
    alone = Params.model_validate({**raw, "run": {**raw["run"], "inits": ["informative"]}})
    stage("generate_queries")(alone, "nouns")
    stage("read_dataset")(alone, "menagerie")
    assert stage("build_universe")(alone) == RowCounts(read=5, written=5)
    with pytest.raises(InputError, match="--dataset menagerie: expected one of none"):
        stage("generate_dictionary")(alone, "menagerie")
    with pytest.raises(InputError, match="--dataset menagerie: expected one of none"):
        stage("read_list")(alone, "menagerie")


def test_every_text_of_a_given_list_enters_the_universe(params: Params) -> None:
    mine = "Is it striped?\nfour wheels\nis it STRIPED\nA question of many more words than five\n"
    Path("mine.txt").write_text(mine, encoding="utf-8")
    raw = params.model_dump(mode="json")
    raw["queries"]["lists"] = {"menagerie": "mine.txt"}
    raw["questions"] = {"ban": ["glass", "green grass"], "keep": ["Wet fur"]}
    raw["questions"]["first"] = "four wheels"
    listed = Params.model_validate(raw)
    assert stage("read_list")(listed, "menagerie") == RowCounts(read=4, written=3)
    for corpus in ("coco", "nouns"):
        stage("generate_queries")(listed, corpus)
    stage("read_dataset")(listed, "menagerie")
    stage("generate_dictionary")(listed, "menagerie")
    stage("build_universe")(listed)
    universe = read_table("artifacts/universe/texts.parquet", UNIVERSE).to_pylist()
    mine, corpora = "list/menagerie", ["corpus/coco", "corpus/nouns"]
    assert [(row["text"], row["sources"]) for row in universe] == [
        ("striped coat", ["dictionary/menagerie", "corpus/coco"]),
        ("four wheels", ["dictionary/menagerie", mine, "kept", *corpora]),
        ("Is it striped?", [mine]),
        ("A question of many more words than five", [mine]),
        ("Wet fur", ["kept"]),
        ("Street Lamp", ["corpus/nouns"]),
    ]


# Knowledge of classes.

KNOWLEDGE_PROMPT = PROMPTS / "class_knowledge.jinja"
CLASSES = ["zebra", "bus"]
TEXTS = ["Striped coat", "four wheels", "striped coat"]
KNOWN = Path("artifacts/datasets/menagerie/knowledge.parquet")


def universe(texts: list[str]) -> None:
    columns = {"text": texts, "sources": [["s"]] * len(texts), "caption_ids": [[]] * len(texts)}
    write_table("artifacts/universe/texts.parquet", UNIVERSE, columns)


def generate(raw: dict[str, Any]) -> RowCounts:
    return stage("generate_knowledge")(Params.model_validate(raw), "menagerie")


def test_a_file_replaces_the_language_model(params: Params) -> None:
    write_text_list("artifacts/classes/menagerie.txt", CLASSES)
    universe(TEXTS)
    raw = params.model_dump(mode="json")
    known = f"class,{TEXTS[0]},four wheels,nowhere\nbus,0,1,1\nzebra,0,0,0\n"
    Path("known.csv").write_text(known, encoding="utf-8")
    raw["language_model"] |= {"backend": "vllm", "recorded": "nowhere.jsonl"}
    raw["datasets"]["menagerie"]["knowledge"] = "known.csv"
    assert generate(raw) == RowCounts(read=4, written=4)
    known = read_knowledge(KNOWN)
    np.testing.assert_array_equal(
        known.for_classes_and_texts(CLASSES, [*TEXTS[:2], "nowhere"]),
        np.array([[0, 0, np.nan], [0, 1, np.nan]], np.float32),
    )
    first = (KNOWN).read_bytes()
    raw["datasets"]["menagerie"]["knowledge"] = "copy.parquet"
    Path("copy.parquet").write_bytes(first)
    generate(raw)
    assert (KNOWN).read_bytes() == first


def test_a_language_model_is_asked_about_candidates(
    embedded: Params, caplog: pytest.LogCaptureFixture
) -> None:
    classes = [f"class {label}" for label in range(4)]
    write_text_list("artifacts/classes/menagerie.txt", classes)
    universe([f"concept {row}" for row in range(30)])
    raw = embedded.model_dump()
    raw["datasets"]["menagerie"]["knowledge"] = str(KNOWLEDGE_PROMPT)
    raw["language_model"] |= {"backend": "openai", "candidates": 11}
    caplog.set_level("INFO", "infopursuit")
    with serving(lambda request: completion("true: 1\nsometimes: none")) as (url, requests):
        raw["language_model"]["openai"]["base_url"] = url
        generate(raw)
    given, telling = [5, 6, 7, 8, 9, 10, 12], [0, 1, 2, 3]
    known = read_knowledge(KNOWN)
    assert known.texts == tuple(f"concept {row}" for row in [*telling, *given])
    assert len(requests) == 4
    assert "asked about 4 classes and 11 texts: at most 16 times, 4 times if all" in caplog.text
    stage("initialize")(Params.model_validate(raw), "menagerie", "informative", 0)
    assert set(read_text_list("artifacts/initial/menagerie-informative-0.txt")) <= set(known.texts)
