"""What comes from strangers runs no code, reaches no other file, and gives no secret away.

    python -m campaigns.strangers

Most of it is tested where it belongs: `PROMISES` names those tests, and the long form runs them.
What belongs nowhere is here: a look at the whole source for ways to run code.
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
SOURCES = (ROOT / "src", ROOT / "stages")

# Names that turn data into code; each module that may use one, and what for.
RUNS_CODE = {
    "cloudpickle", "compile", "dill", "eval", "exec", "joblib", "marshal", "os.popen",
    "os.system", "pickle", "runpy", "shelve", "torch.jit.load", "yaml.load",
}  # fmt: skip
ALLOWED = {
    # Nodes of a cluster trust each other (SECURITY.md).
    ("infopursuit/core/executors.py", "pickle"),
    ("infopursuit/core/executors.py", "cloudpickle"),
    # The name of an error of torch's.
    ("infopursuit/clip/towers.py", "pickle"),
    # Counts processor cores.
    ("infopursuit/benchmark/seeds.py", "joblib"),
    # From one process of this program to another; reads no file.
    ("infopursuit/benchmark/seeds.py", "pickle"),
    # ruamel's: it makes no objects.
    ("infopursuit/core/settings.py", "yaml.load"),
    # The archives of OpenAI, by their SHA-256.
    ("infopursuit/clip/towers.py", "torch.jit.load"),
}
# Options that make a harmless call run code, or a checked one check nothing.
OPTIONS = {"allow_pickle", "shell", "trust_remote_code"}

# What a stranger gives, what it may not do, and the tests that try.
PROMISES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "a model folder",
        "run code; be of other shapes",
        (
            "tests/estimators/test_saved.py::test_a_model_from_a_stranger_runs_no_code",
            "tests/estimators/test_saved.py::test_a_malformed_folder_is_refused",
        ),
    ),
    (
        "weights and configuration of a CLIP",
        "run code; name files and addresses of its own",
        (
            "tests/clip/test_weights.py::test_a_program_that_replaces_weights_does_not_run",
            "tests/clip/test_weights.py::test_messages_about_folders",
            "tests/clip/test_weights.py::test_messages_about_pins",
            "tests/clip/test_weights.py::test_a_download_is_verified_and_kept",
        ),
    ),
    (
        "checkpoints, tables, arrays",
        "run code",
        (
            "campaigns/test_strangers.py::test_a_pickle_in_the_place_of_data_does_not_run",
            "campaigns/test_strangers.py::test_a_type_that_brings_a_pickle_does_not_run",
            "campaigns/test_strangers.py::test_no_source_turns_data_into_code",
        ),
    ),
    (
        "a folder of pictures",
        "name pictures outside it",
        ("tests/datasets/test_open_images.py::test_a_saved_folder_names_no_file_outside_it",),
    ),
    (
        "names of data sets, methods, images",
        "lead out of their folder; be a command",
        (
            "tests/core/test_settings.py",
            "tests/pipeline/test_params.py",
            "tests/evaluation/test_chosen_images.py",
        ),
    ),
    (
        "class names, questions, ids",
        "live as markup",
        (
            "tests/explorer/test_page_faults.py::test_hostile_texts_are_shown_and_run_nowhere",
            "tests/explorer/test_page.py",
            "tests/explorer/test_notebook.py",
            "campaigns/test_strangers.py::test_names_are_texts_in_cards_and_figures",
        ),
    ),
    (
        "a prompt file",
        "run code",
        ("tests/queries/test_generation.py::test_a_prompt_from_a_stranger_runs_no_code",),
    ),
    (
        "a language-model server",
        "get its key into errors and logs",
        (
            "tests/queries/language_models/test_openai_server.py"
            "::test_a_refusal_that_repeats_the_key_is_reported_without_it",
            "tests/queries/language_models/test_openai_server.py"
            "::test_a_key_that_cannot_be_sent_is_not_shown",
            "tests/queries/language_models/test_openai_server.py"
            "::test_a_bad_address_is_refused_without_its_password",
            "campaigns/test_strangers.py::test_a_key_is_in_no_file",
        ),
    ),
    (
        "a client of the explorer's server",
        "get files; be slow for ever; keep others out",
        ("tests/explorer/test_server.py",),
    ),
    (
        "a package index",
        "give other files than those pinned",
        (
            "tests/packaging/test_releases.py::test_every_pinned_requirement_has_a_hash",
            "tests/packaging/test_releases.py"
            "::test_hashes_are_required_where_the_lock_is_installed",
        ),
    ),
)


def main() -> int:
    """Run all tests that are named; 1 where one of them fails, or a source may run code."""
    found = list(ways_to_run_code())
    rows, broken = [], bool(found)
    for given, may_not, tests in PROMISES:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        counts = {
            word: int(number)
            for number, word in re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)
        }
        broken |= done.returncode != 0
        failed = counts.get("failed", 0) + counts.get("error", 0)
        if done.returncode:
            print(done.stdout[-3000:])
        rows.append([given, may_not, str(counts.get("passed", 0)), str(failed)])
        write_tables(
            "strangers",
            ["from a stranger", "may not", "cases tried", "got through"],
            rows,
            f"Ways to turn data into code, in all {len(list(_files()))} source files, beside those "
            f"that are allowed by name: {len(found)}.",
        )
    for each in found:
        print(each)
    return int(broken)


def _files() -> Iterator[Path]:
    for folder in SOURCES:
        yield from sorted(folder.rglob("*.py"))


def ways_to_run_code() -> Iterator[str]:
    """Every use of a name that turns data into code, and of an option that allows it."""
    for path in _files():
        yield from in_source(path, path.read_text(encoding="utf-8"))


def in_source(path: Path, text: str) -> Iterator[str]:
    """Those of one module."""
    where = "/".join(path.parts[-3:])
    for node in ast.walk(ast.parse(text)):
        for name in _names(node):
            if name in RUNS_CODE and (where, name) not in ALLOWED:
                yield f"{path}:{node.lineno}: {name}"  # type: ignore[attr-defined]
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        options = {each.arg: each.value for each in node.keywords if each.arg}
        for name in OPTIONS & set(options):
            if not _is(options[name], False):
                yield f"{path}:{node.lineno}: {called}({name}=...)"
        if called == "torch.load" and not _is(options.get("weights_only"), True):
            yield f"{path}:{node.lineno}: torch.load without weights_only=True"
        safe = _is(options.get("typ"), "safe") or (not options and where.endswith("configure.py"))
        if called == "YAML" and not safe:
            yield f"{path}:{node.lineno}: YAML of another type than safe"


def _names(node: ast.AST) -> Iterator[str]:
    """What a node imports or calls, by name."""
    if isinstance(node, ast.Import):
        yield from (each.name.partition(".")[0] for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield (node.module or "").partition(".")[0]
    elif isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        yield called
        yield from (part for part in called.split(".")[:-1] if part == "cloudpickle")


def _is(node: ast.expr | None, value: object) -> bool:
    return (isinstance(node, ast.Constant) and node.value is value) or (
        isinstance(node, ast.Constant) and isinstance(value, str) and node.value == value
    )


if __name__ == "__main__":
    sys.exit(main())
