"""Identification keys: a table, Clavis and SDD."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.datasets.clavis import read_clavis, write_clavis
from infopursuit.datasets.identification_keys import Key, read_csv, write_csv
from infopursuit.datasets.sdd import read_sdd

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


def same(one: Key, other: Key) -> None:
    assert (one.classes, one.title) == (other.classes, other.title)
    assert [each.text for each in one.questions] == [each.text for each in other.questions]
    assert np.allclose(one.truth(), other.truth(), equal_nan=True, atol=1e-6)


def test_a_table_is_read(tmp_path: Path) -> None:
    key = read_csv(written(tmp_path / "plants.csv", PLANTS))
    assert key.classes == ("Sorrel", "Buttercup", "Nettle")
    truth = dict(zip([each.text for each in key.questions], key.truth().T.tolist(), strict=True))
    nan = np.nan
    expected = {
        "leaves: alternate?": [1, 0.5, 0.1],
        "leaves: basal?": [0, 0.5, 0],
        "leaves: opposite?": [0, 0, 0.9],
        "flowers yellow?": [0, 1, nan],
        "height (cm) > 40?": [60 / 70, nan, 1],
        "height (cm) > 75?": [25 / 70, nan, 0],
    }
    assert truth.keys() == expected.keys()
    for text, values in expected.items():
        assert np.allclose(truth[text], values, equal_nan=True), text
    places = {each.text: place for place, each in enumerate(key.questions)}
    redundant = set(key.redundant())
    basal, opposite = places["leaves: basal?"], places["leaves: opposite?"]
    low, high = places["height (cm) > 40?"], places["height (cm) > 75?"]
    assert {(basal, opposite, 1), (basal, opposite, 3), (high, low, 1), (low, high, 2)} <= redundant
    assert not {(basal, opposite, 2), (low, high, 1), (high, low, 2), (low, basal, 1)} & redundant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("species\nSorrel\n", "a row for each class"),
        ("species,leaves\nSorrel,basal\n", "1 classes; expected at least two"),
        ("species,leaves\nA,basal\nA,opposite\n", "the class 'A' is there twice"),
        ("species,leaves\nA,basal\nB,opposite,x\n", "row 3: found 3 cells; expected 2"),
        ("species,leaves\nA,basal:0.8|opposite:0.7\nB,basal\n", "row 2: leaves: .* sum to 1.5"),
        ("species,height\nA,9-3\nB,4\n", "row 2: height: '9-3'; expected low-high"),
        ("species,leaves\n,basal\nB,basal\n", "row 2: no name"),
        ("species,leaves\nA,?\nB,\n", "no character with a state"),
        ("species,leaves\nA,basal\nB,basal\n", "no character tells 'A' and 'B' apart, nor any"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_csv(written(tmp_path / "plants.csv", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("species,leaves\nA,x\nB,y\nC,x\n", "tells 'A' and 'C' apart"),
        ("species,leaves\nA,x\nB,y\nC,x\nD,x\n", "'A' and 'C' apart (3 classes in all)"),
        ("species,height\nA,9\nB,4-x\n", "row 3: height: '4-x' is not a number"),
    ],
)
def test_an_odd_table_is_used_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, message: str
) -> None:
    read_csv(written(tmp_path / "plants.csv", text))
    assert message in caplog.text


def test_tables_and_clavis_say_the_same(tmp_path: Path) -> None:
    rows = PLANTS.split("\n")[:4]
    pictured = [
        f"{row},{file}" for row, file in zip(rows, ["picture", "a.png", "", ""], strict=True)
    ]
    key = read_csv(written(tmp_path / "plants.csv", "\n".join(pictured)))
    (tmp_path / "a.png").write_bytes(b"picture")
    (tmp_path / "again").mkdir()
    write_csv(key, tmp_path / "again" / "plants.csv")
    same(read_csv(tmp_path / "again" / "plants.csv"), key)
    write_clavis(key, tmp_path / "plants.json", *MADE, datetime(2024, 5, 6, tzinfo=UTC))
    found = read_clavis(tmp_path / "plants.json")
    same(found, key)
    assert found.pictures == {"Sorrel": b"picture"}
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


SDD = """<?xml version="1.0"?>{head}
<Datasets xmlns="http://rs.tdwg.org/UBIF/2006/"><Dataset xml:lang="en">
<Representation><Label>Frogs &amp; toads</Label></Representation>
<TaxonNames>{taxa}</TaxonNames>
<Characters><CategoricalCharacter id="c"><Representation><Label>skin</Label></Representation>
<States>
<StateDefinition id="s1"><Representation><Label>dry</Label></Representation></StateDefinition>
<StateDefinition id="s2"><Representation><Label xml:lang="nl">nat</Label><Label>wet</Label>
</Representation></StateDefinition></States></CategoricalCharacter></Characters>
<CodedDescriptions>
<CodedDescription id="d1"><Scope><TaxonName ref="t1"/></Scope><SummaryData>
<Categorical ref="c"><State ref="s1"/></Categorical></SummaryData></CodedDescription>
<CodedDescription id="d2"><Scope><TaxonName ref="t2"/></Scope><SummaryData>
<Categorical ref="c"><State ref="s1"/><State ref="s2"/></Categorical></SummaryData>
</CodedDescription></CodedDescriptions></Dataset></Datasets>"""
TAXA = "".join(
    f'<TaxonName id="{id}"><Representation><Label>{name}</Label></Representation></TaxonName>'
    for id, name in (("t1", "toad"), ("t2", "frog"))
)


def test_sdd_is_read_and_entities_are_not(tmp_path: Path) -> None:
    key = read_sdd(written(tmp_path / "key.xml", SDD.format(head="", taxa=TAXA)))
    assert (key.title, key.classes) == ("Frogs & toads", ("toad", "frog"))
    assert [each.text for each in key.questions] == ["skin: dry?"]
    assert key.truth().tolist() == [[1], [0.5]]
    bomb = '<!DOCTYPE x [<!ENTITY a "aaa"><!ENTITY b "&a;&a;">]>'
    with pytest.raises(InputError, match="declares a document type"):
        read_sdd(written(tmp_path / "bomb.xml", SDD.format(head=bomb, taxa=TAXA)))
    with pytest.raises(InputError, match="not XML"):
        read_sdd(written(tmp_path / "cut.xml", SDD.format(head="", taxa=TAXA)[:400]))


@pytest.mark.parametrize(
    ("name", "classes"), [("Cicad.sdd11", 114), ("Erythroneura.sdd11", 54), ("SDD_reptiles", 24)]
)
def test_real_keys_become_clavis(name: str, classes: int, tmp_path: Path) -> None:
    path = KEYS / f"{name}.xml"
    if not path.exists():
        pytest.skip("the keys of TDWG are not there")
    key = read_sdd(path)
    assert len(key.classes) == classes
    write_clavis(key, tmp_path / "key.json", *MADE)
    same(read_clavis(tmp_path / "key.json"), key)
    schema = json.loads((KEYS / "Clavis.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((tmp_path / "key.json").read_text(encoding="utf-8")), schema)
