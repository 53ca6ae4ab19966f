"""params.yaml is valid as shipped, every mistake is told with its path, and overlays merge."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from dataclasses import replace
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from dvc.utils.hydra import apply_overrides
from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.core.settings import read_settings
from infopursuit.pipeline.configure import configure
from infopursuit.pipeline.params import Params, load_params
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.questions.gaussian import GaussianPursuit

ROOT = Path(__file__).parents[2]
OVERLAYS = sorted((ROOT / "params").glob("*.yaml"))
# Ready-made settings that build on others.
BEFORE = {
    "paper": ["ablations.yaml"],
    "bottleneck": ["ablations.yaml", "paper.yaml"],
    "results": ["vitb32-precomputed.yaml"],
    "benchmark-vitb32": ["vitb32-precomputed.yaml"],
    "benchmark-rn50": ["rn50-precomputed.yaml"],
    "paper-widths": ["vitb32-precomputed.yaml"],
    "benchmark-networks": ["vitb32-precomputed.yaml", "benchmark-vitb32.yaml"],
}
# Mappings whose keys are names or options that a person gives.
FREE = {
    ("datasets",),
    ("methods",),
    ("queries", "corpora"),
    ("queries", "dictionaries"),
    ("queries", "lists"),
    ("explain", "ids"),
    ("language_model", "vllm", "engine"),
    ("language_model", "openai", "extra"),
    ("compute", "vllm_engine"),
}


def content() -> dict[str, Any]:
    return YAML(typ="safe").load((ROOT / "params.yaml").read_text(encoding="utf-8"))


def edited(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    """params.yaml with texts replaced, each of which must occur."""
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def mappings(values: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every mapping of settings."""
    if path not in FREE:
        yield path
    for key, value in values.items():
        if isinstance(value, dict) and (*path, key)[:2] not in {("compute", "vllm_engine")}:
            yield from mappings(value, (*path, key))


MAPPINGS = list(mappings(content()))
GAUSSIAN = "    method: gaussian"


def test_the_shipped_parameters_are_valid_and_every_key_is_explained() -> None:
    params = load_params(ROOT / "params.yaml")
    assert params.datasets["menagerie"].largest_budget == params.datasets["menagerie"].k
    lines = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    assert sum(line.strip().startswith("#") for line in lines) > 60


def test_every_method_shipped_is_of_its_kind_for_every_data_set() -> None:
    params = load_params(ROOT / "params.yaml")
    kinds = {name: type(params.method(name, "menagerie")) for name in params.methods}
    assert kinds.pop("gaussian") is GaussianPursuit
    assert set(kinds.values()) == {VariationalSettings}
    dictionaries = {name: params.method(name, "menagerie").dictionary for name in kinds}
    assert dictionaries == {"fixed": "fixed", "alternating": "alternating"}


def test_an_experiment_of_dvc_changes_the_value_that_it_sets_alone(tmp_path: Path) -> None:
    expected = content()
    expected["methods"]["fixed"]["patience"] = 7
    expected["run"]["seeds"] = [0, 1]
    path = edited(tmp_path)
    apply_overrides(
        path, ["methods.fixed.patience=7", "run.seeds=[0,1]"]
    )  # as `dvc exp run -S` does
    assert YAML(typ="safe").load(path.read_text(encoding="utf-8")) == expected
    before = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    after = path.read_text(encoding="utf-8").splitlines()
    changed = [line for line in unified_diff(before, after, n=0) if line[0] in "+-"][2:]
    assert changed == ["+  - 1", "-    patience: 1000", "+    patience: 7"]


