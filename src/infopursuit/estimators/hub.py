"""Models on the Hugging Face hub: the folder that `save` writes, with a model card.

model.to_hub("user/name", private=True)
infopursuit.load("user/name")
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from huggingface_hub import ModelHubMixin, snapshot_download
from huggingface_hub.repocard import ModelCard

from infopursuit.core.errors import InputError
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.model_card import model_card
from infopursuit.estimators.saved import CLIP, DESCRIPTION, WEIGHTS, load, save

FILES = (DESCRIPTION, WEIGHTS, CLIP)


class HubModel(ModelHubMixin):
    """A fitted classifier as the hub's client wants it.

    An adapter, as the mixin looks into constructors, and scikit-learn's must stay what they are.

    Args:
        model: the classifier.
    """

    def __init__(self, model: Any) -> None:
        self.model: PursuitClassifier = model
        self.repository: str | None = None

    def _save_pretrained(self, save_directory: Path) -> None:
        model = copy.copy(self.model)
        source = model.clip_source_
        if source is not None and Path(source).is_absolute() and Path(source).suffix != ".yaml":
            model.clip_source_ = None  # a path of this machine says nothing elsewhere
        save(model, save_directory)

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        **_: Any,
    ) -> HubModel:
        folder = snapshot_download(
            model_id,
            revision=revision,
            cache_dir=cache_dir,
            force_download=force_download,
            local_files_only=local_files_only,
            token=token,
            allow_patterns=list(FILES),
        )
        return cls(load(folder))

    def generate_model_card(self, *_: Any, **__: Any) -> ModelCard:
        """What the model asks, how good it is, what it came from, how to load it."""
        return ModelCard(model_card(self.model, self.repository))


def push(model: PursuitClassifier, repository: str, **options: Any) -> str:
    """Upload a fitted model with its card; gives the address of the commit.

    Args:
        model: fitted.
        repository: `user/name`; it is made where there is none.
        options: of `huggingface_hub.ModelHubMixin.push_to_hub`, such as `private=True`.

    Raises:
        InputError: the hub cannot be reached or refuses it.
    """
    adapter = HubModel(model)
    adapter.repository = repository
    try:
        return str(adapter.push_to_hub(repository, **options))
    except InputError:
        raise
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{repository}: the Hugging Face hub did not take the model ({_told(error)}); "
            "expected a network, and a token that may write there (hf auth login)"
        ) from error


def fetched(repository: str) -> Path:
    """The folder of a model of the hub, downloaded where it is in no cache.

    Raises:
        InputError: there is none, or the hub cannot be reached.
    """
    try:
        return Path(snapshot_download(repository, allow_patterns=list(FILES)))
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{repository}: no such folder here, and no such model on the Hugging Face hub that "
            f"can be fetched ({_told(error)})"
        ) from error


def _told(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".:")[:300]
