"""Knowledge of the classes: what it changes, what it never does, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.directions import OTHER_STRENGTHS, fit_score_maps, usual_strength
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions import knowledge as class_knowledge
from infopursuit.questions.draft import CLOSE, CLOSEST, IN_COMMON, impossible_texts
from infopursuit.questions.knowledge import CERTIFIED, OBEYED, ClassKnowledge
from infopursuit.texts.class_kinds import of_other_kinds, unknown_words
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_tables import write_knowledge
from tests.estimators.conftest import CLASSES, PROPERTIES, World

NOTHING = float("nan")
UNEXPLAINED = OBEYED.unexplained


def table(world: World) -> np.ndarray:
    """True of a class as the world is drawn; the other texts are true of none."""
    true = np.array(list(PROPERTIES.values()), np.float32).T[np.argsort(CLASSES)]
    return np.pad(true, ((0, 0), (0, len(world.texts) - len(PROPERTIES))))


def test_true_shares_and_weights_of_texts() -> None:
    values = [[1, 0, 0.5, NOTHING, 0.2], [0, 0, 0.5, NOTHING, NOTHING], [1, 0, 0, NOTHING, 0.1]]
    known = ClassKnowledge(values, np.array(["a", "b", "c"]), list("uvwxy"))
    prior = torch.tensor([0.5, 0.3, 0.2])
    shares = known.true_shares(prior)
    assert shares[:3].tolist() == pytest.approx([0.7, 0.0, 0.2])
    assert shares[3].isnan()
    assert shares[4].item() == pytest.approx((0.5 * 0.04 + 0.2 * 0.01) / 0.7)
    expected = [1.0, UNEXPLAINED, 1.0, 1.0, UNEXPLAINED]
    assert known.query_weights(torch.arange(5)).tolist() == pytest.approx(expected)
    assert known.query_weights(torch.tensor([4, 0])).tolist() == pytest.approx([UNEXPLAINED, 1.0])
    # A text whose scores contradict what is known counts less.
    known = ClassKnowledge([[1, 1, 1], [0, 0, 0]], np.array(["a", "b"]), list("uvw"))
    auroc = torch.tensor([CERTIFIED - 0.01, CERTIFIED, NOTHING])
    found = known.query_weights(torch.arange(3), auroc)
    assert found.tolist() == pytest.approx([UNEXPLAINED, 1.0, 1.0])


def test_what_the_words_do_not_explain_counts_by_its_weight() -> None:
    """Text u separates a and b from c, as its words do; text v also a from b, which they do not."""
    classes, values = np.array(["a", "b", "c"]), [[1, 1, 0, NOTHING], [1, 1, 0, 1], [0, 0, 0, 0]]
    yes = torch.tensor([[0.9, 0.9, 0.1], [0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [0.5, 0.5, 0.5]])
    answers = AnswerTable(torch.stack([1 - yes, yes]).log(), torch.full((3,), 1 / 3).log())
    rows = torch.tensor([0, 1, 2, 3])
    kept = ClassKnowledge(values, classes, list("uvwx")).query_weights(rows, None, answers)
    assert kept.tolist() == pytest.approx([1, 1, UNEXPLAINED, 1])
    known = ClassKnowledge(values, classes, list("uvwx"), OBEYED._replace(beyond=0.25))
    found = known.query_weights(rows, None, answers)
    whole, by_words = mutual_information(0.9, 0.5, 0.1), mutual_information(0.7, 0.7, 0.1)
    expected = [1, (by_words + 0.25 * (whole - by_words)) / whole, 0.25 * UNEXPLAINED, 1]
    assert found.tolist() == pytest.approx(expected)
    assert known.query_weights(rows).tolist() == kept.tolist()


def test_what_the_table_implies_of_other_texts() -> None:
    """Six classes: three kittens, and a lamp; a text of all classes follows from nothing."""
    kitten, animal, lamp = [1, 0.5, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]
    everything, one, unknown = [1] * 6, [1, 0, 0, 0, 0, 0], [NOTHING] * 6
    values = np.array([kitten, animal, lamp, everything, one, unknown]).T
    texts, names = list("kaleou"), np.array(list("abcdef"))
    yes = torch.tensor(np.nan_to_num(values.T, nan=0.5) * 0.98 + 0.01, dtype=torch.float32)

    def found(rates: torch.Tensor, values: np.ndarray = values) -> set[tuple[str, str, int]]:
        answers = AnswerTable(torch.stack([1 - rates, rates]).log(), torch.full((6,), 1 / 6).log())
        known = ClassKnowledge(values, names, texts, drafted=False)
        pairs = known.implied(torch.arange(6), answers).tolist()
        return {(texts[asked], texts[other], after) for asked, other, after in pairs}

    # An animal need not be a kitten: one of them is so in some pictures alone.
    assert found(yes) == {("k", "a", 1), ("a", "k", 2)}
    exception = values.copy()
    exception[2, 1] = 0.5
    assert found(yes, exception) == set(), "one class has kittens and is not surely animals"
    exception[2, 1] = NOTHING
    assert found(yes, exception) == set(), "two classes are too few"
    blind = yes.clone()
    blind[1] = 0.5
    assert found(blind) == set(), "the answers contradict it"
    drafted = ClassKnowledge(values, names, texts, drafted=True)
    answers = AnswerTable(torch.stack([1 - yes, yes]).log(), torch.full((6,), 1 / 6).log())
    assert len(drafted.implied(torch.arange(6), answers)) == 0


def test_no_question_is_asked_that_the_table_implies(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"queries": list(PROPERTIES), "knowledge": table(world)}

    def asked_after(model: infopursuit.InformationPursuitClassifier) -> int:
        """How often "four legs" is asked after "striped coat? yes", or the latter after no."""
        count = 0
        for explanation in model.explain(world.unseen, StoppingRule(None, stability=None)):
            said = [(step.query, step.answer) for step in explanation.steps]
            for first, other, answer in (
                ("striped coat", "four legs", 1.0),
                ("four legs", "striped coat", 0.0),
            ):
                if (first, answer) in said:
                    place = said.index((first, answer))
                    count += other in [query for query, _ in said[place:]]
        return count

    assert asked_after(world.fitted(**settings)) > 0, "two classes are too few to follow from"
    monkeypatch.setattr(class_knowledge, "SUPPORT", 1)
    assert asked_after(world.fitted(**settings)) == 0


def mutual_information(*yes: float) -> float:
    """Of a binary answer and three classes that are equally frequent."""

    def entropy(p: float) -> float:
        return -p * math.log(p) - (1 - p) * math.log(1 - p)

    return entropy(sum(yes) / 3) - sum(map(entropy, yes)) / 3


def test_what_texts_are_true_of() -> None:
    """Where a text is certainly true of a class, of some pictures is not known."""
    values = [[1, 0.5, 0, NOTHING], [0.5, 0, 0, 1], [0, NOTHING, 0, 0.2]]
    known = ClassKnowledge(values, np.array(["a", "b", "c"]), list("uvwx"))
    found = known.truth(torch.tensor([3, 0, 1, 2])).numpy()
    expected = [[NOTHING, 1, 1, 0], [1, NOTHING, 0, 0], [0, 0, NOTHING, 0]]
    assert np.array_equal(found, np.array(expected), equal_nan=True)


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


def test_texts_that_are_true_of_no_class_are_asked_less(world: World) -> None:
    wrong = 1 - table(world)  # only what says nothing is said to be true
    wrong[:, [text in PROPERTIES for text in world.texts]] = 0
    model = world.fitted(n_queries=8, knowledge=wrong)
    worth = model.pursuit_.querier.query_weights
    for query, counted in zip(model.queries_, worth.tolist(), strict=True):
        assert counted == pytest.approx(UNEXPLAINED if query in PROPERTIES else 1.0)
    right = world.fitted(n_queries=8, knowledge=table(world))
    asked = {query for each in right.explain(world.unseen) for query in each.questions}
    assert asked <= set(PROPERTIES)


def test_an_answer_comes_from_the_image_and_never_from_the_table(world: World) -> None:
    """The table chooses how strongly scores are discounted and how many say yes, and no more."""
    universe = UnitMatrix(world.embeddings, "texts")
    queries = torch.from_numpy(world.embeddings[: len(PROPERTIES)])
    validation = world.unseen, world.unseen_y
    for values in (table(world), np.roll(table(world), 1, axis=0), 1 - table(world)):
        model = world.unfitted(queries=list(PROPERTIES), knowledge=values)
        model.fit(world.X, world.y, validation=validation)
        labels = torch.from_numpy(np.unique(world.y, return_inverse=True)[1])
        within = class_moments(UnitMatrix(world.X, "X").blocks(), labels).within
        maps = fit_score_maps(universe, within, [usual_strength(4), *OTHER_STRENGTHS])
        rule = model.pursuit_.rule
        assert isinstance(rule, ThresholdAnswers)
        assert rule.levels == 5
        for row, direction in enumerate(rule.directions):
            candidates = torch.stack([each.directions(queries)[row] for each in maps])
            assert (candidates @ direction).max().item() == pytest.approx(1, abs=1e-5)
        scores = torch.from_numpy(world.unseen) @ rule.directions.T
        expected = torch.stack([(scores > cut).float() for cut in rule.cuts]).mean(dim=0)
        assert np.array_equal(model.answer(world.unseen), expected.numpy())


def test_the_model_says_which_questions_are_certified(world: World) -> None:
    model = world.fitted(knowledge=table(world), n_queries=8)
    of_query = dict(zip(model.queries_, model.provenance_["auroc_by_knowledge"], strict=True))
    assert min(of_query[query] for query in PROPERTIES if query in of_query) > 0.9
    assert "auroc_by_knowledge" not in world.fitted().provenance_
    contradicted = world.fitted(knowledge=1 - table(world), queries=list(PROPERTIES))
    worth = contradicted.pursuit_.querier.query_weights
    assert worth.tolist() == pytest.approx([UNEXPLAINED] * len(PROPERTIES))


def test_the_clip_drafts_the_table(tmp_path: Path) -> None:
    """Against a slow reference; a person's correction of the draft is read back."""
    generator = np.random.default_rng(1)
    texts = [f"text {number}" for number in range(400)]
    embeddings = generator.standard_normal((400, 32)) + 1.0
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    labels = np.repeat(["a", "b", "c"], 40)
    X = embeddings[np.repeat([7, 80, 300], 40)] + 0.1 * generator.standard_normal((120, 32))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    validation = X[::4], labels[::4]
    model = infopursuit.InformationPursuitClassifier(texts, embeddings, 16, knowledge="clip")
    model.fit(X, labels, validation=validation)
    centred = embeddings - embeddings.mean(axis=0)
    means = np.stack([X[labels == each].mean(axis=0) for each in "abc"])
    expected = np.zeros((3, 400))
    for row, mean in enumerate(means):
        direction = mean - IN_COMMON * means.mean(axis=0)
        cosines = [direction @ each / np.linalg.norm(each) for each in centred]
        order = np.argsort(cosines)[::-1]
        expected[row, order[: math.ceil(CLOSE * 400)]] = 0.5
        expected[row, order[: math.ceil(CLOSEST * 400)]] = 1
    assert expected[[0, 1, 2], [7, 80, 300]].tolist() == [1, 1, 1]
    written = expected[:, expected.any(axis=0)]
    assert model.knowledge_ is not None
    assert np.array_equal(model.knowledge_.values, written)
    model.save(tmp_path / "model")
    again = infopursuit.load(tmp_path / "model")
    assert np.array_equal(again.knowledge_.values, written)
    with pytest.raises(InputError, match="knowledge 'clip': 40 texts for 3 classes; expected at"):
        clone(model).set_params(texts=texts[:40], text_embeddings=embeddings[:40]).fit(X, labels)


