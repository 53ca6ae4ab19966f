"""Knowledge of the classes: what it changes, what it never does, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.directions import fit_score_map
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions.knowledge import UNEXPLAINED, ClassKnowledge
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_tables import write_knowledge
from tests.estimators.conftest import CLASSES, PROPERTIES, World
from tests.planted import unit

NOTHING = float("nan")


def table(world: World) -> np.ndarray:
    """True of a class as the world is drawn; the other texts are true of none."""
    true = np.array(list(PROPERTIES.values()), np.float32).T[np.argsort(CLASSES)]
    return np.pad(true, ((0, 0), (0, len(world.texts) - len(PROPERTIES))))


def test_a_table_of_other_classes_or_texts_is_told(world: World, tmp_path: Path) -> None:
    classes, texts = tuple(sorted(CLASSES)), tuple(world.texts)
    whole = KnowledgeTable(classes, texts, table(world))
    write_knowledge(tmp_path / "whole.parquet", whole)
    expected = world.fitted(knowledge=whole)
    for path in (tmp_path / "whole.parquet", str(tmp_path / "whole.parquet")):
        found = world.fitted(knowledge=path)
        assert np.array_equal(found.predict_proba(world.X), expected.predict_proba(world.X))
    capital = tuple(name.upper() for name in classes)
    for others, words, message in [
        (
            capital,
            texts,
            f"0 of 4 classes and {len(texts)} of {len(texts)} texts; expected classes",
        ),
        (classes, [f"{text} x" for text in texts], f"4 of 4 classes and 0 of {len(texts)} texts"),
    ]:
        with pytest.raises(InputError, match=message):
            world.fitted(knowledge=KnowledgeTable(tuple(others), tuple(words), table(world)))
    few = KnowledgeTable((*capital[:3], classes[3]), texts, table(world))
    with pytest.warns(UserWarning, match="names 1 of 4 classes and .* expected most"):
        world.fitted(knowledge=few)
    nothing = tmp_path / "nothing.csv"
    nothing.write_text("class\n")
    assert world.fitted(knowledge=nothing).queries_ == world.fitted().queries_


def test_true_shares_and_weights_of_texts() -> None:
    values = [[1, 0, 0.5, NOTHING, 0.2], [0, 0, 0.5, NOTHING, NOTHING], [1, 0, 0, NOTHING, 0.1]]
    known = ClassKnowledge(values, np.array(["a", "b", "c"]), list("uvwxy"))
    shares = known.true_shares(torch.tensor([0.5, 0.3, 0.2]))
    assert shares[:3].tolist() == pytest.approx([0.7, 0.0, 0.2])
    assert shares[3].isnan()
    assert shares[4].item() == pytest.approx((0.5 * 0.04 + 0.2 * 0.01) / 0.7)
    found = known.query_weights(torch.tensor([4, 0, 1, 2, 3]))
    assert found.tolist() == pytest.approx([UNEXPLAINED, 1.0, UNEXPLAINED, 1.0, 1.0])


def test_texts_that_are_true_of_no_class_are_asked_less(world: World) -> None:
    """Of each two texts that are nearly alike, the one is asked that is true of a class."""
    noise = 0.01 * np.random.default_rng(0).standard_normal(world.embeddings.shape)
    texts = [*world.texts, *(f"like {text}" for text in world.texts)]
    embeddings = unit(np.concatenate([world.embeddings, world.embeddings + noise]))
    settings = {"texts": texts, "text_embeddings": embeddings, "n_queries": 8}
    plain, nothing = table(world), np.zeros_like(table(world))
    first = world.fitted(**settings, knowledge=np.hstack([plain, nothing]))
    second = world.fitted(**settings, knowledge=np.hstack([nothing, plain]))
    assert set(first.queries_) == set(PROPERTIES)
    assert set(second.queries_) == {f"like {text}" for text in PROPERTIES}


def test_an_answer_comes_from_the_image_and_never_from_the_table(world: World) -> None:
    """The table chooses how many say yes, and no more."""
    universe = UnitMatrix(world.embeddings, "texts")
    labels = torch.from_numpy(np.unique(world.y, return_inverse=True)[1])
    moments = class_moments(UnitMatrix(world.X, "X").blocks(), labels)
    queries = torch.from_numpy(world.embeddings[: len(PROPERTIES)])
    directions = fit_score_map(universe, moments.discounted, 4).directions(queries)
    scores = (torch.from_numpy(world.unseen) @ directions.T).numpy()
    levels = []
    for values in (table(world), np.roll(table(world), 1, axis=0), 1 - table(world)):
        model = world.unfitted(queries=list(PROPERTIES), knowledge=values)
        model.fit(world.X, world.y, validation=(world.unseen, world.unseen_y))
        for score, answer in zip(scores.T, model.answer(world.unseen).T, strict=True):
            slope, level = np.polyfit(score, answer, 1)
            np.testing.assert_allclose(answer, slope * score + level, atol=1e-5)
            assert slope > 0
        levels.append((model.answer(world.X) > 0.5).mean(axis=0))
        shares = (moments.weights / len(labels)).numpy() @ values[:, : len(PROPERTIES)]
        np.testing.assert_allclose(levels[-1], shares, atol=0.01)


def test_questions_say_what_classes_may_look_like(tmp_path: Path) -> None:
    """No pet is a wolf, but it may look like one, and some are dogs."""
    generator = np.random.default_rng(0)
    texts = ["wolf", "dog", "long tail", *(f"T{number}" for number in range(37))]
    embeddings = unit(generator.standard_normal((40, 32)))
    labels = np.arange(120) % 3
    X = unit(embeddings[labels] + 0.1 * generator.standard_normal((120, 32)))
    names = np.array(["beagle", "poodle", "Siamese cat"])[labels]
    keep = ["wolf", "dog", "long tail"]
    model = infopursuit.InformationPursuitClassifier(texts, embeddings, 6, keep=keep).fit(X, names)
    model.save(tmp_path / "model")
    for each in (model, infopursuit.load(tmp_path / "model"), model.without(*model.queries_[3:])):
        asked = dict(zip(each.queries_, map(each.pursuit_.question, each.queries_), strict=True))
        assert asked["wolf"] == "Does it look like a wolf?" and asked["dog"] == "Is it a dog?"
        assert each.pursuit_.number("does it look like a wolf") == each.queries_.index("wolf")
        explained = each.explain(X[:1], stop=StoppingRule(None, 3))[0]
        assert [step.question for step in explained.steps] == [
            asked[query] for query in explained.questions
        ]
        assert "Does it look like a wolf?" in explained.to_text(everything=True)
        assert type(explained).from_dict(explained.to_dict()) == explained


def test_a_malformed_table_is_refused(world: World) -> None:
    bad = table(world)
    bad[1, 2] = 1.5
    for given, word in (("clip", "clip"), (np.zeros((4, 2)), "shape"), (bad, "1.5")):
        with pytest.raises(InputError, match=word):
            world.fitted(knowledge=given)
    with pytest.raises(InputError, match="texts"):
        infopursuit.InformationPursuitClassifier(knowledge=bad).fit(world.X, world.y)
