"""The three stage scripts on a few captions with recorded answers to the real prompts."""

import json
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, UNIVERSE, read_table
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries.language_models import Answer
from infopursuit.queries.language_models.recorded import Recording, write_recorded
from tests.stage_scripts import ROOT, stage

PROMPTS = ROOT / "src/infopursuit/queries/prompts"
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
    raw["universe"] |= {"drop_class_names": True, "control_words": "control.txt"}
    raw["queries"]["dictionaries"] = {"menagerie": str(PROMPTS / "class_queries.jinja")}
    raw["datasets"]["menagerie"] |= {"classes": "classes.txt", "k": 2, "budget": None}
    return Params.model_validate(raw)


def run_all(params: Params) -> dict[str, bytes]:
    assert stage("generate_queries")(params, "coco") == Rows(read=4, written=8)
    assert stage("generate_queries")(params, "nouns") == Rows(read=2, written=2)
    assert stage("read_classes")(params, "menagerie") == Rows(read=2, written=2)
    assert stage("generate_dictionary")(params, "menagerie") == Rows(read=2, written=2)
    assert stage("build_universe")(params) == Rows(read=15, written=7)
    files = sorted(path for path in Path("artifacts").rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def test_from_captions_to_the_universe(params: Params) -> None:
    files = run_all(params)
    assert list(files) == [
        "artifacts/answers/coco.json",
        "artifacts/answers/coco.parquet",
        "artifacts/answers/coco.rejected.parquet",
        "artifacts/answers/nouns.json",
        "artifacts/answers/nouns.parquet",
        "artifacts/answers/nouns.rejected.parquet",
        "artifacts/classes/menagerie.txt",
        "artifacts/queries/coco.parquet",
        "artifacts/queries/dictionaries/menagerie.txt",
        "artifacts/queries/nouns.parquet",
        "artifacts/universe/control.parquet",
        "artifacts/universe/counts.json",
        "artifacts/universe/rejected.parquet",
        "artifacts/universe/texts.parquet",
    ]
    universe = read_table("artifacts/universe/texts.parquet", UNIVERSE).to_pylist()
    assert [(row["text"], row["sources"], row["caption_ids"]) for row in universe] == [
        ("striped coat", ["dictionary/menagerie", "corpus/coco"], [10]),
        ("four wheels", ["dictionary/menagerie", "corpus/coco", "corpus/nouns"], [7, 9]),
        ("green grass", ["corpus/coco"], [10]),
        ("glass windows", ["corpus/coco"], [7, 9]),
        ("Street Lamp", ["corpus/nouns"], []),
    ]
    counts = json.loads(files["artifacts/universe/counts.json"])
    assert counts["dropped"]["class_names"] == 1
    control = read_table("artifacts/universe/control.parquet", UNIVERSE).to_pylist()
    assert [tuple(row.values()) for row in control] == [
        ("Therefore", ["control"], []),
        ("mortgage", ["control"], []),
    ]
    assert counts["control"] == {"words": 3, "in_universe": 1, "merged_spellings": 0, "texts": 2}
    rejected = read_table("artifacts/answers/coco.rejected.parquet", REJECTED_LINES)
    assert rejected.column("reason").to_pylist() == ["or", "chatter", "unfit caption"]
    answers = read_table("artifacts/answers/coco.parquet", ANSWERS)
    assert answers.column("caption").to_pylist() == list(ANSWERED)
    assert read_table("artifacts/queries/coco.parquet", QUERIES).num_rows == 8


def test_repeats_are_equal_to_the_byte(params: Params) -> None:
    assert run_all(params) == run_all(params)


def test_control_words_that_are_nowhere_end_the_stage(params: Params) -> None:
    run_all(params)
    Path("control.txt").unlink()
    with pytest.raises(InputError, match=r"control\.txt: no such file"):
        stage("build_universe")(params)


def test_a_caption_without_recorded_answer(params: Params) -> None:
    content = {"annotations": [{"id": 1, "caption": "A cow."}]}
    Path("captions.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"recorded\.jsonl: no answer.*'Caption: A cow\.'"):
        stage("generate_queries")(params, "coco")


def test_a_recorded_dictionary_needs_no_language_model(params: Params) -> None:
    raw = params.model_dump(mode="json")
    raw["language_model"] |= {"backend": "vllm", "recorded": "nowhere.jsonl"}
    raw["queries"]["dictionaries"] = {"menagerie": "recorded.jsonl"}
    stage("read_classes")(params, "menagerie")
    stage("generate_dictionary")(Params.model_validate(raw), "menagerie")
    written = Path("artifacts/queries/dictionaries/menagerie.txt").read_text(encoding="utf-8")
    assert written == "striped coat\nfour wheels\n"


def test_a_list_is_a_dictionary_as_it_is(params: Params) -> None:
    raw = params.model_dump(mode="json")
    raw["queries"]["dictionaries"] = {"menagerie": "nouns.txt"}
    stage("read_classes")(params, "menagerie")
    stage("generate_dictionary")(Params.model_validate(raw), "menagerie")
    written = Path("artifacts/queries/dictionaries/menagerie.txt").read_text(encoding="utf-8")
    assert written == "Street Lamp\nfour wheels\n"


def test_without_a_dictionary_or_a_list_the_corpora_are_the_universe(params: Params) -> None:
    raw = params.model_dump(mode="json")
    raw["queries"] |= {"corpora": {"nouns": "nouns.txt"}, "dictionaries": {}}
    raw["language_model"]["recorded"] = "nowhere.jsonl"
    alone = Params.model_validate({**raw, "run": {**raw["run"], "inits": ["informative"]}})
    stage("generate_queries")(alone, "nouns")
    stage("read_classes")(alone, "menagerie")
    assert stage("build_universe")(alone) == Rows(read=5, written=5)
    with pytest.raises(InputError, match="--dataset menagerie: expected one of none"):
        stage("generate_dictionary")(alone, "menagerie")
    with pytest.raises(InputError, match="--dataset menagerie: expected one of none"):
        stage("read_list")(alone, "menagerie")


def test_a_list_of_ones_own_enters_the_universe_whatever_is_in_it(params: Params) -> None:
    mine = "Is it striped?\nfour wheels\nis it STRIPED\nA question of many more words than five\n"
    Path("mine.txt").write_text(mine, encoding="utf-8")
    raw = params.model_dump(mode="json")
    raw["queries"]["lists"] = {"menagerie": "mine.txt"}
    raw["questions"] = {
        "ban": ["glass", "green grass"],
        "keep": ["Wet fur"],
        "first": "four wheels",
    }
    listed = Params.model_validate(raw)
    assert stage("read_list")(listed, "menagerie") == Rows(read=4, written=3)
    for corpus in ("coco", "nouns"):
        stage("generate_queries")(listed, corpus)
    stage("read_classes")(listed, "menagerie")
    stage("generate_dictionary")(listed, "menagerie")
    stage("build_universe")(listed)
    universe = read_table("artifacts/universe/texts.parquet", UNIVERSE).to_pylist()
    assert [(row["text"], row["sources"]) for row in universe] == [
        ("striped coat", ["dictionary/menagerie", "corpus/coco"]),
        (
            "four wheels",
            ["dictionary/menagerie", "list/menagerie", "kept", "corpus/coco", "corpus/nouns"],
        ),
        ("Is it striped?", ["list/menagerie"]),
        ("A question of many more words than five", ["list/menagerie"]),
        ("Wet fur", ["kept"]),
        ("Street Lamp", ["corpus/nouns"]),
    ]
