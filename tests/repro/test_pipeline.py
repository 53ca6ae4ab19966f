"""Real `dvc repro` from captions to the report: what runs, what runs again, what it is worth."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest

from tests.repro.world import World

pytestmark = [pytest.mark.pipeline, pytest.mark.timeout(900)]

FIXED, LEARNED = "menagerie-llm-fixed-0", "menagerie-llm-alternating-0"
TABLE = "menagerie-llm-naive_bayes-0"
OF_A_RUN = ("train", "evaluate", "truth", "meaning", "explain")
BASELINES = ("linear_probe", "mlp", "zero_shot")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The shrunken world after one run from nothing."""
    world = World(tmp_path_factory.mktemp("world"))
    world.shrink()
    ran = world.repro()
    assert "draw_menagerie" in ran
    assert "train_menagerie_clip" not in ran, "its CLIP is kept by git"
    # Nothing in the log of a first run frightens, and it says how much is left.
    assert re.search(r"(?i)warn|error|deprecat|frozen|random(ly| weights)", world.log) is None
    told = [tuple(map(int, each)) for each in re.findall(r"stage (\d+) of (\d+): ", world.log)]
    of_root = len(ran)  # drawing is a stage of the other pipeline, and `check` is not told here
    assert told == [(number, of_root) for number in range(1, of_root + 1)]
    world.commit("a first run")
    return world


def test_the_report_and_every_output_are_there(world: World) -> None:
    files = world.artifacts()
    assert b"</html>" in files["report/index.html"]
    assert b"Are the answers true?" in files["report/index.html"]
    assert TABLE.encode() in files["report/explorer/menagerie.html"]
    for run in (FIXED, LEARNED, TABLE):
        assert f"models/{run}/weights.safetensors" in files
        truth = json.loads(files[f"evaluation/{run}.truth.json"])
        assert truth["phrases_queries"] > 100
        assert len(truth["pairs"]) == 12 + 1
        assert truth["first_ten"]["claims"] > 0
        meaning = json.loads(files[f"meaning/{run}.json"])
        assert meaning["sense"]["by"] == "knowledge", "no judge is given"
        worst = json.loads(files[f"evaluation/{run}.worst/answers.json"])
        assert {each["by"] for each in worst} <= {"pictures"}
        for each in worst:
            assert f"evaluation/{run}.worst/{each['picture']}" in files
        metrics = json.loads(files[f"evaluation/{run}.json"])
        assert metrics["auc_low"] < metrics["auc"] < metrics["auc_high"]
        assert metrics["selected_on"] == "held_out"
    rejected = json.loads(files["answers/menagerie.json"])
    assert rejected, "rejected lines are counted"


def test_a_second_run_does_nothing(world: World) -> None:
    assert world.repro() == []
    status = world.run("dvc", "status")[1].strip().splitlines()
    assert status[-1] == "Data and pipelines are up to date."
    assert all("is frozen" in line for line in status[:-1])


def test_an_edit_to_one_method_runs_its_branch_alone(world: World) -> None:
    changed = {"dictionary": "alternating", "dictionary_learning_rate": 0.05}
    world.edit({("methods", "alternating"): {**_fixed(world), **changed}})
    stages = [f"{stage}@{LEARNED}" for stage in OF_A_RUN]
    assert world.repro() == [*stages, "explore@menagerie", "report"]


def test_another_judge_measures_anew_and_trains_nothing(world: World) -> None:
    judge = '{"complete": true}\n{"text": "four legs", "true": ["zebra"], "often": []}\n'
    (world.folder / "judge.jsonl").write_text(judge, encoding="utf-8")
    world.edit({("datasets", "menagerie", "judge"): "judge.jsonl"})
    ran = world.repro()
    runs = [f"meaning@{run}" for run in (FIXED, LEARNED, TABLE)]
    assert sorted(ran) == sorted(["read_judgements@menagerie", *runs, "report"])
    world.edit({("datasets", "menagerie", "judge"): "params/no_knowledge.jsonl"})
    assert world.repro() == [], "what was measured before is in the cache"
    judge = world.artifacts()["judgements/menagerie.judge.jsonl"]
    assert judge == (world.folder / "params/no_knowledge.jsonl").read_bytes()


def test_settings_of_the_networks_leave_naive_bayes_alone(world: World) -> None:
    world.edit({("methods", "fixed", "random_updates"): 41})
    ran = world.repro()
    assert f"train@{FIXED}" in ran
    assert f"train@{TABLE}" not in ran


def test_an_edit_to_the_explanations_trains_nothing(world: World) -> None:
    world.edit({("explain", "classes_shown"): 4})
    ran = world.repro()
    assert sorted(ran) == sorted([*(f"explain@{run}" for run in (FIXED, LEARNED, TABLE)), "report"])


def test_settings_of_computing_run_nothing_again(world: World) -> None:
    world.edit({("compute", "embed_batch_size"): 32, ("compute", "checkpoint_seconds"): 0.0})
    assert world.repro() == []
    # Texts in other batches would end in other last bits if a later test embedded them again.
    world.edit({("compute", "embed_batch_size"): 64})


def test_a_second_seed_leaves_the_first_alone(world: World) -> None:
    world.edit({("run", "seeds"): [0, 1]})
    ran = world.repro()
    assert [stage for stage in ran if stage.endswith("-0")] == []
    assert f"train@{FIXED[:-1]}1" in ran
    world.edit({("run", "seeds"): [0]})
    assert world.repro() == [], "the report of these runs is in the cache"


