"""The pass over the test images, and what is kept of its posteriors."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit_study.evaluation.measurement import count_usage, measure, opening, summarize


def random_posteriors(n: int, t: int, c: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(n, t, c, generator=generator)
    return logits.softmax(dim=2), torch.randint(0, c, (n,), generator=generator)


def test_summary_agrees_with_a_slow_reference() -> None:
    posteriors, labels = random_posteriors(5, 4, 3)
    summary = summarize(posteriors, labels)
    for image in range(5):
        for t in range(4):
            row = posteriors[image, t].tolist()
            label = int(labels[image])
            assert summary.predicted[image, t] == row.index(max(row))
            assert summary.max_probability[image, t] == np.float32(max(row))
            assert summary.correct[image, t] == (row.index(max(row)) == label)
            assert summary.nll[image, t] == pytest.approx(-math.log(row[label]), rel=1e-5)
            entropy = -sum(p * math.log(p) for p in row)
            assert summary.entropy[image, t] == pytest.approx(entropy, rel=1e-5)


def test_after_the_last_question_nothing_changes() -> None:
    summary = summarize(*random_posteriors(5, 4, 3))
    longer = summary.up_to(6)
    assert longer.predicted.shape == (5, 7)
    for column, before in zip(longer[1:], summary[1:], strict=True):
        np.testing.assert_array_equal(column[:, :4], before)
        np.testing.assert_array_equal(column[:, 4:], np.repeat(before[:, 3:], 3, axis=1))
    for column, before in zip(longer.up_to(3), summary, strict=True):
        np.testing.assert_array_equal(column, before)


def test_batches_give_what_one_roll_out_gives(pursuit: Pursuit, images: LabelledImages) -> None:
    found = pursuit.roll_out(images.embeddings, 5)
    expected = summarize(found.posteriors, images.labels)
    measured = measure(pursuit, images, 5, batch_size=8)
    np.testing.assert_array_equal(measured.summary.predicted, expected.predicted)
    np.testing.assert_allclose(measured.summary.nll, expected.nll, rtol=1e-4)
    np.testing.assert_array_equal(measured.usage, count_usage(found.order.numpy(), 7))
    assert torch.equal(measured.opening.order, found.order)
    longer = measure(pursuit, images, 7).opening
    assert torch.equal(opening(longer, 5).answers, found.answers)
    torch.testing.assert_close(opening(longer, 5).posteriors, found.posteriors)


def test_what_cannot_be_measured_is_refused(pursuit: Pursuit, images: LabelledImages) -> None:
    others = replace(images, class_names=("cat", "dog", "fox"))
    nothing = images.subset(torch.tensor([], dtype=torch.long))
    for given, budget, word in (
        (images, 0, "found 0"),
        (images, 8, "found 8"),
        (others, 5, "fox"),
        (nothing, 5, "none"),
    ):
        with pytest.raises(InputError, match=word):
            measure(pursuit, given, budget)
    assert isinstance(pursuit.classifier, HistoryNetwork)
    with torch.no_grad():
        next(pursuit.classifier.parameters()).fill_(float("nan"))
    with pytest.raises(InputError, match="no probabilities"):
        measure(pursuit, images, 5)
