"""Training on a device: it repeats, resumes, and never waits. Needs torch alone."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from infopursuit.pursuit.vip.batches import prefix_masks
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.training import Trained
from tests.pursuit.vip.planted import K, trainer, weights


def check_repeats(device: str) -> None:
    """Two runs of a seed end in the same bits; they learn, and move the dictionary."""
    first, second = (trainer(device=device, dictionary_learning_rate=0.1).train() for _ in range(2))
    assert_same_bits(second, first)
    assert first.log[-1]["loss"] < first.log[0]["loss"]
    assert not torch.equal(first.rows["final"], first.rows["initial"])


def check_resumes(device: str) -> None:
    """A run that ends after five batches and goes on from its checkpoint ends in the same bits."""
    whole = trainer(device=device).train()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "run.pt", seconds=1e9)
        stopped = trainer(device=device)
        for _ in range(5):
            stopped.train_on_batch()
        checkpoint.save(stopped)
        assert_same_bits(trainer(device=device).train(checkpoint), whole)


def assert_same_bits(found: Trained, expected: Trained) -> None:
    """Equal logs, selections, weights and texts."""
    assert found.log == expected.log
    assert found.selected == expected.selected
    assert all(map(torch.equal, weights(found), weights(expected)))
    assert all(torch.equal(found.rows[moment], expected.rows[moment]) for moment in expected.rows)


def check_never_waits(device: str) -> None:
    """No update of the networks or the dictionary makes the host wait for a GPU."""
    run = trainer(device=device)
    images, labels = run._next_images()
    sizes = run.histories.sizes(5)
    if device == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(2):
            run.step.roll_out(images, sizes)
            masks = prefix_masks(run.step.orders, sizes, K)
            run.step.follow_schedules(0.5)
            run.step.update_networks(images, labels, masks[:4])
            run.step.update_dictionary(images, labels, masks[4])
    finally:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("default")
    assert run.step.loss_sum.item() > 0
