"""Models that were saved, as estimators of scikit-learn: from a folder, or the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from infopursuit.core.defaults import own_defaults
from infopursuit.estimators.base import PursuitClassifier, load_fitted
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.variational import VariationalInformationPursuit

ESTIMATORS = {
    each.__name__: each for each in (InformationPursuitClassifier, VariationalInformationPursuit)
}


@own_defaults
def load(
    folder_or_repository: str | Path, clip: str | Path | None = None, device: str = "auto"
) -> PursuitClassifier:
    """Load a model that `save` or `to_hub` wrote.

    Args:
        folder_or_repository: the model's folder, or `user/name` on the Hugging Face hub.
        clip: where its CLIP is, if it has moved since: a folder, a YAML file that pins weights,
            or a name of open_clip's such as `ViT-B-32:openai`.
        device: where the model and its CLIP compute: `auto`, `cpu` or `cuda`.

    Raises:
        InputError: there is no such model, it is malformed, or the hub cannot be reached.
    """
    return load_fitted(folder_or_repository, clip, device, ESTIMATORS)
