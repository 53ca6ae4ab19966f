"""Find the weights of a CLIP: a folder in open_clip's layout, a YAML file that pins them, a name.

    find_clip_files("stages/menagerie/clip")
    find_clip_files("params/clip/ViT-L-14-openai.yaml")
    find_clip_files(open_clip_model("ViT-B-32", "laion2b_s34b_b79k"))
    find_clip_files("hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K")

All lead to an architecture and one file of weights, whose SHA-256 names the embedding space. What
is not here comes from the Hugging Face hub, by its client. To pin weights to a commit, write
`hf-hub:OWNER/NAME@COMMIT`, or a YAML file with `hub` and `revision` (`HubWeights`).
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
from pydantic import Field

from infopursuit.core.errors import InputError, hub_reason
from infopursuit.core.files import file_sha256, packaged_toml, read_json
from infopursuit.core.settings import Positive, Section, read_settings

logger = logging.getLogger(__name__)

# What is known of weights beforehand.
_KNOWN = packaged_toml("infopursuit.clip", "weights.toml")
TOKENIZERS, PREPROCESSING, LICENCES, OPENAI = (
    _KNOWN[key] for key in ("tokenizers", "preprocessing", "licences", "openai")
)
CONFIG, SAFE = "open_clip_config.json", "open_clip_model.safetensors"
# The files of weights that open_clip writes into a repository, the safe one first.
OF_OPEN_CLIP = (SAFE, "open_clip_pytorch_model.bin")
WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")
# A repository of the hub by its name: hf-hub:OWNER/NAME, and @COMMIT.
ON_HUB = "hf-hub:"
# The name of a file, without a folder.
FILE = r"[\w-][\w.-]*"
# What a configuration may set for a tokenizer. Other options name files to read, or load code.
TOKENIZER_OPTIONS = {"additional_special_tokens", "clean", "language", "strip_sep_token"}
# The largest numbers of a configuration; of others LARGEST. The largest CLIP has an embedding of
# 1280 numbers and 48 layers of width 1664.
SIZES = {"layers": 256, "image_size": 4096, "vocab_size": 2**21, "context_length": 2**13}
LARGEST = 2**16
# Bytes of weights that are taken without a look at how many a file holds.
SMALL = 2**24
# Names never end like this, so these paths need no import of open_clip.
ENDINGS = (".yaml", ".yml", ".parquet")
DEFAULT_TAG = "openai"
EXPECTED = (
    f"a folder with {CONFIG}, a file that pins weights (.yaml), a table of texts (.parquet), "
    f"{ON_HUB}OWNER/NAME, or a name that open_clip knows (ViT-B-32:openai)"
)
QUICK = "-quickgelu"


class EmbeddingsSettings(Section):
    """The files that embeddings of texts and images are written to."""

    shard_rows: Positive | None


class HubWeights(Section):
    """A CLIP on the Hugging Face hub, in open_clip's layout, at an exact commit."""

    hub: str
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    # A file of the repository, not a path that leads out of it.
    weights: Annotated[str, Field(pattern=rf"^{FILE}(/{FILE})*$")] = SAFE


@dataclass(frozen=True)
class ClipFiles:
    """The files of one CLIP."""

    where: str  # the path or name that the user gave, for messages
    model: str  # as open_clip names it: `local-dir:FOLDER` or an architecture
    weights: Path
    name: str  # of the embedding space, equal for equal architecture and weights
    # Options of the images' preprocessing that `model` does not say itself.
    preprocessing: Mapping[str, Any] = field(default_factory=dict)


def find_clip_files(path: str | Path) -> ClipFiles:
    """Return the files of a CLIP, downloaded and verified if need be, or raise an InputError."""
    source, where, path = clip_source(path), str(path), Path(path)
    if source.startswith(ON_HUB):
        repository, _, commit = source.removeprefix(ON_HUB).partition("@")
        return _hub_files(where, repository, commit, OF_OPEN_CLIP)
    if not Path(source).is_absolute():
        return _named_files(source, f"clip: {source}")
    if path.is_dir():
        return _folder_files(where, path)
    if path.suffix not in ENDINGS[:2]:
        raise InputError(f"{path}: found a file; expected {EXPECTED}")
    pinned = read_settings(path, HubWeights)
    return _hub_files(where, pinned.hub, pinned.revision, [pinned.weights])


