"""Every stage depends on the code it runs, imports go one way, the engine stays light."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from infopursuit.cli import command_line
from infopursuit.core.code_used import CodeUsed, imports

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PIPELINE = ROOT / "dvc.yaml"

# The packages in the order data flows: each may import those before it, and itself.
ORDER = [
    "core",
    "datasets",
    "clip",
    "texts",
    "generation",
    "pursuit",
    "questions",
    "estimators",
    "explorer",
    "report",
    "pipeline",
    "cli",
]
# Rooms stand above all of these, and nothing imports them.
ROOMS = sorted(room.split(".")[1] for room in command_line.ROOMS)
# Not in what loads a model and predicts: rooms, how models are fitted, and CLIP.
NOT_TO_LOAD = tuple(f"infopursuit.{name}" for name in (*ROOMS, "questions", "clip"))
# Above the library, in the same order: what measures and compares, and the embedded world.
ABOVE = [
    "infopursuit_study.evaluation",
    "infopursuit_study.meaning",
    "infopursuit_study.peers",
    "infopursuit_study.comparison",
    "infopursuit_study.run_report",
    "menagerie",
    "infopursuit_study.experiments",
]
# What a bare image with torch lacks, and the training engine does without.
NOT_THERE = (
    "PIL",
    "datasets",
    "dvc",
    "faiss",
    "huggingface_hub",
    "matplotlib",
    "openai",
    "open_clip",
    "polars",
    "pydantic",
    "ruamel",
    "scipy",
    "sklearn",
    "torchvision",
)


def closure(script: Path) -> set[Path]:
    """Return the files that running a script may import or read as data of the package."""
    return {ROOT / name for name in CodeUsed(ROOT).names(script)}


def stages() -> list[tuple[str, dict]]:
    content = YAML(typ="safe").load(PIPELINE.read_text(encoding="utf-8"))
    return [(name, stage.get("do", stage)) for name, stage in content["stages"].items()]


@pytest.mark.parametrize(("name", "stage"), stages(), ids=[name for name, _ in stages()])
def test_a_stage_depends_on_the_code_of_its_script(name: str, stage: dict) -> None:
    if name != "check":
        script = Path(stage["cmd"].split()[-1])
        assert script.stem == name, "its listing has the name of the script"
        file = stage["deps"][0]
        assert re.fullmatch(rf"artifacts/settings/{name}(@\$\{{(key|item)\}})?\.json", file)
        assert not [dep for dep in stage["deps"] if str(dep).endswith(".py")], name


@pytest.mark.parametrize(("name", "stage"), stages(), ids=[name for name, _ in stages()])
def test_a_path_of_the_settings_is_a_setting_of_the_stage(name: str, stage: dict) -> None:
    """DVC forgets a dependency whose path becomes that of another, so the path itself counts."""
    content = YAML(typ="safe").load(PIPELINE.read_text(encoding="utf-8"))["stages"][name]
    each = str(content.get("foreach", "")).strip("${}")
    given = {"item": f"{each}.${{key}}", "key": None}
    for dep in map(str, stage.get("deps", ())):
        place = re.fullmatch(r"\$\{(item)?\.?(.*)\}", dep)
        if place is None:
            assert dep.startswith("artifacts/") or "$" not in dep, f"{dep} has a path in its middle"
            continue
        key = ".".join(filter(None, (given[place[1]] if place[1] else "", place[2])))
        assert key in stage["meta"]["settings"], f"{name} depends on {dep}, whose path is {key}"


def test_check_runs_again_if_any_code_of_a_stage_has_changed() -> None:
    (check,) = [stage for name, stage in stages() if name == "check"]
    deps = {ROOT / dep for dep in check["deps"]}
    scripts = {ROOT / stage["cmd"].split()[-1] for _, stage in stages()}
    used = set().union(*map(closure, scripts))
    missing = [path for path in used if path not in deps and not deps.intersection(path.parents)]
    assert sorted(missing) == []
    names = [script.stem for script in scripts]
    assert len(names) == len(set(names)), "each has its own file in artifacts/code"


def test_a_docstring_changes_the_code_of_no_stage_and_a_constant_that_of_those_that_use_it(
    tmp_path: Path,
) -> None:
    explanation = "src/infopursuit/pursuit/explanation.py"
    for folder in ("src", "stages"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("clip"))
    names = ("build_universe", "explain", "read_list", "report")
    scripts = [tmp_path / f"stages/{name}.py" for name in names]

    def listings() -> dict[str, str]:
        return {script.stem: CodeUsed(tmp_path).listing(script) for script in scripts}

    before, path = listings(), tmp_path / explanation
    code = path.read_text(encoding="utf-8")
    path.write_text(code.replace('"""', '"""Changed. ', 1) + "# A comment.\n", encoding="utf-8")
    assert listings() == before
    path.write_text(f"{code}\nADDED = 1\n", encoding="utf-8")
    after = listings()
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {name for name in before if explanation in before[name]}
    assert changed == {"explain", "report"}


def test_a_stage_imports_its_frame_first() -> None:
    """So that Ctrl-C while torch is imported is told in one line (infopursuit.core.ctrl_c)."""
    frame = "infopursuit.core.stage"
    scripts = [path for path in (ROOT / "stages").rglob("*.py") if frame in imports(path)]
    assert len(scripts) > 12
    for script in scripts:
        first, *_ = [
            node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.parse(script.read_text(encoding="utf-8")).body
            if isinstance(node, (ast.Import, ast.ImportFrom))
            if getattr(node, "module", None) != "__future__"
        ]
        assert first == frame, script


def test_the_keys_of_a_matrix_are_those_of_its_script_in_order() -> None:
    content = YAML(typ="safe").load(PIPELINE.read_text(encoding="utf-8"))
    for name, stage in content["stages"].items():
        stage = {**stage, **stage.get("do", {})}
        script = ROOT / next(word for word in stage["cmd"].split() if word.endswith(".py"))
        tree = ast.parse(script.read_text(encoding="utf-8"))
        [main] = [each for each in tree.body if getattr(each, "name", "") == "main"]
        assert isinstance(main, ast.FunctionDef)
        keys = [argument.arg for argument in main.args.args[1:]]
        if "foreach" in stage:
            assert len(keys) == 1, name
        else:
            assert keys == list(stage.get("matrix", {})), name


def test_imports_go_one_way() -> None:
    package = SOURCE / "infopursuit"
    for path in sorted(package.rglob("*.py")):
        home = path.relative_to(package).parts[0]
        if home.endswith(".py"):
            continue  # the public names and the command line, which may import all
        for module in imports(path):
            parts = module.split(".")
            if parts[0] == "infopursuit" and len(parts) > 1:
                allowed = [*ORDER, home] if home in ROOMS else ORDER[: ORDER.index(home) + 1]
                assert parts[1] in allowed, f"{path.relative_to(package)} imports {module}"
            assert place(module) == -1, f"{path.relative_to(package)} imports {module}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_can_be_taken_out(room: str) -> None:
    """Nothing outside of its folder and its tests names it, but its line in the command line."""
    named = re.compile(rf"\b(infopursuit|tests)[./]{room}\b")
    files = [
        path
        for home in ("src", "stages", "benchmarks", "tests")
        for path in (ROOT / home).rglob("*")
        if path.suffix in (".py", ".toml", ".yaml") and room not in path.relative_to(ROOT).parts
    ]
    found = [path for path in files if named.search(path.read_text(encoding="utf-8"))]
    assert found == [SOURCE / "infopursuit/cli/command_line.py"]


def test_what_is_above_the_library_is_imported_from_there_alone() -> None:
    for home, folder in enumerate(ABOVE):
        for path in sorted((SOURCE / folder.replace(".", "/")).rglob("*.py")):
            for module in imports(path):
                outside = module.partition(".")[0] in ("benchmarks", "tests")
                assert place(module) <= home and not outside, (
                    f"{path.relative_to(SOURCE)} imports {module}"
                )


def place(module: str) -> int:
    """Return where in ABOVE a module is; -1 for nowhere."""
    return next((at for at, name in enumerate(ABOVE) if f"{module}.".startswith(f"{name}.")), -1)


def test_every_package_has_its_place() -> None:
    for package, named in (
        ("infopursuit", [*ORDER, *ROOMS]),
        ("infopursuit_study", [name.partition(".")[2] for name in ABOVE if "." in name]),
    ):
        folders = (SOURCE / package).iterdir()
        assert sorted(path.name for path in folders if any(path.glob("*.py"))) == sorted(named)
    homes = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert homes == {"infopursuit", *(name.partition(".")[0] for name in ABOVE)}


def test_the_engine_is_imported_where_there_is_little_beside_torch() -> None:
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({NOT_THERE!r}))\n"  # None: an import of it fails
        "import infopursuit.pursuit.vip.training, infopursuit.pursuit.vip.checkpoints\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loading_a_model_imports_no_room_nothing_of_fitting_and_no_clip() -> None:
    code = "import sys, infopursuit.estimators.base; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith(NOT_TO_LOAD)]
