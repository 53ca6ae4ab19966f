"""What a person can do with questions: choose, ban, force, stop, change answers, ask why."""

from __future__ import annotations

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.knowledge import KnowledgeTable
from tests.estimators.conftest import CLASSES, PROPERTIES, World

ALL = StoppingRule(probability=None, stability=None)


def test_the_chosen_questions_separate_the_classes(world: World, model) -> None:
    assert len(model.queries_) == 6
    assert set(model.queries_) <= set(PROPERTIES)
    assert sorted(world.fitted(n_queries=500).queries_) == sorted(world.texts)
    fresh = world.unfitted(validation_fraction=0.0)
    assert tuple(fresh.select_queries(world.X, world.y)) == fresh.fit(world.X, world.y).queries_


def test_the_dictionary_can_be_given_or_texts_banned(world: World) -> None:
    model = world.fitted(queries=["Webbed feet", "  striped coat "])
    assert model.queries_ == ("webbed feet", "striped coat")
    model = world.fitted(ban=["LEGS", "brown mane"])
    assert not {"four legs", "brown mane"} & set(model.queries_)
    assert "four legs" not in world.fitted(ban=["leg"]).queries_
    with pytest.warns(
        UserWarning, match="nothing to ban by 'eg', 'stripd' .did you mean 'striped'"
    ):
        other = world.fitted(ban=["eg", "stripd"])  # a word is banned, not its letters
    assert other.queries_ == world.fitted().queries_
    with pytest.raises(InputError, match="ban leaves no text"):
        world.fitted(ban=world.texts)


def test_the_first_question_can_be_forced(world: World) -> None:
    model = world.fitted(first_query="Nothing 3")
    explained = model.explain(world.unseen)
    assert {each.questions[0] for each in explained} == {"nothing 3"}
    assert len(model.queries_) == 6
    assert all(each.steps[0].value is not None or each.steps[0].runners_up for each in explained)
    assert model.without("nothing 3").explain(world.unseen[:1])[0].questions[0] != "nothing 3"


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
    others = world.fitted(keep=["nothing 3"], first_query="nothing 1", ban=["legs"], n_queries=2)
    assert set(others.queries_) == kept
    assert {each.questions[0] for each in others.explain(world.unseen)} == {"nothing 1"}


def test_an_answer_can_be_overridden(world: World, model) -> None:
    (before,) = model.explain(world.unseen[:1], ALL)
    opposite = "no" if before.steps[2].yes else "yes"
    (after,) = model.explain(world.unseen[:1], ALL, overrides={before.questions[2]: opposite})
    assert after.questions[:3] == before.questions[:3]
    assert after.steps[:2] == before.steps[:2]
    assert after.steps[2].said == opposite
    assert after.steps[2].posterior != before.steps[2].posterior
    assert [step.overridden for step in after.steps] == [at == 2 for at in range(6)]


def test_answers_are_numbers_above_and_below_the_level(world: World) -> None:
    model = world.fitted(queries=list(PROPERTIES))
    answers = model.answer(world.unseen)
    assert (answers.dtype, answers.shape) == (np.float32, (200, 8))
    assert ((answers > 0) & (answers < 1)).all()
    column = model.queries_.index("four legs")
    horse, parrot = (answers[world.unseen_y == name, column] for name in ("horse", "parrot"))
    assert (horse > 0.5).mean() > 0.5 > 0.1 > (parrot > 0.5).mean()


def test_questions_of_a_class(model) -> None:
    evidence = model.questions_for("zebra", 2)
    assert {each for each, _ in evidence["for"]} <= {"four legs", "black and white", "striped coat"}
    assert all(change < 0 for _, change in evidence["against"])
    assert len(evidence["against"]) == 2


def test_what_is_known_leads_the_questions_of_a_class(world: World) -> None:
    """A text that statistics alone connect with a class comes below a line."""
    values = np.full((4, len(world.texts)), np.nan, np.float32)
    queries = ["striped coat", "four legs", "black and white"]
    values[:, [world.texts.index(query) for query in queries]] = [1.0, 0.0, np.nan]
    table = KnowledgeTable(CLASSES, tuple(world.texts), values)
    known = world.fitted(queries=queries, knowledge=table)
    evidence = known.questions_for("zebra")
    assert [text for text, _ in evidence["for"]] == ["striped coat"]
    assert {text for text, _ in evidence["other"]} == {"four legs", "black and white"}
    assert list(world.fitted().questions_for("zebra")) == ["for", "against"]


def test_rows_given_for_validation_calibrate(world: World) -> None:
    fresh = world.unfitted().fit(world.X, world.y, validation=(world.unseen, world.unseen_y))
    assert fresh.provenance_["held_out_images"] == 200
    # Classes count as often as they are among the images that are fitted on.
    share = {each: (world.y == each).mean() / (world.unseen_y == each).mean() for each in CLASSES}
    score = fresh.score(world.unseen, world.unseen_y, [share[each] for each in world.unseen_y])
    assert fresh.provenance_["held_out_accuracy"] == pytest.approx(score)
    with pytest.raises(InputError, match="'okapi' is not among the training labels"):
        fresh.fit(world.X, world.y, validation=(world.unseen[:1], ["okapi"]))


def test_texts_with_one_embedding_are_one_question(world: World) -> None:
    """A CLIP reads the first words of a long text: two that begin alike have one embedding."""
    rows = [0, *range(len(world.texts)), 1]
    texts = ["a long text", *world.texts, "another long text"]
    said = r"2 texts have the embedding of another.*'striped coat' \(as 'a long text'\), 'another"
    embeddings = np.asarray(world.embeddings)[rows]
    for noise in (0.0, 1e-7):
        settings = {
            "texts": texts,
            "text_embeddings": embeddings + noise * (np.arange(len(rows)) > 3)[:, None],
        }
        with pytest.warns(UserWarning, match=said):
            model = world.unfitted(**settings).fit(world.X, world.y)
        assert len(model.queries_) == 6
        assert not {"striped coat", "another long text"} & set(model.queries_)
    with pytest.warns(UserWarning, match=said):
        model = world.unfitted(**settings, keep=["striped coat"]).fit(world.X, world.y)
    assert "striped coat" in model.queries_ and "a long text" not in model.queries_
    given = ["a long text", "four legs", "striped coat"]
    with pytest.warns(UserWarning, match=said):
        model = world.unfitted(**settings, queries=given, first_query="striped coat")
        model.fit(world.X, world.y)
    assert sorted(model.queries_) == ["four legs", "striped coat"]