def open_clip_model(architecture: str, pretrained: str = DEFAULT_TAG) -> str:
    """Name a model for `load_clip`, as open_clip names it; nothing is downloaded yet.

    Args:
        architecture: `ViT-B-32`, `ViT-L-14`, ... (`open_clip.list_pretrained()` lists all).
        pretrained: the tag of its weights: `openai`, `laion2b_s34b_b79k`, ...

    Raises:
        InputError: open_clip knows no such architecture, or has no weights of this tag for it.
    """
    name = architecture.replace("/", "-")
    known = _known_tags()
    if name not in known:
        near = ", ".join(difflib.get_close_matches(name, sorted(known), n=12, cutoff=0.6))
        raise InputError(
            f"{architecture}: nothing is there, and open_clip has no weights for such an "
            + (
                f"architecture; did you mean {near}?"
                if near
                else f"architecture; expected {EXPECTED}"
            )
        )
    tag = pretrained.lower().replace("-", "_")
    if tag not in known[name]:
        raise InputError(
            f"clip: open_clip has no weights {pretrained!r} for {name}; expected one of "
            f"{', '.join(known[name])}"
        )
    return f"{name}:{tag}"


def clip_source(clip: str | Path, pretrained: str = DEFAULT_TAG) -> str:
    """Return a CLIP as `load_clip` takes it in any folder, for good.

    An absolute path, ARCHITECTURE:TAG, or hf-hub:OWNER/NAME@COMMIT; the commit that is not given is
    that of `main` today. An architecture with weights of one tag needs no tag.
    """
    if str(clip).startswith(ON_HUB):
        name, commit = _on_hub(str(clip))
        return f"{ON_HUB}{name}@{commit or _main_commit(name)}"
    if page := re.fullmatch(rf"https?://[^/]+/({FILE}/{FILE})/?", str(clip)):
        raise InputError(f"{clip}: a page; expected its weights, {ON_HUB}{page[1]}")
    if Path(clip).exists() or Path(clip).suffix in ENDINGS:
        return str(Path(clip).resolve())
    name, _, tag = str(clip).partition(":")
    tags = _known_tags().get(name.replace("/", "-"), [])
    if not tag and pretrained == DEFAULT_TAG and len(tags) == 1:
        tag = tags[0]
    return open_clip_model(name, tag or pretrained)


def licence(source: str | None) -> str | None:
    """Return the licence of the weights that a source (`clip_source`) names, None if not known."""
    if source is None:
        return None
    if Path(source).suffix in (".yaml", ".yml"):
        named = read_settings(source, HubWeights).hub
    else:
        named = _on_hub(source)[0] if source.startswith(ON_HUB) else source.partition(":")[2]
    if named.endswith(f".{DEFAULT_TAG}"):  # a copy of OpenAI's
        named = DEFAULT_TAG
    known = [start for start in LICENCES if named.startswith(start)]
    return LICENCES[max(known, key=len)] if known else None


def _on_hub(source: str) -> tuple[str, str | None]:
    match = re.fullmatch(rf"{ON_HUB}({FILE}/{FILE})(?:@([0-9a-f]{{40}}))?", source)
    if match is None:
        raise InputError(
            f"{source}: expected {ON_HUB}OWNER/NAME, and @ with all 40 digits of a commit"
        )
    return match[1], match[2]


def _main_commit(repository: str) -> str:
    """Return the commit that `main` of a repository is; without a network, the one in the cache."""
    commit = _hub_file(f"{ON_HUB}{repository}", repository, [CONFIG]).parent.name
    logger.info("%s%s: its main is the commit %s", ON_HUB, repository, commit)
    return commit


