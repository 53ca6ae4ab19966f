"""What is recorded and judged of the sixteen classes is complete, and fits how they are drawn."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from infopursuit.core.files import read_text_list, write_text_list
from infopursuit.core.tables import UNIVERSE, read_table
from infopursuit.pipeline.configure import configure
from infopursuit.pipeline.params import Params, load_params
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.knowledge_tables import read_knowledge
from menagerie.truths import CLAIMS, claims_truth
from tests.stage_scripts import ROOT, stage

HOME = ROOT / "stages/menagerie"
JUDGE = HOME / "judge.csv"
CLASS_NAMES = read_text_list(HOME / "classes.txt")


@pytest.fixture(scope="module")
def texts_and_knowledge(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[str], KnowledgeTable]:
    """The default universe, and what the recorded answers say of it."""
    folder = tmp_path_factory.mktemp("menagerie")
    raw = load_params(ROOT / "params.yaml").model_dump(mode="json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_text_list("artifacts/classes/menagerie.txt", CLASS_NAMES)
        for section, key in (
            ("language_model", "recorded"),
            ("queries", "prompt"),
            ("universe", "control_words"),
        ):
            raw[section][key] = str(ROOT / raw[section][key])
        raw["queries"]["corpora"] = {"menagerie": str(HOME / "captions.json")}
        dataset = raw["datasets"]["menagerie"]
        dataset["knowledge"] = str(ROOT / dataset["knowledge"])
        prompt = raw["queries"]["dictionaries"]["menagerie"]
        raw["queries"]["dictionaries"]["menagerie"] = str(ROOT / prompt)
        params = Params.model_validate(raw)
        stage("generate_queries")(params, "menagerie")
        stage("generate_dictionary")(params, "menagerie")
        stage("build_universe")(params)
        stage("generate_knowledge")(params, "menagerie")
        texts = read_table("artifacts/universe/texts.parquet", UNIVERSE, ["text"])
        known = read_knowledge("artifacts/knowledge/menagerie.parquet")
        counts = json.loads(Path("artifacts/knowledge/menagerie.json").read_text(encoding="utf-8"))
    assert counts["prompts_without_answer"] == 0
    assert counts["rejected_answers"] == {}
    return texts.column("text").to_pylist(), known


def test_every_class_and_text_is_known(
    texts_and_knowledge: tuple[list[str], KnowledgeTable],
) -> None:
    texts, known = texts_and_knowledge
    values = known.for_classes_and_texts(CLASS_NAMES, texts)
    assert values.shape == (16, 784)
    assert not np.isnan(values).any()
    assert len({row.tobytes() for row in values == 1}) == 16, "no two classes are described alike"
    nowhere = [text for text, column in zip(texts, values.T, strict=True) if not column.any()]
    assert nowhere == [], "captions of the world tell of nothing that is not in it"


def test_the_judge_names_texts_of_the_default_universe_alone(
    texts_and_knowledge: tuple[list[str], KnowledgeTable],
) -> None:
    texts, _ = texts_and_knowledge
    judged = open_knowledge(JUDGE)
    assert (set(judged.classes), set(judged.texts)) == (set(CLASS_NAMES), set(texts))
    fits = judged.values >= 0.5
    assert 0.1 < fits.mean() < 0.3


def test_the_judge_calls_true_or_often_what_is_drawn_so_often() -> None:
    """From three pictures in four on, and from one in four; of 210 pictures within 10 points."""
    columns = list(CLAIMS)
    table = pq.read_table(HOME / "pictures.parquet", columns=["id", "class_name"])
    classes = np.array(table.column("class_name").to_pylist())
    truth = claims_truth(
        HOME / "pictures.parquet", table.column("id").to_pylist(), list(CLAIMS.values())
    )
    judged = open_knowledge(JUDGE).for_classes_and_texts(CLASS_NAMES, columns)
    for name, values in zip(CLASS_NAMES, judged, strict=True):
        shares = truth[classes == name].mean(axis=0)
        for phrase, share, value in zip(columns, shares, values, strict=True):
            least, most = {1.0: (0.65, 1.0), 0.5: (0.15, 0.85), 0.0: (0.0, 0.35)}[float(value)]
            assert least <= share <= most, (name, phrase, share)


def test_the_comparison_changes_nothing_of_the_world_but_its_judge(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text((ROOT / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    before = load_params(path).datasets["menagerie"].model_dump(mode="json")
    configure(ROOT / "params/benchmark.yaml", path)
    after = load_params(path).datasets["menagerie"].model_dump(mode="json")
    assert after == {**before, "judge": "stages/menagerie/judge.csv"}
