"""The evidence table as classifier and querier, and how it is fitted, saved and asked."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.errors import InputError
from infopursuit.evidence.information import information_gain
from infopursuit.pursuit.answers import AnswerRule, fit_threshold_rule, minmax_answers
from infopursuit.pursuit.checkpoints import Checkpoint
from infopursuit.pursuit.evidence_networks import EvidenceClassifier, InformationGain
from infopursuit.pursuit.evidence_training import fit_evidence
from infopursuit.pursuit.model import TrainedModel
from infopursuit.pursuit.recipe import Recipe
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.training import Trained, Trainer
from tests.pursuit.test_training import RECIPE, planted

N, K, C = 40, 9, 4
EVIDENCE = Recipe(answers="threshold", networks="evidence")


def table(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    rates = torch.rand(C, K, generator=generator, dtype=torch.float64) * 0.9 + 0.05
    prior = torch.rand(C, generator=generator, dtype=torch.float64).softmax(dim=0)
    return rates, prior, (torch.rand(N, K, generator=generator) > 0.5).double()


def pursued(rates: Tensor, prior: Tensor, answers: Tensor, t: int, patience: float):
    """Information Pursuit with Bayes' rule, one image and one query at a time."""
    for image in answers:
        likelihood, asked, posteriors = torch.ones(C, dtype=torch.float64), [], [prior]
        for step in range(1, t + 1):
            posterior = prior * likelihood / (prior * likelihood).sum()
            gains = information_gain(posterior[None], rates)[0]
            gains[asked] = -1
            query = int(gains.argmax())
            asked.append(query)
            likelihood = likelihood * (rates[:, query] if image[query] else 1 - rates[:, query])
            worn = (prior * likelihood) ** (1 / (1 + step / patience))
            posteriors.append(worn / worn.sum())
        yield torch.tensor(asked), torch.stack(posteriors)


def test_a_roll_out_is_information_pursuit_with_bayes_rule() -> None:
    rates, prior, answers = table()
    querier, classifier = InformationGain(rates, prior), EvidenceClassifier(rates, prior, 3.0)
    found = roll_out(querier.double(), classifier.double(), answers, 6)
    for image, (asked, posteriors) in enumerate(pursued(rates, prior, answers, 6, 3.0)):
        assert torch.equal(found.order[image], asked)
        torch.testing.assert_close(found.posteriors[image], posteriors, atol=1e-6, rtol=1e-6)


def test_whole_histories_and_growing_ones_agree() -> None:
    rates, prior, answers = table(1)
    querier = InformationGain(rates, prior).double()
    classifier = EvidenceClassifier(rates, prior, 5.0).double()
    found = roll_out(querier, classifier, answers, K)
    for t in (0, 1, 4, K):
        mask = torch.zeros_like(answers).scatter_(1, found.order[:, :t], 1.0)
        torch.testing.assert_close(classifier(answers, mask).softmax(dim=1), found.posteriors[:, t])
        if t < K:
            gains = querier(answers, mask).masked_fill(mask > 0, -torch.inf)
            assert torch.equal(gains.argmax(dim=1), found.order[:, t])


def test_what_was_not_asked_changes_nothing() -> None:
    rates, prior, answers = table(2)
    networks = InformationGain(rates, prior).double(), EvidenceClassifier(rates, prior).double()
    first = roll_out(*networks, answers, 4)
    kept = torch.zeros_like(answers).scatter_(1, first.order, 1.0)
    other = roll_out(*networks, torch.where(kept > 0, answers, 1 - answers), 4)
    assert torch.equal(first.order, other.order)
    assert torch.equal(first.posteriors, other.posteriors)


def test_a_threshold_answer_depends_on_its_own_query_and_image_alone() -> None:
    train, universe = planted(240, seed=10)
    rule = fit_threshold_rule(universe[:K], universe, train.embeddings, train.labels)
    scores = rule.scores(train.embeddings)
    answers = rule.answers(scores)
    assert set(answers.unique().tolist()) == {0.0, 1.0}
    columns = torch.tensor([7, 2])
    some = rule.select(columns)
    assert torch.equal(some.answers(some.scores(train.embeddings[:5])), answers[:5, columns])
    moved = scores.clone()
    moved[:, 3:] = -scores[:, 3:]
    assert torch.equal(rule.answers(moved)[:, :3], answers[:, :3])


def test_the_paper_s_rules_are_answer_rules() -> None:
    queries, images = torch.randn(K, 5), torch.randn(7, 5)
    for kind in ("minmax", "soft"):
        rule = AnswerRule(kind, queries)
        expected = minmax_answers(images @ queries.T, hard=kind == "minmax")
        assert torch.equal(rule.answers(rule.scores(images)), expected)


def fitted(recipe: Recipe = EVIDENCE) -> Trained:
    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    return fit_evidence(train, validation, universe, torch.arange(40, 60), recipe, 10)


@pytest.mark.parametrize("answers", ["threshold", "minmax"])
def test_a_table_is_fitted_without_updates(answers: str) -> None:
    found = fitted(Recipe(answers=answers, networks="evidence"))  # type: ignore[arg-type]
    assert found.selected["validation_auc"] > 0.6
    assert found.selected["updates"] == 0
    assert found.log[0]["distinct_queries"] == 20
    assert (found.rule.thresholds is not None) == (answers == "threshold")