def _known_tags() -> dict[str, list[str]]:
    import open_clip

    known: dict[str, list[str]] = {}
    for name, tag in open_clip.list_pretrained():
        known.setdefault(name, []).append(tag)
    return known


def _named_files(name: str, where: str) -> ClipFiles:
    """Return the files of ARCHITECTURE:TAG, at the commit that is pinned here or that `main` is."""
    import open_clip

    architecture, _, tag = name.partition(":")
    config = open_clip.get_pretrained_cfg(architecture, tag)
    built = open_clip.get_model_config(architecture) or {}
    _check_transformers(where, built.get("text_cfg", {}))
    if config.get("quick_gelu") and not built.get("quick_gelu"):
        # These weights were trained with another activation than the plain architecture has.
        architecture += QUICK
    place, _, file = config["hf_hub"].rpartition("/")
    names = (f"{file.removesuffix('.bin')}.safetensors", file) if file else OF_OPEN_CLIP
    pinned = OPENAI.get(architecture.removesuffix(QUICK), {}) if tag == DEFAULT_TAG else {}
    weights = _hub_file(where, place, names, pinned.get("revision"))
    commit = re.search(r"/snapshots/([0-9a-f]{40})/", weights.as_posix())
    if commit:
        logger.info("%s: the weights of commit %s of %s", name, commit[1], place)
    sha256 = _checked_sha256(where, weights, pinned.get("sha256"))
    return ClipFiles(
        where=where,
        model=architecture,
        weights=weights,
        name=f"open_clip:{architecture}:{pinned.get('archive', sha256)[:12]}",
        preprocessing={
            option: config[key] for key, option in PREPROCESSING.items() if key in config
        },
    )


def _hub_files(where: str, repository: str, revision: str, names: Sequence[str]) -> ClipFiles:
    """Return the files of a CLIP of the hub, with the first of some files of weights it has."""
    for architecture, copy in OPENAI.items():
        if (repository, revision) == (copy["hub"], copy["revision"]):
            return _named_files(f"{architecture}:{DEFAULT_TAG}", where)
    folder = _hub_file(where, repository, [CONFIG], revision).parent
    text = _model_config(where, folder / CONFIG)["text_cfg"]  # before the large download
    if text.get("hf_tokenizer_name"):
        try:
            huggingface_hub.snapshot_download(
                repository, revision=revision, allow_patterns=TOKENIZERS
            )
        except Exception as error:  # the client raises errors of several libraries
            raise _not_fetched(where, "the tokenizer", repository, revision, error) from error
    weights = _hub_file(where, repository, names, revision)
    return _folder_files(where, folder, weights)


def _hub_file(
    where: str, repository: str, names: Sequence[str], revision: str | None = None
) -> Path:
    failed: Exception | None = None
    for name in names:
        try:
            return Path(huggingface_hub.hf_hub_download(repository, name, revision=revision))
        except Exception as error:  # the client raises errors of several libraries
            failed = error
            missing = isinstance(error, EntryNotFoundError)
            if not missing or isinstance(error, LocalEntryNotFoundError):  # no network
                break
    assert failed is not None
    raise _not_fetched(where, " or ".join(names), repository, revision, failed) from failed


def _not_fetched(
    where: str, what: str, repository: str, revision: str | None, error: Exception
) -> InputError:
    at = f" at {revision}" if revision else ""
    return InputError(
        f"{where}: cannot fetch {what} of {repository}{at} from the Hugging Face hub "
        f"({hub_reason(error)}); expected a network and access, or it in a folder (--clip FOLDER)"
    )


def _checked_sha256(where: str, weights: Path, pinned: str | None = None) -> str:
    """Return the SHA-256 of a file, if it is the one that is pinned, or that the hub told."""
    sha256 = file_sha256(weights)
    # The hub's cache names a large file by the SHA-256 that the hub told before the download.
    match = re.fullmatch("[0-9a-f]{64}", weights.resolve().name)
    expected = pinned or (match[0] if match else sha256)
    if sha256 != expected:
        raise InputError(
            f"{where}: {weights.resolve()} has the SHA-256 {sha256}; expected {expected}; remove "
            "the file to fetch it again"
        )
    return sha256


