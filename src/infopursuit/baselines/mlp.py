"""A two-layer network on the embeddings: what a classifier reaches that explains nothing."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from infopursuit.baselines.baseline import threads_for
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.vip.batches import Batches

# How often the held-out accuracy is looked at in the course of training.
VALIDATIONS = 30
# Images classified at once.
BLOCK = 4096


@dataclass(frozen=True)
class MLPSettings:
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


class MLP:
    """Standardise, Linear d -> hidden, ReLU, Linear hidden -> c.

    Args:
        settings: of the training.
        device: where to compute.

    Attributes:
        network_: the trained network, in evaluation mode.
        held_out_accuracy_: the accuracy that its weights were chosen by, in [0, 1].
    """

    def __init__(self, settings: MLPSettings, device: torch.device | str = "cpu") -> None:
        self.settings, self.device = settings, device

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> MLP:
        """Train on `train`; keep the weights best on `held_out`, of equals the earliest."""
        settings, device = self.settings, self.device
        images, labels = train.embeddings.to(device), train.labels.to(device)
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU
            torch.manual_seed(settings.seed)
            self.network_ = _Network(images, settings.hidden, len(train.class_names)).to(device)
        optimizer = torch.optim.AdamW(
            self.network_.parameters(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=settings.updates)
        batches = Batches(len(labels), settings.batch_size, settings.seed)
        every = max(1, settings.updates // VALIDATIONS)
        self.held_out_accuracy_ = -1.0
        weights = copy.deepcopy(self.network_.state_dict())
        with threads_for(settings.batch_size * images.shape[1] * settings.hidden):
            for update in tqdm(range(1, settings.updates + 1), desc="MLP", disable=None):
                rows = batches.next().to(device)
                optimizer.zero_grad()
                functional.cross_entropy(self.network_(images[rows]), labels[rows]).backward()
                optimizer.step()
                schedule.step()
                if update % every == 0 or update == settings.updates:
                    hits = np.equal(self.predict(held_out.embeddings), held_out.labels.numpy())
                    accuracy = float(hits.mean())
                    if accuracy > self.held_out_accuracy_:
                        self.held_out_accuracy_ = accuracy
                        weights = copy.deepcopy(self.network_.state_dict())
        self.network_.load_state_dict(weights)
        self.network_.eval()
        return self

    def predict_proba(self, embeddings: Float[Tensor, "n d"]) -> Float[np.ndarray, "n c"]:
        """Probabilities of the classes, float32."""
        return self._logits(embeddings).softmax(dim=1).numpy()

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """The most probable label of each image."""
        return self._logits(embeddings).argmax(dim=1).numpy()

    @torch.no_grad()
    def _logits(self, embeddings: Tensor) -> Tensor:
        blocks = embeddings.split(BLOCK)
        return torch.cat([self.network_(block.to(self.device)).cpu() for block in blocks])


class _Network(nn.Module):
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
