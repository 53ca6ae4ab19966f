"""What is recorded and judged of the sixteen classes is complete, and fits how they are drawn."""

import json
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.files import write_text_list
from infopursuit.core.tables import UNIVERSE, read_table
from infopursuit.pipeline.configure import configure
from infopursuit.pipeline.params import Params, load_params
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.knowledge_tables import read_knowledge
from menagerie.captions import coco_captions
from menagerie.scenes import scene_for
from menagerie.species import CLASS_NAMES, SPECIES
from menagerie.truths import CLAIMS
from tests.stage_scripts import ROOT, stage

JUDGE = ROOT / "stages/menagerie/judge.csv"


@pytest.fixture(scope="module")
def texts_and_knowledge(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[str], KnowledgeTable]:
    """The default universe, and what the recorded answers say of it."""
    folder = tmp_path_factory.mktemp("menagerie")
    raw = load_params(ROOT / "params.yaml").model_dump(mode="json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("captions.json").write_text(json.dumps(coco_captions(2, 240, 64)), encoding="utf-8")
        write_text_list("artifacts/classes/menagerie.txt", CLASS_NAMES)
        for section, key in (
            ("language_model", "recorded"),
            ("queries", "prompt"),
            ("universe", "control_words"),
        ):
            raw[section][key] = str(ROOT / raw[section][key])
        raw["queries"]["corpora"] = {"menagerie": "captions.json"}
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


def test_kinds_coats_and_parts_are_those_of_the_species(
    texts_and_knowledge: tuple[list[str], KnowledgeTable],
) -> None:
    _, known = texts_and_knowledge
    parts = {part.name for species in SPECIES for part in species.parts}
    colours = {colour for species in SPECIES for colour in species.colours}
    kinds = {kind for species in SPECIES for kind in species.kinds}
    looked_at = 0
    for phrase, (attribute, holds) in CLAIMS.items():
        if not holds or attribute not in parts | colours | kinds | {"striped", "spotted"}:
            continue
        values = known.for_classes_and_texts(CLASS_NAMES, [phrase])[:, 0]
        for species, value in zip(SPECIES, values, strict=True):
            share = {
                **species.colours,
                **species.patterns,
                **dict.fromkeys(species.kinds, 1.0),
                **{part.name: part.probability for part in species.parts},
            }.get(attribute, 0.0)
            looked_at += 1
            if share == 0:
                assert value == 0, (species.name, phrase)
            elif "coat" not in phrase:  # paint and scales are none
                assert value > 0, (species.name, phrase, share)
            if share < 0.5:
                assert value < 1, (species.name, phrase, share)
    assert looked_at > 1000


def test_the_judge_names_texts_of_the_default_universe_alone(
    texts_and_knowledge: tuple[list[str], KnowledgeTable],
) -> None:
    texts, _ = texts_and_knowledge
    judged = open_knowledge(JUDGE)
    assert (set(judged.classes), set(judged.texts)) == (set(CLASS_NAMES), set(texts))
    fits = judged.values >= 0.5
    assert 0.1 < fits.mean() < 0.3


def test_the_judge_calls_true_or_often_what_is_drawn_so_often() -> None:
    """From three pictures in four on, and from one in four: 3 points are two standard errors."""
    scenes, count = len(CLASS_NAMES), 1000
    drawn = [scene_for(7, "train", index)[0].truth for index in range(scenes * count)]
    values = open_knowledge(JUDGE).for_classes_and_texts(CLASS_NAMES, list(CLAIMS))
    for column, (phrase, (attribute, holds)) in enumerate(CLAIMS.items()):
        shows = np.array([truth[attribute] == holds for truth in drawn])
        shares = shows.reshape(count, scenes).mean(axis=0)
        for name, share, value in zip(CLASS_NAMES, shares, values[:, column], strict=True):
            least, most = {1.0: (0.72, 1.0), 0.5: (0.22, 0.78), 0.0: (0.0, 0.28)}[float(value)]
            assert least <= share <= most, (name, phrase, share)


def test_the_comparison_changes_nothing_of_the_world_but_its_judge(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text((ROOT / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    before = load_params(path).datasets["menagerie"].model_dump(mode="json")
    configure(ROOT / "params/benchmark.yaml", path)
    after = load_params(path).datasets["menagerie"].model_dump(mode="json")
    assert after == {**before, "judge": "stages/menagerie/judge.csv"}
