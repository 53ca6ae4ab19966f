"""The stages read_judgements and meaning on small made-up inputs."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDED_TEXTS,
    IMAGES,
    UNIVERSE,
    write_table,
)
from infopursuit.core.text_lists import write_text_list
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries.knowledge import KnowledgeTable, write_knowledge
from infopursuit.report.worst_answers import read_worst
from tests.stage_scripts import ROOT, stage

KEY = ("menagerie", "llm", "naive_bayes", 0)
RUN = Path("artifacts/meaning/menagerie-llm-naive_bayes-0")
N, K, WIDTH = 60, 12, 16
CLASSES = ["cat", "dog", "bus"]
TEXTS = [f"text {number}" for number in range(K)]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """A model with all that the two stages read, below a temporary folder, and work there."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    columns = {
        "id": [f"image/{row}" for row in range(N)],
        "split": ["train" if row % 2 else "test" for row in range(N)],
        "label": [row // 2 % 3 for row in range(N)],
        "class_name": [CLASSES[row // 2 % 3] for row in range(N)],
    }
    centres = draw.normal(size=(3, WIDTH))
    embeddings = centres[columns["label"]] + draw.normal(size=(N, WIDTH))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    model = InformationPursuitClassifier(TEXTS, np.eye(K, WIDTH), queries=TEXTS)
    model.fit(embeddings, columns["class_name"])
    model = model.with_class_names(CLASSES)
    model.provenance_ = {"settings": {"validation_fraction": 0.1, "knowledge": False}}
    model.save("artifacts/models/menagerie-llm-naive_bayes-0")
    write_table(
        "artifacts/images/menagerie.parquet", EMBEDDED_IMAGES, columns | {"embedding": embeddings}
    )
    texts = {"text": TEXTS, "source": ["corpus/given"] * K, "embedding": np.eye(K, WIDTH)}
    write_table("artifacts/universe/embeddings.parquet", EMBEDDED_TEXTS, texts)
    universe = {"text": TEXTS, "sources": [["corpus/given"]] * K, "caption_ids": [[]] * K}
    write_table("artifacts/universe/texts.parquet", UNIVERSE, universe)
    write_text_list("artifacts/classes/menagerie.txt", CLASSES)
    known = draw.choice([0.0, 0.5, 1.0], (3, K)).astype(np.float32)
    table = KnowledgeTable(tuple(CLASSES), tuple(TEXTS), known)
    write_knowledge("artifacts/knowledge/menagerie.parquet", table)
    buffer = io.BytesIO()
    Image.new("RGB", (400, 200), "red").save(buffer, "PNG")
    write_table("pictures.parquet", IMAGES, columns | {"image": [buffer.getvalue()] * N})
    return with_files(load_params(ROOT / "params.yaml"), images="pictures.parquet")


def with_files(params: Params, **files: str) -> Params:
    nothing = str(ROOT / "params/no_knowledge.jsonl")
    given = {"judge": nothing, "strict": nothing, "images": "pictures.parquet", **files}
    dataset = params.datasets["menagerie"].model_copy(update=given)
    return params.model_copy(update={"datasets": {"menagerie": dataset}})


def judged() -> dict[str, str]:
    """Files of a judge and of a strict list, of which few answers can be right."""
    Path("judge.jsonl").write_text(
        '{"complete": true}\n{"text": "Text 1", "true": ["cat"], "often": ["dog"]}\n',
        encoding="utf-8",
    )
    lines = [
        {"text": text, "kind": "part", "true": [CLASSES[number % 3]], "unknown": []}
        for number, text in enumerate(TEXTS[:9])
    ]
    Path("strict.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"judge": "judge.jsonl", "strict": "strict.jsonl"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_run_is_measured_by_judge_and_list_and_its_worst_answers_have_pictures(
    params: Params,
) -> None:
    params = with_files(params, **judged())
    assert stage("read_judgements")(params, "menagerie") == Rows(10, 10)
    rows = stage("meaning")(params, *KEY)
    found = json.loads(RUN.with_name(f"{RUN.name}.json").read_text(encoding="utf-8"))
    assert found["truth"]["by"] == "strict"
    assert found["truth"]["texts"] == 9
    assert found["sense"]["by"] == "judge"
    assert found["sense"]["plausible"] < 0.5, "one text of twelve"
    worst = read_worst(RUN)
    assert rows == Rows(N // 2, len(worst))
    assert worst
    for answer in worst:
        row = int(answer.image.removeprefix("image/"))
        assert answer.true_class == CLASSES[row // 2 % 3]
        assert answer.toward != answer.true_class
        assert answer.after > answer.before
        assert answer.query in TEXTS
        with Image.open(RUN / answer.picture) as picture:
            assert picture.size == (192, 96)
            assert picture.getpixel((5, 5)) == (255, 0, 0)
    first = contents(RUN)
    (RUN / "stale.png").write_bytes(b"")
    stage("meaning")(params, *KEY)
    assert contents(RUN) == first


def test_without_a_judge_the_stages_say_so_and_take_the_knowledge_table(
    params: Params, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert stage("read_judgements")(params, "menagerie") == Rows(0, 0)
    assert "no judge for menagerie: measured by the knowledge table instead" in caplog.text
    stage("meaning")(params, *KEY)
    assert "by the knowledge table, which is not independent" in caplog.text
    found = json.loads(RUN.with_name(f"{RUN.name}.json").read_text(encoding="utf-8"))
    assert found["truth"]["by"] == found["sense"]["by"] == "knowledge"
    assert found["explained"] is not None


def test_without_anything_said_there_are_no_figures(
    params: Params, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    nothing = KnowledgeTable((), (), np.zeros((0, 0), np.float32))
    write_knowledge("artifacts/knowledge/menagerie.parquet", nothing)
    stage("read_judgements")(params, "menagerie")
    assert stage("meaning")(params, *KEY).written == 0
    assert "nobody has said what is true of the classes" in caplog.text
    found = json.loads(RUN.with_name(f"{RUN.name}.json").read_text(encoding="utf-8"))
    assert found == {"truth": None, "sense": None, "explained": None}


def test_embeddings_without_pixels_have_answers_without_pictures(params: Params) -> None:
    params = with_files(params, images="artifacts/images/menagerie.parquet", **judged())
    stage("read_judgements")(params, "menagerie")
    stage("meaning")(params, *KEY)
    assert [path.name for path in RUN.iterdir()] == ["answers.json"]
    assert all(answer.picture is None for answer in read_worst(RUN))


def test_judgements_of_other_texts_are_refused(params: Params) -> None:
    Path("odd.jsonl").write_text('{"text": "x", "true": [], "often": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"menagerie\.judge: odd\.jsonl: none of its texts is in"):
        stage("read_judgements")(with_files(params, judge="odd.jsonl"), "menagerie")


def test_a_folder_of_worst_answers_that_is_not_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"answers\.json: no such file; `dvc repro` makes it"):
        read_worst(tmp_path)
    (tmp_path / "answers.json").write_text('[{"image": "a"}]')
    with pytest.raises(InputError, match="not the answers that a stage writes"):
        read_worst(tmp_path)
