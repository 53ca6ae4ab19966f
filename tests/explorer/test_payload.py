"""The document of the page: arrays there and back, strings that stay strings, a strict schema."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from tests.explorer.made_up import HOSTILE, small_payload


def test_floats_and_labels_go_there_and_back() -> None:
    values = np.random.default_rng(0).standard_normal((2, 3, 5)).astype(np.float32)
    assert np.array_equal(payload.read_floats(payload.floats(values), 2, 3, 5), values)
    turned = values.transpose(2, 0, 1)  # not contiguous
    assert np.array_equal(payload.read_floats(payload.floats(turned), 5, 2, 3), turned)
    labels = np.array([0, 3, 65535, 257])
    assert payload.read_labels(payload.labels(labels)).tolist() == labels.tolist()
    assert base64.b64decode(payload.labels(np.array([258]))) == b"\x02\x01"  # little-endian


def test_levels_lie_where_the_page_looks_for_them() -> None:
    packed = base64.b64decode(payload.levels(np.array([[1, 2, 0, 1, 2]])))
    assert packed == bytes([1 | 2 << 2 | 0 << 4 | 1 << 6, 2])


@given(st.integers(0, 4), st.integers(1, 19), st.integers(0, 2**32 - 1))
def test_levels_go_there_and_back(rows: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 3, (rows, k))
    assert payload.read_levels(payload.levels(values), k).tolist() == values.tolist()


@given(st.text(st.characters()))
def test_every_text_can_be_written(text: str) -> None:
    assert payload.inert(text).encode().decode() == payload.inert(text)
    assert len(payload.inert(text)) == len(text)
    assert payload.inert("plain שלום 🦓 \u202e") == "plain שלום 🦓 \u202e"
    assert payload.inert("broken \udcff") == "broken \ufffd"


def test_a_payload_goes_there_and_back_and_cannot_leave_its_script() -> None:
    made = small_payload(names=HOSTILE)
    text = payload.written(made)
    assert payload.read(text) == made
    assert "<" not in text
    assert text.isascii()
    assert payload.written(payload.read(text)) == text
    assert json.loads(text)["models"][0]["classes"] == list(HOSTILE)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": 2}, "format"),
        ({"more": 1}, "more"),
        ({"models": []}, "models"),
        ({"title": 3}, "title"),
    ],
)
def test_another_document_is_refused(change: dict, told: str) -> None:
    content = json.loads(payload.written(small_payload())) | change
    with pytest.raises(InputError, match=f"payload: {told}"):
        payload.read(json.dumps(content))


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(InputError, match="payload: the document"):
        payload.read("{")


@pytest.mark.parametrize(
    "address", ["https://example.org/a.webp", "javascript:alert(1)", "data:text/html;base64,AAAA"]
)
def test_a_thumbnail_is_a_picture_and_nothing_else(address: str) -> None:
    content = json.loads(payload.written(small_payload()))
    content["images"]["test"][0]["thumbnail"] = address
    with pytest.raises(InputError, match="thumbnail"):
        payload.read(json.dumps(content))
