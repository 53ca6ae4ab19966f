"""`infopursuit explain`."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.datasets.reading import image_files
from infopursuit.estimators.base import rows_of
from infopursuit.generation import language_models
from infopursuit.pursuit.explanation import Explanation
from tests.generation.language_models.test_openai_server import completion, serving


@pytest.fixture
def home(colors: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the model and its pictures, to work in."""
    monkeypatch.chdir(colors)
    return colors


def test_json_holds_everything(run: Callable, home: Path) -> None:
    status, out, _ = run(
        "explain", "--model", "model", "photos", "--format", "json", "--max-queries", 2
    )
    images = json.loads(out)["images"]
    assert (status, len(images)) == (0, 12)
    for image in images:
        assert len(image["steps"]) <= 2
        predicted = image.pop("predicted_class"), image.pop("probability")
        explanation = Explanation.from_dict(image)
        assert predicted == (explanation.predicted_class, explanation.probability)


def test_csv_has_a_row_for_each_question(run: Callable, home: Path) -> None:
    _, out, _ = run("explain", "--model", "model", "photos/red", "--format", "csv", "--stop", 1)
    rows = list(csv.DictReader(io.StringIO(out)))
    explained = infopursuit.load("model").explain(
        [f"photos/red/{number}.png" for number in range(4)],
        infopursuit.StoppingRule(1.0, stability=None),
    )
    assert len(rows) == sum(1 + len(each.steps) for each in explained)
    # ties are shown as ties
    assert '"photos/red/0.png","0","","","blue = green = red","0.333333",' in out
    last = {row["image"]: row for row in rows}
    for each in explained:
        assert last[each.image]["most_probable"] == each.predicted_class
        assert float(last[each.image]["probability"]) == each.probability


def test_html_escapes(run: Callable, home: Path, tmp_path: Path) -> None:
    odd = tmp_path / "<b>.png"
    odd.write_bytes(Path("photos/red/0.png").read_bytes())
    _, out, _ = run("explain", "--model", "model", odd, "--format", "html")
    assert "&lt;b&gt;.png" in out
    assert "<b>.png" not in out
    assert out.count("<table>") == out.count('<img src="data:image/webp;base64,') == 1
    assert out.index("<img") < out.index("&lt;b&gt;.png") < out.index("<table>")


def test_where_draws_a_figure_or_a_page_and_needs_pictures(run: Callable, home: Path) -> None:
    files = sorted(map(str, Path("photos").rglob("*.png")))
    places, file = max(
        (sum(step.where is not None for step in each.steps), each.image)
        for each in infopursuit.load("model").explain(files, where=True)
    )
    explain = "explain", "--model", "model", file
    plain, located = run(*explain), run(*explain, "--where")
    figure = Path("figures") / Path(file).name
    assert (located[0], located[1]) == (0, plain[1])  # the answers are the same
    assert figure.name in located[2]
    assert run(*explain, "--figures", "plain")[0] == 0
    with Image.open(figure) as shown, Image.open(Path("plain") / figure.name) as without:
        assert shown.tobytes() != without.tobytes()
    figure.unlink()
    pages = [run(*explain, "--format", "html", *more)[1] for more in ([], ["--where"])]
    assert places  # a grouped yes has its picture, too, behind a click
    assert pages[1].count("<img") - pages[0].count("<img") == places
    assert not figure.exists()
    np.save("X.npy", np.ones((1, 16), dtype=np.float32))
    status, out, log = run("explain", "--model", "model", "X.npy", "--where")
    assert (status, out) == (1, "")
    assert "--where: rows do not say where anything is; expected pictures" in log


