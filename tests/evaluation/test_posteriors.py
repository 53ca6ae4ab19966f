import math

import numpy as np
import pytest
import torch

from infopursuit.evaluation.posteriors import join, summarize


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


def test_who_has_asked_everything_believes_what_he_believed() -> None:
    summary = summarize(*random_posteriors(5, 4, 3))
    longer = summary.up_to(6)
    assert longer.predicted.shape == (5, 7)
    for column, before in zip(longer[1:], summary[1:], strict=True):
        np.testing.assert_array_equal(column[:, :4], before)
        np.testing.assert_array_equal(column[:, 4:], np.repeat(before[:, 3:], 3, axis=1))
    for column, before in zip(summary.up_to(3), summary, strict=True):
        np.testing.assert_array_equal(column, before)


def test_joined_batches_are_the_whole() -> None:
    posteriors, labels = random_posteriors(7, 3, 4)
    whole = summarize(posteriors, labels)
    parts = [summarize(posteriors[i : i + 3], labels[i : i + 3]) for i in range(0, 7, 3)]
    for joined, expected in zip(join(parts), whole, strict=True):
        np.testing.assert_array_equal(joined, expected)


def test_certain_posteriors_give_finite_numbers_without_a_sign() -> None:
    summary = summarize(torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]]), torch.tensor([0, 1]))
    assert summary.entropy.ravel().tolist() == [0.0, 0.0]
    assert not np.signbit(summary.entropy).any()
    assert not np.signbit(summary.nll[0, 0])
    assert summary.nll[1, 0] == pytest.approx(87.34, abs=0.01)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        summarize(torch.tensor([[[float("nan"), 0.0]]]), torch.tensor([0]))