@pytest.mark.parametrize("path", MAPPINGS, ids=lambda path: ".".join(path) or "top")
def test_an_unknown_key_is_told_with_its_path_wherever_it_is(
    path: tuple[str, ...], tmp_path: Path
) -> None:
    values = content()
    place = values
    for key in path:
        place = place[key]
    place["no_such_key"] = 1
    with (tmp_path / "params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(values, file)
    with pytest.raises(InputError, match="no_such_key: unknown key") as caught:
        load_params(tmp_path / "params.yaml")
    assert all(part in str(caught.value) for part in path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  seeds:\n", "  sedes:\n", "run.seeds: missing key|run.sedes: unknown key"),
        ("  - 0\n", "  - -1\n", "run.seeds.0: .*-1"),
        ("    k: 48", "    k: '48'", r"datasets.menagerie.k: .*valid integer.*'48'"),
        ("  - llm\n", "  - lm\n", "run.inits.0: .*'lm'"),
        (
            "`datasets` below.\n  - menagerie",
            "`datasets` below.\n  - zoo",
            "run.datasets: 'zoo' is not a key",
        ),
        ("  - fixed\n", "  - fxied\n", "run.methods: 'fxied' is not a key of methods"),
        ("  - 0\n", "  - 0\n  - 0\n", "run.seeds: .*twice"),
        ("truth:\n  - menagerie", "truth:\n  - zoo", "run.truth.0: .*'zoo'"),
        ("    budget:\n", "    budget: 49\n", "datasets.menagerie: budget is 49; .*k = 48"),
        ("    batch_size: 128", "    batch_size: 0", "methods.fixed.*batch_size is 0"),
        (
            "    method: variational",
            "    method: v-ip",
            "methods.fixed.*method is 'v-ip'; expected",
        ),
        (GAUSSIAN, "    kind: x", "methods.gaussian.*method is None; expected"),
        ("validation_fraction: 0.1", "validation_fraction: 1.0", "validation_fraction: .*1.0"),
        ("run:\n", "run: [\n", "not valid YAML"),
        ("datasets:\n  menagerie:\n", "datasets:\n  'a;b':\n", "the name 'a;b'"),
        ("corpora:\n    menagerie:", "corpora:\n    '../up':", r"the name '\.\./up'"),
        ("  gaussian:", "  'a-b':", "the name 'a-b'"),
        ("clip: stages", "clap: stages", "clip: missing key|clap: unknown key"),
        (
            "dictionary: alternating\n    answers: minmax",
            "dictionary: alternating\n    answers: threshold",
            "a threshold belongs to a text: expected fixed and",
        ),
        ("variational: {}", "variational: {answers: maybe}", "variational.answers: .*'maybe'"),
        ("variational: {}", "variational: {max_history: 0}", "variational.max_history is 0"),
        (GAUSSIAN, f"{GAUSSIAN}\n    batch_size: 7", r"methods\.gaussian.*batch_size: unknown key"),
    ],
)
def test_a_mistake_is_told_with_the_path_of_its_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_params(edited(tmp_path, (old, new)))
    assert "\n" not in str(caught.value)


def test_a_data_set_overrides_single_settings_of_variational_methods_alone(tmp_path: Path) -> None:
    path = edited(tmp_path, ("variational: {}", "variational: {batch_size: 7, hidden: [9, 8]}"))
    params = load_params(path)
    settings = params.method("fixed", "menagerie")
    assert isinstance(settings, VariationalSettings)
    assert (settings.batch_size, settings.hidden, settings.learning_rate) == (7, (9, 8), 2e-3)
    assert params.method("gaussian", "menagerie") == GaussianPursuit()


@pytest.mark.parametrize("overlay", OVERLAYS, ids=[path.stem for path in OVERLAYS])
def test_ready_made_settings_merge_and_keep_the_comments(tmp_path: Path, overlay: Path) -> None:
    path = edited(tmp_path)
    configure(ROOT / "params/benchmark.yaml", path)  # a comparison on other data sets ends
    for first in BEFORE.get(overlay.stem, ()):  # it says so
        configure(ROOT / "params" / first, path)
    configure(overlay, path)
    params = load_params(path)
    wanted = YAML(typ="safe").load(overlay.read_text(encoding="utf-8"))
    if "datasets" in wanted:
        assert set(params.datasets) == set(wanted["datasets"])
    for key, value in wanted.get("run", {}).items():
        assert getattr(params.run, key) == value
    assert "# Adam's learning rates" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    configure(overlay, path)
    assert path.read_bytes() == before


