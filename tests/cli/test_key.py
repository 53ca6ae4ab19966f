"""`infopursuit key`, and `export --key`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from infopursuit.cli.command_line import main
from infopursuit.cli.key import open_key
from infopursuit.datasets.identification_keys import read_csv
from infopursuit.estimators.from_knowledge import key_model
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.printed_key import printed_key
from tests.datasets.test_identification_keys import MADE, PLANTS

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
    assert "6 classes, 10 questions, 0 pictures" in caplog.text
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
        (["pictured.csv", "--out", "key.html"], "b.png: no such file; expected the picture of 'B'"),
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
    assert main(["key", *arguments]) == 1
    assert [message in record.getMessage() for record in caplog.records] == [True]
    assert "\n" not in caplog.records[0].getMessage()


def test_a_printed_key_leads_to_each_class(plants: Path) -> None:
    key = read_csv(plants)
    pursuit = key_model(key, 0.999).pursuit
    text = printed_key(pursuit, "Weeds", 0.25)
    steps = {
        number: (question, dict(re.findall(r"- (yes|no): (.*)", both)))
        for number, question, both in re.findall(r"\*\*(\d+)\.\*\* (.*)\n((?:- .*\n){2})", text)
    }
    left = float(re.search(r"wrong class for ([\d.]+) %", text)[1]) / 100
    assert left <= 0.25
    truth = key.truth()
    right = 0.0
    for row, name in enumerate(key.classes):
        ends = [("1", 1.0)]
        while ends:
            number, share = ends.pop()
            question, goes = steps[number]
            column = [each.text for each in key.questions].index(question)
            yes = np.nan_to_num(truth[row, column], nan=np.nanmean(truth[:, column]))
            for word, part in (("yes", yes), ("no", 1 - yes)):
                on = re.fullmatch(r"go to \*\*(\d+)\*\*", goes[word])
                if part and on:
                    ends.append((on[1], share * part))
                elif part:
                    right += share * part * goes[word].startswith(f"*{name}*") / len(key.classes)
    assert right == pytest.approx(1 - left, abs=0.02)


@pytest.mark.parametrize("columns", ["values", "cuts"])
def test_models_become_keys(columns: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = np.eye(3)[y] + rng.normal(0, 0.2, (300, 3))
    model = InformationPursuitClassifier(n_queries=6, columns=columns)
    model.fit(X, np.array(["a", "b", "c"])[y]).save(tmp_path / "model")
    key, pursuit = open_key(tmp_path / "model", "Three")
    assert pursuit is not None
    assert key.classes == ("a", "b", "c")
    rates = model.pursuit_.classifier.table.log_likelihood.exp().numpy()
    if columns == "cuts":
        assert np.allclose(key.truth(), rates[1].T, atol=1e-6)
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
