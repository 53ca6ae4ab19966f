"""Where the weights of a CLIP are: a folder in open_clip's layout, or a YAML file that pins them.

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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from infopursuit.core.errors import InputError
from infopursuit.core.hashing import file_sha256
from infopursuit.core.settings import Section, read_one_of
from infopursuit.core.text_files import read_json

logger = logging.getLogger(__name__)

CONFIG = "open_clip_config.json"
WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
TOKENIZERS = ["tokenizer*", "special_tokens_map.json", "vocab*", "merges.txt"]
CONNECT_SECONDS = 30
# The name of a file in no other folder.
FILE = r"[\w-][\w.-]*"
# What a configuration may set of a tokenizer. Others name files to read, or let a model bring code.
TOKENIZER_OPTIONS = {"additional_special_tokens", "clean", "language", "strip_sep_token"}
# Numbers of an embedding; those of the largest CLIP there is are 1280.
WIDEST = 2**16


class HubWeights(Section):
    """A CLIP on the Hugging Face hub, in open_clip's layout, at an exact commit."""

    hub: str
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    # A file of the repository: no path that leads out of it.
    weights: Annotated[str, Field(pattern=rf"^{FILE}(/{FILE})*$")] = "open_clip_model.safetensors"


class DownloadedWeights(Section):
    """Weights at an address, with their SHA-256, for an architecture that open_clip knows."""

    architecture: str
    url: Annotated[str, Field(pattern=rf"^https?://[^/]+/([^?#]*/)?{FILE}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


KINDS: dict[str, type[Section]] = {"hub": HubWeights, "architecture": DownloadedWeights}


@dataclass(frozen=True)
class ClipFiles:
    """The files of one CLIP.

    Attributes:
        where: the path the user gave, for messages.
        model: the model as open_clip names it, `local-dir:FOLDER` or an architecture.
        weights: the file of weights.
        sha256: of the file of weights.
        name: a name of the embedding space, equal for equal architecture and weights.
        preprocessing: options of the images' preprocessing that `model` does not say itself.
    """

    where: str
    model: str
    weights: Path
    sha256: str
    name: str
    preprocessing: Mapping[str, Any] = field(default_factory=dict)


def find_clip_files(path: str | Path) -> ClipFiles:
    """The files of the CLIP at `path`, downloaded and verified where a file pins it.

    Raises:
        InputError: the folder or file is not what it should be, the network cannot be reached, or
            downloaded weights have another SHA-256.
    """
    path = Path(path)
    if path.is_dir():
        return _in_folder(path, path)
    if path.suffix not in (".yaml", ".yml"):
        found = "a file" if path.exists() else "nothing"
        raise InputError(
            f"{path}: expected a folder with {CONFIG}, a file that pins weights (.yaml), a table "
            "of texts (.parquet) or a name that open_clip knows (ViT-B-32:openai), found "
            f"{found}"
        )
    pinned = read_pinned_weights(path)
    if isinstance(pinned, HubWeights):
        return _in_folder(path, _hub_folder(path, pinned), pinned.weights)
    assert isinstance(pinned, DownloadedWeights)
    return ClipFiles(
        where=str(path),
        model=pinned.architecture,
        weights=downloaded(str(path), pinned),
        sha256=pinned.sha256,
        name=f"open_clip:{pinned.architecture}:{pinned.sha256[:12]}",
    )


def read_pinned_weights(path: Path) -> Section:
    """What a YAML file says of the weights of a CLIP; nothing is downloaded.

    Raises:
        InputError: the file is missing or has a mistake.
    """
    return read_one_of(path, KINDS, "the pinned weights of a CLIP")


def _in_folder(where: Path, folder: Path, weights: str | None = None) -> ClipFiles:
    config = _model_config(where, folder / CONFIG)
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
    config_hash = hashlib.sha256(canonical.encode()).hexdigest()[:12]
    file = folder / weights if weights else _only_weights(where, folder)
    digest = file_sha256(file)
    return ClipFiles(
        where=str(where),
        model=f"local-dir:{folder}",
        weights=file,
        sha256=digest,
        name=f"open_clip:{config_hash}:{digest[:12]}",
    )


def _model_config(where: Path, file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise InputError(f"{where}: no {CONFIG}; expected a CLIP that open_clip saved")
    config = read_json(file, "expected a configuration of open_clip")
    try:
        model = config["model_cfg"]
        width = model["embed_dim"]
        options = set(model["text_cfg"].get("tokenizer_kwargs") or {}) - TOKENIZER_OPTIONS
    except KeyError as error:
        raise InputError(f"{file}: no key {error}; expected model_cfg with embed_dim") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file}: not a configuration of open_clip ({error})") from error
    if options:
        raise InputError(
            f"{file}: tokenizer_kwargs sets {', '.join(sorted(options))}; expected none but "
            f"{', '.join(sorted(TOKENIZER_OPTIONS))}"
        )
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= WIDEST:
        raise InputError(f"{file}: embed_dim is {width!r}; expected 1 to {WIDEST}")
    return model


def _only_weights(where: Path, folder: Path) -> Path:
    """The weights of a folder: one file, or of several formats the safe one."""
    found = sorted(file for pattern in WEIGHTS for file in folder.glob(pattern))
    safe = [file for file in found if file.suffix == ".safetensors"]
    if len(found) == 1 or len(safe) == 1:
        return (safe or found)[0]
    names = ", ".join(file.name for file in found) or "none"
    raise InputError(f"{where}: expected one file of weights (.safetensors), found {names}")


def _hub_folder(path: Path, pinned: HubWeights) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        # The one small file first: without a network it fails at once, a snapshot tries for long.
        hf_hub_download(pinned.hub, CONFIG, revision=pinned.revision)
        folder = snapshot_download(
            pinned.hub,
            revision=pinned.revision,
            allow_patterns=[CONFIG, pinned.weights, *TOKENIZERS],
        )
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{path}: cannot fetch {pinned.hub} at {pinned.revision} from the Hugging Face hub "
            f"({_first_line(error)}); connect to the network, or give a local folder"
        ) from error
    if not (Path(folder) / pinned.weights).is_file():
        raise InputError(
            f"{path}: {pinned.hub} has no file {pinned.weights!r} at {pinned.revision}"
        )
    return Path(folder)


def downloaded(where: str, pinned: DownloadedWeights) -> Path:
    """Weights in the cache folder that OpenAI's and open_clip's loaders share, fetched if need be.

    Raises:
        InputError: the network cannot be reached, or the file has another SHA-256.
    """
    target = Path.home() / ".cache" / "clip" / pinned.url.rsplit("/", 1)[-1]
    if target.is_file():
        found = file_sha256(target)
        if found != pinned.sha256:
            raise InputError(
                f"{target}: its SHA-256 is {found}; expected {pinned.sha256} ({where}); "
                "remove the file to download it again"
            )
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: another process of this machine may be fetching the same weights.
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    logger.info("%s: downloading %s", where, pinned.url)
    try:
        with (
            urllib.request.urlopen(pinned.url, timeout=CONNECT_SECONDS) as source,
            partial.open("wb") as file,
        ):
            shutil.copyfileobj(source, file, length=1 << 20)
    except (OSError, ValueError) as error:
        partial.unlink(missing_ok=True)
        raise InputError(
            f"{where}: cannot download {pinned.url} ({_first_line(error)}); connect to the "
            f"network, or place the file at {target}"
        ) from error
    found = file_sha256(partial)
    if found != pinned.sha256:
        partial.unlink()
        raise InputError(f"{where}: {pinned.url} has the SHA-256 {found}; expected {pinned.sha256}")
    partial.replace(target)
    return target


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