def _folder_files(where: str, folder: Path, weights: Path | None = None) -> ClipFiles:
    config = _model_config(where, folder / CONFIG)
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
    config_hash = hashlib.sha256(canonical.encode()).hexdigest()[:12]
    file = weights or _only_weights(where, folder)
    _check_sizes(folder / CONFIG, config, file.stat().st_size)
    return ClipFiles(
        where=where,
        model=f"local-dir:{folder}",
        weights=file,
        name=f"open_clip:{config_hash}:{_checked_sha256(where, file)[:12]}",
    )


def _model_config(where: str, file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise InputError(f"{where}: no {CONFIG}; expected a CLIP that open_clip saved")
    config = read_json(file, "expected a configuration of open_clip")
    try:
        model = config["model_cfg"]
        width = model["embed_dim"]
        text = model["text_cfg"]
        options = set(text.get("tokenizer_kwargs") or {}) - TOKENIZER_OPTIONS
    except KeyError as error:
        raise InputError(f"{file}: no key {error}; expected model_cfg with embed_dim") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{file}: not a configuration of open_clip ({error})") from error
    if options:
        raise InputError(
            f"{file}: tokenizer_kwargs sets {', '.join(sorted(options))}; expected none but "
            f"{', '.join(sorted(TOKENIZER_OPTIONS))}"
        )
    if text.get("hf_model_name"):
        raise InputError(
            f"{file}: hf_model_name, a text tower of transformers, which may bring code; expected "
            "a tower that open_clip builds itself"
        )
    _check_transformers(where, text)
    if isinstance(width, bool) or not isinstance(width, int) or not 1 <= width <= LARGEST:
        raise InputError(f"{file}: embed_dim is {width!r}; expected 1 to {LARGEST}")
    return model


def _check_transformers(where: str, text: Mapping[str, Any]) -> None:
    """Raise InputError for texts that transformers cuts into tokens or embeds, if it is missing."""
    needed = text.get("hf_tokenizer_name") or text.get("hf_model_name")
    if needed and importlib.util.find_spec("transformers") is None:
        raise InputError(
            f"{where}: its texts need the package transformers, which is not installed; "
            "pip install 'infopursuit[siglip]'"
        )


def _check_sizes(file: Path, config: Any, weights: int, key: str = "model_cfg") -> None:
    """Raise InputError for a number that no CLIP has, or for more weights than their file holds."""
    if isinstance(config, list):
        for each in config:
            _check_sizes(file, each, weights, key)
    elif isinstance(config, dict):
        for name, value in config.items():
            _check_sizes(file, value, weights, name)
        layers, width = config.get("layers"), config.get("width")
        # Attention alone has 4 width^2 weights a layer, of two bytes or more.
        claimed = 0
        if isinstance(layers, int) and isinstance(width, int):
            claimed = 8 * layers * width**2
        if claimed > max(weights, SMALL):
            raise InputError(
                f"{file}: {key} has {layers} layers of width {width}; the file of weights is too "
                "small for them"
            )
    elif isinstance(config, int | float) and not abs(config) <= (most := SIZES.get(key, LARGEST)):
        raise InputError(f"{file}: {key} is {config!r}; expected at most {most}")


def _only_weights(where: str, folder: Path) -> Path:
    """Return the one file of weights in a folder; of several formats the safe one."""
    files = sorted(file for pattern in WEIGHTS for file in folder.glob(pattern))
    safe = [file for file in files if file.suffix == ".safetensors"]
    if len(files) == 1 or len(safe) == 1:
        return (safe or files)[0]
    names = ", ".join(file.name for file in files) or "none"
    raise InputError(f"{where}: expected one file of weights (.safetensors), found {names}")
