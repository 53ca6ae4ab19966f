"""`infopursuit key`, and `export --key`."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from infopursuit.cli.command_line import main
from infopursuit.keys.key import Character, Key
from infopursuit.keys.models import key_model
from infopursuit.pursuit.dialogue import Dialogue
from tests.keys.test_readers import MADE, PLANTS

MORE = PLANTS + "Thistle,alternate,no,60-150\nIris,basal,yes,40-150\nPoppy,alternate,no,20-60\n"


@pytest.fixture
def plants(tmp_path: Path) -> Path:
    path = tmp_path / "plants.csv"
    path.write_text(MORE, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".html", ".json"])
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
        (["plants.csv", "--out", "key.pdf"], "key.pdf"),
        (["plants.txt", "--out", "key.html"], "plants.txt"),
        (["plants.csv", "--out", "key.json"], "--creator"),
        (["plants.csv", "--out", "key.json", "--creator", "A", "--license", "BY"], "--license"),
        (["plants.csv", "--out", "key.html", "--reliability", "0.5"], "reliability"),
        (["pictured.csv", "--out", "key.html"], "b.png"),
        (
            ["plants.json", "--out", "plants.json", "--creator", "A", "--license", "a://b"],
            "is read",
        ),
        (["plants.XLSX", "--out", "key.html"], "spreadsheet"),
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
    Path("plants.json").write_text("{}")
    assert main(["key", *arguments]) == 1
    assert Path("plants.json").read_text() == "{}"
    assert [message in record.getMessage() for record in caplog.records] == [True]
    assert "\n" not in caplog.records[0].getMessage()


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