def test_metrics_and_plots_are_readable_by_dvc(world: World) -> None:
    status, output = world.run("dvc", "metrics", "show", "--json")
    assert status == 0, output
    shown = json.loads(output)[""]["data"]
    assert set(shown) == {
        f"artifacts/report/metrics/{name}.json"
        for name in (FIXED, LEARNED, TABLE, *(f"menagerie-{each}" for each in BASELINES))
    }
    for run in (FIXED, LEARNED, TABLE):
        metrics = shown[f"artifacts/report/metrics/{run}.json"]["data"]
        assert {"accuracy", "at_stop", "questions", "over_baseline"} <= set(metrics)
        assert {"true_yes", "supported_yes", "reader"} <= set(metrics)
        assert len(metrics) <= 16


def test_plots_are_shown_without_another_host(world: World) -> None:
    status, output = world.run("dvc", "plots", "show")
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
        "read_judgements@menagerie",
        "embed_universe",
        "embed_images@menagerie",
        "embed_pairs@menagerie",
        "initialize@menagerie-llm-0",
    ]
    stages += [f"{stage}@{LEARNED}" for stage in OF_A_RUN]
    stages += ["baselines@menagerie", "explore@menagerie", "report"]
    assert world.repro("--force", "--single-item", *stages) == stages
    after = world.artifacts()
    assert [name for name in before if before[name] != after.get(name)] == []


def test_killed_training_resumes_and_ends_in_the_same_bytes(world: World) -> None:
    command = ["python", "stages/train.py", "--dataset", "menagerie", "--init", "llm"]
    command += ["--method", "alternating", "--seed", "7"]
    world.edit({("compute", "checkpoint_seconds"): 0.0})
    begin = ["python", "stages/initialize.py", "--dataset", "menagerie", "--init", "llm"]
    assert world.run(*begin, "--seed", "7")[0] == 0
    model = world.folder / f"artifacts/models/{LEARNED[:-1]}7"
    status, output = world.run(*command)
    assert status == 0, output
    whole = {path.name: path.read_bytes() for path in model.iterdir()}
    for path in model.iterdir():
        path.unlink()

    process = world.start(*command)
    checkpoints = world.folder / ".scratch/train"
    _wait_for(lambda: any(checkpoints.glob("*.pt")), process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert any(checkpoints.glob("*.pt")), "killed before it was done"
    assert not any(model.iterdir())

    status, output = world.run(*command)
    assert status == 0, output
    assert {path.name: path.read_bytes() for path in model.iterdir()} == whole
    assert not any(checkpoints.iterdir()), "a finished run leaves no checkpoint"


def test_two_processes_train_the_same_run(world: World) -> None:
    command = ["python", "stages/train.py", "--dataset", "menagerie", "--init", "llm"]
    command += ["--method", "alternating", "--seed", "0"]
    model = world.folder / f"artifacts/models/{LEARNED}/model.json"
    expected = json.loads(model.read_text(encoding="utf-8"))
    world.edit({("compute", "processes"): 2})
    status, output = world.run(*command)
    assert status == 0, output
    assert output.count("rows in") == 1, "one of the processes tells"
    found = json.loads(model.read_text(encoding="utf-8"))
    assert found["provenance"]["evolution"] == expected["provenance"]["evolution"]
    assert found["provenance"]["inputs"] == expected["provenance"]["inputs"]

    world.edit({("compute", "processes"): 7})
    status, output = world.run(*command)
    assert status == 1
    assert "does not divide among 7 processes" in output
    assert "Traceback" not in output
    world.edit({("compute", "processes"): 1})
    assert world.repro("--force", "--single-item", f"train@{LEARNED}") == [f"train@{LEARNED}"]


def test_the_trained_model_explains_a_new_picture(world: World) -> None:
    png = world.folder / "picture.png"
    code = (
        "import io, pyarrow.parquet as pq;"
        "open('picture.png','wb').write("
        "pq.read_table('artifacts/menagerie/images.parquet')['image'][0].as_py())"
    )
    assert world.run("python", "-c", code)[0] == 0
    explain = ["python", "-m", "infopursuit", "explain", "--model"]
    status, output = world.run(*explain, f"artifacts/models/{LEARNED}", str(png))
    assert status == 0, output
    assert "yes" in output or "no" in output
    status, output = world.run(*explain, f"artifacts/models/{LEARNED}", "nowhere.png")
    assert status == 1
    assert "nowhere.png: missing" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("changes", "stage", "message"),
    [
        (
            {("datasets", "menagerie", "k"): 47},
            "generate_dictionary@menagerie",
            "recorded_answers.jsonl",
        ),
        ({("datasets", "menagerie", "k"): 5000}, "initialize@menagerie-llm-0", "k is 5000"),
        ({("run", "seeds"): ["a"]}, "report", "run.seeds.0"),
        ({("clip",): "artifacts/menagerie/images.parquet"}, "embed_universe", "embedding"),
    ],
    ids=["no recorded answer", "k above the universe", "wrong type", "no CLIP"],
)
def test_bad_input_ends_a_stage_with_one_clear_line(
    world: World, changes: dict, stage: str, message: str
) -> None:
    before = (world.folder / "params.yaml").read_text(encoding="utf-8")
    try:
        world.edit(changes)
        name, _, key = stage.partition("@")
        arguments = {"": [], "menagerie": ["--dataset", "menagerie"]}.get(
            key, ["--dataset", "menagerie", "--init", "llm", "--seed", "0"]
        )
        status, output = world.run("python", f"stages/{name}.py", *arguments)
    finally:
        (world.folder / "params.yaml").write_text(before, encoding="utf-8")
    assert status == 1
    assert message in output
    assert "Traceback" not in output


def _fixed(world: World) -> dict:
    from ruamel.yaml import YAML

    text = (world.folder / "params.yaml").read_text(encoding="utf-8")
    return dict(YAML(typ="safe").load(text)["methods"]["fixed"])


def _wait_for(condition, process, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.005)
