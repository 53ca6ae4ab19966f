"""What is known before the first question, and only some classes, in the classifiers."""

from __future__ import annotations

from dataclasses import replace

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
    X, y, k = world.unseen, world.unseen_y, len(fitted.queries_)
    known = np.random.default_rng(0).random((len(X), k)) < 0.4
    known[0] = True
    rolled = fitted.roll_out(X, known=known)
    correct = fitted.classes_[rolled.posteriors.argmax(dim=2).numpy()] == y[:, None]
    assert fitted.accuracy_by_budget(X, y, known=known) == pytest.approx(correct.mean(axis=0))
    assert len(fitted.accuracy_by_budget(X, y, 2, known=known)) == 3
    explained = fitted.explain(X, known=known)
    proba = fitted.predict_proba(X, known=known)
    assert proba == pytest.approx(np.array([each.posterior for each in explained]), abs=2e-6)
    assert fitted.predict(X, known=known).tolist() == [each.predicted_class for each in explained]
    for row in range(4):
        own = np.flatnonzero(known[row]).tolist()
        assert [step.query for step in explained[row].known] == [fitted.queries_[j] for j in own]
        one = fitted.dialogue(X[row : row + 1], known=known[row : row + 1]).finish().explanation()
        assert one.questions == explained[row].questions
        assert [step.said for step in one.known] == [step.said for step in explained[row].known]
    # All answers lead to the same, whichever of them are known.
    everything = fitted.predict_proba(X, ALL)
    assert fitted.predict_proba(X, ALL, known=known) == pytest.approx(everything, abs=1e-4)
    assert (rolled.order[0] == -1).all()


def test_answers_by_question_hold_for_all_rows(fitted: PursuitClassifier, world: World) -> None:
    query = fitted.queries_[1]
    said = fitted.explain(world.unseen[:3], known={query: "yes"})
    for each in said:
        assert [(step.query, step.said) for step in each.known] == [(query, "yes")]
    whole = fitted.explain(world.unseen[:3], ALL, overrides={query: "yes"})
    known = fitted.explain(world.unseen[:3], ALL, known={query: "yes"})
    for one, two in zip(whole, known, strict=True):
        assert one.posterior == pytest.approx(two.posterior, abs=1e-4)
    asked = fitted.dialogue(known={query: "no"})
    assert asked.explanation().known[0].said == "no"
    with pytest.raises(InputError, match="is in known and in overrides"):
        fitted.explain(world.unseen[:1], known={query: "yes"}, overrides={query: "no"})


def test_only_some_classes(fitted: PursuitClassifier, world: World) -> None:
    X, y = world.unseen, world.unseen_y
    two = ["parrot", "horse"]  # in the order of classes_: horse, parrot
    proba = fitted.predict_proba(X, classes=two)
    assert proba.shape == (len(X), 2)
    assert proba.sum(axis=1) == pytest.approx(1)
    predicted = np.array(["horse", "parrot"])[proba.argmax(axis=1)]
    assert fitted.predict(X, classes=two).tolist() == predicted.tolist()
    explained = fitted.explain(X, classes=two, known={fitted.queries_[0]: "no"})
    assert {each.class_names for each in explained} == {("horse", "parrot")}
    of_two = np.isin(y, two)
    course = fitted.accuracy_by_budget(X[of_two], y[of_two], classes=two)
    posteriors = fitted.roll_out(X[of_two], classes=two).posteriors
    correct = np.array(["horse", "parrot"])[posteriors.argmax(dim=2)] == y[of_two, None]
    assert course == pytest.approx(correct.mean(axis=0))
    assert set(fitted.dialogue(X[:1], classes=two).posterior) == set(two)
    assert fitted.classes_.tolist() == ["horse", "parrot", "penguin", "zebra"], "it stays whole"
    # After all questions the same two classes compete as in the whole model.
    whole = fitted.predict_proba(X, ALL)[:, :2].argmax(axis=1)
    assert (fitted.predict_proba(X, ALL, classes=two).argmax(axis=1) == whole).mean() > 0.9
    with pytest.raises(InputError, match="no class 'hors'; expected one such as 'horse'"):
        fitted.predict(X, classes=["hors"])


def test_cells_of_a_table_are_known() -> None:
    X, y = rows()
    model = InformationPursuitClassifier(queries=["rash", "cough"]).fit(X[:200], y[:200])
    # A mask over three columns for two questions, in another order.
    known = np.zeros((100, 3), dtype=bool)
    known[:, 0], known[:50, 2] = True, True
    explained = model.explain(X[200:], known=known)
    for row, each in enumerate(explained):
        shown = {step.query: step.said for step in each.known}
        cough = "yes" if X["cough"].iloc[200 + row] else "no"
        expected = {"cough?": cough}
        if row < 50:
            expected["rash?"] = X["rash"].iloc[200 + row]
        assert shown == expected
    assert [len(each.steps) for each in explained[:50]] == [0] * 50
    by_question = known[:, [2, 0]]
    assert model.queries_ == ("rash?", "cough?")
    found = model.predict_proba(X[200:], known=by_question)
    assert found == pytest.approx(model.predict_proba(X[200:], known=known))
    with pytest.raises(InputError, match=r"100 x 2 \(questions\) or 100 x 3 \(columns\)"):
        model.predict(X[200:], known=known[:5])


def test_a_mask_as_wide_as_the_table_is_over_its_columns() -> None:
    X, y = rows()
    model = InformationPursuitClassifier(queries=["rash", "cough", "fever"]).fit(X, y)
    known = X.notna().to_numpy() & np.array([True, False, False])
    (each,) = model.explain(X[:1], known=known[:1])
    assert [step.query for step in each.known] == ["cough?"]


def test_values_are_known_by_name_and_unseen_ones_are_gaps() -> None:
    X, y = rows()
    model = InformationPursuitClassifier().fit(X, y)
    (each,) = model.explain(X[:1], known={"fever": "39.2", "cough": "true", "rash?": "Spots"})
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
    by_hand = table.tempered((table.log_prior + evidence)[None], 3).softmax(dim=1)[0]
    assert each.prior == pytest.approx(by_hand.tolist(), abs=2e-6)
    with pytest.warns(UserWarning, match=r"'rash\?': 'boils' was not there in fit, unlike 'none'"):
        (gap,) = model.explain(X[:1], known={"rash": "boils"})
    assert [step.said for step in gap.known] == ["not sure"]
    dialogue = model.dialogue()
    with pytest.warns(UserWarning, match="it counts as a gap"):
        dialogue.answer("boils", "rash")
    assert dialogue.explanation().answers == ("not sure",)
    with pytest.raises(InputError, match=r"the answer 'high' to 'fever\?'"):
        dialogue.answer("high", "fever")


def test_among_keeps_labels_that_are_numbers() -> None:
    X, y = rows()
    codes = np.unique(y, return_inverse=True)[1] * 10
    model = InformationPursuitClassifier().fit(X, codes)
    assert set(model.predict(X, classes=[0, np.int64(20)]).tolist()) == {0, 20}
    (one,) = model.explain(X[:1], classes=[10])
    assert (one.predicted_class, replace(one, steps=()).class_names) == (10, ("10",))
