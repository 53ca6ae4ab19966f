"""Bad arguments of the command `infopursuit`, and bad files that commands and stages are given.

Most run in this process, as `main` does. A sample runs as a person runs it, in a process of its
own: there the exit status, the lines it writes and the memory it takes are seen from outside.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from campaigns.bad_models import put_texts_model
from campaigns.kinds import Kind, parquet
from campaigns.readers import ARRAYS, EMBEDDED_TABLE, ROOT, TEXT_TABLE
from infopursuit.cli.command_line import main

# Most of what torch and its libraries map is never touched: the limit is on resident memory.
MOST_BYTES = 2 * 2**30
SECONDS = 120
# Runs a command and writes its peak of resident memory into a file, in bytes. A small process does
# this: Linux counts what the parent held at the fork, and a worker of pytest may hold gigabytes.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
with open(sys.argv[1], "w") as file:
    file.write(str(peak))
sys.exit(done.returncode)
"""


class EndedError(Exception):
    """A command that ended with another status than 0; the message is the line it wrote."""


def kinds() -> list[Kind]:
    """All of them."""
    return [*_arguments(), *_files(), *_processes()]


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _run(arguments: Sequence[object]) -> str:
    """Run the command in this process; gives what it prints.

    Raises:
        EndedError: its status is not 0.
    """
    told, written, errors = io.StringIO(), io.StringIO(), _Errors()
    logger = logging.getLogger("infopursuit")
    logger.addHandler(errors)
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(written):
            status = main([str(each) for each in arguments])
    except SystemExit as ended:
        # Usage comes first, then one line.
        raise EndedError(f"{ended.code}: {told.getvalue().strip().splitlines()[-1]}") from ended
    finally:
        logger.removeHandler(errors)
    if status:
        raise EndedError(f"{status}: " + "\n".join(errors.messages))
    return written.getvalue()


def _arguments() -> list[Kind]:
    def kind(name: str, told: str, *arguments: object) -> Kind:
        return Kind("commands", name, lambda folder: arguments, _run, told, refusal=EndedError)

    explain, serve = ("explain", "--model", "m"), ("serve", "--model", "m")
    return [
        kind("none", "2: .*required: COMMAND"),
        kind("an unknown command", "2: .*invalid choice: 'show'", "show"),
        kind("a probability of 0", "2: .*0: expected more than 0", *explain, "--stop", "0", "x"),
        kind("no questions", "2: .*0: expected 1 or more", *explain, "--max-queries", "0", "x"),
        kind("an unknown format", "2: .*invalid choice: 'xml'", *explain, "--format", "xml", "x"),
        kind("a port of 65536", "2: .*65536: expected 0", *serve, "--port", "65536"),
        kind("control characters", r"1: .*\\x1b.*no such", "explain", "--model", "\x1b[31m/x y"),
        kind("5000 characters", "1: .*File name too long", "explain", "--model", "a" * 5000),
    ]  # fmt: skip


def _files() -> list[Kind]:
    def kind(name: str, told: str, make: Callable[[Path], Sequence[object]]) -> Kind:
        return Kind("commands", name, make, _run, told, refusal=EndedError)

    def fit(folder: Path, images: str, *more: object) -> Sequence[object]:
        parquet(TEXT_TABLE)(folder).rename(folder / "texts.parquet")
        parquet(EMBEDDED_TABLE)(folder).rename(folder / "images.parquet")
        return ["fit", folder / images, "--out", folder / "model", *more]

    def with_texts(folder: Path, images: str) -> Sequence[object]:
        return fit(folder, images, "--texts", folder / "texts.parquet", "--queries", 2)

    def arrays(folder: Path, **changed: Any) -> Sequence[object]:
        np.savez(folder / "set.npz", **{**ARRAYS, **changed})
        return with_texts(folder, "set.npz")

    def texts(folder: Path, **changed: Any) -> Sequence[object]:
        arguments = with_texts(folder, "images.parquet")
        parquet(TEXT_TABLE, **changed)(folder).rename(folder / "texts.parquet")
        return arguments

    def into_file(folder: Path) -> Sequence[object]:
        (folder / "model").write_text("mine")
        return fit(folder, "images.parquet")

    def table(folder: Path, **changed: Any) -> Sequence[object]:
        arguments = with_texts(folder, "images.parquet")
        parquet(EMBEDDED_TABLE, **changed)(folder).rename(folder / "images.parquet")
        return arguments

    def array(folder: Path, rows: np.ndarray) -> Sequence[object]:
        put_texts_model(folder)
        np.save(folder / "rows.npy", rows)
        return ["explain", "--model", folder, "--device", "cpu", folder / "rows.npy"]

    def overlay(folder: Path, content: str) -> Sequence[object]:
        params = (ROOT / "params.yaml").read_text(encoding="utf-8")
        (folder / "params.yaml").write_text(params, encoding="utf-8")
        (folder / "mine.yaml").write_text(content, encoding="utf-8")
        return ["configure", folder / "mine.yaml", "--params", folder / "params.yaml"]

    return [
        kind("fit: no texts", "1: .*--texts is missing", partial(fit, images="images.parquet")),
        kind("fit: no images", "1: .*no.parquet: not a", partial(with_texts, images="no.parquet")),
        kind("fit: into a file", "1: .*--out .*model: a file", into_file),
        kind("fit: no labels", "1: .*--labels is missing", partial(with_texts, images="a.npy")),
        kind("fit: labels of nobody", "1: .*train_labels has values outside of class_names",
             partial(arrays, train_labels=np.array([0, -1, 2, 0]))),
        kind("fit: labels are null", "1: .*class_name is empty in row 1",
             partial(table, class_name=["cat", None, "owl"] * 2)),
        kind("fit: labels are dates", "1: .*class_name is date32.*expected texts or whole",
             partial(table, class_name=np.zeros(6, "M8[D]"))),
        kind("fit: a text is null", "1: .*text is empty in row 2",
             partial(texts, text=["a", "b", None, "c"])),
        kind("fit: texts are numbers", "1: .*text is not a column of texts",
             partial(texts, text=[1, 2, 3, 4])),
        kind("fit: rows of NaN", "1: .*X: row 0 is NaN, infinite",
             partial(arrays, train_embeddings=np.full((4, 4), np.nan, np.float32))),
        kind("explain: NaN", "1: .*X: row 1 is NaN, infinite or all zeros",
             partial(array, rows=np.array([[1.0] * 8, [np.nan] * 8]))),
        kind("explain: another width", "1: .*X has 5 columns; the model was",
             partial(array, rows=np.ones((2, 5)))),
        kind("explain: a vector", r"1: .*shape \(8,\); expected embeddings",
             partial(array, rows=np.ones(8))),
        kind("configure: no settings", "1: .*found list", partial(overlay, content="- a\n")),
        kind("configure: a data set of nobody", "1: .*'nowhere'",
             partial(overlay, content="run: {datasets: [nowhere]}\n")),
        kind("configure: a key of nobody", "1: .*runs: unknown key",
             partial(overlay, content="runs: {}\n")),
    ]  # fmt: skip


