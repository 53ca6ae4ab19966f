"""Options, help, completion, and how commands end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infopursuit.cli import command_line, help_texts
from infopursuit.cli.command_line import main, parser


def commands() -> list[str]:
    return sorted(parser()._subparsers._group_actions[0].choices)  # type: ignore[union-attr]


def test_the_commands_are_these() -> None:
    assert commands() == ["check", "configure", "explain", "export", "fit", "serve"]


@pytest.mark.parametrize("name", ["check", "configure", "explain", "export", "fit", "serve"])
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"\n  infopursuit {name} " in told
    assert max(map(len, told.splitlines())) <= 100


def test_examples_of_help_are_right() -> None:
    texts = [text for name, text in vars(help_texts).items() if name.endswith("EXAMPLES")]
    assert len(texts) == 7
    for line in "\n".join(texts).splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("infopursuit ") and "COMMAND" not in line:
            parser().parse_args(line.replace("'", "").split()[1:])


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_shell_completes_the_commands(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infopursuit", "--print-completion", shell],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    for word in (*commands(), "max-queries"):
        assert word in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "--model", "m", "--stop", "0", "x"], "0: expected more than 0, at most 1"),
        (["explain", "--model", "m", "--max-queries", "0", "x"], "0: expected 1 or more"),
        (["explain", "--model", "m", "--stop", "high", "x"], "invalid probability value: 'high'"),
        (["explain", "x"], "required: --model"),
        (["fit", "photos"], "required: --out"),
        (["show"], "invalid choice: 'show'"),
        (["serve", "--model", "m", "--port", "65536"], "65536: expected 0 to 65535"),
        (["export", "--model", "m"], "required: PAGE"),
        ([], "required: COMMAND"),
    ],
)
def test_wrong_options_are_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_an_interruption_is_one_line(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    import infopursuit.cli.fit as module

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fit", interrupted)
    status, out, told = run("fit", "photos", "--out", "model")
    assert (status, out) == (130, "")
    assert told.startswith("infopursuit: stopped; no model was written")
    assert "\n" not in told


def test_what_the_library_alone_lacks_is_named(
    run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "infopursuit.pipeline.configure", None)

    def without_pipeline(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'dvc'", name="dvc")

    monkeypatch.setattr(command_line, "_configure", without_pipeline)
    status, _, told = run("configure", "x.yaml")
    assert status == 1
    assert "pip install 'infopursuit[pipeline]'" in told


def test_a_reader_that_has_enough_is_no_error(colors: Path) -> None:
    images = colors / "photos"
    command = f"'{sys.executable}' -m infopursuit explain --model {colors / 'model'} {images}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} --format json | head -c 1 > /dev/null"],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.returncode == 0
