"""What is known before the first question, and only some classes, in the classifiers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from infopursuit import InformationPursuitClassifier, InputError, VariationalInformationPursuit
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.pursuit.stopping import StoppingRule
from tests.estimators.conftest import World

ALL = StoppingRule(None, stability=None)


@pytest.fixture(scope="module", params=["naive Bayes", "networks"])
def fitted(request: pytest.FixtureRequest, world: World) -> PursuitClassifier:
    if request.param == "naive Bayes":
        return world.fitted()
    return VariationalInformationPursuit(
        world.texts, world.embeddings, 6, dictionary="fixed", random_updates=20, biased_updates=0
    ).fit(world.X, world.y)


def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.choice(["cold", "flu", "measles"], 300)
    rash = np.where(y == "measles", "spots", rng.choice(["none", "red"], 300))
    fever = np.where(y == "cold", rng.normal(37, 0.3, 300), rng.normal(39, 0.5, 300))
    cough = rng.random(300) < np.where(y == "measles", 0.3, 0.8)
    return pd.DataFrame({"cough": cough, "fever": fever.round(1), "rash": rash}), y


def test_each_way_to_ask_knows_the_same(fitted: PursuitClassifier, world: World) -> None:
    X, y = world.unseen, world.unseen_y
    known = dict.fromkeys(fitted.queries_[1::2], "yes")
    view = fitted.given(known)
    rolled = view.roll_out(X)
    correct = view.classes_[rolled.posteriors.argmax(dim=2).numpy()] == y[:, None]
    assert view.accuracy_by_budget(X, y) == pytest.approx(correct.mean(axis=0))
    assert len(view.accuracy_by_budget(X, y, 2)) == 3
    explained = view.explain(X)
    proba = view.predict_proba(X)
    assert proba == pytest.approx(np.array([each.posterior for each in explained]), abs=2e-6)
    assert view.predict(X).tolist() == [each.predicted_class for each in explained]
    one = view.dialogue(X[:1]).finish().explanation()
    assert one.questions == explained[0].questions and not set(one.questions) & set(known)
    assert [step.query for step in one.known] == list(known)
    # All answers lead to the same, whichever of them are known.
    everything = [each.posterior for each in fitted.explain(X, ALL, overrides=known)]
    assert view.predict_proba(X, ALL) == pytest.approx(np.array(everything), abs=1e-4)
    assert (rolled.order[:, -len(known) :] == -1).all()
    assert fitted.given().explain(X[:1]) == fitted.explain(X[:1])


def test_a_model_that_is_given_something_is_no_whole_one(
    fitted: PursuitClassifier, world: World, tmp_path: Path
) -> None:
    view = fitted.given({fitted.queries_[1]: "no"})
    assert view.dialogue().explanation().known[0].said == "no"
    for refused in (
        lambda: view.explain(world.unseen[:1], overrides={fitted.queries_[1]: "no"}),
        lambda: view.save(tmp_path / "model"),
        lambda: fitted.given(classes=["horse", "zebra"]).save(tmp_path / "model"),
        lambda: view.explore(world.unseen[:1]),
        lambda: fitted.given(classes=["hors"]),
    ):
        with pytest.raises(InputError):
            refused()
    assert not (tmp_path / "model").exists()


def test_only_some_classes(fitted: PursuitClassifier, world: World) -> None:
    X, y = world.unseen, world.unseen_y
    two = ["parrot", "horse"]  # in the order of classes_: horse, parrot
    view = fitted.given(classes=two)
    proba = view.predict_proba(X)
    assert proba.shape == (len(X), 2)
    assert view.predict(X).tolist() == view.classes_[proba.argmax(axis=1)].tolist()
    explained = fitted.given({fitted.queries_[0]: "no"}, two).explain(X)
    assert {each.class_names for each in explained} == {("horse", "parrot")}
    of_two = np.isin(y, two)
    course = view.accuracy_by_budget(X[of_two], y[of_two])
    correct = view.classes_[view.roll_out(X[of_two]).posteriors.argmax(dim=2)] == y[of_two, None]
    assert course == pytest.approx(correct.mean(axis=0))
    assert set(view.dialogue(X[:1]).posterior) == set(two)
    assert fitted.classes_.tolist() == ["horse", "parrot", "penguin", "zebra"], "it stays whole"


def test_values_are_known_by_name_and_unseen_ones_are_gaps() -> None:
    X, y = rows()
    model = InformationPursuitClassifier().fit(X, y)
    (each,) = model.given({"fever": "39.2", "cough": "true", "rash?": "Spots"}).explain(X[:1])
    said = {step.query: step.said for step in each.known}
    assert (said["cough?"], said["rash?"]) == ("yes", "spots")
    assert each.steps == ()
    table = model.pursuit_.classifier.exact
    assert table is not None
    chosen = [float(step.answer) for step in each.known]
    evidence = sum(
        table.log_likelihood[round(answer * (table.levels - 1)), model.queries_.index(step.query)]
        for step, answer in zip(each.known, chosen, strict=True)
    )
    by_hand = table.calibrated((table.log_prior + evidence)[None], 3).softmax(dim=1)[0]
    assert each.prior == pytest.approx(by_hand.tolist(), abs=2e-6)
    with pytest.warns(UserWarning, match=r"'rash\?': 'boils' was not there in fit, unlike 'none'"):
        (gap,) = model.given({"rash": "boils"}).explain(X[:1])
    assert [step.said for step in gap.known] == ["not sure"]
    dialogue = model.dialogue()
    with pytest.warns(UserWarning, match="it counts as a gap"):
        dialogue.answer("boils", "rash")
    assert dialogue.explanation().answers == ("not sure",)
    with pytest.raises(InputError, match=r"the answer 'high' to 'fever\?'"):
        dialogue.answer("high", "fever")
