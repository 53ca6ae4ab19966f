from dataclasses import replace

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.evaluation.measurement import count_usage, measure
from infopursuit.evaluation.posteriors import summarize
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.vip.networks import HistoryNetwork


def test_batches_give_what_one_roll_out_gives(pursuit: Pursuit, images: LabelledImages) -> None:
    found = pursuit.roll_out(images.embeddings, 5)
    expected = summarize(found.posteriors, images.labels)
    measured = measure(pursuit, images, 5, batch_size=8)
    np.testing.assert_array_equal(measured.summary.predicted, expected.predicted)
    np.testing.assert_allclose(measured.summary.nll, expected.nll, rtol=1e-4)
    np.testing.assert_array_equal(measured.usage, count_usage(found.order.numpy(), 7))


def test_usage_counts_each_query_at_each_step() -> None:
    order = np.array([[2, 0], [2, 1], [1, 0]])
    assert count_usage(order, 3).tolist() == [[0, 1, 2], [2, 1, 0]]


@pytest.mark.parametrize("budget", [0, 8])
def test_a_budget_beyond_the_dictionary_is_refused(
    pursuit: Pursuit, images: LabelledImages, budget: int
) -> None:
    with pytest.raises(InputError, match=f"a budget of {budget} queries; expected 1 to 7"):
        measure(pursuit, images, budget)


def test_other_classes_than_the_model_knows_are_refused(
    pursuit: Pursuit, images: LabelledImages
) -> None:
    with pytest.raises(InputError, match="3 classes and the images have 2"):
        measure(pursuit, replace(images, class_names=("cat", "dog")), 5)
    with pytest.raises(InputError, match="class 2 is 'owl' to the model and 'fox' in the images"):
        measure(pursuit, replace(images, class_names=("cat", "dog", "fox")), 5)


def test_no_images_and_broken_weights_are_refused(pursuit: Pursuit, images: LabelledImages) -> None:
    with pytest.raises(InputError, match="no images"):
        measure(pursuit, images.subset(torch.tensor([], dtype=torch.long)), 5)
    assert isinstance(pursuit.classifier, HistoryNetwork)
    with torch.no_grad():
        next(pursuit.classifier.parameters()).fill_(float("nan"))
    with pytest.raises(InputError, match=r"'0'.* is NaN"):
        measure(pursuit, images, 5)
