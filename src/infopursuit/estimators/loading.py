"""Models that were saved: from a folder, or from the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path

from infopursuit.clip.towers import choose_device
from infopursuit.core.errors import InputError
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.pictures import clip_source
from infopursuit.estimators.saved import DESCRIPTION
from infopursuit.estimators.saved import load as load_folder

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def load(
    folder_or_repository: str | Path, clip: str | Path | None = None, device: str = "auto"
) -> PursuitClassifier:
    """Load a model that `save` or `to_hub` wrote.

    Args:
        folder_or_repository: the model's folder, or `user/name` on the Hugging Face hub.
        clip: where its CLIP is, where it has moved since: a folder, a YAML file that pins weights,
            or a name of open_clip's such as `ViT-B-32:openai`.
        device: where the model and its CLIP compute: `auto`, `cpu` or `cuda`.

    Raises:
        InputError: there is no such model, it is malformed, or the hub cannot be reached.
    """
    folder = Path(folder_or_repository)
    name = str(folder_or_repository)
    if folder.exists() or not REPOSITORY.fullmatch(name):
        if not folder.exists():
            raise InputError(
                f"{folder}: no such folder; expected one with {DESCRIPTION}, or user/name on the "
                "Hugging Face hub"
            )
    else:
        from infopursuit.estimators.hub import fetched

        folder = fetched(name)
    model = load_folder(folder, choose_device(device))
    model.clip_device_ = device
    if clip is not None:
        model.clip_source_ = clip_source(clip)
    return model
