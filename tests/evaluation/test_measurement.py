from dataclasses import replace

import numpy as np
import pytest
import torch

from infopursuit.errors import InputError
from infopursuit.evaluation.measurement import count_usage, measure
from infopursuit.evaluation.posteriors import summarize
from infopursuit.pursuit.images import LabelledImages
from infopursuit.pursuit.model import TrainedModel


def test_batches_give_what_one_roll_out_gives(model: TrainedModel, images: LabelledImages) -> None:
    found = model.roll_out(images.embeddings, 5)
    expected = summarize(found.posteriors, images.labels)
    measured = measure(model, images, 5, batch_size=8)
    np.testing.assert_array_equal(measured.summary.predicted, expected.predicted)
    np.testing.assert_allclose(measured.summary.nll, expected.nll, rtol=1e-4)
    np.testing.assert_array_equal(measured.usage, count_usage(found.order.numpy(), 7))


def test_usage_counts_each_query_at_each_step() -> None:
    order = np.array([[2, 0], [2, 1], [1, 0]])
    assert count_usage(order, 3).tolist() == [[0, 1, 2], [2, 1, 0]]


@pytest.mark.parametrize("budget", [0, 8])
def test_a_budget_beyond_the_dictionary_is_refused(
    model: TrainedModel, images: LabelledImages, budget: int
) -> None:
    with pytest.raises(InputError, match=f"a budget of {budget} queries; expected 1 to 7"):
        measure(model, images, budget)


def test_other_classes_than_the_model_knows_are_refused(
    model: TrainedModel, images: LabelledImages
) -> None:
    with pytest.raises(InputError, match="3 classes and the images have 2"):
        measure(model, replace(images, class_names=("cat", "dog")), 5)
    with pytest.raises(InputError, match="class 2 is 'owl' to the model and 'fox' in the images"):
        measure(model, replace(images, class_names=("cat", "dog", "fox")), 5)


def test_no_images_and_broken_weights_are_refused(
    model: TrainedModel, images: LabelledImages
) -> None:
    with pytest.raises(InputError, match="no images"):
        measure(model, images.subset(torch.tensor([], dtype=torch.long)), 5)
    with torch.no_grad():
        next(model.classifier.parameters()).fill_(float("nan"))
    with pytest.raises(InputError, match=r"'0'.* is NaN"):
        measure(model, images, 5)