def test_bad_files_are_listed_and_the_others_explained(
    run: Callable, home: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.png"
    bad.write_text("no picture")
    arguments = ("explain", "--model", "model", "photos/red/0.png", bad, tmp_path / "none.png")
    status, out, log = run(*arguments)
    assert status == 1
    assert out.startswith("photos/red/0.png")
    assert log.splitlines() == [
        f"not explained: {bad}: not an image of a known format",
        f"not explained: {tmp_path / 'none.png'}: missing",
    ]
    _, out, _ = run(*arguments, "--format", "json")
    assert list(json.loads(out)["rejected"]) == [str(bad), str(tmp_path / "none.png")]
    status, out, _ = run("explain", "--model", "model", bad)
    assert (status, out) == (1, "")
    no_utf_8 = tmp_path / os.fsdecode(b"caf\xe9.png")
    shutil.copy("photos/red/0.png", no_utf_8)
    for form in ("text", "html", "csv"):
        given = ("explain", "--model", "model", no_utf_8, "--format", form, "--out")
        assert run(*given, tmp_path / form)[0] == 0
        assert re.search(r"caf(\ufffd|\\udce9)", (tmp_path / form).read_text(encoding="utf-8"))


def test_folders_and_patterns_are_searched(tmp_path: Path) -> None:
    for name in ("a.png", "b.JPG", "notes.txt", ".hidden.png", "deep/c.webp", ".cache/d.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = ["a.png", "b.JPG", "deep/c.webp"]
    assert image_files([str(tmp_path)]) == [tmp_path / name for name in names]
    assert image_files([f"{tmp_path}/*.png"]) == [tmp_path / "a.png"]
    assert image_files([f"{tmp_path}/.hidd*.png"]) == [tmp_path / ".hidden.png"]
    assert image_files([f"{tmp_path}/**/*.webp"]) == [tmp_path / "deep/c.webp"]
    twice = [str(tmp_path / "a.png"), str(tmp_path), str(tmp_path / "notes.txt")]
    assert image_files(twice) == [tmp_path / name for name in (*names, "notes.txt")]
    (tmp_path / "x[1].png").touch()
    assert image_files([str(tmp_path / "x[1].png")]) == [tmp_path / "x[1].png"]
    (tmp_path / "empty").mkdir()
    for none, message in [
        ([f"{tmp_path}/*.gif"], "no image there"),
        ([str(tmp_path / "empty")], "no image there"),
        ([], "no image is given"),
    ]:
        with pytest.raises(InputError, match=message):
            image_files(none)


def test_out_is_a_new_file_in_a_folder(
    run: Callable, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("explain", "--model", "model", "photos/red/0.png")
    out = tmp_path / "out.txt"
    assert run(*arguments, "--out", out)[:2] == (0, "")
    assert out.read_text() == run(*arguments)[1]
    (tmp_path / "file").write_text("mine")
    for option, path, message in [
        ("--out", tmp_path, "is a folder"),
        ("--out", tmp_path / "no" / "out.txt", "no is nothing; expected a folder"),
        ("--out", tmp_path / "file" / "out.txt", "file is a file; expected a folder"),
        ("--figures", tmp_path / "file", "is a file; expected a folder"),
    ]:
        status, _, log = run(*arguments, option, path)
        assert status == 1
        assert log.startswith(f"infopursuit: {option} {path}: ")
        assert message in log
        assert "\n" not in log
    assert (tmp_path / "file").read_text() == "mine"
    monkeypatch.setattr("sys.stdout", None)
    status, _, log = run(*arguments)
    assert (status, "closed" in log) == (1, True)


@pytest.fixture
def converse(run: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Runs a dialogue with these lines as input: exit status, and what it prints."""

    def command(lines: str, *arguments: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        return run("dialogue", "--model", *arguments)[:2]

    return command


def test_a_person_answers(converse: Callable, tmp_path: Path, model) -> None:
    model.save(tmp_path)
    dialogue, lines = model.dialogue(), ""
    while max(dialogue.posterior.values()) < 0.95:
        yes = dialogue.next_question() in ("four legs", "black and white")
        lines += "y\n" if yes else "n\n"
        dialogue.answer("yes" if yes else "no")
    status, out = converse(f"w\nhello\n?\nu\n{lines}q\n", tmp_path)
    assert status == 0
    assert "'hello': y yes, p probably" in out
    assert out.endswith(str(dialogue.explanation(infopursuit.StoppingRule(0.95, stability=None))))
    status, out = converse("", tmp_path)  # the end of the input
    assert status == 0
    assert "after 0 questions" in out
    assert "nothing has been asked yet" in converse("u\nq\n", tmp_path)[1]


def test_answers_of_an_image_are_changed(converse: Callable, home: Path) -> None:
    def steps(lines: str) -> list[dict]:
        status, out = converse(lines, "model", "photos/red/0.png", "--format", "json")
        assert status == 0
        return json.loads(out[out.index("{") :])["images"][0]["steps"]

    plain = infopursuit.load("model").explain(["photos/red/0.png"])[0]
    assert [step["query"] for step in steps("\n" * 20)] == list(plain.questions)
    changed = steps("n\nq\n" if plain.steps[0].yes else "y\nq\n")[0]
    assert changed["overridden"]
    assert changed["answer"] != plain.steps[0].answer


def test_a_person_is_asked_what_the_image_is_not_certain_of(converse: Callable, home: Path) -> None:
    model, value = infopursuit.load("model"), {"yes": 1, "no": 1, "probably": 0.75}
    asked = set()
    for image in [f"photos/{color}/0.png" for color in ("red", "green", "blue")]:
        (own,) = model.pursuit_.answers(rows_of(model, [image]).tensor()).tolist()
        said = [model.pursuit_.rule.word(query, each) for query, each in enumerate(own)]
        sure = {
            query: value.get(word, 0.5) for query, word in zip(model.queries_, said, strict=True)
        }
        for below in (0.5, 0.8):
            given = "model", image, "--format", "json", "--ask-below", below
            status, out = converse("y\n" * 30, *given)
            assert status == 0
            steps = json.loads(out[out.index("{") :])["images"][0]["steps"]
            for step in steps:
                assert step["overridden"] == (sure[step["query"]] < below)
                asked.add((below, step["overridden"]))
            assert out.count("(the image)") == sum(not step["overridden"] for step in steps)
    assert asked == {(0.5, False), (0.8, False), (0.8, True)}
    assert converse("", "model", "--ask-below", 0.8) == (1, "")


def test_a_vision_model_answers_and_what_it_said_is_kept(converse: Callable, home: Path) -> None:
    def reply(request: dict) -> tuple:
        picture, text = request["body"]["messages"][0]["content"]
        assert picture["type"] == "image_url" and request["body"]["temperature"] == 0
        return completion("Yes." if "red" in text["text"].splitlines()[-1] else "unclear")

    limits = ["--format", "json", "--max-queries", 3]
    with serving(reply) as (url, requests):
        seeing = ["--llm", url, "--llm-model", "eyes"]
        status, out = converse("", "model", "photos/red/0.png", *limits, *seeing)
        steps = json.loads(out[out.index("{") :])["images"][0]["steps"]
        assert status == 0 and len(steps) == len(requests) <= 3
        assert all(step["overridden"] for step in steps)
        for step in steps:
            assert step["answer"] == (1.0 if "red" in step["query"] else 0.5)
        assert converse("", "model", "photos/red/0.png", *limits, *seeing) == (0, out)
        assert len(requests) == len(steps)
        some = converse("", "model", "photos/red/0.png", *limits, *seeing, "--ask-below", 0.6)[1]
        assert "(the image)" in some


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--llm-model", "eyes"], "expected it with --llm"),
        (["--llm", "URL"], "name"),
        (["--llm", "vllm:a/model@0"], "pictures"),
        (["--llm", "URL", "--llm-model", "eyes"], "unclear"),
    ],
)
def test_a_vision_model_that_cannot_answer_is_told(
    run: Callable,
    home: Path,
    arguments: list[str],
    word: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(language_models, "where_vllm_is", lambda _: None)  # it is installed
    with serving(lambda request: completion("I think it is red")) as (url, _):
        given = [url if each == "URL" else each for each in arguments]
        asked = run("dialogue", "--model", "model", "photos/red/0.png", *given)
        assert asked[0] == 1 and word in asked[2]
