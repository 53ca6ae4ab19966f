"""Where the files of a CLIP are: a folder in open_clip's layout, or what a card pins.

Whatever the source, the outcome is the same: an architecture with its configuration, and one file
of weights whose SHA-256 names the embedding space.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infopursuit.embeddings.cards import Card, ClipWeightsCard, HubClipCard, read_card
from infopursuit.errors import InputError

logger = logging.getLogger(__name__)

CONFIG = "open_clip_config.json"
WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
TOKENIZERS = ["tokenizer*", "special_tokens_map.json", "vocab*", "merges.txt"]
CONNECT_SECONDS = 30


@dataclass(frozen=True)
class ClipFiles:
    """The files of one CLIP.

    Attributes:
        where: the path the user gave, for messages.
        model: the model as open_clip names it, `local-dir:FOLDER` or an architecture.
        weights: the file of weights.
        name: a name of the embedding space, equal for equal architecture and weights.
    """

    where: str
    model: str
    weights: Path
    name: str


def find_clip_files(path: str | Path) -> ClipFiles:
    """The files of the CLIP at `path`, downloaded and verified where a card asks for it.

    Raises:
        InputError: the folder or card is not what it should be, the network cannot be reached, or
            downloaded weights have another SHA-256.
    """
    path = Path(path)
    if path.is_dir():
        return _in_folder(path, path)
    if path.suffix not in (".yaml", ".yml"):
        found = "a file" if path.exists() else "nothing"
        raise InputError(
            f"{path}: expected a folder with {CONFIG}, a card (.yaml) or a table of texts "
            f"(.parquet), found {found}"
        )
    kinds: dict[str, type[Card]] = {"hub": HubClipCard, "architecture": ClipWeightsCard}
    card = read_card(path, kinds)
    if isinstance(card, HubClipCard):
        return _in_folder(path, _hub_folder(path, card), card.weights)
    assert isinstance(card, ClipWeightsCard)
    weights = _downloaded(path, card)
    return ClipFiles(
        where=str(path),
        model=card.architecture,
        weights=weights,
        name=f"open_clip:{card.architecture}:{card.sha256[:12]}",
    )


def _in_folder(where: Path, folder: Path, weights: str | None = None) -> ClipFiles:
    config = _model_config(where, folder / CONFIG)
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
    config_hash = hashlib.sha256(canonical.encode()).hexdigest()[:12]
    file = folder / weights if weights else _only_weights(where, folder)
    return ClipFiles(
        where=str(where),
        model=f"local-dir:{folder}",
        weights=file,
        name=f"open_clip:{config_hash}:{sha256_of(file)[:12]}",
    )


def _model_config(where: Path, file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        model = config["model_cfg"]
        if not isinstance(model["embed_dim"], int):
            raise TypeError("embed_dim is no integer")
    except FileNotFoundError as error:
        raise InputError(f"{where}: no {CONFIG}; expected a CLIP that open_clip saved") from error
    except KeyError as error:
        raise InputError(f"{file}: no key {error}; expected model_cfg with embed_dim") from error
    except (ValueError, TypeError, OSError) as error:
        raise InputError(f"{file}: not a configuration of open_clip ({error})") from error
    return model


def _only_weights(where: Path, folder: Path) -> Path:
    """The weights of a folder: one file, or of several formats the safe one."""
    found = sorted(file for pattern in WEIGHTS for file in folder.glob(pattern))
    safe = [file for file in found if file.suffix == ".safetensors"]
    if len(found) == 1 or len(safe) == 1:
        return (safe or found)[0]
    names = ", ".join(file.name for file in found) or "none"
    raise InputError(f"{where}: expected one file of weights (.safetensors), found {names}")


def _hub_folder(path: Path, card: HubClipCard) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        # The one small file first: without a network it fails at once, a snapshot tries for long.
        hf_hub_download(card.hub, CONFIG, revision=card.revision)
        folder = snapshot_download(
            card.hub,
            revision=card.revision,
            allow_patterns=[CONFIG, card.weights, *TOKENIZERS],
        )
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{path}: cannot fetch {card.hub} at {card.revision} from the Hugging Face hub "
            f"({_first_line(error)}); connect to the network, or give `clip` a local folder"
        ) from error
    if not (Path(folder) / card.weights).is_file():
        raise InputError(f"{path}: {card.hub} has no file {card.weights!r} at {card.revision}")
    return Path(folder)


def _downloaded(path: Path, card: ClipWeightsCard) -> Path:
    """Weights in the cache folder that OpenAI's and open_clip's loaders share."""
    target = Path.home() / ".cache" / "clip" / card.url.rsplit("/", 1)[-1]
    if target.is_file():
        found = sha256_of(target)
        if found != card.sha256:
            raise InputError(
                f"{target}: its SHA-256 is {found}; expected {card.sha256} ({path}); "
                "remove the file to download it again"
            )
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: another process of this machine may be fetching the same weights.
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    logger.info("%s: downloading %s", path, card.url)
    try:
        with (
            urllib.request.urlopen(card.url, timeout=CONNECT_SECONDS) as source,
            partial.open("wb") as file,
        ):
            shutil.copyfileobj(source, file, length=1 << 20)
    except (OSError, ValueError) as error:
        partial.unlink(missing_ok=True)
        raise InputError(
            f"{path}: cannot download {card.url} ({_first_line(error)}); connect to the network, "
            f"or place the file at {target}"
        ) from error
    found = sha256_of(partial)
    if found != card.sha256:
        partial.unlink()
        raise InputError(f"{path}: {card.url} has the SHA-256 {found}; expected {card.sha256}")
    partial.replace(target)
    return target


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
