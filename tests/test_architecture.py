"""Every stage depends on the code it runs, imports go one way, the engine stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PIPELINES = (ROOT / "dvc.yaml", ROOT / "stages/menagerie/dvc.yaml")

# The packages in the order data flows: each may import those before it, and itself.
ORDER = [
    "core",
    "datasets",
    "clip",
    "texts",
    "queries",
    "pursuit",
    "estimators",
    "peers",
    "evaluation",
    "meaning",
    "explorer",
    "report",
    "pipeline",
    "cli",
]
# What a bare image with torch lacks, and the training engine does without.
NOT_THERE = (
    "PIL",
    "datasets",
    "dvc",
    "faiss",
    "httpx",
    "huggingface_hub",
    "matplotlib",
    "open_clip",
    "polars",
    "pydantic",
    "ruamel",
    "scipy",
    "sklearn",
    "torchvision",
)


@cache
def imports(path: Path) -> frozenset[str]:
    """Full names of everything a file imports, anywhere in it, names from packages included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            assert node.module
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def file_of(module: str) -> Path | None:
    """The file of a module of the library or of the stages; None for other packages."""
    homes = {
        "infopursuit": SOURCE,
        "comparison": ROOT / "stages",
        "run_report": ROOT / "stages",
        "menagerie": ROOT / "stages/menagerie",
    }
    home = homes.get(module.split(".")[0])
    if home is None:
        return None
    path = home / Path(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def has_code(path: Path) -> bool:
    """Whether there is more in a file than a docstring."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not isinstance(getattr(node, "value", None), ast.Constant) for node in body)


def closure(script: Path) -> set[Path]:
    """The files of the library that running a script may import, but for those without code.

    The package's own __init__ imports by name, when asked, and is no part of a stage.
    """
    seen: set[Path] = set()
    waiting = [script]
    while waiting:
        for module in imports(waiting.pop()):
            parts = module.split(".")
            for end in range(2, len(parts) + 1):
                path = file_of(".".join(parts[:end]))
                if path and path not in seen and has_code(path):
                    seen.add(path)
                    waiting.append(path)
    return seen


def stages() -> list[tuple[str, dict]]:
    found = []
    for pipeline in PIPELINES:
        content = YAML(typ="safe").load(pipeline.read_text(encoding="utf-8"))
        found += [(name, stage.get("do", stage)) for name, stage in content["stages"].items()]
    return found


@pytest.mark.parametrize(("name", "stage"), stages(), ids=[name for name, _ in stages()])
def test_a_stage_depends_on_all_code_it_imports(name: str, stage: dict) -> None:
    script = next(word for word in stage["cmd"].split() if word.endswith(".py"))
    deps = {ROOT / dep for dep in stage["deps"] if "${" not in dep}
    assert ROOT / script in deps
    missing = sorted(
        str(path.relative_to(ROOT))
        for path in closure(ROOT / script)
        if not any(path == dep or dep in path.parents for dep in deps)
    )
    assert not missing, f"deps of {name} lack {missing}"


@pytest.mark.parametrize(("name", "stage"), stages(), ids=[name for name, _ in stages()])
def test_a_stage_depends_on_no_code_it_never_imports(name: str, stage: dict) -> None:
    script = next(word for word in stage["cmd"].split() if word.endswith(".py"))
    used = closure(ROOT / script)
    for dep in stage["deps"]:
        path = ROOT / dep
        if SOURCE in path.parents and path.suffix in ("", ".py"):
            assert path in used or any(path in file.parents for file in used), f"{name}: {dep}"


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


def test_no_command_has_a_name_in_it_that_a_shell_would_read() -> None:
    for name, stage in stages():
        commands = [stage["cmd"]] if isinstance(stage["cmd"], str) else stage["cmd"]
        assert not any("${" in command for command in commands), name


def test_the_keys_of_a_matrix_are_those_of_its_script_in_order() -> None:
    content = YAML(typ="safe").load(PIPELINES[0].read_text(encoding="utf-8"))
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


def test_stages_are_described_and_named_after_their_scripts() -> None:
    for name, stage in stages():
        assert stage["desc"].strip()
        script = ROOT / next(word for word in stage["cmd"].split() if word.endswith(".py"))
        assert script.is_file()
        assert set(script.stem.split("_")) <= set(name.split("_")), f"{name} runs {script.name}"


def test_imports_go_one_way() -> None:
    package = SOURCE / "infopursuit"
    for path in sorted(package.rglob("*.py")):
        home = path.relative_to(package).parts[0]
        if home.endswith(".py"):
            continue  # the public names and the command line, which may import all
        for module in imports(path):
            parts = module.split(".")
            if parts[0] == "infopursuit" and len(parts) > 1:
                assert parts[1] in ORDER, f"{path.name} imports {module}, which has no place"
                allowed = ORDER[: ORDER.index(home) + 1]
                assert parts[1] in allowed, f"{path.relative_to(package)} imports {module}"


def test_every_package_has_its_place() -> None:
    folders = (SOURCE / "infopursuit").iterdir()
    assert sorted(path.name for path in folders if any(path.glob("*.py"))) == sorted(ORDER)


def test_the_engine_is_imported_where_there_is_little_beside_torch() -> None:
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({NOT_THERE!r}))\n"  # None: an import of it fails
        "import infopursuit.pursuit.vip.training, infopursuit.pursuit.vip.checkpoints\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
