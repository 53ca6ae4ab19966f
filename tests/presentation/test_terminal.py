"""The command line: what it prints, and how it fails."""

from pathlib import Path

import pytest
from PIL import Image

import infopursuit
from infopursuit.__main__ import main
from infopursuit.presentation.terminal import told
from infopursuit.presentation.trajectories import Step, Stop, Trajectory


def test_told_lines_up_questions_answers_and_beliefs():
    steps = (
        Step("wings", 0.0, (0.4, 0.6), 0.67),
        Step("a very long neck", 1.0, (0.97, 0.03), 0.13),
    )
    lines = told(Trajectory("photo.jpg", ("giraffe", "bus"), (0.5, 0.5), steps, True)).split("\n")
    assert lines == [
        "photo.jpg",
        "     before any question       giraffe 50 %",
        "  1  wings?               no   bus 60 %",
        "  2  a very long neck?    yes  giraffe 97 %",
        "  Prediction: giraffe, 97 %, after 2 questions.",
        "",
    ]


def test_told_says_when_the_limit_was_reached():
    steps = (Step("wings", 0.0, (0.4, 0.6), 0.67),)
    text = told(Trajectory("x", ("giraffe", "bus"), (0.5, 0.5), steps, False))
    assert text.endswith("Prediction: bus, 60 %, after 1 question, the most allowed.\n")


def test_version_and_help(capsys):
    for arguments, words in ((["--version"], "infopursuit 0."), (["--help"], "explain")):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--stop", "1.5"], ["--stop", "x"], ["--max-queries", "0"], ["--unknown"]]
)
def test_bad_usage_ends_with_two(options, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", "--model", "m", *options, "photo.jpg"])
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_bad_input_is_one_line_and_status_one(tmp_path, caplog):
    for arguments in (
        ["explain", "--model", str(tmp_path), "x.jpg"],
        ["configure", str(tmp_path / "settings.yaml"), "--params", str(tmp_path / "p.yaml")],
    ):
        caplog.clear()
        assert main(arguments) == 1
        (message,) = caplog.messages
        assert str(tmp_path) in message
        assert "\n" not in message


class Known:
    """Stands in for a trained model with its CLIP: says the same of every picture."""

    def explain(self, pictures, stop):
        assert stop == Stop(0.9, 7)
        steps = (Step("wings", 0.0, (0.4, 0.6), 0.67),)
        return [Trajectory(str(path), ("a", "b"), (0.5, 0.5), steps, True) for path in pictures]


def test_explain_prints_each_image_and_draws_it(tmp_path, monkeypatch, capsys):
    asked = {}
    monkeypatch.setattr(
        infopursuit, "load", lambda folder, clip: asked.update(f=folder, c=clip) or Known(),
        raising=False,
    )  # fmt: skip
    paths = [tmp_path / "one" / "photo.png", tmp_path / "two" / "photo.png"]
    for path in paths:
        path.parent.mkdir()
        Image.new("RGB", (5, 5), "red").save(path)
    out = tmp_path / "out"
    options = ["--clip", "c", "--out", str(out), "--stop", "0.9", "--max-queries", "7"]
    assert main(["explain", "--model", "m", *options, *map(str, paths)]) == 0
    assert asked == {"f": Path("m"), "c": Path("c")}
    printed = capsys.readouterr().out
    assert [printed.count(str(path)) for path in paths] == [1, 1]
    assert printed.count("Prediction: b, 60 %, after 1 question.") == 2
    assert sorted(path.name for path in out.iterdir()) == ["photo-2.png", "photo.png"]