@pytest.mark.parametrize("networks", ["evidence", "mlp"])
def test_other_texts_answer_relative_to_the_reference(networks: str) -> None:
    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    control = universe[:30]
    recipe = Recipe(**{**asdict(EVIDENCE), "networks": networks})
    data = train, validation, control, torch.arange(12)
    if networks == "evidence":
        rule = fit_evidence(*data, recipe, 10, reference=universe).rule
    else:
        found = Trainer(*data, recipe, 10, 0, reference=universe).step.rule
        assert found is not None
        rule = found
    queries = normalize(control[:12], dim=1)
    expected = fit_threshold_rule(queries, universe, train.embeddings, train.labels)
    torch.testing.assert_close(rule.directions, expected.directions)
    assert not torch.allclose(
        rule.directions,
        fit_threshold_rule(queries, control, train.embeddings, train.labels).directions,
    )


def test_the_patience_fits_held_out_images_best() -> None:
    from infopursuit.pursuit.evidence_training import PATIENCES

    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    found = fit_evidence(train, validation, universe, torch.arange(40, 60), EVIDENCE, 10)
    answers = found.rule.answers(found.rule.scores(validation.embeddings))
    chosen = found.classifier.patience.item()
    losses = {}
    for patience in PATIENCES:
        found.classifier.patience.fill_(patience)
        posteriors = roll_out(found.querier, found.classifier, answers, 10).posteriors[:, 1:]
        of_truth = posteriors.gather(2, validation.labels.view(-1, 1, 1).expand(-1, 10, 1))
        losses[patience] = -of_truth.log().mean().item()
    assert chosen == min(losses, key=losses.__getitem__)


def test_a_saved_table_asks_and_answers_the_same(tmp_path: Path) -> None:
    found = fitted()
    settings = {"recipe": asdict(EVIDENCE)}
    model = TrainedModel(
        found.querier, found.classifier, found.queries, tuple(map(str, range(20))),
        tuple("abcdef"), 10, settings, {}, found.rule.directions, found.rule.thresholds,
    )  # fmt: skip
    model.save(tmp_path)
    loaded = TrainedModel.load(tmp_path)
    images = planted(30, seed=12)[0].embeddings
    for first, second in zip(model.roll_out(images), loaded.roll_out(images), strict=True):
        assert torch.equal(first, second)
    assert loaded.rule.kind == "threshold"


def test_a_query_left_out_is_never_asked_and_changes_no_other_answer(tmp_path: Path) -> None:
    found = fitted()
    model = TrainedModel(
        found.querier, found.classifier, found.queries, tuple(f"query {i}" for i in range(20)),
        tuple("abcdef"), 20, {"recipe": asdict(EVIDENCE)}, {}, found.rule.directions,
        found.rule.thresholds,
    )  # fmt: skip
    images = planted(30, seed=12)[0].embeddings
    first = int(model.roll_out(images, 1).order.mode(dim=0).values)
    fewer = model.without(f"query {first}", "query 3")
    kept = [i for i in range(20) if i not in (first, 3)]
    assert fewer.queries == tuple(f"query {i}" for i in kept)
    assert torch.equal(fewer.answers(images), model.answers(images)[:, kept])
    # Asked everything that is left, it believes what the whole model believes of those answers.
    asked = torch.zeros(30, 20)
    asked[:, kept] = 1.0
    whole = model.classifier(model.answers(images), asked).softmax(dim=1)
    torch.testing.assert_close(fewer.roll_out(images).posteriors[:, -1], whole)
    fewer.save(tmp_path)
    assert torch.equal(
        TrainedModel.load(tmp_path).roll_out(images).order, fewer.roll_out(images).order
    )
    assert len(model.queries) == 20
    assert model.querier.of_no.shape[0] == 20
    for queries, message in (
        (("query 99",), "no query 'query 99'"),
        (model.queries, "no query would be left"),
    ):
        with pytest.raises(InputError, match=message):
            model.without(*queries)


def test_the_paper_s_networks_train_on_threshold_answers(tmp_path: Path) -> None:
    train, universe = planted(240, seed=10)
    validation, _ = planted(60, seed=11)
    recipe = Recipe(**{**RECIPE.__dict__, "dictionary": "fixed", "answers": "threshold"})
    trainer = Trainer(train, validation, universe, torch.arange(40, 60), recipe, 10, 0)
    trained = trainer.train(Checkpoint(tmp_path / "run.pt", seconds=1e9))
    assert trained.rule.kind == "threshold"
    expected = fit_threshold_rule(trained.queries, universe, train.embeddings, train.labels)
    torch.testing.assert_close(trained.rule.directions, expected.directions)
    assert trained.selected["validation_auc"] > 0.3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"answers": "threshold", "dictionary": "alternating"}, "expected fixed and true"),
        ({"answers": "threshold", "quantize_queries": False}, "expected fixed and true"),
        ({"networks": "evidence", "answers": "soft"}, "answers of yes and no"),
        ({"networks": "evidence", "dictionary": "joint"}, "a fixed dictionary"),
    ],
)
def test_what_cannot_go_together_is_said(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe(**settings)
