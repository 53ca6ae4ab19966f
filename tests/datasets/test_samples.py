"""Samples of images: how many of each class, which, and always the same."""

import torch

from infopursuit.datasets.samples import even_sample, spread_sample


def test_samples_have_as_many_images_of_each_class_as_of_any_other() -> None:
    labels = torch.cat([torch.zeros(500), torch.ones(40), torch.full((7,), 2)]).long()
    labels = labels[torch.randperm(547, generator=torch.Generator().manual_seed(1))]
    generator = torch.Generator().manual_seed(0)
    places = even_sample(labels, 60, generator)
    assert places.tolist() == sorted(set(places.tolist()))
    sizes = torch.bincount(labels[places]).tolist()
    assert sizes[2] == 7
    assert sum(sizes) == 60
    assert abs(sizes[0] - sizes[1]) <= 1
    again = even_sample(labels, 60, torch.Generator().manual_seed(0))
    assert torch.equal(places, again)
    assert not torch.equal(places, even_sample(labels, 60, torch.Generator().manual_seed(1)))
    assert torch.equal(even_sample(labels, 547, generator), torch.arange(547))


def test_an_image_is_sampled_as_often_as_any_other_of_its_class() -> None:
    labels = torch.arange(40) % 2
    drawn_often = torch.zeros(40)
    for seed in range(400):
        drawn_often[even_sample(labels, 10, torch.Generator().manual_seed(seed))] += 1
    assert drawn_often.sum() == 4000
    assert ((drawn_often > 60) & (drawn_often < 140)).all()  # 100 each, 5 standard deviations


def test_a_spread_sample_has_classes_in_proportion_and_two_of_the_rare_ones() -> None:
    labels = torch.cat(
        [torch.zeros(6000), torch.ones(3990), torch.full((9,), 2), torch.tensor([3])]
    )
    labels = labels.long()[torch.randperm(10000, generator=torch.Generator().manual_seed(1))]
    places = spread_sample(labels, 1000)
    assert places.tolist() == sorted(set(places.tolist()))
    assert torch.bincount(labels[places]).tolist() == [600, 399, 2, 1]
    assert torch.equal(places, spread_sample(labels, 1000))
    assert not torch.equal(places, spread_sample(labels, 1000, seed=1))
    assert torch.equal(spread_sample(labels, 10000), torch.arange(10000))


def test_a_spread_sample_takes_each_image_of_a_class_as_often() -> None:
    labels = torch.arange(40) % 2
    drawn_often = torch.zeros(40)
    for seed in range(400):
        drawn_often[spread_sample(labels, 10, seed)] += 1
    assert drawn_often.sum() == 4000
    assert ((drawn_often > 60) & (drawn_often < 140)).all()  # 100 each, 5 standard deviations
