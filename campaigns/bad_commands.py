"""Bad arguments of the command `infopursuit`, and bad files for commands and stages.

Most run in this process, by `main`. Some run as a user runs them, in their own process: there the
exit status, the lines they write and their memory are seen from outside.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import numpy as np

from campaigns.kinds import Kind, Reader, family, put, saved, written
from campaigns.readers import ARRAYS, EMBEDDED_TABLE, PARAMS, ROOT, TEXT_TABLE, TEXTS, model_files
from infopursuit.cli.command_line import main
from infopursuit.estimators.persistence import DESCRIPTION

# Most of what torch and its libraries map is never touched: the limit is on resident memory.
MAX_BYTES = 2 * 2**30
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
Arguments = Sequence[object]
Make = Callable[[Path], Any]


class EndedError(Exception):
    """A command that ended with another status than 0; the message is the line it wrote."""


def _run(arguments: Arguments) -> str:
    """Run the command in this process and return what it prints.

    Raises:
        EndedError: its status is not 0.
    """
    errors, output, handler = io.StringIO(), io.StringIO(), BufferingHandler(sys.maxsize)
    handler.setLevel(logging.ERROR)
    logger = logging.getLogger("infopursuit")
    logger.addHandler(handler)
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(output):
            status = main(list(map(str, arguments)))
    except SystemExit as ended:
        # The usage comes first, then one line.
        raise EndedError(f"{ended.code}: {errors.getvalue().strip().splitlines()[-1]}") from ended
    finally:
        logger.removeHandler(handler)
    if status:
        raise EndedError(
            f"{status}: " + "\n".join(record.getMessage() for record in handler.buffer)
        )
    return output.getvalue()


_COMMAND = Reader(_run, refusal=EndedError)


def _arguments() -> list[Kind]:
    explain = ("explain", "--model")
    rows = [
        ("control characters", (*explain, "\x1b[31m/x y"), r"1: .*\\x1b.*no such"),
        ("5000 characters", (*explain, "a" * 5000), "1: .*File name too long"),
    ]
    return family("commands", _COMMAND, rows)


def _files() -> list[Kind]:
    nan = np.full((4, 4), np.nan, np.float32)
    contents = {
        "texts.parquet": written(TEXT_TABLE),
        "images.parquet": written(EMBEDDED_TABLE),
        "x.npy": _array(ARRAYS["train_embeddings"]),
        "nan.npz": saved(lambda file: np.savez(file, **{**ARRAYS, "train_embeddings": nan})),
        "a_file": b"",
    }

    def fit(images: str, *more: object) -> Make:
        return _given(contents, "fit", images, *more)

    def fit_on(labels: np.ndarray, *more: object) -> Make:
        given = ("fit", "@x.npy", "--labels", "@y.npy", *known, *more)
        return _given({**contents, "y.npy": _array(labels)}, *given)

    def configure(content: str) -> Make:
        def make(folder: Path) -> Arguments:
            put({"true.yaml": PARAMS, "mine.yaml": content}, folder)
            (folder / "params.yaml").symlink_to("true.yaml")
            return ["configure", folder / "mine.yaml", "--params", folder / "params.yaml"]

        return make

    def stays_a_link(arguments: Arguments) -> bool:
        _run(arguments)
        return Path(str(arguments[-1])).is_symlink()

    table, model = "@images.parquet", ("--out", "@model")
    known = (*model, "--texts", "@texts.parquet", "--queries", 2)
    nan, four = np.array([[1.0] * 8, [np.nan] * 8]), np.arange(4)
    long = _explain(np.eye(8)[:1], "--figures", "@figures", names=["x" * 10**7, "b", "c"])
    rows = [
        ("fit: no texts", fit(table, *model), "1: .*--texts is missing"),
        ("fit: no images", fit("@no.parquet", *known), "1: .*no.parquet: not a"),
        ("fit: into a file", fit(table, "--out", "@a_file"), "1: .*--out .*a_file: is a file"),
        ("fit: no labels", fit("@a.npy", *known), "1: .*--labels is missing"),
        ("fit: rows of NaN", fit("@nan.npz", *known), "1: .*X: row 0 is NaN, infinite"),
        ("explain: NaN", _explain(nan), "1: .*X: row 1 is NaN, infinite or all zeros"),
        ("explain: another width", _explain(np.ones((2, 5))), "1: .*X has 5 columns; the model"),
        ("explain: a vector", _explain(np.ones(8)), r"1: .*shape \(8,\); expected embeddings"),
        ("explain: figures of a class of 10 MB", long, lambda text: len(text) < 20_000),
        ("fit: labels of 0.5", fit_on(four + 0.5), "1: .*y: Unknown label type"),
        ("fit: a label of NaN", fit_on(np.array([np.nan, 0, 1, 1])), "1: .*y: row 0 is nan"),
        ("fit: complex labels", fit_on(four + 1j), "1: .*y: Complex data not supported"),
        ("fit: a seed of 2^70", fit_on(four, "--random-state", 2**70), "1: .*random_state is 1180"),
        ("configure: no settings", configure("- a\n"), "1: .*found list"),
        ("configure: an unknown data set", configure("run: {datasets: [x]}\n"), "1: .*'x'"),
        ("configure: an unknown key", configure("runs: {}\n"), "1: .*runs: unknown key"),
    ]
    link = Kind("commands", "configure: a link", configure("{}\n"), Reader(stays_a_link), bool)
    return [*family("commands", _COMMAND, rows), link]


def _array(rows: np.ndarray) -> bytes:
    return saved(lambda file: np.save(file, rows))


def _given(contents: dict[str, bytes], *words: object) -> Make:
    """Return a function that writes files and returns words, in which `@name` is a path there."""

    def make(folder: Path) -> Arguments:
        put(contents, folder)
        return [folder / word[1:] if word[:1] == "@" else word for word in map(str, words)]

    return make


def _explain(rows: np.ndarray, *more: object, names: Sequence[str] = ()) -> Make:
    """Return a function that writes a model and rows; its classes may have other names."""
    files = {**model_files(TEXTS), "rows.npy": _array(rows)}
    if names:
        description = json.loads(files[DESCRIPTION])
        description["classes"] |= {"values": names, "type": "<U1"}
        files[DESCRIPTION] = json.dumps(description).encode()
    return _given(files, "explain", "--model", "@", "--device", "cpu", *more, "@rows.npy")


def _process(given: tuple[Path, Arguments], around: str = 'exec "$@"') -> str:
    """Run Python with some arguments in its own process, in a folder; return what it writes.

    A line of a shell around it changes its surroundings.

    Raises:
        EndedError: its status is not 0.
    """
    folder, arguments = given
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("DVC_STAGE", None)
    command = ["sh", "-c", around, "sh", sys.executable, *arguments]
    measured = [sys.executable, "-c", MEASURE, folder / "peak", *command]
    done = subprocess.run(
        list(map(str, measured)),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        timeout=SECONDS,
        check=False,
    )
    peak = int((folder / "peak").read_text())
    assert peak <= MAX_BYTES, f"took {peak / 2**20:.0f} MiB"
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode:
        raise EndedError(f"{done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _processes() -> list[Kind]:
    def python(
        *arguments: object, change: tuple[str, str] = ("", ""), file: tuple[str, str] = ("", "")
    ) -> Make:
        """Run Python in a folder with a changed params.yaml and another file."""
        assert change[0] in PARAMS, change[0]
        contents = dict([("params.yaml", PARAMS.replace(*change, 1)), file][: 1 + bool(file[0])])
        return lambda folder: (put(contents, folder), arguments)

    def stage(name: str, *keys: str, **given: Any) -> Make:
        return python(ROOT / "stages" / f"{name}.py", *keys, **given)

    def command(*arguments: str, **given: Any) -> Make:
        return python("-m", "infopursuit", *arguments, **given)

    read_list = partial(stage, "read_list", "--dataset", "menagerie")
    dataset = partial(stage, "read_dataset", "--dataset")
    queries = partial(stage, "generate_queries", "--corpus", "menagerie")
    lists = ("  lists: {}", "  lists: {menagerie: mine.txt}")
    classes = "    classes: "
    long = (f"{classes}artifacts/menagerie/classes.txt", f"{classes}{'a' * 5000}")
    deep, broken = ("run:\n", "x: " + "[" * 1500 + "\nrun:\n"), ("run:\n", "run: [\n")
    hostile = read_list(change=lists, file=("mine.txt", "x\x1b[31m\nx\x1b[31m\n"))
    no_list, no_file = "read_list-menagerie: mine.txt: no such file", "nothing.yaml: no such file"
    captions = queries(file=("artifacts/menagerie/captions.json", "[" * 10**6))
    rows = [
        ("a stage with broken settings", read_list(change=broken), "params.yaml: not valid YAML"),
        ("a stage with a deep setting", read_list(change=deep), "params.yaml: .*too deep"),
        ("a stage without a list", read_list(change=lists), no_list),
        ("a stage with a hostile list", hostile, r"mine.txt: line 2 repeats 'x\\x1b"),
        ("a stage with deep captions", captions, "captions.json: not valid JSON: .*too deep"),
        ("a stage for an unknown data set", dataset("x"), "--dataset x: expected one of menagerie"),
        ("a stage with a long path", dataset("menagerie", change=long), "File name too long"),
        ("a command with broken settings", command("check", change=broken), "not valid YAML"),
        ("a command without settings", command("configure", "nothing.yaml"), no_file),
        ("a command with no model", command("explain", "--model", "m", "x.jpg", file=("m/x", "")),
         "infopursuit: m: no trained model"),
    ]  # fmt: skip
    reader = Reader(_process, refusal=EndedError)
    rows = [(name, source, f"^1: .*{expected}") for name, source, expected in rows]
    return [*family("processes", reader, rows), *_surroundings()]


def _surroundings() -> list[Kind]:
    """Return one command in terminals that cannot show its names, without streams, and so on."""

    explain = _explain(np.eye(8)[:1], names=["\u732b", "\xe9", "\U0001f600"])

    def command(folder: Path) -> tuple[Path, Arguments]:
        return folder, ("-m", "infopursuit", *explain(folder))

    def says(pattern: str) -> Callable[[Any], bool]:
        return lambda text: re.search(f"Prediction: {pattern}, ", text) is not None

    gone = "mkdir gone; cd gone; rmdir ../gone"
    rows = [
        ("LC_ALL=C", "export LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0", says(r"\\u732b")),
        ("ASCII", "export PYTHONIOENCODING=ascii", says(r"\\u732b")),
        ("a console of Windows", "export PYTHONIOENCODING=cp1252", says(r"\\u732b")),
        ("no standard input", "exec <&-", says("\u732b")),
        ("no standard output", "exec >&-", "the standard output is closed; expected it open, or"),
        ("no standard error", "exec 2>&-", says("\u732b")),
        ("a full standard output", "exec >/dev/full", "the disk is full"),
        ("a folder that is gone", gone, "the working directory is gone; expected to start in"),
        ("little address space", "ulimit -v 1000000", "there is not enough memory"),
    ]
    return [
        Kind(
            "processes",
            name,
            command,
            Reader(partial(_process, around=f'{line}; exec "$@"'), refusal=EndedError),
            f"^1: infopursuit: {expected}" if isinstance(expected, str) else expected,
        )
        for name, line, expected in rows
    ]


KINDS = [*_arguments(), *_files(), *_processes()]
