"""Tables on the command line: fit, predict, explain, export of a CSV or Parquet file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infopursuit
from infopursuit.datasets.reading import read_samples
from infopursuit.datasets.table_files import read_table
from infopursuit.estimators.readable import wanted_by
from tests.estimators.conftest import World
from tests.explorer.made_up import payload_of

ROWS = 120
# A column of each kind, of which the first three decide the class.
COLOURS, SIZES = {"ant": "red", "bee": "yellow", "cat": "grey"}, {"ant": 1.5, "bee": 4.5, "cat": 30}


def animals() -> pd.DataFrame:
    """Rows of three animals; every tenth cell of a column is empty."""
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat(list(COLOURS), ROWS // 3))
    table = pd.DataFrame(
        {
            "Tag": [f"t{row:03}" for row in range(ROWS)],
            "kind": kind,
            "colour": pd.Series(kind).map(COLOURS),
            "size, cm": np.round(rng.normal(pd.Series(kind).map(SIZES), 0.4), 2),
            "stings": np.where(kind == "cat", "no", "yes"),
            "seen": pd.date_range("2026-01-01", periods=ROWS).strftime("%Y-%m-%d"),
            "place": "meadow",
        }
    )
    for start, column in enumerate(("colour", "size, cm", "stings")):
        table.loc[start::10, column] = None
    return table


ASKED = ["colour", "size, cm", "stings"]


def written(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as its suffix says: `.csv` has commas, `.tsv` what Excel writes in Europe."""
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif path.suffix == ".tsv":
        table.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    else:
        table.to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fitted(home: Path, run: Callable) -> Path:
    """The folder of a model of the first 90 animals; `new.csv` has the others."""
    written(animals()[:90], home / "train.csv")
    written(animals()[90:], home / "new.csv")
    status, out, log = run("fit", "train.csv", "--label", "kind", "--out", "model")
    assert (status, out) == (0, "")
    assert re.search(r"90 rows, 3 classes, 3 questions\naccuracy on \d held-out rows: ", log)
    assert "image" not in log
    return home / "model"


def test_a_table_is_fitted_and_predicted(run: Callable, home: Path) -> None:
    train = written(animals()[:90], home / "train.tsv")
    status, _, log = run("fit", train, "--label", "kind", "--out", "model")
    assert status == 0
    (left_out,) = [line for line in log.splitlines() if line.startswith("left out")]
    assert left_out == (
        "left out, as no question can be about it: Tag (all its 90 values differ); seen (holds "
        "dates or times); place (has one value)"
    )
    model = infopursuit.load("model")
    assert model.feature_names_in_.tolist() == ASKED
    plain = infopursuit.InformationPursuitClassifier().fit(
        animals()[:90][ASKED], animals()["kind"][:90]
    )
    assert model.queries_ == plain.queries_
    expected = plain.explain(animals()[90:][ASKED])
    new = animals()[90:]
    for other in ("csv", "tsv", "parquet"):
        file = written(new[[*ASKED[::-1], "Tag", "seen"]], home / f"new.{other}")
        status, out, log = run("predict", "--model", "model", file)
        rows = list(csv.DictReader(io.StringIO(out)))
        assert (status, log) == (0, f"{file}: columns that the model does not ask: seen")
        assert [row["row"] for row in rows] == new["Tag"].tolist()
        assert [row["class"] for row in rows] == [each.predicted_class for each in expected]
        assert [float(row["probability"]) for row in rows] == [
            each.probability for each in expected
        ]


def test_a_row_is_explained_in_each_form(run: Callable, fitted: Path) -> None:
    X = read_samples("new.csv", wanted_by(infopursuit.load("model"))).some([0])
    (expected,) = infopursuit.load("model").explain(X, names=["t090"])
    head = Path("new.csv").read_text().splitlines()[:2]
    Path("one.csv").write_text("\n".join(head) + "\n")
    assert run("explain", "--model", "model", "one.csv")[1] == str(expected)
    for form in ("text", "csv", "html", "json"):
        status, out, _ = run("explain", "--model", "model", "one.csv", "--format", form)
        assert status == 0
        assert "t090" in out
        assert form == "json" or "image" not in out
    assert run("explain", "--model", "model", "one.csv", "--format", "csv")[1].startswith('"row",')
    assert run("explain", "--model", "model", "one.csv", "--figures", "drawn")[0] == 0
    assert [file.name for file in Path("drawn").iterdir()] == ["t090.png"]


