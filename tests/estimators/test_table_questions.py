"""What the questions of a table may be told: whether gaps tell, costs, a note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import infopursuit
from infopursuit import InformationPursuitClassifier, TableQuestions, VariationalInformationPursuit
from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes, RedundantQuestions
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions import fitting


def consultations(count: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Symptoms that are said to be there, said not to be there, or not mentioned."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["cold", "flu", "rash"], count)
    symptoms = {"cough": ("cold", 0.7), "fever": ("flu", 0.8), "spots": ("rash", 0.6)}
    X = pd.DataFrame(index=range(count), columns=list(symptoms), dtype=object)
    for name, (of, share) in symptoms.items():
        mentioned = rng.random(count) < np.where(y == of, share, 0.15)
        there = rng.random(count) < 0.8
        X[name] = [bool(yes) if said else None for said, yes in zip(mentioned, there, strict=True)]
    itches = (y == "rash") & (rng.random(count) < 0.5)
    X["itch"] = [True if itch else None for itch in itches]
    return X, y


def test_a_gap_that_tells_has_its_share_in_each_class() -> None:
    X, y = consultations(500, 0)
    model = InformationPursuitClassifier(
        TableQuestions("tells"), rates="counted", validation_fraction=0.0
    ).fit(X, y)
    assert model.queries_ == ("cough?", "fever?", "spots?", "itch?")
    assert model.pursuit_.classifier.table is not None
    rates = model.pursuit_.classifier.table.log_likelihood.double().exp().numpy()
    assert np.allclose(rates.sum(axis=0), 1, atol=1e-6)
    for query, name in enumerate(X):
        for number, of in enumerate(model.classes_):
            gaps, rows = X.loc[y == of, name].isna().sum(), sum(y == of)
            expected = (gaps + 2 * X[name].isna().mean()) / (rows + 2)
            expected = min(max(expected, 0.001), 0.999)
            assert rates[1, query, number] == pytest.approx(expected, abs=1e-6)
            mentioned = [(X.loc[y == of, name] == each).sum() for each in (False, True)]
            of_all = [(X[name] == each).sum() for each in (False, True)]
            drawn = [
                count + 2 * (every + 1) / (sum(of_all) + 2)
                for count, every in zip(mentioned, of_all, strict=True)
            ]
            shares = np.maximum(np.array(drawn) / sum(drawn), 0.01)
            shares *= (1 - expected) / shares.sum()
            assert np.allclose(rates[[0, 2], query, number], shares, atol=1e-6)


def test_what_gaps_tell_is_found_on_training_rows(tmp_path: Path) -> None:
    X, y = consultations(500, 0)
    X_new, y_new = consultations(500, 1)
    model = InformationPursuitClassifier(rates="counted").fit(X, y)
    silent = InformationPursuitClassifier(TableQuestions("nothing"), rates="counted").fit(X, y)
    assert model.provenance_["gaps"] == "tells"
    assert model.score(X_new, y_new) > silent.score(X_new, y_new) + 0.05
    losses = model.provenance_["log_losses"]
    assert losses["counted tells"] < losses["counted nothing"]
    assert silent.provenance_["gaps"] == "nothing"
    assert "itch?" not in silent.queries_, "one value and gaps: constant, if gaps tell nothing"
    model.save(tmp_path / "model")
    loaded = infopursuit.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_proba(X_new), model.predict_proba(X_new))
    dialogue = loaded.dialogue()
    before = dialogue.posterior["rash"]
    dialogue.answer("not sure", "itch")
    assert dialogue.posterior["rash"] < before, "that nobody mentions it tells"
    full = InformationPursuitClassifier(rates="counted").fit(X.fillna(False), y)
    assert full.provenance_["gaps"] == "nothing", "there are none"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gaps": "told"}, "gaps is 'told'; expected 'auto', 'nothing' or 'tells'"),
        ({"costs": {"cough": 0}}, "costs: 'cough' costs 0; expected a number above 0"),
        ({"costs": {"cough": float("nan")}}, "costs: 'cough' costs nan; expected a number"),
        ({"costs": {"cough": "2"}}, "costs: 'cough' costs '2'; expected a number"),
        ({"costs": {"height": 2}}, "costs: 'height'; expected columns, such as cough, fever"),
    ],
)
def test_settings_are_checked(settings: dict, message: str) -> None:
    X, y = consultations(60, 0)
    with pytest.raises(InputError, match=message):
        InformationPursuitClassifier(TableQuestions(**settings)).fit(X, y)


# -- costs ----------------------------------------------------------------------------------------


def made_up(
    k: int, seed: int, redundant: bool = False
) -> tuple[InformationGain, torch.Tensor, torch.Tensor]:
    """Return a querier with costs, these costs, and answers of rows."""
    generator = torch.Generator().manual_seed(seed)
    rates = torch.randn(3, k, 4, generator=generator).softmax(dim=0)
    table = AnswerTable(rates.log(), torch.tensor([0.4, 0.3, 0.2, 0.1]).log())
    costs = 1 + 4 * torch.rand(k, generator=generator).double()
    pairs = RedundantQuestions(torch.tensor([[0, 3, 0], [2, 6, 1]]), k) if redundant else None
    answers = torch.randint(3, (40, k), generator=generator) / 2
    return InformationGain(table, pairs, costs), costs, answers


def slow_values(querier: InformationGain, answers: torch.Tensor, asked: list[int]) -> list[float]:
    """Return the gain for its cost of each question to one row, from the definition."""
    assert querier.costs is not None
    rates, values = querier.table.log_likelihood.double().exp(), []
    posterior = querier.table.log_prior.double().exp()
    for query in asked:
        posterior = posterior * rates[int(2 * answers[query]), query]
    posterior = posterior / posterior.sum()
    for query in range(len(answers)):
        of_answers = rates[:, query] @ posterior
        gain = -sum(p * p.log() for p in of_answers)
        for share, of_class in zip(posterior, rates[:, query].T, strict=True):
            gain += share * sum(p * p.log() for p in of_class)
        values.append(float(gain * querier.costs.min() / querier.costs[query]))
    return values


@pytest.mark.parametrize("redundant", [False, True])
def test_the_next_question_tells_most_for_its_cost(redundant: bool) -> None:
    querier, costs, answers = made_up(9, 0, redundant)
    course = roll_out(querier, NaiveBayes(querier.table), answers, 9)
    for row in range(4):
        asked: list[int] = []
        for query in course.order[row].tolist():
            slow = slow_values(querier, answers[row], asked)
            late = [] if not redundant else [3] if 0 in asked else []
            if redundant and 2 in asked and answers[row, 2] == 1:
                late.append(6)
            mask = torch.zeros(1, 9)
            mask[0, asked] = 1
            found = querier(answers[row : row + 1], mask)[0]
            expected = [each - 1e6 * (place in late) for place, each in enumerate(slow)]
            assert found.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-6)
            left = [place for place in range(9) if place not in asked]
            assert query == max(left, key=expected.__getitem__)
            asked.append(query)
    expected = torch.nn.functional.pad(costs[course.order], (1, 0)).cumsum(dim=1)
    assert torch.equal(querier.spent(course.order), expected)
    some = torch.tensor([5, 3, 2])
    assert torch.equal(querier.select(some).to("cpu").tensors()["costs"], costs[some])
    even = InformationGain(querier.table, costs=torch.full((9,), 7.0).double())
    mask = torch.ones(40, 9)
    mask[:, 3:] = 0
    plain = InformationGain(querier.table)(answers, mask)
    assert torch.equal(even(answers, mask), plain), "equal costs change nothing"


def examined() -> tuple[pd.DataFrame, np.ndarray]:
    """A scan that tells most of one half of the classes, and two values of blood."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=900)
    names = {"scan": (y % 2, 0.2), "blood a": (y % 2, 0.6), "blood b": (y // 2, 0.6)}
    columns = {name: of + rng.normal(0, noise, 900) for name, (of, noise) in names.items()}
    return pd.DataFrame(columns), y


def test_costs_are_asked_saved_and_counted(tmp_path: Path) -> None:
    X, y = examined()
    source = TableQuestions(costs={"scan?": 10})
    model = InformationPursuitClassifier(source, rates="counted")
    assert isinstance(clone(model), InformationPursuitClassifier)
    model.fit(X, y)
    blind = InformationPursuitClassifier(rates="counted").fit(X, y)
    assert set(blind.roll_out(X).order[:, 0].tolist()) == {0}
    course = model.roll_out(X)
    assert 0 not in course.order[:, :2], "the scan tells most, but costs ten times as much"
    model.save(tmp_path / "model")
    loaded = infopursuit.load(tmp_path / "model")
    assert torch.equal(loaded.roll_out(X).order, course.order)
    dialogue = loaded.dialogue(X[:1])
    asked = [dialogue.step()[0] for _ in range(3)]
    assert dialogue.explanation().spent == 12
    (explained,) = loaded.given({"scan": 0.9}).explain(X[:1], StoppingRule(None, stability=None))
    assert explained.spent == explained.to_dict()["spent"] == 2, "what is known is free"
    assert "2 questions at a cost of 2" in str(explained)
    assert asked == [loaded.queries_[query] for query in course.order[0]]
    assert torch.equal(loaded.fit(X, y).roll_out(X).order, course.order), "costs are kept"
    two = InformationPursuitClassifier(source, n_queries=2, ban=["scan"]).fit(X, y)
    two.save(tmp_path / "model")
    source = infopursuit.load(tmp_path / "model").texts
    assert source.costs == {"scan?": 10}, "also of a column that was not chosen"


def test_a_note_is_below_each_explanation(tmp_path: Path) -> None:
    X, y = consultations(60, 0)
    source = TableQuestions("nothing", note="This is no doctor.")
    model = InformationPursuitClassifier(source).fit(X, y)
    assert "This is no doctor." in str(model.explain(X[:1])[0])
    model.save(tmp_path / "model")
    loaded = infopursuit.load(tmp_path / "model")
    said = loaded.dialogue().explanation()
    assert loaded.texts == source
    assert loaded.fit(X, y).pursuit_.note == "This is no doctor."
    assert "This is no doctor." in str(said) and said.to_dict()["note"] == "This is no doctor."
    with pytest.raises(InputError, match="note is ' '; expected a sentence, or None"):
        TableQuestions(note=" ")


def test_networks_ask_about_a_table_what_they_learned_to_ask(tmp_path: Path) -> None:
    X, y = consultations(120, 0)
    quick: dict[str, Any] = {"dictionary": "fixed", "random_updates": 20, "biased_updates": 20}
    source = TableQuestions(gaps="tells", note="This is no doctor.")
    model = VariationalInformationPursuit(source, **quick).fit(X, y)
    model.save(tmp_path / "model")
    said = infopursuit.load(tmp_path / "model").given({"cough": "yes"}).explain(X[:1])[0]
    assert said.known[0].query == "cough?" and "This is no doctor." in str(said)
    pursuit, zeros = model.pursuit_, torch.zeros(1, 4)
    asked = pursuit.querier(zeros, zeros).softmax(dim=1)[0].detach()
    for cost in (1.0, 3.0, 30.0):  # of a person, who answers what the row does not tell
        worth = asked / torch.where(pursuit.answers(model._rows(X[:1]).tensor())[0] == 0.5, cost, 1)
        found = model.dialogue(X[:1], person_cost=cost).next_question()
        assert found == model.queries_[int(worth.argmax())]
    with pytest.raises(InputError, match="a network asks what it learned to ask"):
        VariationalInformationPursuit(TableQuestions(costs={"cough": 2}), **quick).fit(X, y)


# -- the best rates ------------------------------------------------------------------------------


def test_rates_of_a_table_are_those_that_predict_other_rows_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "FEWEST_FITTED", 256)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    said = y + rng.normal(0, 1.0, 600)
    copies = {f"copy {each}": said + rng.normal(0, 0.05, 600) for each in range(4)}
    X = pd.DataFrame({**copies, "other": y + rng.normal(0, 1.2, 600)})
    model = InformationPursuitClassifier().fit(X, y)
    losses = model.provenance_["log_losses"]
    assert model.provenance_["rates"] == min(losses, key=losses.__getitem__).split()[0]
    assert len(losses) == 2
    few = InformationPursuitClassifier().fit(X[:200], y[:200])
    assert few.provenance_["rates"] == "counted"
    assert "log_losses" not in few.provenance_
