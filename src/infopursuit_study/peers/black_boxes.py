"""Classifiers of the embeddings themselves, which say nothing of texts: a probe and a network.

They are what explained classifiers give up. `LinearProbe` and `MLP` are fitted on images with
held-out ones to choose by, as the stage `baselines` does; `EmbeddingProbe` and `EmbeddingMLP` are
peers: all of a score is offset, and no text is used.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn import functional
from tqdm import tqdm

from infopursuit.core.tables import EMBEDDED_CLASSES, embedding_matrix, read_table
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.pipeline.benchmark_settings import MLPSettings
from infopursuit.pursuit.vip.batches import Batches
from infopursuit_study.peers.heads import fit_logistic
from infopursuit_study.peers.peer import Contributions, Peer, Validation

# Inverse strengths of the penalty. Coordinates of unit vectors are small, so weights are large.
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
ITERATIONS = 2000
WEIGHTS = ("coef_", "intercept_")
# How often the held-out accuracy is measured in the course of training the network.
VALIDATIONS = 30
# Images classified at once.
BLOCK = 4096
# Multiplications of a product of matrices that is not worth dividing among threads.
SMALL = 50_000_000


class LinearProbe:
    """A logistic regression on the embeddings (Radford et al., ICML 2021).

    Attributes:
        strength_: the one that was chosen.
        held_out_accuracy_: the accuracy it was chosen by, in [0, 1].
    """

    def __init__(self, strengths: Sequence[float] = STRENGTHS) -> None:
        self.strengths = tuple(strengths)

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> LinearProbe:
        """Fit on `train` with each penalty, choose by `held_out`, fit on both.

        Each fit starts from the weights of the one before, with a stronger penalty, and needs
        fewer steps than from zero. L-BFGS is the solver at every size: Newton's method
        (`newton-cholesky`) is at best as fast, and far slower for many columns or classes.
        """
        images, labels = train.embeddings.numpy(), train.labels.numpy()
        X, y = held_out.embeddings.numpy(), held_out.labels.numpy()
        model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        self.held_out_accuracy_, best = -1.0, {}
        with threads_for(images.size * len(train.class_names)):
            for strength in sorted(self.strengths):
                fit_logistic(model.set_params(C=strength), images, labels)
                accuracy = float(np.equal(model.predict(X), y).mean())
                if accuracy > self.held_out_accuracy_:
                    self.strength_, self.held_out_accuracy_ = strength, accuracy
                    best = {name: getattr(model, name).copy() for name in WEIGHTS}
            vars(model).update(best)
            model.set_params(C=self.strength_)
            fit_logistic(model, np.concatenate([images, X]), np.concatenate([labels, y]))
        self.model_ = model
        return self

    def predict_proba(self, embeddings: Float[Tensor, "n d"]) -> Float[np.ndarray, "n c"]:
        """Return probabilities of the classes in training, in the order of their labels."""
        return np.asarray(self.model_.predict_proba(embeddings.numpy()))

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """Return the most probable label of each image."""
        return np.asarray(self.model_.predict(embeddings.numpy()))


class MLP:
    """Standardise, Linear d -> hidden, ReLU, Linear hidden -> c.

    Attributes:
        network_: the trained network, in evaluation mode.
        held_out_accuracy_: the accuracy that its weights were chosen by, in [0, 1].
    """

    def __init__(self, settings: MLPSettings, device: torch.device | str = "cpu") -> None:
        self.settings, self.device = settings, device

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> MLP:
        """Train on `train`; keep the weights best on `held_out`, of equal ones the earliest."""
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
        """Return probabilities of the classes, float32."""
        return self._logits(embeddings).softmax(dim=1).numpy()

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """Return the most probable label of each image."""
        return self._logits(embeddings).argmax(dim=1).numpy()

    @torch.no_grad()
    def _logits(self, embeddings: Tensor) -> Tensor:
        blocks = embeddings.split(BLOCK)
        return torch.cat([self.network_(block.to(self.device)).cpu() for block in blocks])


class _Network(nn.Module):
    def __init__(self, images: Float[Tensor, "n d"], hidden: int, classes: int) -> None:
        """Take mean and spread of each coordinate from the training images.

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
        """Return class logits of unit-norm embeddings."""
        return self.layers((images - self.mean) / self.spread)


class BlackBox(Peer):
    """A peer without texts: all of a score is offset."""

    def _explain(self, X: Tensor) -> Contributions:
        scores = self._scores(X).double().numpy()
        n = len(X)
        nothing, none = np.zeros((*scores.shape, 0)), np.zeros((n, 0), dtype=bool)
        return Contributions(self.classes_, (), nothing, scores, none, none)


@dataclass(eq=False, repr=False)
class EmbeddingProbe(BlackBox):
    """A logistic regression on the embeddings, with scikit-learn's C = `strength`."""

    strength: float = 100.0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        model = LogisticRegression(C=self.strength, max_iter=ITERATIONS)
        self.model_ = fit_logistic(model, X.numpy(), labels.numpy())

    def _scores(self, X: Tensor) -> Tensor:
        return torch.from_numpy(np.log(self.model_.predict_proba(X.numpy()) + 1e-30))


@dataclass(eq=False, repr=False)
class EmbeddingMLP(BlackBox):
    """A two-layer network on the embeddings; its weights are those best on held-out images."""

    hidden: int = 512
    updates: int = 800
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    validation_fraction: float = 0.1
    random_state: int = 0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        names = tuple(str(label) for label in self.classes_)
        images = LabelledImages(tuple(map(str, range(len(X)))), labels, X, names)
        train, held_out = hold_out(images, self.validation_fraction, self.random_state)
        settings = MLPSettings(
            hidden=self.hidden,
            updates=self.updates,
            batch_size=256,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            seed=self.random_state,
        )
        self.model_ = MLP(settings).fit(train, held_out)

    def _scores(self, X: Tensor) -> Tensor:
        return torch.from_numpy(np.log(self.model_.predict_proba(X).astype(np.float64) + 1e-30))


@contextmanager
def threads_for(multiplications: int) -> Iterator[None]:
    """Use one thread if a step needs few multiplications, all threads if it needs many.

    Small products gain nothing from a second thread, and wait for it if the machine is busy.
    """
    if multiplications > SMALL:
        yield
        return
    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def load_class_embeddings(path: str | Path) -> Float[Tensor, "c d"] | None:
    """Read the unit-norm text embeddings of the class names, row i that of label i.

    CLIP's zero-shot classifier predicts the class whose row is nearest to an image. None if the
    file has no rows, since there was no text tower to embed them.
    """
    table = read_table(path, EMBEDDED_CLASSES)
    if not table.num_rows:
        return None
    matrix = torch.from_numpy(embedding_matrix(table, path).astype(np.float32))
    order = torch.from_numpy(table.column("label").to_numpy().copy()).argsort()
    return functional.normalize(matrix[order], dim=1)