def test_a_word_that_wordnet_lacks_is_what_the_texts_around_it_are() -> None:
    """Against a slow reference."""
    texts = ["dumpling", "pasta", "wolf", "dog", "kitten", "mop", "bread", "long tail"]
    texts += ["baozi", "hoverboard", "labradoodle", "striped", "prune"]
    generator = np.random.default_rng(3)
    rows = generator.standard_normal((len(texts), 6)).astype(np.float32)
    for word, like in (("baozi", "dumpling"), ("labradoodle", "dog")):
        rows[texts.index(word)] = rows[texts.index(like)] + 0.1
    pets = ["beagle", "poodle", "Siamese cat"]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    embeddings = UnitMatrix(torch.from_numpy(unit), "embeddings")
    centred = unit - unit.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    expected = of_other_kinds(tuple(pets), tuple(texts)).copy()
    unknown = ["baozi", "hoverboard", "labradoodle"]
    assert [texts[row] for row in np.flatnonzero(unknown_words(texts))] == unknown
    known = [row for row, text in enumerate(texts) if text not in unknown]
    before = expected.copy()
    for word in unknown:
        row = texts.index(word)
        nearest = sorted(known, key=lambda other: -(centred[row] @ centred[other]))[:5]
        expected[row] = sum(before[nearest]) >= 3
    found = impossible_texts(pets, texts, embeddings, embeddings)
    assert found.tolist() == expected.tolist()
    assert set(found[[texts.index(word) for word in unknown]]) == {True, False}
    people = ("Anna", "Ben", "Carla")
    assert not impossible_texts(people, texts, embeddings, embeddings).any()


