"""The stage that generates knowledge: recorded, given by a file, killed and resumed."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import REJECTED_KNOWLEDGE, UNIVERSE, read_table, write_table
from infopursuit.core.text_lists import write_text_list
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries.class_knowledge import TEXTS_PER_PROMPT
from infopursuit.queries.knowledge import read_knowledge
from infopursuit.queries.language_models import Answer
from infopursuit.queries.language_models.recorded import Recording, write_recorded
from tests.queries.language_models.test_openai_server import completion, prompt_of, serving
from tests.stage_scripts import ROOT, stage

PROMPT = ROOT / "src/infopursuit/queries/prompts/class_knowledge.jinja"
CLASSES = ["zebra", "bus"]
TEXTS = ["Striped coat", "four wheels", "striped coat"]
OUT = Path("artifacts/knowledge")


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings for a temporary folder with classes, a universe and recorded answers."""
    monkeypatch.chdir(tmp_path)
    write_text_list("artifacts/classes/menagerie.txt", CLASSES)
    universe(TEXTS)
    answers = {"zebra": "true: 1\nsometimes: none", "bus": "true: 2\nsometimes: 1"}
    recordings = [
        Recording("class_knowledge", {"class_name": name, "texts": TEXTS[:2]}, Answer(text, "stop"))
        for name, text in answers.items()
    ]
    template = {"class_knowledge": PROMPT.read_text(encoding="utf-8")}
    write_recorded("recorded.jsonl", template, recordings)
    raw = load_params(ROOT / "params.yaml").model_dump(mode="json")
    raw["language_model"]["recorded"] = "recorded.jsonl"
    raw["datasets"]["menagerie"] |= {"knowledge": str(PROMPT)}
    return raw


def universe(texts: list[str]) -> None:
    columns = {"text": texts, "sources": [["s"]] * len(texts), "caption_ids": [[]] * len(texts)}
    write_table("artifacts/universe/texts.parquet", UNIVERSE, columns)


def generate(raw: dict[str, Any]) -> Rows:
    return stage("generate_knowledge")(Params.model_validate(raw), "menagerie")


def counts() -> dict[str, Any]:
    return json.loads((OUT / "menagerie.json").read_text(encoding="utf-8"))


def test_the_language_model_is_asked(raw: dict[str, Any]) -> None:
    assert generate(raw) == Rows(read=4, written=4)
    known = read_knowledge(OUT / "menagerie.parquet")
    found = known.for_classes_and_texts(["bus", "zebra"], TEXTS)
    np.testing.assert_array_equal(found, [[0.5, 1, 0.5], [1, 0, 1]])
    assert counts()["values"] == {"true": 2, "sometimes": 1, "not_true": 1, "unknown": 0}
    assert counts()["prompts"] == 2
    assert read_table(OUT / "menagerie.rejected.parquet", REJECTED_KNOWLEDGE).num_rows == 0


def test_another_universe_needs_other_answers(raw: dict[str, Any]) -> None:
    universe(["wings", "four wheels"])
    with pytest.raises(InputError, match=r"recorded\.jsonl: the answer .*'Class: zebra'.*wings"):
        generate(raw)


def test_an_answer_of_no_use_is_listed(raw: dict[str, Any]) -> None:
    lines = Path("recorded.jsonl").read_text(encoding="utf-8")
    spoilt = lines.replace("true: 2\\nsometimes: 1", "true: 2\\nsometimes: 2")
    Path("recorded.jsonl").write_text(spoilt, encoding="utf-8")
    assert generate(raw) == Rows(read=4, written=2)
    [row] = read_table(OUT / "menagerie.rejected.parquet", REJECTED_KNOWLEDGE).to_pylist()
    assert (row["class"], row["texts"], row["reason"]) == ("bus", TEXTS[:2], "a number twice")
    assert counts()["values"]["unknown"] == 2
    assert counts()["prompts_without_answer"] == 1


def test_a_file_takes_the_place_of_the_language_model(raw: dict[str, Any]) -> None:
    Path("known.jsonl").write_text(
        '{"complete": true}\n'
        '{"class": "bus", "yes": ["four wheels", "nowhere"], "sometimes": []}\n'
        '{"class": "zebra", "yes": [], "sometimes": []}\n',
        encoding="utf-8",
    )
    raw["language_model"] |= {"backend": "vllm", "recorded": "nowhere.jsonl"}
    raw["datasets"]["menagerie"]["knowledge"] = "known.jsonl"
    assert generate(raw) == Rows(read=4, written=4)
    known = read_knowledge(OUT / "menagerie.parquet")
    np.testing.assert_array_equal(
        known.for_classes_and_texts(CLASSES, [*TEXTS[:2], "nowhere"]),
        np.array([[0, 0, np.nan], [0, 1, np.nan]], np.float32),
    )
    first = (OUT / "menagerie.parquet").read_bytes()
    raw["datasets"]["menagerie"]["knowledge"] = "copy.parquet"
    Path("copy.parquet").write_bytes(first)
    generate(raw)
    assert (OUT / "menagerie.parquet").read_bytes() == first


def test_without_knowledge_all_is_unknown(raw: dict[str, Any]) -> None:
    raw["datasets"]["menagerie"]["knowledge"] = str(ROOT / "params/no_knowledge.jsonl")
    assert generate(raw) == Rows(read=4, written=0)
    assert read_knowledge(OUT / "menagerie.parquet").classes == ()
    assert counts()["values"]["unknown"] == 4


def test_knowledge_of_other_classes_ends_the_stage(raw: dict[str, Any]) -> None:
    line = '{"class": "cow", "yes": [], "sometimes": []}\n'
    Path("known.jsonl").write_text(line, encoding="utf-8")
    raw["datasets"]["menagerie"]["knowledge"] = "known.jsonl"
    with pytest.raises(InputError, match=r"known\.jsonl: 'cow' is no class of the data set"):
        generate(raw)


def test_a_killed_stage_goes_on_where_it_was(raw: dict[str, Any], tmp_path: Path) -> None:
    batches = 60
    universe([f"text {number}" for number in range(batches * TEXTS_PER_PROMPT)])
    enough, killed = threading.Event(), threading.Event()
    prompts: list[str] = []

    def reply(request: dict[str, Any]) -> Any:
        prompts.append(prompt_of(request))
        if len(prompts) > 100:
            enough.set()
            killed.wait(60)
        number = 1 + len(prompts[-1]) % 7
        return completion(f"true: {number}\nsometimes: {number + 1}")

    with serving(reply) as (url, _):
        raw["language_model"] |= {"backend": "openai"}
        raw["language_model"]["openai"] |= {"base_url": url, "timeout_seconds": 100.0}
        with Path("params.yaml").open("w", encoding="utf-8") as file:
            YAML().dump(raw, file)
        script = ROOT / "stages/generate_knowledge.py"
        command = [sys.executable, str(script), "--dataset", "menagerie"]
        process = subprocess.Popen(command)
        assert enough.wait(60)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        killed.set()
        assert not OUT.exists(), "nothing appears before it is whole"
        time.sleep(0.5)  # requests of the dead process that were under way
        before = set(prompts[:64])
        del prompts[:]
        assert subprocess.run(command, check=False).returncode == 0
        resumed = (OUT / "menagerie.parquet").read_bytes()
        assert len(prompts) == 2 * batches - 64, "the first chunk of 64 was kept"
        assert not before & set(prompts)
        (tmp_path / ".scratch").rename(tmp_path / "kept")
        assert subprocess.run(command, check=False).returncode == 0
    assert (OUT / "menagerie.parquet").read_bytes() == resumed
    assert counts()["values"]["unknown"] == 0
