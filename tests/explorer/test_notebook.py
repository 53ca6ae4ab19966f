"""A model and its page in a notebook: by what they say of themselves, and in a real kernel."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.explorer import payload
from tests.estimators.conftest import World
from tests.estimators.conftest import model as model
from tests.estimators.conftest import world as world
from tests.explorer.made_up import HOSTILE
from tests.explorer.test_page import Elements

ROOT = Path(__file__).parents[2]


class Frame(HTMLParser):
    """The attributes of the one frame."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "iframe"
        self.found.append(dict(attrs))


def payload_of(html: str) -> payload.Payload:
    (text,) = [text for _, each, text in Elements(html).texts if each.get("id") == "payload"]
    return payload.read(text)


def test_the_page_is_shown_in_a_frame_of_its_own(
    model: InformationPursuitClassifier, world: World, tmp_path: Path
) -> None:
    shown = model.explore(world.unseen, world.unseen_y, title='A "title" <b>')
    (frame,) = Frame(shown._repr_html_()).found
    assert frame["srcdoc"] == shown.html
    assert frame["sandbox"] == "allow-scripts allow-downloads"  # it sees nothing of the notebook
    assert frame["title"] == 'A "title" <b>'
    assert "height:900px" in (frame["style"] or "")
    assert repr(shown).startswith("FramedPage('A \"title\" <b>', 0.")
    shown.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == shown.html


def test_images_and_labels_are_those_given(
    model: InformationPursuitClassifier, world: World
) -> None:
    train = world.X[:30], world.y[:30]
    found = payload_of(model.explore(world.unseen, world.unseen_y, train=train).html)
    assert len(found.images.test) == 200
    assert len(found.images.train) == 30
    coded = model.answer(world.unseen)
    for each in found.images.test:
        row = int(each.id.removeprefix("image "))
        assert each.label is not None
        assert found.models[0].classes[each.label] == world.unseen_y[row]
        levels = payload.read_levels(each.answers[0], 6)[0].astype(int)
        assert (levels - 1).tolist() == coded[row].tolist()
    unlabelled = payload_of(model.explore(world.unseen[:3]).html)
    assert [each.label for each in unlabelled.images.test] == [None] * 3
    assert payload_of(model.explore().html).images.test == []


def test_pictures_stand_beside_embeddings(
    model: InformationPursuitClassifier, world: World
) -> None:
    pictures = [Image.new("RGB", (9, 9), color) for color in ("red", "blue")]
    found = payload_of(model.explore(world.unseen[:2], pictures=pictures).html)
    assert all(each.thumbnail for each in found.images.test)
    assert found.images.test[0].thumbnail != found.images.test[1].thumbnail


def test_labels_and_pictures_must_fit(model: InformationPursuitClassifier, world: World) -> None:
    with pytest.raises(InputError, match="3 labels for 2 images; expected one each"):
        model.explore(world.unseen[:2], world.unseen_y[:3])
    with pytest.raises(InputError, match="1 pictures for 2 images; expected one each"):
        model.explore(world.unseen[:2], pictures=[Image.new("RGB", (9, 9))])
    with pytest.raises(InputError, match=r"y\[1\] is 'crab'; expected one of"):
        model.explore(world.unseen[:2], ["zebra", "crab"])


def test_numbers_are_labels_too(world: World) -> None:
    numbers = np.unique(world.y, return_inverse=True)[1]
    fitted = world.unfitted().fit(world.X, 10 * numbers)
    found = payload_of(fitted.explore(world.X[:4], 10 * numbers[:4]).html)
    assert found.models[0].classes == ["0", "10", "20", "30"]
    assert [each.label for each in sorted(found.images.test, key=lambda each: each.id)] == list(
        numbers[:4]
    )


def test_a_model_shows_itself(model: InformationPursuitClassifier, world: World) -> None:
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    assert "6 questions, 4 classes" in shown["text/html"]
    assert "images held out" in shown["text/html"]
    for query in model.queries_:
        assert query in shown["text/html"]
    hostile = model.with_class_names(HOSTILE[:4])
    assert "<script>" not in hostile._repr_mimebundle_()["text/html"]
    assert "<img" not in hostile._repr_mimebundle_()["text/html"]
    assert "text/html" in world.unfitted()._repr_mimebundle_()  # scikit-learn's own


FITTED = """
import numpy as np
from infopursuit import InformationPursuitClassifier

generator = np.random.default_rng(0)
texts = [f"text {number}" for number in range(12)]
rows = generator.standard_normal((12, 16))
rows /= np.linalg.norm(rows, axis=1, keepdims=True)
y = generator.integers(0, 3, 90)
X = rows[y] + 0.2 * generator.standard_normal((90, 16))
X /= np.linalg.norm(X, axis=1, keepdims=True)
model = InformationPursuitClassifier(texts, rows, n_queries=5).fit(X, y)
model
"""
CELLS = (FITTED, "model.explain(X[:1])[0]", "model.explore(X, y)")


def test_a_kernel_shows_all_of_them() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in CELLS])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(ROOT), env=environment)
    model, explanation, page = [
        "".join(cell.outputs[-1]["data"]["text/html"]) for cell in notebook.cells
    ]
    assert "5 questions, 3 classes" in model
    assert "<caption" in explanation
    (frame,) = Frame(page).found
    assert len(payload_of(frame["srcdoc"] or "").images.test) == 90