def _process(asked: tuple[Path, Sequence[object]]) -> str:
    """Run Python in a process of its own, in a folder; gives what it writes.

    Raises:
        EndedError: its status is not 0.
    """
    folder, arguments = asked
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "stages" / "menagerie"))),
    }
    environment.pop("DVC_STAGE", None)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder / "peak"), sys.executable, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    peak = int((folder / "peak").read_text())
    assert peak <= MOST_BYTES, f"took {peak / 2**20:.0f} MiB"
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode:
        raise EndedError(f"{done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _processes() -> list[Kind]:
    params = (ROOT / "params.yaml").read_text(encoding="utf-8")

    def kind(
        name: str,
        told: str,
        arguments: Sequence[object],
        change: tuple[str, str] = ("", ""),
        files: dict[str, bytes] | None = None,
    ) -> Kind:
        def make(folder: Path) -> tuple[Path, Sequence[object]]:
            assert change[0] in params, change[0]
            (folder / "params.yaml").write_text(params.replace(*change, 1), encoding="utf-8")
            for path, content in (files or {}).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            return folder, arguments

        return Kind("processes", name, make, _process, told, refusal=EndedError)

    def stage(name: str, *keys: str) -> Sequence[object]:
        return [ROOT / "stages" / f"{name}.py", *keys]

    command = ["-m", "infopursuit"]
    world = ["--dataset", "menagerie"]
    captions = "artifacts/menagerie/captions.json"
    lists = ("  lists: {}", "  lists: {menagerie: mine.txt}")
    return [
        kind("a stage with broken settings", "^1: .*params.yaml: not valid YAML",
             stage("read_list", *world), ("run:\n", "run: [\n")),
        kind("a stage with a deep setting", "^1: .*params.yaml: .*too deep",
             stage("read_list", *world), ("run:\n", "x: " + "[" * 1500 + "\nrun:\n")),
        kind("a stage without a list", "^1: read_list-menagerie: mine.txt: no such file",
             stage("read_list", *world), lists),
        kind("a stage with a hostile list", r"^1: .*mine.txt: line 2 repeats 'x\\x1b",
             stage("read_list", *world), lists, {"mine.txt": b"x\x1b[31m\nx\x1b[31m\n"}),
        kind("a stage with deep captions", "^1: .*captions.json: not valid JSON: .*too deep",
             stage("generate_queries", "--corpus", "menagerie"), files={captions: b"[" * 10**6}),
        kind("a stage for a data set of nobody", "^1: .*--dataset x: expected one of menagerie",
             stage("read_dataset", "--dataset", "x")),
        kind("a stage with a path of 5000 characters", "^1: .*File name too long",
             stage("read_dataset", *world),
             ("    classes: artifacts/menagerie/classes.txt", f"    classes: {'a' * 5000}")),
        kind("a command with broken settings", "^1: infopursuit: .*not valid YAML",
             [*command, "check"], ("run:\n", "run: [\n")),
        kind("a command without settings", "^1: infopursuit: nothing.yaml: no such file",
             [*command, "configure", "nothing.yaml"]),
        kind("a command with no model", "^1: infopursuit: m: no trained model",
             [*command, "explain", "--model", "m", "x.jpg"], files={"m/x": b""}),
    ]  # fmt: skip
