"""What comes from strangers runs no code, reaches no other file, and reveals no secret.

    python -m campaigns.strangers

Most of it is tested with the code that it concerns: `PROMISES` names those tests, and the long form
runs them. Only the search of the whole source for ways to run code is here.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from campaigns import write_tables

ROOT = Path(__file__).parents[1]

# Names that turn data into code; then each module that may use one, and why.
RUNS_CODE = {
    "cloudpickle", "compile", "dill", "eval", "exec", "joblib", "marshal", "os.popen",
    "os.system", "pickle", "runpy", "shelve", "torch.jit.load", "yaml.load",
}  # fmt: skip
ALLOWED = {
    # Nodes of a cluster trust each other (SECURITY.md).
    "infopursuit/core/executors.py": {"pickle", "cloudpickle"},
    # The name of an error of torch's; and the archives of OpenAI, by their SHA-256.
    "infopursuit/clip/towers.py": {"pickle", "torch.jit.load"},
    # Counts cores; and from one process of this program to another, without a file.
    "infopursuit/benchmark/seeds.py": {"joblib", "pickle"},
    # ruamel's: it makes no objects.
    "infopursuit/core/settings.py": {"yaml.load"},
}
# Options that make a harmless call run code.
OPTIONS = {"allow_pickle", "shell", "trust_remote_code"}

SAVED = "tests/estimators/test_saved.py"
HERE = "campaigns/test_strangers.py"
SERVER = "tests/queries/language_models/test_openai_server.py"
RELEASES = "tests/packaging/test_releases.py"
# What a stranger gives, what it may not do, and the tests that try.
PROMISES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("a model folder", "run code; be of other shapes", (
        f"{SAVED}::test_a_model_from_a_stranger_runs_no_code",
        f"{SAVED}::test_a_malformed_folder_is_refused",
    )),
    ("weights and configuration of a CLIP", "run code; name its own files and addresses", (
        "tests/clip/test_weights.py",
    )),
    ("checkpoints, tables, arrays", "run code", (
        f"{HERE}::test_a_pickle_in_place_of_data_does_not_run",
        f"{HERE}::test_a_type_that_brings_a_pickle_does_not_run",
        f"{HERE}::test_no_source_turns_data_into_code",
    )),
    ("a folder of pictures", "name pictures outside it", (
        "tests/datasets/test_open_images.py::test_a_saved_folder_names_no_file_outside_it",
    )),
    ("names of data sets, methods, images", "lead out of their folder; be a command", (
        "tests/core/test_settings.py",
        "tests/pipeline/test_params.py",
        "tests/evaluation/test_chosen_images.py",
    )),
    ("class names, questions, ids", "act as markup", (
        "tests/explorer/test_page_faults.py::test_hostile_texts_are_shown_and_run_nowhere",
        "tests/explorer/test_page.py",
        "tests/explorer/test_notebook.py",
        f"{HERE}::test_names_are_texts_in_cards_and_figures",
    )),
    ("a prompt file", "run code", (
        "tests/queries/test_generation.py::test_a_prompt_from_a_stranger_runs_no_code",
    )),
    ("a language-model server", "make its key appear in errors and logs", (
        f"{SERVER}::test_a_refusal_that_repeats_the_key_is_reported_without_it",
        f"{SERVER}::test_a_key_that_cannot_be_sent_is_not_shown",
        f"{SERVER}::test_a_bad_address_is_refused_without_its_password",
        f"{HERE}::test_a_key_is_in_no_file",
    )),
    ("a client of the explorer's server", "get files; be slow forever; keep others out", (
        "tests/explorer/test_server.py",
    )),
    ("a package index", "give other files than those pinned", (
        f"{RELEASES}::test_every_pinned_requirement_has_a_hash",
        f"{RELEASES}::test_hashes_are_required_where_the_lock_is_installed",
    )),
)  # fmt: skip


def main() -> int:
    """Run all tests that are named; return 1 if one of them fails, or a source may run code."""
    ways = list(ways_to_run_code())
    rows, broken = [], bool(ways)
    note = (
        f"Ways to turn data into code, in all {len(_files())} source files, other than those "
        f"allowed by name: {len(ways)}."
    )
    for given, may_not, tests in PROMISES:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        outcomes = re.findall(r"(\d+) (passed|failed|error)", done.stdout)
        counts = {outcome: int(number) for number, outcome in outcomes}
        if done.returncode:
            broken = True
            print(done.stdout[-3000:])
        passed = counts.pop("passed", 0)
        rows.append([given, may_not, str(passed), str(sum(counts.values()))])
        header = ["from a stranger", "may not", "cases tried", "got through"]
        write_tables("strangers", header, rows, note)
    for way in ways:
        print(way)
    return int(broken)


def _files() -> list[Path]:
    return [path for name in ("src", "stages") for path in sorted((ROOT / name).rglob("*.py"))]


def ways_to_run_code() -> Iterator[str]:
    """Yield every use of a name that turns data into code, and of an option that allows it."""
    for path in _files():
        yield from ways_in_source(path, path.read_text(encoding="utf-8"))


def ways_in_source(path: Path, text: str) -> Iterator[str]:
    """Yield those of one module."""
    where = "/".join(path.parts[-3:])
    for node in ast.walk(ast.parse(text)):
        for name in _names(node) & RUNS_CODE - ALLOWED.get(where, set()):
            yield f"{path}:{node.lineno}: {name}"  # type: ignore[attr-defined]
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        options = {word.arg: ast.unparse(word.value) for word in node.keywords if word.arg}
        for name in OPTIONS & set(options):
            if options[name] != "False":
                yield f"{path}:{node.lineno}: {called}({name}=...)"
        if called == "torch.load" and options.get("weights_only") != "True":
            yield f"{path}:{node.lineno}: torch.load without weights_only=True"
        safe = options.get("typ") == "'safe'" or (not options and where.endswith("configure.py"))
        if called == "YAML" and not safe:
            yield f"{path}:{node.lineno}: YAML of another type than safe"


def _names(node: ast.AST) -> set[str]:
    """Return what a node imports or calls, by name."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        return {called, *({"cloudpickle"} & set(called.split(".")[:-1]))}
    return set()


if __name__ == "__main__":
    sys.exit(main())
