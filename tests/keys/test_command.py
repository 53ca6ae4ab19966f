"""`infopursuit key`, and `export --key`."""

from __future__ import annotations

import re
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from infopursuit.cli.command_line import main
from infopursuit.core.errors import InputError
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.keys.command import open_key
from infopursuit.keys.key import Character, Key, read_csv
from infopursuit.keys.models import fitted_key, key_model
from infopursuit.keys.printed import printed_key
from infopursuit.pursuit.dialogue import Dialogue
from tests.keys.test_readers import MADE, PLANTS
from tests.pursuit.naive_bayes.test_subclasses import kinds

MORE = PLANTS + "Thistle,alternate,no,60-150\nIris,basal,yes,40-150\nPoppy,alternate,no,20-60\n"


@pytest.fixture
def plants(tmp_path: Path) -> Path:
    path = tmp_path / "plants.csv"
    path.write_text(MORE, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".html", ".json", ".csv", ".md"])
def test_a_table_becomes_a_key(plants: Path, suffix: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "infopursuit")
    out = plants.with_name(f"key{suffix}")
    made = ["--creator", MADE[0], "--license", MADE[1]]
    assert main(["key", str(plants), "--out", str(out), "--title", "Weeds", *made]) == 0
    assert "6 classes, 3 questions, 0 pictures" in caplog.text
    text = out.read_text(encoding="utf-8")
    assert "Sorrel" in text and "Weeds" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plants.csv", "--out", "key.pdf"], "expected a name that ends in .html"),
        (["plants.txt", "--out", "key.html"], "plants.txt: expected .csv, .json"),
        (["plants.csv", "--out", "key.json"], "expected --creator NAME and --license ADDRESS"),
        (["plants.csv", "--out", "key.json", "--creator", "A", "--license", "BY"], "--license ADD"),
        (["plants.csv", "--out", "key.html", "--reliability", "0.5"], "reliability is 0.5"),
        (["pictured.csv", "--out", "key.html"], "b.png: no regular file; expected the picture of"),
        (["plants.csv", "--out", "plants.csv"], "plants.csv: is the table that is read"),
        (["plants.csv", "--out", "../{folder}/plants.csv"], "plants.csv: is the table that is"),
        (["plants.XLSX", "--out", "key.html"], "plants.XLSX: a spreadsheet; save it as CSV"),
    ],
)
def test_bad_use_is_one_line(
    plants: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(plants.parent)
    Path("pictured.csv").write_text("plant,leaves,picture\nA,basal,\nB,opposite,b.png\n")
    before = plants.read_bytes()
    assert main(["key", *(each.format(folder=plants.parent.name) for each in arguments)]) == 1
    assert plants.read_bytes() == before
    assert [message in record.getMessage() for record in caplog.records] == [True]
    assert "\n" not in caplog.records[0].getMessage()


def test_a_printed_key_leads_to_each_class(plants: Path) -> None:
    key = read_csv(plants)
    text = printed_key(key_model(key, 0.999), "Weeds", 0.25)
    steps = {
        number: (question, dict(re.findall(r"- (.*?): (.*)", answers)))
        for number, question, answers in re.findall(r"\*\*(\d+)\.\*\* (.*)\n((?:- .*\n)+)", text)
    }
    assert {question for question, _ in steps.values()} == {
        "leaves?", "flowers yellow?", "height (cm)?"
    }  # fmt: skip
    left = float(re.findall(r"wrong class for ([\d.]+) %", text)[0]) / 100
    right = 0.0
    for row, name in enumerate(key.classes):
        ends = [("1", 1.0)]
        while ends:
            number, share = ends.pop()
            question, goes = steps[number]
            character = next(
                each for each in key.characters if each.choice_name.rstrip("?") == question[:-1]
            )
            shares = np.where(
                np.isnan(character.choices), np.nanmean(character.choices, 0), character.choices
            )[row]
            for words, goal in goes.items():
                part = sum(shares[place] for place in cells_of(character, words))
                if on := re.fullmatch(r"go to \*\*(\d+)\*\*", goal):
                    ends.append((on[1], share * part))
                else:
                    right += share * part * goal.startswith(f"*{name}*") / len(key.classes)
    assert right == pytest.approx(1 - left, abs=0.02)


def cells_of(character: Character, words: str) -> list[int]:
    """The choices that a line of a printed key stands for."""
    if character.in_degrees:
        return [["no", "yes"].index(words)]
    if character.ranges is None:
        return [character.states.index(word) for word in words.split(" or ")]
    found = []
    for part in words.split(" or "):
        numbers = [float(each) for each in re.findall(r"[\d.]+", part)]
        low, high = numbers[0], numbers[-1]
        if not part[0].isdigit():
            low, high = (-np.inf, high) if part.startswith("at most") else (low, np.inf)
        ends = [-np.inf, *character.cuts, np.inf]
        found += [
            place for place in range(len(ends) - 1) if low <= ends[place] < ends[place + 1] <= high
        ]
    return found


def test_a_printed_key_shows_markup_as_it_is(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    table = tmp_path / "key.csv"
    table.write_text(
        f'plant,{hostile} \x1b[31m,leaf\n"A\n# {hostile}",yes,*x*\nB,no,|y|z\nC,no,*x*\n',
        encoding="utf-8",
    )
    out = tmp_path / "key.md"
    assert main(["key", str(table), "--out", str(out), "--title", "<script>\n# x"]) == 0
    text = out.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)[<>]", text)
    assert [line for line in text.split("\n") if line.startswith("#")] == [r"# \<script\> # x"]


def test_a_choice_among_states_takes_fewer_questions() -> None:
    states = np.array(["alternate", "opposite", "whorled", "basal"])
    codes = np.array([[i // 4 % 4, i % 4] for i in range(16)])
    characters = tuple(
        Character(name, tuple(states), np.eye(4)[codes[:, column]])
        for column, name in enumerate(["leaves", "buds"])
    )
    key = Key("Sixteen", tuple(f"p{i}" for i in range(16)), characters)
    pursuit = key_model(key, 0.99)
    asked = Dialogue(pursuit)
    asked.answer("whorled", "leaves?")
    asked.answer("basal", "buds?")
    assert asked.next_question() is None
    assert max(asked.posterior.items(), key=itemgetter(1))[0] == "p11"
    text = printed_key(pursuit, "Sixteen", 0.05)
    assert "16 classes, 5 questions" in text
    assert "- whorled: *p" in text


def test_models_become_keys(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = np.eye(3)[y] + rng.normal(0, 0.2, (300, 3))
    model = InformationPursuitClassifier(n_queries=6)
    model.fit(X, np.array(["a", "b", "c"])[y]).save(tmp_path / "model")
    key, pursuit = open_key(tmp_path / "model", "Three")
    assert pursuit is not None
    assert key.classes == ("a", "b", "c")
    rates = model.pursuit_.classifier.table.log_likelihood.exp().numpy()
    for query, words in enumerate(model.pursuit_.words):
        assert key.characters[query].name == f"column {query}"
        for state, word in enumerate(key.characters[query].states):
            shares = rates[words.index(word), query] / (1 - rates[len(words) // 2, query])
            assert np.allclose(key.characters[query].frequency[:, state], shares, atol=1e-5)
    for suffix in ("json", "csv", "md", "html"):
        out = tmp_path / f"key.{suffix}"
        made = ["--creator", MADE[0], "--license", MADE[1]]
        assert main(["key", str(tmp_path / "model"), "--out", str(out), *made]) == 0
    for written in ("key.json", "key.csv"):
        found = open_key(tmp_path / written)[0].truth()
        assert found == pytest.approx(key.truth(), abs=1e-5)


def test_a_key_says_how_often_a_class_of_several_kinds_gives_each_answer() -> None:
    X, y = kinds(1500, 0)
    pursuit = InformationPursuitClassifier(rates="subclasses").fit(X, y).pursuit_
    character = fitted_key(pursuit, "Kinds").characters[0]
    shares = pd.crosstab(y, X[character.name], normalize="index")[list(character.states)]
    assert np.allclose(character.choices, shares, atol=0.03)
    with pytest.raises(InputError, match='expected a model fitted with rates="counted"'):
        printed_key(pursuit, "Kinds", 0.1)
