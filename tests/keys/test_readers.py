"""Identification keys: a table, and Clavis."""

from __future__ import annotations

import io
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.keys.clavis import read_clavis, write_clavis
from infopursuit.keys.key import read_csv

KEYS = Path(__file__).parents[3] / "shared" / "data" / "keys"
MADE = ("Ada Lindgren", "https://creativecommons.org/licenses/by/4.0/")
PLANTS = """species,leaves,flowers yellow,height (cm)
Sorrel,alternate,no,30-100
Buttercup,alternate|basal,Yes,
Nettle,opposite:0.9|alternate:0.1,?,50
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# A separator and cells, _ for a blank; what they say.
CELLS = {
    ", alternate Alternate ALTERNATE. opposite": {"x: alternate?": [1, 1, 1, 0]},
    ", deep_red deep-red deep__Red blue": {"x: deep red?": [1, 1, 1, 0]},
    ", Yes no YES n True ?": {"x?": [1, 0, 1, 0, 1, np.nan]},
    ", yes:0.8 no:90% no yes|no": {"x?": [0.8, 0.1, 0, 0.5]},
    ", red blue - – n/a NA": {"x: red?": [1, 0, *4 * [np.nan]]},
    ", + - +/- v ?": {"x?": [1, 0, 0.5, 0.5, np.nan]},
    ", (+) − -/+ – nd": {"x?": [1, 0, 0.5, 0, np.nan]},
    ", + - w": {"x: +?": [1, 0, 0], "x: -?": [0, 1, 0], "x: w?": [0, 0, 1]},
    ", red blue Red/blue blue_or_red": {"x: red?": [1, 0, 0.5, 0.5]},
    ", yes no yes_and_no": {"x?": [1, 0, 0.5]},
    ", red red/pink": {"x: red?": [1, 0]},
    ", 2:1 3:1|2:1 3:2": {
        "x: 2:1?": [1, 0.5, 0], "x: 3:1?": [0, 0.5, 0], "x: 3:2?": [0, 0, 1]
    },
    ", 4:0.9|5:0.1 4|5": {"x: 4?": [0.9, 0.5]},
    "; opposite:0.9|alternate:0,1 alternate": {"x: opposite?": [0.9, 0]},
    ", opposite:90%|alternate:10% alternate": {"x: opposite?": [0.9, 0]},
    "; 1,5-2,5 3,5": {"x > 2?": [0.5, 1], "x > 3?": [0, 1]},
    ", 30-40_cm 30_cm_-_50_cm 70": {
        "x (cm) > 35?": [0.5, 0.75, 1], "x (cm) > 45?": [0, 0.25, 1], "x (cm) > 60?": [0, 0, 1]
    },
    ", -5--1 -3_to_4 −1": {
        "x > -4?": [0.75, 1, 1], "x > -2?": [0.25, 6 / 7, 1], "x > 1.5?": [0, 2.5 / 7, 0]
    },
    ", <5 >10 5-10 ≥10 10+": {
        "x > 5?": [0, 1, 1, 1, 1], "x > 7.5?": [0, 1, 0.5, 1, 1], "x > 10?": [0, 1, 0, 1, 1]
    },
    ", (1-)2-5(-7) 2-5(9) 3": {
        "x > 1.5?": [0.99, 1, 1], "x > 2.5?": [0.825, 0.843, 1], "x > 4?": [0.35, 0.371, 0],
        "x > 6?": [0.017, 0.043, 0], "x > 8?": [0, 0.014, 0],
    },
    ", ca._3 ~5 5±1": {"x > 3.5?": [0, 1, 1], "x > 4.5?": [0, 1, 0.75], "x > 5.5?": [0, 0, 0.25]},
    ", 1e3-2e3 5000": {"x > 1500?": [0.5, 1], "x > 3500?": [0, 1]},
}  # fmt: skip


def test_a_table_is_read(tmp_path: Path) -> None:
    key = read_csv(written(tmp_path / "plants.csv", PLANTS))
    assert key.classes == ("Sorrel", "Buttercup", "Nettle")
    expected = ["leaves: alternate?", "leaves: basal?", "leaves: opposite?", "flowers yellow?"]
    expected += ["height (cm) > 40?", "height (cm) > 75?"]
    assert [each.text for each in key.questions] == expected
    assert np.allclose(key.truth()[0], [1, 0, 0, 0, 60 / 70, 25 / 70])


def test_cells_are_read_as_people_write_them(tmp_path: Path) -> None:
    for cells, expected in CELLS.items():
        separator, *column = cells.split()
        rows = [f"{number}{separator}{cell}" for number, cell in enumerate(column)]
        rows = ["class" + separator + "x", *(row.replace("_", " ") for row in rows)]
        key = read_csv(written(tmp_path / "key.csv", "\n".join(rows) + "\n"))
        found = dict(zip([each.text for each in key.questions], key.truth().T, strict=True))
        assert list(found) == list(expected), cells
        for text, values in expected.items():
            assert found[text] == pytest.approx(values, abs=0.005, nan_ok=True), (cells, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("species\nSorrel\n", "row for each"),
        ("species,leaves\nSorrel,basal\n", "at least two"),
        ("species,leaves\nA,basal\nA,opposite\n", "'A' is there twice"),
        ("species,leaves\nA,basal\nB,opposite,x\n", "row 3"),
        ("species,leaves\nA,basal:0.8|opposite:0.7\nB,basal\n", "row 2.*'leaves'.*1.5"),
        ("species,height\nA,9-3\nB,4\n", "'9-3'"),
        ("species,leaves\n,basal\nB,basal\n", "row 2: no name"),
        ("species,leaves,\nA,basal,x\nB,basal,y\n", "column 3"),
        ("species,leaves,Leaves\nA,x,x\nB,x,y\n", "'leaves' is there twice"),
        ("species,wings\nA,yes\nB,no\nC,yess\n", "'yess'.*'yes'"),
        ("species,wings\nA,yes\nB,no\nC,on\n", "'on'.*'no'"),
        ("species,leaves\nA,x:9|y:1\nB,y\n", "'x:9'"),
        ("class,x\n" + "".join(f"{i},s{i % 101}\n" for i in range(404)), "101 states"),
        ("species,petals\nA,3-May\nB,8\n", "'3-May' is a date"),
        ("species,petals\nA,May-03\nB,8\n", "date"),
        ("species,petals\nA,2024-05-03\nB,8\n", "date"),
        ("species,petals\nA,3.5.2024\nB,8\n", "date"),
        ("species,size\nA,3 mm\nB,8 cm\n", "one unit"),
        ("species,size (mm)\nA,3 cm\nB,8 cm\n", "one unit"),
        ('species,size\nA,"1,500"\nB,8\n', "thousands"),
        ("species;size\nA;1.500,5\nB;8\n", "thousands"),
        ("species,leaves\nA,?\nB,\n", "no character"),
        ("species,leaves\nA,basal\nB,basal\n", "nor any"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_csv(written(tmp_path / "plants.csv", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("species,leaves\nA,x\nB,y\nC,x\nD,x\n", "3 classes"),
        ("species,height\nA,9\nB,4-x\n", "'4-x'"),
        ("species,leaf\nA,3 lobes\nB,1 lobe\n", "one unit"),
        ("species,leaf\nA,alternate\nB,alternat\nC,x\nD,alternate\n", "row 3.*'alternat'"),
        ("species,latin,leaf\n" + "".join(f"{i},G. s{i},{i % 2}y\n" for i in range(30)), "names"),
    ],
)
def test_an_odd_table_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, message: str
) -> None:
    read_csv(written(tmp_path / "plants.csv", text))
    assert re.search(message, caplog.text)


@pytest.mark.parametrize(
    "cell", ["/etc/hostname", "../out.png", "out.png", "/dev/zero", "folder/../../out.png", "a\0b"]
)
def test_a_picture_outside_of_the_folder_is_refused(tmp_path: Path, cell: str) -> None:
    (tmp_path / "key").mkdir()
    Image.new("RGB", (4, 3)).save(tmp_path / "out.png")
    (tmp_path / "key" / "out.png").symlink_to(tmp_path / "out.png")
    table = written(tmp_path / "key" / "key.csv", f"species,leaf,Picture\nA,x,{cell}\nB,y,\n")
    with pytest.raises(InputError, match=r"row 2, column 'Picture': .* in the folder of the table"):
        read_csv(table)


def test_what_is_no_picture_is_not_embedded(tmp_path: Path) -> None:
    table = written(tmp_path / "key.csv", "species,leaf,picture\nA,x,a.png\nB,y,\n")
    for make, message in (
        (lambda path: os.mkfifo(path), "no regular file; expected the picture of 'A'"),
        (lambda path: path.mkdir(), "no regular file"),
        (lambda path: path.write_text("root:x:0:0"), "not an image of a known format"),
    ):
        make(tmp_path / "a.png")
        with pytest.raises(InputError, match=message):
            write_clavis(read_csv(table), tmp_path / "key.json", *MADE)
        assert not (tmp_path / "key.json").exists()
        (tmp_path / "a.png").rename(tmp_path / f"{len(list(tmp_path.iterdir()))}")


def test_tables_and_clavis_say_the_same(tmp_path: Path) -> None:
    rows = PLANTS.split("\n")[:4]
    pictured = [
        f"{row},{file}" for row, file in zip(rows, ["picture", "a.png", "", ""], strict=True)
    ]
    key = read_csv(written(tmp_path / "plants.csv", "\n".join(pictured)))
    Image.new("RGB", (2000, 30), "gold").save(tmp_path / "a.png", comment="where it was taken")
    write_clavis(key, tmp_path / "plants.json", *MADE, datetime(2024, 5, 6, tzinfo=UTC))
    found = read_clavis(tmp_path / "plants.json")
    assert (found.classes, found.title) == (key.classes, key.title)
    assert [each.text for each in found.questions] == [each.text for each in key.questions]
    assert np.allclose(found.truth(), key.truth(), equal_nan=True, atol=1e-6)
    picture = found.pictures["Sorrel"]
    assert isinstance(picture, bytes)
    with Image.open(io.BytesIO(picture)) as image:
        assert (image.format, image.size) == ("WEBP", (1024, 15))
    content = json.loads((tmp_path / "plants.json").read_text(encoding="utf-8"))
    assert content["lastModified"] == "2024-05-06 00:00:00"
    assert content["license"] == MADE[1]
    assert [each["name"] for each in content["persons"]] == [MADE[0]]
    schema = KEYS / "Clavis.schema.json"
    if not schema.exists():
        pytest.skip("the schema of Clavis is not there")
    jsonschema.validate(content, json.loads(schema.read_text(encoding="utf-8")))


def test_what_a_taxon_says_holds_of_the_taxa_in_it(tmp_path: Path) -> None:
    def said(taxon: str, value: object, frequency: float, character: str = "wings") -> dict:
        return {
            "taxon": f"taxon:{taxon}",
            "character": f"character:{character}",
            "value": value,
            "frequency": frequency,
        }

    states = [
        {"id": "state:red", "title": {"nb": "rød", "en": "red"}},
        {"id": "state:x", "title": "x"},
    ]
    content = {
        "title": "Beetles", "language": ["en", "nb"],
        "taxa": [{"id": "taxon:a", "scientificName": "Genus",
                  "children": [{"id": "taxon:b", "label": "b"}, {"id": "taxon:c", "label": "c"}]},
                 {"id": "taxon:d", "vernacularName": {"en": "dung beetle"}}],
        "characters": [{"id": "character:wings", "title": "wings", "states": states},
                       {"id": "character:spots", "title": "spots", "type": "numerical"},
                       {"id": "character:on", "title": "on", "type": "non-exclusive",
                        "states": [{"id": "state:oak", "title": "oak"}]}],
        "statements": [said("b", "state:x", 1), said("a", "state:red", 1),
                       said("d", "state:x", 0.5), said("d", "state:red", 0.25),
                       said("a", [2, 4], 1, "spots"),
                       said("d", [7, 7], 1, "spots"), said("c", "state:oak", 0.3, "on")],
    }  # fmt: skip
    key = read_clavis(written(tmp_path / "key.json", json.dumps(content)))
    assert key.classes == ("b", "c", "dung beetle")
    truth = dict(zip([each.text for each in key.questions], key.truth().T.tolist(), strict=True))
    assert truth["wings: red?"] == [0, 1, 0.25]
    assert truth["spots > 5.5?"] == [0, 0, 1]
    assert np.allclose(truth["on: oak?"], [np.nan, 0.3, np.nan], equal_nan=True)
    for broken in ({}, {**content, "statements": [said("z", "state:x", 1)]}, []):
        with pytest.raises(InputError, match="not a Clavis"):
            read_clavis(written(tmp_path / "broken.json", json.dumps(broken)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({"frequency": value}, "'wings' of 'taxon:a': the frequency .* a number from 0 to 1")
            for value in (float("nan"), -1, 1e308, 10**400, "1", True, None, float("inf"))
        ),
        *(
            ({"value": value}, r"'spots' of 'taxon:a': the value .*; expected \[least, largest\]")
            for value in ([2, 1], [1], "12", 10**400, [0, 10**400], [1, "2"], [1, float("nan")])
        ),
        *(({"language": each}, "language is .*; expected") for each in ([], [7], [""], True)),
        *(({"title": each}, "not a Clavis") for each in ({}, 12, True, None)),
        ({"name": {}}, "not a Clavis"),
        ({"states": 101}, "'wings' has 101 states; expected at most 100"),
    ],
)
def test_a_bad_clavis_is_refused_in_one_line(tmp_path: Path, changes: dict, message: str) -> None:
    count = changes.get("states", 2)
    content = {
        "title": changes.get("title", "x"), "language": changes.get("language", "en"),
        "taxa": [{"id": "taxon:a", "label": changes.get("name", "a")},
                 {"id": "taxon:b", "label": "b"}],
        "characters": [{"id": "wings", "title": "wings", "states": [
                            {"id": f"state:{number}"} for number in range(count)]},
                       {"id": "spots", "title": "spots", "type": "numerical"}],
        "statements": [{"taxon": "taxon:a", "character": "wings", "value": "state:0",
                        "frequency": changes.get("frequency", 1)},
                       {"taxon": "taxon:b", "character": "wings", "value": "state:1",
                        "frequency": 1},
                       {"taxon": "taxon:a", "character": "spots",
                        "value": changes.get("value", [1, 2])}],
    }  # fmt: skip
    path = written(tmp_path / "key.json", json.dumps(content))
    with pytest.raises(InputError, match=message) as refused:
        read_clavis(path)
    assert "\n" not in str(refused.value)
