"""Real `dvc repro` from captions to the report: what runs, what runs again, what it is worth."""

from __future__ import annotations

import json
import re

import pytest

from tests.repro.world import ROOT, World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FIXED, LEARNED = "menagerie-llm-fixed-0", "menagerie-llm-alternating-0"
TABLE = "menagerie-llm-gaussian-0"
OF_A_RUN = ("train", "evaluate")
BASELINES = ("linear_probe", "zero_shot")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return the small world after one run from nothing."""
    world = World(tmp_path_factory.mktemp("world"))
    world.shrink()
    assert f"evaluate@{TABLE}" in world.repro()
    # The log of a first run has no warning.
    assert re.search(r"(?i)warn|error|deprecat|frozen|random(ly| weights)", world.log) is None
    # It ends with a table, a line for each run.
    assert len(re.findall(r"(?m)^\| llm +\| (?:fixed|alternating|gaussian) ", world.log)) == 3
    world.commit("a first run")
    return world


def test_the_report_and_every_output_are_there(world: World) -> None:
    files = world.artifacts()
    assert b"</html>" in files["report/index.html"]
    assert b"How true are the answers" in files["report/index.html"]
    assert TABLE.encode() in files["report/explorer/menagerie.html"]
    for run in (FIXED, LEARNED, TABLE):
        assert f"models/{run}/weights.safetensors" in files
        truth = json.loads(files[f"evaluation/{run}/truth.json"])
        assert truth["phrases_queries"] > 100
        assert truth["first_ten"]["claims"] > 0
        meaning = json.loads(files[f"evaluation/{run}/meaning.json"])
        assert meaning["question_quality"]["by"] == "knowledge", "no reference is given"
        metrics = json.loads(files[f"evaluation/{run}/metrics.json"])
        assert metrics["auc_low"] < metrics["auc"] < metrics["auc_high"]
        assert metrics["selected_on"] == "held_out"
    rejected = json.loads(files["queries/corpora/menagerie/counts.json"])
    assert rejected, "rejected lines are counted"


RUNS = (FIXED, LEARNED, TABLE)
PAGES = {"explain@menagerie", "explore@menagerie", "report"}
LEARN = ("methods", "alternating", "dictionary_learning_rate")


def of_runs(stages: tuple[str, ...], *runs: str) -> set[str]:
    """Return the names of some stages of some runs."""
    return {f"{stage}@{run}" for stage in stages for run in runs}


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({LEARN: 0.05}, of_runs(OF_A_RUN, LEARNED) | PAGES),
        (
            {("datasets", "menagerie", "question_reference"): "reference.csv"},
            of_runs(("evaluate",), *RUNS) | {"read_dataset@menagerie"} | PAGES,
        ),
        ({("explain", "classes_shown"): 4}, {"explain@menagerie", "report"}),
        (
            {
                ("compute", "embed_batch_size"): 32,
                ("compute", "checkpoint_seconds"): 0.0,
                ("language_model", "openai", "timeout_seconds"): 9.0,
            },
            set(),
        ),
        (
            {("run", "seeds"): [0, 1]},
            of_runs(OF_A_RUN, *(f"{run[:-1]}1" for run in RUNS))
            | {"initialize@menagerie-llm-1"}
            | PAGES,
        ),
    ],
    ids=["one method", "reference", "drawing", "computing", "a second seed"],
)
def test_an_edit_runs_what_it_touches_and_back_again_nothing(
    world: World, edits: dict, expected: set[str]
) -> None:
    names = (ROOT / "stages/menagerie/classes.txt").read_text(encoding="utf-8").split()
    rows = "".join(f"{name},{int(name == 'zebra')}\n" for name in names)
    (world.folder / "reference.csv").write_text(f"class,four legs\n{rows}", encoding="utf-8")
    before = (world.folder / "params.yaml").read_bytes()
    world.edit(edits)
    assert set(world.repro()) == expected
    (world.folder / "params.yaml").write_bytes(before)
    assert world.repro() == [], "what was run before is in the cache"


def test_metrics_and_plots_are_readable_by_dvc(world: World) -> None:
    status, output = world.run("dvc", "metrics", "show", "--json")
    assert status == 0, output
    shown = json.loads(output)[""]["data"]
    metrics = shown["artifacts/report/metrics.json"]["data"]
    assert list(shown) == ["artifacts/report/metrics.json"]
    assert set(metrics) == {"fixed", "alternating", "gaussian", *BASELINES}
    for method in ("fixed", "alternating", "gaussian"):
        assert set(metrics[method]) == {"at_stop", "supported_yes"}


def test_plots_are_shown_without_another_host(world: World) -> None:
    status, output = world.run("dvc", "plots", "show", "artifacts/report/plots")
    assert status == 0, output
    page = (world.folder / "dvc_plots/index.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "://" not in page
    for name in ("accuracy", "training"):
        assert f"menagerie-{name}.png" in page
    assert "dvc_plots" not in world.run("git", "status", "--short")[1]


def test_forced_repetition_gives_the_same_bytes(world: World) -> None:
    before = world.artifacts()
    stages = ["generate_queries@menagerie", "generate_dictionary@menagerie", "build_universe"]
    stages += [
        "generate_knowledge@menagerie",
        "read_dataset@menagerie",
        "embed_universe",
        "embed_images@menagerie",
        "initialize@menagerie-llm-0",
    ]
    stages += [f"{stage}@{LEARNED}" for stage in OF_A_RUN]
    stages += ["baselines@menagerie", "explain@menagerie", "explore@menagerie", "report"]
    assert world.repro("--force", "--single-item", *stages) == stages
    after = world.artifacts()
    assert [name for name in before if before[name] != after.get(name)] == []
