"""A trained model with the CLIP it answers through: pictures in, explained predictions out.

import infopursuit
model = infopursuit.load("artifacts/models/menagerie-llm-alternating-0")
explanation = model.explain(["photo.png"])[0]
explanation.predicted_class, [(step.query, step.said) for step in explanation.steps]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from infopursuit.embeddings.clip import Clip, load_clip
from infopursuit.errors import InputError
from infopursuit.presentation.trajectories import Stop, Trajectory, trajectories
from infopursuit.pursuit.model import CLIP_CARD, TrainedModel

BATCH = 64

Picture = str | Path | Image.Image


class ExplainedClassifier:
    """Classifies pictures by asking yes/no questions, and says which.

    Args:
        model: the trained networks and dictionary.
        clip: where the CLIP is: a folder, a card or a table, as in params.yaml.
        device: `auto`, `cpu` or `cuda`.
    """

    def __init__(self, model: TrainedModel, clip: str | Path, device: str = "auto") -> None:
        self.model = model
        self._clip_path, self._device = clip, device

    @property
    def queries(self) -> tuple[str, ...]:
        """The k questions of the dictionary."""
        return self.model.queries

    @property
    def class_names(self) -> tuple[str, ...]:
        """The c classes."""
        return self.model.class_names

    def without(self, *queries: str) -> ExplainedClassifier:
        """The same without some of its questions; for models with `networks: evidence`.

        Raises:
            InputError: as `TrainedModel.without` says.
        """
        return ExplainedClassifier(self.model.without(*queries), self._clip_path, self._device)

    def classify(self, pictures: Sequence[Picture], stop: Stop | None = None) -> list[str]:
        """The class of each picture."""
        return [found.predicted_class for found in self.explain(pictures, stop)]

    def explain(self, pictures: Sequence[Picture], stop: Stop | None = None) -> list[Trajectory]:
        """The questions asked of each picture, the answers, and what was believed after each.

        Args:
            pictures: files or PIL images.
            stop: when to ask no more; None for the default `Stop()`.

        Raises:
            InputError: a file is no readable image, or the CLIP is missing or another one than
                the model was trained with.
        """
        names = [
            str(picture) if isinstance(picture, str | Path) else f"image {row}"
            for row, picture in enumerate(pictures)
        ]
        return self.explain_embeddings(self.embed(pictures), names, stop)

    def explain_embeddings(
        self, embeddings: Float[Tensor, "n d"], names: Sequence[str], stop: Stop | None = None
    ) -> list[Trajectory]:
        """The same for images embedded before, unit norm, in the space of the model's CLIP."""
        stop = stop or Stop()
        budget = min(stop.max_queries, len(self.queries))
        rolled = self.model.roll_out(embeddings, budget)
        return trajectories(rolled, self.queries, self.class_names, names, stop=stop)

    @torch.no_grad()
    def embed(self, pictures: Sequence[Picture]) -> Float[Tensor, "n d"]:
        """Unit-norm embeddings of pictures."""
        rows = [torch.empty(0, self.model.embeddings.shape[1])]
        for start in range(0, len(pictures), BATCH):
            batch = [
                self._clip.preprocess(_opened(picture))
                for picture in pictures[start : start + BATCH]
            ]
            rows.append(torch.from_numpy(self._clip.encode_images(torch.stack(batch))))
        return torch.cat(rows)

    @cached_property
    def _clip(self) -> Clip:
        trained_with = self.model.settings["clip"]
        if not Path(self._clip_path).exists():
            raise InputError(
                f"{self._clip_path}: the CLIP of the model is not there; pass the path of "
                f"{trained_with or 'the CLIP it was trained with'} (clip=..., or --clip)"
            )
        clip = load_clip(self._clip_path, self._device)
        if None not in (clip.name, trained_with) and clip.name != trained_with:
            raise InputError(
                f"{self._clip_path} is {clip.name}; the model was trained with {trained_with}"
            )
        return clip


def load(
    folder: str | Path, clip: str | Path | None = None, device: str = "auto"
) -> ExplainedClassifier:
    """Load a trained model that the stage `train` wrote.

    Args:
        folder: the model's folder.
        clip: where the CLIP is; None for the one the model names.
        device: where the CLIP computes: `auto`, `cpu` or `cuda`.

    Raises:
        InputError: the folder holds no trained model.
    """
    model = TrainedModel.load(folder)
    card = Path(folder) / CLIP_CARD
    trained_with = card if card.is_file() else Path(model.settings["clip_path"])
    return ExplainedClassifier(model, trained_with if clip is None else clip, device)


def _opened(picture: Picture) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture.convert("RGB")
    try:
        with Image.open(picture) as image:
            return image.convert("RGB")
    except FileNotFoundError as error:
        raise InputError(f"{picture}: no such file; expected an image") from error
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise InputError(f"{picture}: not a readable image ({error})") from error
