"""`infopursuit explain`."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import infopursuit
from infopursuit.cli.explain import image_files
from infopursuit.core.errors import InputError
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.explanation.explanation import Explanation
from tests.estimators.conftest import World


@pytest.fixture
def there(colors: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the model and its pictures, to work in."""
    monkeypatch.chdir(colors)
    return colors


def test_text_is_what_an_explanation_prints(run: Callable, there: Path) -> None:
    status, out, told = run("explain", "--model", "model", "photos/red/0.png", "photos/blue/1.png")
    model = infopursuit.load("model")
    explained = model.explain(["photos/red/0.png", "photos/blue/1.png"])
    assert (status, told) == (0, "")
    assert out == "\n".join(map(str, explained))


def test_the_decisive_answers_are_those_of_the_model(run: Callable, there: Path) -> None:
    given = ("explain", "--model", "model", "photos/red/0.png", "--decisive")
    model = infopursuit.load("model")
    assert isinstance(model, infopursuit.InformationPursuitClassifier)
    pictures = ["photos/red/0.png"]
    assert run(*given) == (0, str(model.decisive_answers(pictures)[0]), "")
    status, out, _ = run(*given, "--stop", 1, "--max-queries", 1)
    assert (status, out) == (0, str(model.decisive_answers(pictures, 1.0, 1)[0]))


def test_a_dialogue_has_no_decisive_answers(run: Callable, there: Path) -> None:
    status, out, told = run("explain", "--model", "model", "--decisive", "--interactive")
    assert (status, out) == (1, "")
    assert "--decisive: a dialogue asks one question after another" in told


def test_networks_have_no_decisive_answers(run: Callable, world: World, tmp_path: Path) -> None:
    networks = VariationalInformationPursuit(
        world.texts, world.embeddings, 4, dictionary="fixed", random_updates=2, biased_updates=2
    )
    networks.fit(world.X, world.y).save(tmp_path / "networks")
    np.save(tmp_path / "X.npy", world.unseen[:1])
    status, out, told = run(
        "explain", "--model", tmp_path / "networks", "--decisive", tmp_path / "X.npy"
    )
    assert (status, out) == (1, "")
    assert "--decisive: networks have no evidence of single answers" in told


def test_json_holds_everything(run: Callable, there: Path) -> None:
    status, out, _ = run(
        "explain", "--model", "model", "photos", "--format", "json", "--max-queries", 2
    )
    images = json.loads(out)["images"]
    assert status == 0
    assert len(images) == 12
    for image in images:
        assert len(image["steps"]) <= 2
        predicted = image.pop("predicted_class"), image.pop("probability")
        explanation = Explanation.from_dict(image)
        assert predicted == (explanation.predicted_class, explanation.probability)


def test_csv_has_a_row_for_each_question(run: Callable, there: Path) -> None:
    _, out, _ = run("explain", "--model", "model", "photos/red", "--format", "csv", "--stop", 1)
    rows = list(csv.DictReader(io.StringIO(out)))
    explained = infopursuit.load("model").explain(
        [f"photos/red/{number}.png" for number in range(4)], infopursuit.StoppingRule(1.0, None)
    )
    assert len(rows) == sum(1 + len(each.steps) for each in explained)
    last = {row["image"]: row for row in rows}
    for each in explained:
        assert last[each.image]["most_probable"] == each.predicted_class
        assert float(last[each.image]["probability"]) == each.probability


def test_html_escapes(run: Callable, there: Path) -> None:
    odd = Path("<b>.png")
    odd.write_bytes(Path("photos/red/0.png").read_bytes())
    try:
        _, out, _ = run("explain", "--model", "model", odd, "--format", "html")
    finally:
        odd.unlink()
    assert "&lt;b&gt;.png" in out
    assert "<b>.png" not in out
    assert out.count("<table>") == 1


