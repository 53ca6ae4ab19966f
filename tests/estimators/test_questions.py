"""What a person can do with questions: choose, ban, force, stop, change answers, ask why."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.explanation.stopping import StoppingRule
from tests.estimators.conftest import PROPERTIES, World
from tests.estimators.reference_naive_bayes import chain, gain

ALL = StoppingRule(probability=None, max_queries=None)


def test_the_chosen_questions_are_those_that_tell_of_the_classes(model) -> None:
    assert len(model.queries_) == 6
    assert set(model.queries_) <= set(PROPERTIES)


def test_fewer_texts_than_queries_are_all_taken(world: World) -> None:
    model = world.fitted(n_queries=500)
    assert sorted(model.queries_) == sorted(world.texts)


def test_chains_are_those_of_a_textbook(world: World) -> None:
    model = world.fitted(answers="threshold")
    table = model.pursuit_.classifier.table
    rates = table.log_likelihood[1].exp().double().tolist()
    prior = table.log_prior.exp().double().tolist()
    answers = (model.answer(world.unseen) > 0).astype(int)
    explained = model.explain(world.unseen)
    assert len({len(each.steps) for each in explained}) > 1
    for row, found in zip(answers.tolist(), explained, strict=True):
        asked, posterior = chain(row, rates, prior, table.independent_answers, 0.95)
        assert [model.queries_.index(query) for query in found.questions] == asked
        assert found.posterior == pytest.approx(posterior, abs=2e-5)
        first = gain(asked[0], {}, rates, prior)
        assert found.steps[0].value == pytest.approx(first, abs=2e-5)


def test_rates_are_counted_and_smoothed(world: World) -> None:
    model = world.fitted(validation_fraction=0, answers="minmax", queries=world.texts[:8])
    yes = model.answer(world.X) == 1
    table = model.pursuit_.classifier.table
    for number, label in enumerate(model.classes_):
        members = world.y == label
        counted = (yes[members].sum(axis=0) + 0.5) / (members.sum() + 1)
        rates = table.log_likelihood[1, :, number].exp().numpy()
        assert rates == pytest.approx(counted.clip(0.01, 0.99), abs=0.01)
    shares = [(world.y == label).mean() for label in model.classes_]
    assert table.log_prior.exp().tolist() == pytest.approx(shares, abs=1e-6)


def test_answers_are_coded(world: World, model) -> None:
    answers = model.answer(world.unseen)
    assert answers.dtype == np.int8
    assert answers.shape == (200, 6)
    assert set(np.unique(answers)) == {-1, 0, 1}
    assert set(np.unique(world.fitted(answers="threshold").answer(world.unseen))) == {-1, 1}
    column = model.queries_.index("four legs")
    said = [answers[world.unseen_y == name, column].mean() for name in ("horse", "parrot")]
    assert said[0] > 0 > -0.5 > said[1]


def test_the_dictionary_can_be_given(world: World) -> None:
    model = world.fitted(queries=["Webbed feet", "  striped coat "])
    assert model.queries_ == ("webbed feet", "striped coat")
    with pytest.raises(InputError, match=r"'webbed foot' is not .*'webbed feet'"):
        world.fitted(queries=["webbed foot"])
    with pytest.raises(InputError, match="'striped coat' is there twice"):
        world.fitted(queries=["striped coat", "striped coat"])


def test_words_and_texts_can_be_banned(world: World) -> None:
    model = world.fitted(ban=["LEGS", "brown mane"])
    assert not {"four legs", "brown mane"} & set(model.queries_)
    assert "four legs" in world.fitted(ban=["leg"]).queries_  # a word is banned, not its letters
    with pytest.raises(InputError, match="'four legs' is banned"):
        world.fitted(ban=["legs"], queries=["four legs"])
    with pytest.raises(InputError, match="first_query: 'four legs' is banned"):
        world.fitted(ban=["legs"], first_query="four legs")
    with pytest.raises(InputError, match="ban leaves no text"):
        world.fitted(ban=world.texts)


def test_the_first_question_can_be_forced(world: World) -> None:
    model = world.fitted(first_query="Nothing 3")
    explained = model.explain(world.unseen)
    assert {each.questions[0] for each in explained} == {"nothing 3"}
    assert len(model.queries_) == 6
    assert all(each.steps[0].value is not None or each.steps[0].runners_up for each in explained)
    assert model.without("nothing 3").explain(world.unseen[:1])[0].questions[0] != "nothing 3"
    with pytest.raises(InputError, match="'nothing' is not among the texts"):
        world.fitted(first_query="nothing")
    with pytest.raises(InputError, match="'nothing 3' is not one of the given queries"):
        world.fitted(first_query="nothing 3", queries=["four legs"])


def test_questions_can_be_kept_whatever_is_chosen(world: World) -> None:
    chosen = set(world.fitted().queries_)
    model = world.fitted(keep=["Nothing 3", "nothing 1"])
    kept = {"nothing 3", "nothing 1"}
    assert not kept & chosen
    assert kept < set(model.queries_)
    assert len(model.queries_) == 6
    assert set(model.queries_) - kept < chosen, "the others are those most informative"
    same = world.fitted(keep=["four legs"], first_query="four legs")
    assert set(same.queries_) == chosen
    everything = world.fitted(keep=sorted(chosen))
    assert set(everything.queries_) == chosen
    others = world.fitted(keep=["nothing 3"], first_query="nothing 1", ban=["legs"], n_queries=2)
    assert set(others.queries_) == kept
    assert {each.questions[0] for each in others.explain(world.unseen)} == {"nothing 1"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": "nothing 3"}, "keep is the string 'nothing 3'; expected a list"),
        ({"keep": ["nothing"]}, "'nothing' is not among the texts"),
        ({"keep": ["four legs"], "ban": ["legs"]}, "keep: 'four legs' is banned"),
        ({"keep": ["nothing 3"], "queries": ["four legs"]}, "not one of the given queries"),
        ({"keep": ["nothing 1", "nothing 3"], "n_queries": 1}, "are 2 questions; .* k = 1"),
    ],
)
def test_questions_that_cannot_be_kept_are_told(world: World, settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        world.fitted(**settings)


def test_selection_alone_fits_nothing(world: World) -> None:
    model = InformationPursuitClassifier(world.texts, world.embeddings, 3)
    chosen = model.select_queries(world.X, world.y)
    assert len(chosen) == 3
    assert set(chosen) <= set(PROPERTIES)
    assert not hasattr(model, "pursuit_")
    with pytest.raises(InputError, match="texts is missing"):
        InformationPursuitClassifier().select_queries(world.X, world.y)


def test_questions_end_by_the_rule(world: World, model) -> None:
    budget = model.explain(world.unseen, StoppingRule(probability=None, max_queries=2))
    assert {len(each.steps) for each in budget} == {2}
    assert not any(each.confident for each in budget)
    sure = model.explain(world.unseen, StoppingRule(probability=0.8, max_queries=None))
    assert all(each.probability >= 0.8 or len(each.steps) == 6 for each in sure)
    assert all(step.posterior and max(step.posterior) < 0.8 for e in sure for step in e.steps[:-1])
    stable = model.explain(world.unseen, StoppingRule(probability=None, stability=2))
    for each in stable:
        leaders = [step.leader for step in each.steps]
        assert not each.confident or len(set(leaders[-2:])) == 1
    flat = model.explain(world.unseen, StoppingRule(probability=None, entropy=0.5))
    assert all(each.steps[-1].entropy <= 0.5 for each in flat if each.confident)
    none = model.predict_proba(world.unseen, StoppingRule(max_queries=0))
    assert none == pytest.approx(np.tile(none[0], (200, 1)))
    with pytest.raises(InputError, match=r"stop at probability 1\.5"):
        model.predict(world.unseen, StoppingRule(1.5))


def test_the_model_keeps_its_own_rule(world: World) -> None:
    model = world.fitted(stop=StoppingRule(probability=None, max_queries=1))
    assert {len(each.steps) for each in model.explain(world.unseen)} == {1}
    assert len(model.explain(world.unseen[:1], ALL)[0].steps) == 6


def test_roll_outs_give_the_whole_course(world: World, model) -> None:
    rolled = model.roll_out(world.unseen, budget=4)
    assert rolled.order.shape == (200, 4)
    assert rolled.posteriors.shape == (200, 5, 4)
    assert torch.equal(
        rolled.posteriors[:, 4].argmax(dim=1),
        torch.from_numpy(np.searchsorted(model.classes_, model.predict(
            world.unseen, StoppingRule(None, 4)
        ))),
    )  # fmt: skip
    with pytest.raises(InputError, match="a budget of 7 queries; expected 0 to 6"):
        model.roll_out(world.unseen, budget=7)


def test_questions_can_be_left_out(world: World, model) -> None:
    fewer = model.without("four legs", "Brown mane?")
    assert fewer.queries_ == tuple(
        each for each in model.queries_ if each not in ("four legs", "brown mane")
    )
    assert len(model.queries_) == 6
    kept = [model.queries_.index(each) for each in fewer.queries_]
    assert np.array_equal(fewer.answer(world.unseen), model.answer(world.unseen)[:, kept])
    assert fewer.score(world.unseen, world.unseen_y) > 0.6
    with pytest.raises(InputError, match="no query would be left"):
        model.without(*model.queries_)


def test_an_unknown_question_is_answered_with_similar_ones(model) -> None:
    with pytest.raises(InputError, match=r"no question 'four leg'; expected .* 'four legs'"):
        model.without("four leg")
    with pytest.raises(InputError, match="expected one such as"):
        model.explain(np.eye(48)[:1], overrides={"xyz": "yes"})


def test_an_answer_is_overridden_and_the_rest_planned_anew(world: World, model) -> None:
    plain = model.explain(world.unseen[:20], ALL)
    place = 2
    for row, before in enumerate(plain):
        question = before.questions[place]
        opposite = "no" if before.steps[place].yes else "yes"
        after = model.explain(world.unseen[row], ALL, overrides={question: opposite})[0]
        assert after.questions[: place + 1] == before.questions[: place + 1]
        assert after.steps[:place] == before.steps[:place]
        assert after.steps[place].said == opposite
        assert after.steps[place].overridden
        assert [step.overridden for step in after.steps].count(True) == 1
        assert after.steps[place].posterior != before.steps[place].posterior
    changed = [
        model.explain(
            world.unseen[row], ALL, overrides={each.questions[0]: 1 - each.steps[0].answer}
        )
        for row, each in enumerate(plain)
    ]
    assert any(
        new[0].questions[1:] != old.questions[1:] for new, old in zip(changed, plain, strict=True)
    )
    with pytest.raises(InputError, match="the answer 'perhaps'"):
        model.explain(world.unseen[:1], overrides={"four legs": "perhaps"})


def test_a_dialogue_asks_what_explain_asks(world: World, model) -> None:
    explained = model.explain(world.unseen[:10])
    rule = StoppingRule(0.95, None)
    for row, expected in enumerate(explained):
        found = model.dialogue(world.unseen[row]).finish(rule).explanation(rule)
        assert found.questions == expected.questions
        assert found.posterior == pytest.approx(expected.posterior, abs=1e-5)


def test_a_person_answers_in_the_place_of_an_image(model) -> None:
    dialogue = model.dialogue()
    answers = {"four legs": "yes", "black and white": "yes", "brown mane": "no"}
    for _ in range(6):
        dialogue.answer(answers.get(dialogue.next_question(), "no"))
    assert max(dialogue.posterior, key=dialogue.posterior.get) == "zebra"
    assert dialogue.next_question() is None
    with pytest.raises(InputError, match="all 6 questions have been asked"):
        dialogue.answer("yes")
    dialogue.answer("no", "four legs")  # what came after is forgotten
    assert dialogue.explanation().steps[-1].query == "four legs"
    with pytest.raises(InputError, match="a dialogue is about one image; found 2"):
        model.dialogue(np.eye(48)[:2])
    with pytest.raises(InputError, match="has no image"):
        model.dialogue().step()


def test_questions_of_a_class(world: World, model) -> None:
    speaks = model.questions_for("zebra", 2)
    assert {each for each, _ in speaks["for"]} <= {"four legs", "black and white", "striped coat"}
    assert all(change < 0 for _, change in speaks["against"])
    assert len(speaks["against"]) == 2
    with pytest.raises(InputError, match="no class 'okapi'; expected one of"):
        model.questions_for("okapi")


def test_rows_given_for_validation_calibrate(world: World) -> None:
    fresh = InformationPursuitClassifier(world.texts, world.embeddings, 6)
    fresh.fit(world.X, world.y, validation=(world.unseen, world.unseen_y))
    assert fresh.provenance_["held_out_images"] == 200
    assert fresh.provenance_["held_out_accuracy"] == fresh.score(world.unseen, world.unseen_y)
    with pytest.raises(InputError, match="'okapi' is not among the training labels"):
        fresh.fit(world.X, world.y, validation=(world.unseen[:1], ["okapi"]))
