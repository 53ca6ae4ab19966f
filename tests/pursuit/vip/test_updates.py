"""The inner loop never waits for a device: it runs on tensors that have a device and no values."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.vip.batches import ImageShard, prefix_masks
from infopursuit.pursuit.vip.distributed import ALONE
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.training import TrainingImages
from infopursuit.pursuit.vip.updates import Updates, answer_rule

K, B, D, CLASSES, UPDATES = 12, 16, 8, 3, 4


@pytest.fixture(autouse=True)
def without_torch_s_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Autograd's threads and the fused kernels of Adam need a real GPU; what is ours does not."""

    def backward(self: torch.Tensor, inputs: list[torch.Tensor]) -> None:
        assert self.requires_grad
        assert inputs

    monkeypatch.setattr(torch.Tensor, "backward", backward)
    for optimizer in (torch.optim.Adam, torch.optim.AdamW):
        monkeypatch.setattr(optimizer, "step", lambda self: None)


def on_an_imaginary_gpu(**chosen: object) -> tuple[Updates, torch.Tensor, torch.Tensor]:
    """Call under FakeTensorMode: shapes, types and devices are real, values do not exist."""
    settings = VariationalSettings(hidden=(16, 8), **chosen)  # type: ignore[arg-type]
    with torch.device("cuda"):
        dictionary = LearnableDictionary(torch.randn(300, D).half(), torch.arange(K))
        querier = HistoryNetwork(K, K, settings.hidden)
        classifier = HistoryNetwork(K, CLASSES, settings.hidden)
        images, labels = torch.randn(B, D), torch.zeros(B, dtype=torch.long)
    train = TrainingImages(images, labels, CLASSES)
    shard = ImageShard(train.embeddings, ALONE, "cuda")
    rule = answer_rule(settings, dictionary, shard, train.labels, dictionary.universe)
    return Updates(querier, classifier, dictionary, rule, settings, B), images, labels


@pytest.mark.parametrize("answers", ["minmax", "soft"])
def test_no_update_reads_a_value_from_the_device(answers: str) -> None:
    with FakeTensorMode():
        updates, images, labels = on_an_imaginary_gpu(answers=answers)
        sizes = torch.zeros(UPDATES + 1, B, dtype=torch.long, device="cuda")
        updates.roll_out(images, sizes)
        masks = prefix_masks(updates.orders, sizes, K)
        updates.follow_schedules(0.3)
        updates.update_networks(images, labels, masks[:UPDATES])
        updates.update_dictionary(images, labels, masks[UPDATES])
        updates.update_all(images, labels, masks[0])
        assert masks.shape == (UPDATES + 1, B, K)
        assert masks.is_cuda
        assert updates.loss_sum.is_cuda
        assert updates.dictionary.rows.is_cuda