def test_what_no_class_can_be_is_not_true_and_hardly_asked(tmp_path: Path) -> None:
    """Two foods are closest to the pets. A wolf is what they may look like: it is asked so."""
    generator = np.random.default_rng(0)
    texts = ["prune", "sour cream", "wolf", "dog", "long tail"]
    texts += [f"T{number}" for number in range(395)]
    embeddings = generator.standard_normal((400, 32))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    labels = np.repeat(["beagle", "poodle", "Siamese cat"], 40)
    means = np.repeat([embeddings[0] + embeddings[2], embeddings[1] + embeddings[3],
                       embeddings[4] + embeddings[0]], 40, axis=0)  # fmt: skip
    X = means + 0.1 * generator.standard_normal((120, 32))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = infopursuit.InformationPursuitClassifier(
        texts, embeddings, knowledge="clip", keep=["prune", "wolf", "dog"], n_queries=6
    ).fit(X, labels)
    assert model.knowledge_ is not None
    assert not {"prune", "sour cream"} & set(model.knowledge_.texts)
    assert {"wolf", "dog", "long tail"} <= set(model.knowledge_.texts)
    worth = dict(zip(model.queries_, model.pursuit_.querier.query_weights.tolist(), strict=True))
    weights = model.provenance_["draft"]["weights"]
    # Of information beyond its words a text counts less still (`TextWeights.beyond`).
    assert worth["prune"] == pytest.approx(weights[1] * weights[2])
    assert worth["prune"] < worth["wolf"]
    model.save(tmp_path / "model")
    for each in (model, infopursuit.load(tmp_path / "model"), model.without("prune")):
        asked = dict(zip(each.queries_, map(each.pursuit_.question, each.queries_), strict=True))
        assert asked["wolf"] == "Does it look like a wolf?" and asked["dog"] == "Is it a dog?"
        assert each.pursuit_.number("does it look like a wolf") == each.queries_.index("wolf")
        explained = each.explain(X[:1], stop=StoppingRule(max_queries=5))[0]
        assert [step.question for step in explained.steps] == [
            asked[q] for q in explained.questions
        ]
        assert "Does it look like a wolf?" in explained.to_text(everything=True)
        assert type(explained).from_dict(explained.to_dict()) == explained
    plain = clone(model).set_params(knowledge=None).fit(X, labels)
    assert plain.pursuit_.question("wolf") == "Does it show a wolf?", (
        "only where the classes are looked up"
    )


def test_a_malformed_table_is_refused(world: World) -> None:
    bad = table(world)
    bad[1, 2] = 1.5
    none = {"wordnet": "clip", "CLIP": "clip"}
    for given, word in (*none.items(), (np.zeros((4, 2)), "shape"), (bad, "1.5")):
        with pytest.raises(InputError, match=word):
            world.fitted(knowledge=given)
    with pytest.raises(InputError, match="texts"):
        infopursuit.InformationPursuitClassifier(knowledge=bad).fit(world.X, world.y)
