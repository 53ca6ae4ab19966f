"""Options, help, completion, how commands end, and `serve` as a process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

import infopursuit
from infopursuit.cli import command_line
from infopursuit.cli.command_line import main, parser
from infopursuit.cli.explore import blind
from infopursuit.core.tables import EMBEDDED_TEXTS, write_table
from tests.estimators.conftest import World
from tests.explorer.made_up import read_floats


def commands() -> list[str]:
    return sorted(parser()._subparsers._group_actions[0].choices)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", commands())
def test_help_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    log = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"\n  infopursuit {name} " in log
    assert max(map(len, log.splitlines())) <= 100


def test_examples_of_help_are_right() -> None:
    words = command_line.HELP
    texts = [words["examples"], *(words[name]["examples"] for name in commands())]
    for line in "\n".join(texts).splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("infopursuit ") and "COMMAND" not in line:
            parser().parse_args(line.replace("'", "").split()[1:])


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ("", "COMMAND"),
        ("explain --model m --stop high x", "high"),
        ("explain --model m --stop 0 x", "more"),
        ("explain --model m --max-queries 0 x", "1"),
        ("explain --model m --format xml x", "xml"),
        ("serve --model m --port 65536", "65536"),
        ("fit x --out=", "empty"),
        ("fit photos --out model --n-queries 64", "--queries"),
        ("explains --model m", "explain"),
        ("annotate photos", "--model"),
        ("annotate m photos more", "more"),
        ("knowledge --out t.csv", "--model"),
    ],
)
def test_wrong_use_gets_the_usage_of_its_command_and_one_line(
    words: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    log = capsys.readouterr().err
    name = words.partition(" ")[0]
    assert log.startswith(f"usage: infopursuit {name if name in commands() else '['}")
    assert word in log.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        "annotate --model m photos --by ann",
        "annotate m --by ann photos",
        "knowledge --model m --out t.csv",
        "knowledge --out t.csv m",
    ],
)
def test_a_model_may_come_first_or_as_an_option(words: str) -> None:
    chosen = vars(parser().parse_args(words.split()))
    given: dict = {"out": Path("t.csv")}
    if words.startswith("annotate"):
        given = {"images": Path("photos"), "by": "ann"}
    assert chosen == {**chosen, **given, "model": "m"}


def test_an_interruption_is_one_line(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    import infopursuit.cli.fit as module

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fit", interrupted)
    status, out, log = run("fit", "photos", "--out", "model")
    assert (status, out) == (130, "")
    assert log.startswith("infopursuit: stopped; no model was written")
    assert "\n" not in log


def test_the_server_answers_pictures_that_a_user_sends(colors: Path) -> None:
    """Ctrl-C ends it even if the tests run in the background, where the shell ignores it."""
    command = [sys.executable, "-m", "infopursuit", "serve", "--port", "0"]
    given = ["--model", str(colors / "model"), "--images", str(colors / "photos")]
    with subprocess.Popen(
        [*command, *given],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        try:
            log = map(re.compile(r"explore at (http://127\.0\.0\.1:\d+/) ").match, process.stderr)
            address = next(filter(None, log))[1]
            with urlopen(f"{address}api/payload", timeout=60) as response:
                content = json.load(response)
            assert (content["model"]["name"], content["model"]["sees"]) == ("model", True)
            assert len(content["images"]["test"]) == 12
            picture = colors / "photos/red/0.png"
            with urlopen(f"{address}api/images", picture.read_bytes(), timeout=60) as response:
                answers = json.load(response)["answers"]
            model = infopursuit.load(colors / "model")
            answered = read_floats(answers, 1, len(model.queries_))
            np.testing.assert_allclose(answered, model.answer([str(picture)]), atol=0.01)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert process.stderr.read() == "infopursuit: stopped; nothing was stored\n"
        finally:
            process.kill()


def test_a_table_of_texts_has_no_eyes(tmp_path: Path, world: World) -> None:
    table = tmp_path / "texts.parquet"
    columns = {"text": world.texts, "source": ["a"] * len(world.texts)}
    write_table(table, EMBEDDED_TEXTS, columns | {"embedding": world.embeddings}, "a clip")
    model = world.fitted()
    model.clip_, model.clip_source_ = "a clip", str(table)
    assert "texts.parquet" in (blind(model) or "")


def test_missing_packages_and_two_models_are_refused(
    run: Callable, colors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--model", colors / "model")
    status, _, log = run("serve", "--port", "0", *given, *given)
    assert status == 1
    assert "--model: 2 models; expected one, and another server" in log
    monkeypatch.setattr("infopursuit.cli.explore.find_spec", lambda name: None)
    status, _, log = run("serve", *given)
    assert status == 1
    assert "pip install 'infopursuit[app]' (fastapi, uvicorn" in log


ASCII = "export LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0"


@pytest.mark.parametrize(
    ("around", "status", "said"),
    [
        (f"{ASCII}; exec <&- 2>&-", 0, r"Prediction: \\u732b"),
        ("mkfifo pipe; : < pipe & exec > pipe", 0, ""),  # a reader that has enough
        ("exec >/dev/full; unset PYTHONUNBUFFERED", 1, "full"),
        ("mkdir gone; cd gone; rmdir ../gone", 1, "the working directory is gone"),
        ("ulimit -v 1000000", 1, "there is not enough memory"),
    ],
)
def test_a_command_works_or_says_in_one_line_why_not_wherever_it_is_run(
    world: World, tmp_path: Path, around: str, status: int, said: str
) -> None:
    model = world.fitted().with_class_names(["\u732b", "\xe9", "\U0001f600", "d"])
    model.save(tmp_path / "m")
    np.save(tmp_path / "x.npy", world.X[model.predict(world.X) == "\u732b"][:1])
    words = [sys.executable, "-m", "infopursuit", "explain", "--model", tmp_path / "m"]
    command = ["bash", "-c", f'{around}; exec "$@"', "bash", *map(str, words), tmp_path / "x.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == status
    errors = done.stderr.decode()
    assert re.search(said, errors if status else done.stdout.decode(errors="replace"))
    assert len(errors.splitlines()) == status