@pytest.mark.filterwarnings("default")
def test_a_row_and_a_person_answer_on_the_command_line(
    run: Callable, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter(["blue\n", "u\n", "?\n", "\n", "q\n"])
    monkeypatch.setattr("sys.stdin", said)
    Path("one.csv").write_text("\n".join(Path("new.csv").read_text().splitlines()[:2]) + "\n")
    status, out, log = run("dialogue", "--model", "model", "one.csv")
    assert status == 0
    assert "Enter takes the answer of the row; type a value, such as " in out
    assert "warning: 'colour?': 'blue' was not there in fit, unlike 'grey', 'red'" in log
    assert "image" not in out
    monkeypatch.setattr("sys.stdin", iter(["30\n", "red\n", "30\n"] * 3))
    assert "cat" in run("dialogue", "--model", "model")[1]


@pytest.mark.filterwarnings("default")
def test_what_is_known_of_rows_and_which_classes_there_are(
    run: Callable, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = infopursuit.load("model")
    X = read_samples("new.csv", wanted_by(model)).some()
    names = animals()["Tag"][90:].tolist()
    options = ["--known", "colour=Red", "--known", "size, cm=1.4", "--classes", "ant,cat"]
    known, classes = {"colour": "red", "size, cm": 1.4}, ["cat", "ant"]
    status, out, log = run("explain", "--model", "model", "new.csv", *options, "--all")
    expected = model.given(known, classes).explain(X, names=names)
    assert (status, out) == (0, "\n".join(each.to_text(everything=True) for each in expected))
    assert out.splitlines()[1].split() == ["known", "colour?", "red"]
    status, out, log = run("predict", "--model", "model", "new.csv", *options)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["class"] for row in rows] == [each.predicted_class for each in expected]
    assert [row["questions"] for row in rows] == ["1"] * 30
    monkeypatch.setattr("sys.stdin", iter(["no\n"]))
    status, out, _ = run("dialogue", "--model", "model", *options)
    asked = model.given(known, classes).dialogue()
    asked.answer("no")
    assert (status, out.partition("stings? ")[2]) == (0, str(asked.explanation()))
    warned = run("predict", "--model", "model", "new.csv", "--known", "colour=blue")[2]
    assert warned.count("'colour?': 'blue' was not there in fit") == 1
    for command in ("explain", "predict"):
        for given, message in (
            (["--known", "colour"], "--known: 'colour'; expected QUESTION=ANSWER"),
            (["--known", "color=red"], "--known: the model has no question 'color'"),
            (["--known", "size, cm=big"], "--known: the answer 'big' to 'size, cm?'"),
            (["--classes", "ant,dog"], "--classes: no class 'dog'; expected one such as 'ant'"),
            (["--classes", ""], "--classes: no class ''; expected one such as 'ant'"),
        ):
            status, _, log = run(command, "--model", "model", "new.csv", *given)
            assert status == 1
            assert message in log
    few = "explain", "--model", "model", "new.csv"
    assert "bee" not in run(*few, "--classes", "ant", "--classes", "cat")[1]


def test_a_category_of_a_stranger_looks_like_no_line(
    run: Callable, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = "blue\r\n  Prediction: cat.\u2028\x1b[2Jx"
    table = pd.DataFrame({"t": [strange, "red"] * 30, "u": [strange, strange, "red"] * 20})
    model = infopursuit.InformationPursuitClassifier().fit(table, ["a", "b"] * 30)
    model.save("strange")
    table[:2].to_csv("strange.csv", index=False)
    monkeypatch.setattr("sys.stdin", iter([f"{strange}\n", "w\n", "red\n"]))
    for out in (
        run("explain", "--model", "strange", "strange.csv", "--all")[1],
        run("dialogue", "--model", "strange")[1],
        str(model.explain(table[:1], overrides={"t": strange, "u": strange})[0]),
    ):
        assert not any(line.startswith("  Prediction: cat") for line in out.splitlines())
        assert "\x1b" not in out and "\r" not in out


def test_the_cheapest_useful_question_comes_first(run: Callable, fitted: Path) -> None:
    """Colour and size tell as much; a colour costs ten times as much."""
    table = Path("costs.csv")
    # What is left out of the questions may have a cost: its place is always the same.
    table.write_text("Column;Cost\ncolour;10\nstings;2,5\nplace;1\n")
    fit = ("fit", "train.csv", "--label", "kind", "--costs", str(table), "--out", "dear")
    assert run(*fit)[0] == 0
    querier = infopursuit.load("dear").pursuit_.querier.tensors()
    asked = infopursuit.load("dear").queries_
    costs = dict(zip(asked, querier["costs"].tolist(), strict=True))
    assert costs == {"colour?": 10, "size, cm?": 1, "stings?": 2.5}
    out = run("explain", "--model", "dear", "new.csv", "--all")[1]
    assert " 1  size, cm?" in out and " 1  colour?" not in out
    for text, message in (
        ("column,cost\ncolour,0\n", "row 2, column 'cost': '0'; expected a number above 0"),
        ("column,cost\ncolour,1\ncolour,2\n", "row 3: expected another column, found 'colour'"),
        ("column,cost\nwings,1\n", "costs: 'wings'; expected columns, such as colour"),
        ("column,price\ncolour,1\n", "no column 'cost'"),
    ):
        table.write_text(text)
        status, _, log = run(*fit)
        assert (status, message in log) == (1, True), log
    assert (
        "--costs: of the columns of a table"
        in run("fit", "photos", "--costs", str(table), "--out", "none")[2]
    )


def test_what_nobody_mentions_is_a_question(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of one value and gaps is asked about: of the sick alone somebody says "yes"."""
    sick = ["sick" if row % 3 else "well" for row in range(90)]
    said = ["yes" if each == "sick" and row % 7 else "" for row, each in enumerate(sick)]
    rows = [
        f"{each},{fever},{row % 2}"
        for row, (each, fever) in enumerate(zip(sick, said, strict=True))
    ]
    Path("cases.csv").write_text("\n".join(["case,fever,odd", *rows]) + "\n")
    status, _, log = run("fit", "cases.csv", "--label", "case", "--out", "told")
    assert status == 0 and "left out" not in log
    model = infopursuit.load("told")
    assert "fever?" in model.queries_ and model.provenance_["gaps"] == "tells"
    monkeypatch.setattr("sys.stdin", iter(["q\n"]))
    out = run("dialogue", "--model", "told", "--known", "fever=yes")[1]
    assert "sick" in out.splitlines()[1]


def test_rows_are_explored(run: Callable, fitted: Path) -> None:
    status, _, log = run("export", "--model", "model", "--images", "new.csv", "page.html")
    assert status == 0
    assert "30 test rows and 0 training rows" in log
    content = payload_of(Path("page.html").read_text(encoding="utf-8"))
    assert content.noun == "row"
    assert {each.id for each in content.images.test} == set(animals()["Tag"][90:])
    assert all(each.label is not None for each in content.images.test)
    log = run("export", "--model", "model", "--images", "train.csv", "page.html")[2]
    assert "train.csv: the model was trained on 90 of 90 rows" in log
    assert "image" not in log


@pytest.mark.parametrize(
    ("change", "arguments", "word"),
    [
        ({}, [], "--label"),
        ({}, ["--label", "knd"], "'kind'"),
        ({"kind": "ant"}, ["--label", "kind"], "one class"),
        ({}, ["--label", "Tag"], "Tag"),
        ({}, ["--label", "size, cm"], "number"),
        ({}, ["--label", "kind", "--clip", "ViT-B-32"], "--clip"),
        ({}, ["--label", "kind", "--knowledge", "t.csv"], "--knowledge"),
        (dict.fromkeys(ASKED), ["--label", "kind"], "no column"),
    ],
)
def test_what_is_no_table_to_fit_is_refused(
    run: Callable, change: dict, arguments: list, word: str
) -> None:
    written(animals().assign(**change), Path("table.csv"))
    status, _, log = run("fit", "table.csv", *arguments, "--out", "model")
    assert (status, word in log.splitlines()[-1]) == (1, True), log


def test_columns_are_found_by_their_names(run: Callable, fitted: Path) -> None:
    new = animals()[90:]
    renamed = written(new.rename(columns=str.upper), Path("capitals.csv"))
    assert run("predict", "--model", "model", renamed)[0] == 0
    tables = {
        "'colour'": new.drop(columns="colour"),
        "'color'": new.rename(columns={"colour": "color"}),
        "row 0": new.assign(**{"size, cm": "big"}),
    }
    files = {word: written(each, Path(f"{n}.csv")) for n, (word, each) in enumerate(tables.items())}
    for word, path in {**files, ".csv": "new.png", "none.csv": "none.csv"}.items():
        status, _, log = run("predict", "--model", "model", path)
        assert (status, word in log) == (1, True), log


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [
        ("code", ["a7", "b1", "c2"], True),
        ("id", [907, 12, 55], True),
        ("place", [3, 1, 2], True),
        ("weight", [907, 12, 55], False),
        ("id", [1, 1, 2], False),
        ("when", ["2026-01-01", "2026-01-02", "2026-01-03"], False),
    ],
)
def test_what_names_rows(name: str, values: list, named: bool) -> None:
    written(pd.DataFrame({name: values, "x": "y"}), Path("table.csv"))
    assert read_table(Path("table.csv")).names_rows(name) == named


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("a;b\n1,5;x\n;NA\n-2;y\n", [1.5, None, -2.0]),
        ("a,b\n1.5,x\nnan,\n-2e0,y\n", [1.5, None, -2.0]),
        ("a,b\n1.5,x\n,\n3+,y\n", ["1.5", "3+"]),
        ("a,b\nnone,x\nN/A,x\nNone,y\n", ["none", None, None]),
    ],
)
def test_cells_of_a_table(content: str, values: list) -> None:
    Path("table.csv").write_text(content)
    assert read_table(Path("table.csv")).values.column("a").to_pylist() == values


# -- embeddings -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["explain", "predict"])
def test_embeddings_are_taken_in_each_file_that_fit_takes(
    run: Callable, world: World, model, command: str
) -> None:
    model.save("model")
    X, y = world.unseen[:3], world.unseen_y[:3]
    np.save("rows.npy", X)
    np.savez("rows.npz", embeddings=X, labels=y)
    np.savez("alone.npz", X=X)
    splits = {f"{split}_embeddings": X for split in ("train", "test")}
    np.savez("splits.npz", **splits, train_labels=y, test_labels=y)
    pq.write_table(pa.table({"embedding": list(X), "id": ["a", "b", "c"]}), "rows.parquet")
    expected = [each.predicted_class for each in model.explain(X)]
    for file, names in (
        ("rows.npy", [f"rows.npy[{row}]" for row in range(3)]),
        ("rows.npz", [f"test[{row}]" for row in range(3)]),
        ("alone.npz", [f"alone.npz[{row}]" for row in range(3)]),
        ("rows.parquet", ["a", "b", "c"]),
    ):
        status, out, log = run(command, "--model", "model", file, "--format", "csv")
        rows = {row["image"]: row for row in csv.DictReader(io.StringIO(out))}
        assert (status, log) == (0, "")
        assert list(rows) == names
        last = "class" if command == "predict" else "most_probable"
        assert [row[last] for row in rows.values()] == expected
    out = run(command, "--model", "model", "splits.npz", "rows.npy", "--format", "csv")[1]
    assert len({row["image"] for row in csv.DictReader(io.StringIO(out))}) == 9
    for file, message in (
        (
            "table.csv",
            "table.csv: a table; the model asks about images: expected pictures or embed",
        ),
        ("x.png", "the model does not know where its CLIP is"),
    ):
        status, _, log = run(command, "--model", "model", file)
        assert status == 1
        assert message in log


NUMBERS = {
    "thousands": (lambda row: f"{1000 * row + 500:,}", "'1,500' is read as 1500"),
    "percent": (lambda row: f"{row}.5%", "'1.5%' is read as 1.5"),
    "money": (lambda row: f"CHF {row}.50", "'CHF 1.50' is read as 1.5"),
    "a gap": (lambda row: "n.d." if row == 3 else row, "'n.d.' is a gap (1 cell)"),
    "a limit": (lambda row: ">55" if row > 55 else row, "4 of 59 cells are no numbers"),
    "a code": (lambda row: f"{row % 3}" if row % 4 else "3+", "all are categories"),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.filterwarnings("default")
def test_a_decision_about_a_column_is_told(run: Callable, name: str) -> None:
    write, told = NUMBERS[name]
    rows = [f'"{write(row)}",{row % 7},{"low" if row < 30 else "high"}' for row in range(1, 60)]
    Path("t.csv").write_text("\n".join(["dose,week,kind", *rows]) + "\n")
    status, _, log = run("fit", "t.csv", "--label", "kind", "--out", "m")
    lines = [line for line in log.splitlines() if "'dose'" in line]
    assert status == 0 and "classes: high, low" in log
    assert len(lines) == 1 and told in lines[0], log
    columns = infopursuit.load("m").columns_
    of_numbers = columns is None or columns.categories[0] is None
    assert of_numbers == (name != "a code")
    assert run("predict", "--model", "m", "t.csv")[0] == 0


@pytest.mark.filterwarnings("default")
def test_labels_that_differ_in_case_alone_are_told(run: Callable) -> None:
    labels = ["yes", "Yes ", "no", "NO"]
    rows = [f"{row},{row % 5},{labels[row % 4]}" for row in range(60)]
    Path("t.csv").write_text("\n".join(["size,week,kind", *rows]) + "\n")
    log = run("fit", "t.csv", "--label", "kind", "--out", "m")[2]
    assert log.count("differ in case or blanks alone") == 2
