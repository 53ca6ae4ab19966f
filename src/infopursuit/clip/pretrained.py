"""The models that open_clip knows by name, with weights that it knows by tag.

    load_clip(open_clip_model("ViT-B-32", "openai"))      # the same as load_clip("ViT-B-32:openai")

OpenAI's weights come from OpenAI's address, which has their SHA-256 in it; all others from where
open_clip looks for them, mostly the Hugging Face hub. They are kept in the cache folders that
open_clip shares with other programs (~/.cache/clip, ~/.cache/huggingface). To pin weights of the
hub to a commit, write a YAML file with `hub` and `revision` (`HubWeights` in weights.py).
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infopursuit.clip.weights import ClipFiles, DownloadedWeights, downloaded
from infopursuit.core.errors import InputError
from infopursuit.core.hashing import file_sha256

logger = logging.getLogger(__name__)

DEFAULT_TAG = "openai"
QUICK = "-quickgelu"
# What a tag says of the preprocessing, and what `create_model_and_transforms` calls it.
PREPROCESSING = {
    "mean": "image_mean",
    "std": "image_std",
    "interpolation": "image_interpolation",
    "resize_mode": "image_resize_mode",
}
TOLD = 12


@dataclass(frozen=True)
class PretrainedName:
    """An architecture of open_clip and a tag of its weights, both known to open_clip."""

    architecture: str
    tag: str

    def __str__(self) -> str:
        return f"{self.architecture}:{self.tag}"


def open_clip_model(architecture: str, pretrained: str = DEFAULT_TAG) -> PretrainedName:
    """Name a model for `load_clip`, as open_clip names it; nothing is downloaded yet.

    Args:
        architecture: `ViT-B-32`, `ViT-L-14`, ... (`open_clip.list_pretrained()` lists all).
        pretrained: the tag of its weights: `openai`, `laion2b_s34b_b79k`, ...

    Raises:
        InputError: open_clip knows no such architecture, or has no weights of this tag for it.
    """
    import open_clip

    name = architecture.replace("/", "-")
    known = {model for model, _ in open_clip.list_pretrained()}
    if name not in known:
        raise InputError(
            f"clip: open_clip has no weights for an architecture {architecture!r}; "
            f"{_near(name, sorted(known))}"
        )
    tags = open_clip.list_pretrained_tags_by_model(name)
    tag = pretrained.lower().replace("-", "_")
    if tag not in tags:
        raise InputError(
            f"clip: open_clip has no weights {pretrained!r} for {name}; expected one of "
            f"{', '.join(tags)}"
        )
    return PretrainedName(name, tag)


def pretrained_name(text: str) -> PretrainedName | None:
    """The model that a text ARCHITECTURE or ARCHITECTURE:TAG names; None where it names none.

    Raises:
        InputError: open_clip knows the architecture, but no such weights for it.
    """
    import open_clip

    architecture, _, tag = text.partition(":")
    if architecture.replace("/", "-") not in {model for model, _ in open_clip.list_pretrained()}:
        return None
    return open_clip_model(architecture, tag or DEFAULT_TAG)


def find_pretrained(model: PretrainedName) -> ClipFiles:
    """The files of a named model, downloaded where they are in no cache.

    Raises:
        InputError: the network cannot be reached, or the weights are not those of their address.
    """
    import open_clip

    config = open_clip.get_pretrained_cfg(model.architecture, model.tag)
    architecture = model.architecture
    if config.get("quick_gelu") and not architecture.endswith(QUICK):
        # These weights were trained with another activation than the plain architecture has.
        built = open_clip.get_model_config(architecture) or {}
        architecture += "" if built.get("quick_gelu") else QUICK
    digest = _openai_sha256(config)
    if digest is not None:
        weights = DownloadedWeights(architecture=architecture, url=config["url"], sha256=digest)
        file = downloaded(str(model), weights)
    else:
        file = _fetched(model, config)
        digest = file_sha256(file)
    return ClipFiles(
        where=str(model),
        model=architecture,
        weights=file,
        sha256=digest,
        name=f"open_clip:{architecture}:{digest[:12]}",
        preprocessing={
            option: config[key] for key, option in PREPROCESSING.items() if key in config
        },
    )


def openai_archives() -> set[str]:
    """The SHA-256 of the files that OpenAI published, which are TorchScript archives."""
    import open_clip

    configs = (open_clip.get_pretrained_cfg(*each) for each in open_clip.list_pretrained())
    return {digest for config in configs if (digest := _openai_sha256(config)) is not None}


def _openai_sha256(config: dict[str, Any]) -> str | None:
    """It is part of their addresses."""
    pinned = re.search(r"openaipublic.*/([0-9a-f]{64})/[^/]+$", config.get("url", ""))
    return pinned and pinned.group(1)


def _fetched(model: PretrainedName, config: dict[str, Any]) -> Path:
    from open_clip.pretrained import download_pretrained

    try:
        file = Path(download_pretrained(config))
    except Exception as error:  # the hub's client raises errors of several libraries
        told = " ".join(str(error).split())[:300].rstrip(".")
        place = config.get("hf_hub") or config.get("url")
        raise InputError(
            f"clip: cannot fetch the weights of {model} from {place} ({told}); connect to the "
            "network, or give a local folder"
        ) from error
    commit = re.search(r"/snapshots/([0-9a-f]{40})/", file.as_posix())
    if commit:
        logger.info("%s: the weights of commit %s of %s", model, commit[1], config["hf_hub"])
    return file


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=TOLD, cutoff=0.6)
    if near:
        return f"did you mean {', '.join(near)}?"
    return "expected one that open_clip.list_pretrained() lists"
