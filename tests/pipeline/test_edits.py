"""Every setting of params.yaml can be edited in the default world, without a language model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.core.tables import UNIVERSE, read_table
from infopursuit.pipeline.check import check
from infopursuit.pipeline.configure import configure
from infopursuit.pipeline.params import load_params
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.knowledge_tables import read_knowledge
from tests.stage_scripts import ROOT, stage

PARAMS: dict[str, Any] = YAML(typ="safe").load((ROOT / "params.yaml").read_text(encoding="utf-8"))
# Other values of texts, of empty lists and of null, by key or by its last part; numbers and lists
# of several entries have neighbours of their own.
OTHER: dict[str, Any] = {
    "run.datasets": ["menagerie", "mine"],
    "run.inits": ["llm", "informative"],
    "run.seeds": [0, 1],
    "run.truth": [],
    "clip": "params/clip/ViT-B-32-openai.yaml",
    "language_model.backend": "openai",
    "language_model.recorded": "params/dictionaries/cifar10.jsonl",
    "model": "some/model",
    "revision": "main",
    "engine": {"dtype": "half"},
    "base_url": "http://localhost:8001/v1",
    "api_key_variable": "SOME_KEY",
    "extra": {"reasoning_effort": "none"},
    "queries.corpora.menagerie": "src/infopursuit/texts/visual_vocabulary.csv",
    "queries.dictionaries.menagerie": "params/dictionaries/cifar10.jsonl",
    "queries.lists": {"menagerie": "params/control_words.txt"},
    "queries.prompt": "caption.jinja",
    "queries.max_captions": 100,
    "universe.drop_class_names": "artifacts/classes",
    "universe.max_similarity": 0.95,
    "universe.control_words": "params/classes/cifar10.txt",
    "questions.ban": ["four legs"],
    "questions.keep": ["Striped Body", "a huge hat"],
    "questions.first": "four legs",
    "datasets.menagerie.images": "params/images/cifar10.yaml",
    "datasets.menagerie.classes": "params/classes/cifar10.txt",
    "datasets.menagerie.knowledge": "params/no_knowledge.csv",
    "datasets.menagerie.question_reference": "stages/menagerie/reference_labels.csv",
    "datasets.menagerie.answer_reference": "reference_labels.csv",
    "datasets.menagerie.annotations": "said.csv",
    "datasets.menagerie.budget": 16,
    "datasets.menagerie.variational": {"batch_size": 64},
    "embeddings.shard_rows": 1000,
    "initialize.k": 32,
    "method": "gaussian",
    "methods.gaussian.method": "variational",
    "dictionary": "fixed",
    "methods.fixed.dictionary": "joint",
    "answers": "soft",
    "hidden": [128, 128],
    "schedule": "constant",
    "temperature": [0.5, 0.2],
    "select_on": "test",
    "benchmark.datasets": ["menagerie"],
    "explain.ids.menagerie": [],
    "explain.max_queries": 5,
    "compute.device": "cpu",
    "compute.threads": 1,
    "compute.engine": "ray",
    "compute.ray.address": "localhost:6379",
    "compute.ray.gpus_per_worker": 1.0,
    "compute.vllm_python": "python",
}
# Edits that cannot stand alone, and what `check` says of them.
MISTAKES = {
    "run.datasets": "'mine' is not a key of datasets",
    "language_model.recorded": r"queries\.corpora\.menagerie: .*no answer is recorded about caption"
    r".*visual_vocabulary(.|\n)*run\.inits to \[informative\](.|\n)*params/no_knowledge\.csv",
    "queries.dictionaries.menagerie": r"cifar10\.jsonl: no answer is recorded about queries for "
    r"classes such as 'zebra'.*run\.inits to \[informative\].*needs no server",
    "datasets.menagerie.classes": r"queries\.dictionaries\.menagerie: .*no answer is recorded "
    r"about queries for classes such as 'airplane'.*queries\.dictionaries to \{\}",
    **{f"methods.{name}.method": rf"methods\.{name} with datasets" for name in PARAMS["methods"]},
}


def leaves(value: Any, *keys: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, *keys, key)
    else:
        yield keys, value


def neighbour(keys: tuple[str, ...], value: Any) -> Any:
    key = ".".join(keys)
    if key in OTHER:
        return OTHER[key]
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1 if isinstance(value, int) else value / 2
    if keys[-1] in OTHER:
        return OTHER[keys[-1]]
    assert isinstance(value, list), f"{key}: expected an entry of OTHER"
    assert len(value) > 1, f"{key}: expected an entry of OTHER"
    return value[:-1]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default world with its captions and classes, as its recorded answers have them."""
    folder = tmp_path_factory.mktemp("world")
    for name in ("params", "src", "stages"):
        (folder / name).symlink_to(ROOT / name)
    classes = read_text_list(ROOT / "stages/menagerie/classes.txt")
    for name, text in {
        "caption.jinja": "Name what you see: {{ caption }}",
        "queries.jinja": "{{ k }} for {{ classes }}",
        "knowledge.jinja": "{{ class_name }}: {{ texts }}",
        "reference_labels.csv": "class,a cow\n" + "".join(f"{each},0\n" for each in classes),
        "said.csv": "image,text,answer\ntest-00033,four legs,yes\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def edit(folder: Path, edits: dict[str, Any]) -> Path:
    params = json.loads(json.dumps(PARAMS))
    for keys, value in edits.items():
        *path, last = keys.split(".")
        section = reduce(lambda inner, key: inner[key], path, params)
        section[last] = value
    (folder / "params.yaml").write_text(json.dumps(params), encoding="utf-8")
    return folder / "params.yaml"


EDITS = {".".join(keys): (neighbour(keys, value), value) for keys, value in leaves(PARAMS)}


@pytest.mark.slow
def test_every_setting_can_be_edited(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    refused: dict[str, str] = {}
    for key, (value, before) in EDITS.items():
        assert value != before, key
        edit(world, {key: value})
        try:
            check(ask_server=False)
        except InputError as error:
            refused[key] = str(error)
    assert refused.keys() == MISTAKES.keys(), refused
    for key, message in refused.items():
        assert re.search(MISTAKES[key], message), message


class Texts(NamedTuple):
    """What the stages of texts write."""

    dictionary: list[str]
    universe: list[str]
    captions: int
    knowledge: KnowledgeTable

    def known(self, texts: list[str]) -> np.ndarray:
        return self.knowledge.for_classes_and_texts(self.knowledge.classes, texts)


def run(folder: Path, edits: dict[str, Any]) -> Texts:
    params = load_params(edit(folder, edits))
    stage("generate_queries")(params, "menagerie")
    stage("read_dataset")(params, "menagerie")
    stage("generate_dictionary")(params, "menagerie")
    stage("build_universe")(params)
    stage("generate_knowledge")(params, "menagerie")
    counts = json.loads(
        Path("artifacts/queries/corpora/menagerie/counts.json").read_text(encoding="utf-8")
    )
    return Texts(
        read_text_list("artifacts/queries/dictionaries/menagerie.txt"),
        read_table("artifacts/universe/texts.parquet", UNIVERSE).column("text").to_pylist(),
        counts["captions"],
        read_knowledge("artifacts/datasets/menagerie/knowledge.parquet"),
    )


@pytest.fixture(scope="module")
def default(world: Path) -> Texts:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world)
        return run(world, {})


def test_the_default_is_known_of_every_text(default: Texts) -> None:
    assert len(default.dictionary) == PARAMS["datasets"]["menagerie"]["k"]
    assert not np.isnan(default.known(default.universe)).any()
    values = default.known(default.universe) == 1
    assert len({row.tobytes() for row in values}) == 16, "no two classes are described alike"


def test_the_reference_labels_of_the_comparison_name_all_texts_of_the_default_universe(
    default: Texts, tmp_path: Path
) -> None:
    labels = open_knowledge(ROOT / "stages/menagerie/reference_labels.csv")
    assert set(labels.texts) == set(default.universe)
    path = tmp_path / "params.yaml"
    path.write_bytes((ROOT / "params.yaml").read_bytes())
    configure(ROOT / "params/benchmark.yaml", path)
    after = load_params(path).datasets["menagerie"].model_dump(mode="json")
    before = load_params(ROOT / "params.yaml").datasets["menagerie"].model_dump(mode="json")
    assert after == {**before, "question_reference": "stages/menagerie/reference_labels.csv"}


@pytest.mark.parametrize(
    ("edits", "k", "fewer", "new"),
    [
        ({"datasets.menagerie.k": 32}, 32, True, []),
        ({"datasets.menagerie.k": 49}, 48, False, []),
        ({"universe.max_words": 4}, 48, True, []),
        ({"questions.ban": ["four legs"]}, 48, True, []),
        ({"questions.keep": ["Striped Body", "a huge hat"]}, 48, False, ["a huge hat"]),
        ({"queries.max_captions": 100}, 48, True, []),
        ({"queries.concepts_per_caption": 5}, 48, True, []),
        ({"universe.drop_class_names": "artifacts/classes"}, 48, True, []),
        (
            {
                "queries.prompt": "caption.jinja",
                "queries.dictionaries.menagerie": "queries.jinja",
                "datasets.menagerie.knowledge": "knowledge.jinja",
            },
            48,
            False,
            [],
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_texts_and_what_is_true_of_them_are_as_recorded(
    world: Path,
    default: Texts,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    edits: dict[str, Any],
    k: int,
    fewer: bool,
    new: list[str],
) -> None:
    monkeypatch.chdir(world)
    caplog.set_level("INFO", "infopursuit")
    edited = run(world, edits)
    assert edited.captions == edits.get("queries.max_captions", default.captions)
    assert edited.dictionary == default.dictionary[:k]
    asked = edits.get("datasets.menagerie.k", k)
    assert (f"only {k} of k = {asked} queries" in caplog.text) == (asked > k)
    assert (len(edited.universe) < len(default.universe)) == fewer
    known = edited.known(edited.universe)
    np.testing.assert_array_equal(known, default.known(edited.universe))
    unknown = np.asarray(np.isnan(known).any(axis=0))
    assert [text for text, left in zip(edited.universe, unknown, strict=True) if left] == new
    named = f"1 of {len(edited.universe)} texts ('a huge hat')"
    assert (named in caplog.text) == bool(new)
