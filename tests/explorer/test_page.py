"""The page as one file: modules become one script, the policy names all of it, texts stay texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.page import page
from infopursuit.pursuit.answers.rules import WORDS
from infopursuit.pursuit.sentences import SENTENCES
from tests.elements import Elements
from tests.explorer.made_up import read_floats, read_labels, read_levels, small_payload

# A name of a vocabulary that nothing fetches; every other address would be one too many.
NAMESPACES = ("http://www.w3.org/2000/svg",)


def policy_of(elements: Elements) -> dict[str, str]:
    (policy,) = [
        each["content"] or ""
        for each in elements.attributes("meta")
        if each.get("http-equiv") == "Content-Security-Policy"
    ]
    return dict(part.split(" ", 1) for part in policy.split("; "))


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_shipped_page_is_one_file_that_fetches_nothing() -> None:
    made = small_payload()
    text = page(made)
    assert page(small_payload()) == text, "equal payloads give equal bytes"
    elements = Elements(text)
    for tag, attributes in elements.found:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name) or "#"
            assert value.startswith("#"), f"<{tag} {name}={value!r}>"
        assert "style" not in attributes, f"<{tag}> has a style that the policy forbids"
        assert not [name for name in attributes if name.startswith("on")]
    addresses = set(re.findall(r"(?:https?|wss?|ftp):?//[^\s\"'`<>)]*", text))
    assert addresses <= set(NAMESPACES)
    styles = [content for tag, _, content in elements.texts if tag == "style"]
    assert not re.findall(r"url\(|@import", "".join(styles))
    words, document, script = [content for tag, _, content in elements.texts if tag == "script"]
    assert json.loads(words) == {"answers": WORDS, "sentences": SENTENCES}
    assert payload.read(document) == made
    policy = policy_of(elements)
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'none'"
    assert policy["script-src"] == digest(script)
    assert policy["style-src"] == " ".join(map(digest, styles))
    assert "unsafe" not in str(policy)
    head = text.index("Content-Security-Policy")
    assert head < text.index("<style") < text.index('<script type="module">')


def test_all_that_is_said_is_in_the_table_and_all_of_the_table_is_said() -> None:
    home = Path(infopursuit.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in home.rglob("*.[jp][sy]"))
    assert set(re.findall(r'\b(?:say|pieces)\("(\w+)"', code)) <= SENTENCES.keys()
    begun = tuple(re.findall(r'\bsay\(f?["`](\w+) ?\$?\{', code))
    assert all(f'"{name}"' in code or name.startswith(begun) for name in SENTENCES)


# -- the document in the page ----------------------------------------------------------------


def test_floats_and_labels_survive_a_round_trip() -> None:
    values = np.random.default_rng(0).standard_normal((2, 3, 5)).astype(np.float32)
    assert np.array_equal(read_floats(payload.floats(values), 2, 3, 5), values)
    turned = values.transpose(2, 0, 1)  # not contiguous
    assert np.array_equal(read_floats(payload.floats(turned), 5, 2, 3), turned)
    labels = np.array([0, 3, 65535, 257])
    assert read_labels(payload.labels(labels)).tolist() == labels.tolist()
    with pytest.raises(InputError, match="at most 65,536 classes or questions; found 65537"):
        payload.labels(np.array([65536]))
    assert base64.b64decode(payload.labels(np.array([258]))) == b"\x02\x01"  # little-endian


@pytest.mark.parametrize("count", [2, 3, 5])
@given(st.integers(0, 4), st.integers(1, 19), st.integers(0, 2**32 - 1))
def test_levels_survive_a_round_trip(count: int, rows: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, count, (rows, k))
    assert read_levels(payload.levels(values, count), k, count).tolist() == values.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format"),
        ({"more": 1}, "more"),
        ({"model": {}}, "model.name"),
        ({"title": 3}, "title"),
    ],
)
def test_another_document_is_refused(change: dict, message: str) -> None:
    content = json.loads(payload.written(small_payload())) | change
    with pytest.raises(InputError, match=f"payload: {message}"):
        payload.read(json.dumps(content))
    with pytest.raises(InputError, match="payload: the document"):
        payload.read("{")


def test_a_thumbnail_is_a_picture_and_nothing_else() -> None:
    content = json.loads(payload.written(small_payload()))
    for address in ("https://example.org/a.webp", "javascript:alert(1)", "data:text/html;base64,A"):
        content["images"]["test"][0]["thumbnail"] = address
        with pytest.raises(InputError, match="thumbnail"):
            payload.read(json.dumps(content))