def test_bad_files_are_listed_and_the_others_explained(
    run: Callable, there: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.png"
    bad.write_text("no picture")
    arguments = ("explain", "--model", "model", "photos/red/0.png", bad, tmp_path / "none.png")
    status, out, told = run(*arguments)
    assert status == 1
    assert out.startswith("photos/red/0.png")
    assert told.splitlines() == [
        f"not explained: {bad}: not an image of a known format",
        f"not explained: {tmp_path / 'none.png'}: missing",
    ]
    _, out, _ = run(*arguments, "--format", "json")
    assert list(json.loads(out)["rejected"]) == [str(bad), str(tmp_path / "none.png")]
    status, out, _ = run("explain", "--model", "model", bad)
    assert (status, out) == (1, "")


def test_folders_and_patterns_are_searched(tmp_path: Path) -> None:
    for name in ("a.png", "b.JPG", "notes.txt", ".hidden.png", "deep/c.webp", ".cache/d.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = ["a.png", "b.JPG", "deep/c.webp"]
    assert image_files([str(tmp_path)]) == [tmp_path / name for name in names]
    assert image_files([f"{tmp_path}/*.png"]) == [tmp_path / ".hidden.png", tmp_path / "a.png"]
    assert image_files([f"{tmp_path}/**/*.webp"]) == [tmp_path / "deep/c.webp"]
    twice = [str(tmp_path / "a.png"), str(tmp_path), str(tmp_path / "notes.txt")]
    assert image_files(twice) == [tmp_path / name for name in (*names, "notes.txt")]
    odd = tmp_path / "x[1].png"
    odd.touch()
    assert image_files([str(odd)]) == [odd]
    (tmp_path / "empty").mkdir()
    for none in (f"{tmp_path}/*.gif", str(tmp_path / "empty")):
        with pytest.raises(InputError, match="no image there"):
            image_files([none])
    with pytest.raises(InputError, match="no image is given"):
        image_files([])


def test_ties_are_shown_as_ties(run: Callable, there: Path) -> None:
    _, out, _ = run("explain", "--model", "model", "photos/red/0.png")
    assert "before any question" in out
    assert "blue = green = red 33 %" in out
    _, out, _ = run("explain", "--model", "model", "photos/red/0.png", "--format", "csv")
    assert "photos/red/0.png,0,,,blue = green = red,0.333333," in out


def test_rows_of_an_array_are_explained(run: Callable, tmp_path: Path, world, model) -> None:
    model.save(tmp_path / "model")
    np.save(tmp_path / "X.npy", world.unseen[:2])
    status, out, _ = run("explain", "--model", tmp_path / "model", tmp_path / "X.npy")
    assert status == 0
    assert f"{tmp_path}/X.npy[1]\n" in out
    status, _, told = run("explain", "--model", tmp_path / "model", tmp_path / "x.png")
    assert status == 1
    assert "the model does not know where its CLIP is" in told


def test_figures_are_drawn(run: Callable, there: Path, tmp_path: Path) -> None:
    status, _, told = run(
        "explain", "--model", "model", "photos/red/0.png", "photos/blue/0.png",
        "--figures", tmp_path / "figures",
    )  # fmt: skip
    assert status == 0
    assert sorted(file.name for file in (tmp_path / "figures").iterdir()) == ["0-2.png", "0.png"]
    assert len(told.splitlines()) == 2
    with Image.open(tmp_path / "figures" / "0.png") as figure:
        assert figure.width > 400


def test_out_is_whole_or_not_there(
    run: Callable, there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("explain", "--model", "model", "photos/red/0.png")
    out = tmp_path / "out.txt"
    status, printed, _ = run(*arguments, "--out", out)
    assert (status, printed) == (0, "")
    assert out.read_text() == run(*arguments)[1]
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    cases = [
        ("--out", tmp_path / "folder", "is a folder"),
        ("--out", tmp_path / "no" / "out.txt", "No such file"),
        ("--out", tmp_path / "file" / "out.txt", "Not a directory"),
        ("--figures", tmp_path / "file", "no folder can be made there"),
    ]
    if os.geteuid():
        (tmp_path / "closed").mkdir(mode=0o500)
        cases.append(("--out", tmp_path / "closed" / "out.txt", "Permission denied"))
    for option, path, message in cases:
        status, _, told = run(*arguments, option, path)
        assert status == 1
        assert told.startswith(f"infopursuit: {option} {path}: ")
        assert message in told
        assert "\n" not in told
    assert (tmp_path / "file").read_text() == "mine"

    written = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        written(path, content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    before = out.read_text()
    status, _, told = run(*arguments, "--format", "json", "--out", out)
    assert status == 1
    assert "No space left on device" in told
    assert out.read_text() == before
    assert sorted(file.name for file in tmp_path.iterdir() if "partial" in file.name) == []


def test_a_model_that_is_none_is_told(run: Callable, tmp_path: Path) -> None:
    status, out, told = run("explain", "--model", tmp_path, "x.png")
    assert (status, out) == (1, "")
    assert "no trained model; expected model.json" in told


def converse(
    run: Callable, monkeypatch: pytest.MonkeyPatch, lines: str, *arguments: object
) -> tuple[int, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    status, out, _ = run("explain", "--interactive", *arguments)
    return status, out


def test_a_person_answers(run: Callable, tmp_path: Path, model, monkeypatch) -> None:
    model.save(tmp_path)
    dialogue, lines = model.dialogue(), ""
    for _ in range(3):
        yes = dialogue.next_question() in ("four legs", "black and white")
        lines += "y\n" if yes else "n\n"
        dialogue.answer("yes" if yes else "no")
    status, out = converse(run, monkeypatch, f"w\nhello\n?\nu\n{lines}q\n", "--model", tmp_path)
    assert status == 0
    assert "'hello': y yes, n no" in out
    assert model.pursuit_.querier.criterion == "information gain"
    told = str(dialogue.explanation(infopursuit.StoppingRule(0.95, None)))
    assert out.endswith(told)
    status, out = converse(run, monkeypatch, "", "--model", tmp_path)  # the end of the input
    assert status == 0
    assert "after 0 questions" in out
    status, out = converse(run, monkeypatch, "u\nq\n", "--model", tmp_path)
    assert "nothing has been asked yet" in out


def test_answers_of_an_image_are_changed(run: Callable, there: Path, monkeypatch) -> None:
    plain = infopursuit.load("model").explain(["photos/red/0.png"])[0]
    taken, out = converse(
        run, monkeypatch, "\n" * 20, "--model", "model", "photos/red/0.png", "--format", "json"
    )
    assert taken == 0
    content = json.loads(out[out.index("{") :])["images"][0]
    assert [step["query"] for step in content["steps"]] == list(plain.questions)
    opposite = "n" if plain.steps[0].yes else "y"
    _, out = converse(
        run, monkeypatch, f"{opposite}\nq\n", "--model", "model", "photos/red/0.png",
        "--format", "json",
    )  # fmt: skip
    step = json.loads(out[out.index("{") :])["images"][0]["steps"][0]
    assert step["overridden"]
    assert step["answer"] != plain.steps[0].answer
    status, out = converse(run, monkeypatch, "", "--model", "model", "a.png", "b.png")
    assert (status, out) == (1, "")
