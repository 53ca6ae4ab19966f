"""A two-layer network on the embeddings: what a classifier reaches that explains nothing."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from infopursuit.pursuit.batches import Batches
from infopursuit.pursuit.images import LabelledImages

# How often the held-out accuracy is looked at in the course of training.
VALIDATIONS = 30


@dataclass(frozen=True)
class BlackBoxSettings:
    """Training of the network: AdamW with a cosine decay to zero.

    Attributes:
        hidden: width of the hidden layer.
        updates: steps of the optimiser.
        batch_size: images per step.
        learning_rate: at the start.
        weight_decay: decoupled.
        seed: of initial weights and order.
    """

    hidden: int
    updates: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    seed: int


class BlackBox(nn.Module):
    """Standardise, Linear d -> hidden, ReLU, Linear hidden -> c."""

    def __init__(self, images: Float[Tensor, "n d"], hidden: int, classes: int) -> None:
        """Mean and spread of each coordinate come from the training `images`.

        The coordinates of unit-norm embeddings are near zero and of unequal spread, which makes
        the first layer slow to train.
        """
        super().__init__()
        self.mean = nn.Buffer(images.mean(dim=0))
        self.spread = nn.Buffer(images.std(dim=0, correction=0).clamp_min(1e-6))
        self.layers = nn.Sequential(
            nn.Linear(images.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, images: Float[Tensor, "b d"]) -> Float[Tensor, "b c"]:
        """Class logits of unit-norm embeddings."""
        return self.layers((images - self.mean) / self.spread)


def train_black_box(
    train: LabelledImages,
    held_out: LabelledImages,
    settings: BlackBoxSettings,
    device: torch.device | str = "cpu",
) -> tuple[BlackBox, float]:
    """Train on `train`, keep the weights best on `held_out`; of equals the earliest.

    Returns:
        The network on `device`, in evaluation mode, and its held-out accuracy in [0, 1].
    """
    images, labels = train.embeddings.to(device), train.labels.to(device)
    with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU
        torch.manual_seed(settings.seed)
        network = BlackBox(images, settings.hidden, len(train.class_names)).to(device)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=settings.updates)
    batches = Batches(len(labels), settings.batch_size, settings.seed)
    every = max(1, settings.updates // VALIDATIONS)
    best, weights = -1.0, copy.deepcopy(network.state_dict())
    for update in tqdm(range(1, settings.updates + 1), desc="black box", disable=None):
        rows = batches.next().to(device)
        optimizer.zero_grad()
        functional.cross_entropy(network(images[rows]), labels[rows]).backward()
        optimizer.step()
        schedule.step()
        if update % every == 0 or update == settings.updates:
            accuracy = float(correct_predictions(network, held_out).double().mean())
            if accuracy > best:
                best, weights = accuracy, copy.deepcopy(network.state_dict())
    network.load_state_dict(weights)
    return network.eval(), best


@torch.no_grad()
def correct_predictions(network: BlackBox, images: LabelledImages) -> Bool[Tensor, " n"]:
    """(n,) bool on the CPU: whether the most probable class is the label."""
    device = next(network.parameters()).device
    predicted = [
        network(block.to(device)).argmax(dim=1).cpu() for block in images.embeddings.split(4096)
    ]
    return torch.cat(predicted) == images.labels
