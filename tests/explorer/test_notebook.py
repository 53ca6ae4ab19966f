"""A model and its page in a notebook, by what they say of themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import infopursuit
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from tests.elements import Elements
from tests.estimators.conftest import World
from tests.estimators.conftest import model as model
from tests.estimators.conftest import world as world
from tests.explorer.made_up import HOSTILE, payload_of, read_floats


def test_the_page_is_shown_in_a_frame_of_its_own(
    model: InformationPursuitClassifier, world: World, tmp_path: Path
) -> None:
    shown = model.explore(world.unseen, world.unseen_y, title='A "title" <b>')
    ((tag, frame),) = Elements(shown._repr_html_()).found
    assert tag == "iframe"
    assert frame["srcdoc"] == shown.html
    assert frame["sandbox"] == "allow-scripts allow-downloads"  # it sees nothing of the notebook
    assert frame["title"] == 'A "title" <b>'
    assert "height:900px" in (frame["style"] or "")
    assert repr(shown).startswith("FramedPage('A \"title\" <b>', 0.")
    shown.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == shown.html


def test_images_and_labels_are_those_given_and_those_fitted_on_are_counted(
    model: InformationPursuitClassifier, world: World, tmp_path: Path
) -> None:
    rows, labels = np.concatenate([world.X[:7], world.unseen]), [*world.y[:7], *world.unseen_y]
    model.save(tmp_path / "model")
    answers = model.answer(rows)
    for fitted in (model, infopursuit.load(tmp_path / "model"), load_fitted(tmp_path / "model")):
        found = payload_of(fitted.explore(rows, labels, train=(world.X[:30], world.y[:30])).html)
        images = found.images
        assert (images.fitted, len(images.test), len(images.train)) == (7, 200, 30)
    for each in images.test:
        row = int(each.id.removeprefix("image "))
        assert each.label is not None
        assert found.model.classes[each.label] == labels[row]
        assert read_floats(each.answers, 6).tolist() == answers[row].tolist()
    unlabelled = payload_of(model.explore(world.unseen[:3]).html)
    assert [each.label for each in unlabelled.images.test] == [None] * 3
    assert payload_of(model.explore().html).images.test == []
    X, y = load_iris(return_X_y=True)
    of_table = InformationPursuitClassifier().fit(X[::2], y[::2])
    assert payload_of(of_table.explore(X[::2], y[::2]).html).images.fitted == 75


def test_a_model_shows_itself(model: InformationPursuitClassifier, world: World) -> None:
    shown = model._repr_mimebundle_()
    assert shown["text/plain"] == repr(model)
    assert "6 questions, 4 classes" in shown["text/html"]
    assert "held-out images" in shown["text/html"]
    for query in model.queries_:
        assert query in shown["text/html"]
    hostile = model.with_class_names(HOSTILE[:4])
    assert "<script>" not in hostile._repr_mimebundle_()["text/html"]
    assert "<img" not in hostile._repr_mimebundle_()["text/html"]
    assert "text/html" in world.unfitted()._repr_mimebundle_()  # scikit-learn's own