def test_what_an_overlay_changes_of_a_method_reaches_those_that_follow_it(tmp_path: Path) -> None:
    path = edited(tmp_path)
    configure(ROOT / "params/ablations.yaml", path)
    configure(ROOT / "params/paper.yaml", path)
    params = load_params(path)
    for name in ("fixed", "joint", "alternating", "soft_answers", "free_queries"):
        settings = params.method(name, "cifar10")
        assert isinstance(settings, VariationalSettings)
        assert (settings.hidden, settings.learning_rate) == ((2000, 500), 1e-5)
        assert settings.random_updates == 262500
    for name, dataset in params.datasets.items():
        settings = params.method("fixed", name)
        assert isinstance(settings, VariationalSettings)
        updates = settings.random_updates
        paper = VariationalSettings(random_updates=updates, biased_updates=updates)
        assert settings == replace(paper, validate_every=updates // 150), "10 of 1,500 passes"
        assert settings.sizes(dataset.k) == dataset.k
    assert params.method("joint", "cub200").random_updates == 31500


def test_every_file_that_an_overlay_names_in_this_repository_is_there() -> None:
    for overlay in OVERLAYS:
        wanted = YAML(typ="safe").load(overlay.read_text(encoding="utf-8"))
        named = [*wanted.get("queries", {}).get("corpora", {}).values()]
        named += [wanted["clip"]] if "clip" in wanted else []
        for dataset in wanted.get("datasets", {}).values():
            named += [dataset["images"], dataset["classes"]]
        named += wanted.get("queries", {}).get("dictionaries", {}).values()
        for path in named:
            if path.startswith(("params/", "src/", "stages/")):
                assert (ROOT / path).is_file(), f"{overlay.name} names {path}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run: {datasets: [nowhere]}\n", r"params\.yaml with .*mine\.yaml: .*'nowhere'"),
        ("methods: {fixed: {hiden: [1, 2]}}\n", r"mine\.yaml: methods\.fixed.*hiden: unknown key"),
        ("run: [\n", r"mine\.yaml: not valid YAML"),
        (None, r"mine\.yaml: no such file"),
    ],
)
def test_an_invalid_overlay_leaves_the_parameters_alone(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = edited(tmp_path)
    before = path.read_bytes()
    overlay = tmp_path / "mine.yaml"
    if text is not None:
        overlay.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        configure(overlay, path)
    assert path.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.yaml", "params.yaml"}


STAGES = sorted((ROOT / "stages").glob("*.py"))


@pytest.mark.parametrize("script", STAGES, ids=[path.stem for path in STAGES])
def test_every_section_that_a_stage_reads_is_one_of_params_yaml(script: Path) -> None:
    kind = runpy.run_path(str(script))["Settings"]
    for name, field in kind.model_fields.items():
        assert Params.model_fields[name].annotation == field.annotation, name
    assert read_settings(ROOT / "params.yaml", kind, partly=True)


@pytest.mark.parametrize("name", ["own-photos", "paper", "benchmark"])
def test_other_data_sets_keep_the_comments_of_their_keys(tmp_path: Path, name: str) -> None:
    path = edited(tmp_path)
    before = path.read_text(encoding="utf-8")
    for overlay in (*BEFORE.get(name, ()), f"{name}.yaml"):
        configure(ROOT / "params" / overlay, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    keys = {line.strip().split(":")[0] for line in lines}
    for comment, line in pairwise(before.splitlines()):
        if comment.strip().startswith("#") and line.strip().split(":")[0] in keys and ":" in line:
            assert comment in lines, line
