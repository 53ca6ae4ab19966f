"""Find the weights of a CLIP: a folder in open_clip's layout, a YAML file that pins them, a name.

    find_clip_files("stages/menagerie/clip")
    find_clip_files("params/clip/ViT-L-14-openai.yaml")
    find_clip_files(open_clip_model("ViT-B-32", "laion2b_s34b_b79k"))
    find_clip_files("hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K")

All lead to an architecture and one file of weights, whose SHA-256 names the embedding space.
OpenAI's weights come from OpenAI's addresses, or else from a copy on the hub, and are checked by
the hashes in weights.toml; others come from where the YAML file or open_clip says, mostly the
Hugging Face hub. Downloads are kept in the folders that open_clip uses too (~/.cache/clip,
~/.cache/huggingface). To pin weights of the hub to a commit, write `hf-hub:OWNER/NAME@COMMIT`, or a
YAML file with `hub` and `revision` (`HubWeights`).
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

from filelock import FileLock
from pydantic import Field

from infopursuit.clip.download import HUB, NotFetchedError, download, from_hub, hub_file
from infopursuit.core.errors import InputError
from infopursuit.core.files import file_sha256, packaged_toml, read_json
from infopursuit.core.settings import Positive, Section, read_one_of

logger = logging.getLogger(__name__)

# The addresses and hashes of OpenAI's archives, and what else is known of weights.
_KNOWN = packaged_toml("infopursuit.clip", "weights.toml")
TOKENIZERS, PREPROCESSING, LICENCES = (
    _KNOWN["tokenizers"],
    _KNOWN["preprocessing"],
    _KNOWN["licences"],
)
OPENAI, OPENAI_URL = _KNOWN["openai"], _KNOWN["openai_url"]
OPENAI_SHA256 = {path.partition("/")[0] for path in OPENAI.values()}
# The copies of OpenAI's archives on the hub, by the SHA-256 of the archive.
COPIES = {OPENAI[name].partition("/")[0]: copy for name, copy in _KNOWN["openai_copies"].items()}
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


class DownloadedWeights(Section):
    """Weights at an address, with their SHA-256, for an architecture that open_clip knows."""

    architecture: str
    url: Annotated[str, Field(pattern=rf"^https?://[^/]+/([^?#]*/)?{FILE}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


KINDS: dict[str, type[Section]] = {"hub": HubWeights, "architecture": DownloadedWeights}


@dataclass(frozen=True)
class PretrainedName:
    """An architecture of open_clip and a tag of its weights, both known to open_clip."""

    architecture: str
    tag: str

    def __str__(self) -> str:
        return f"{self.architecture}:{self.tag}"


@dataclass(frozen=True)
class ClipFiles:
    """The files of one CLIP."""

    where: str  # the path or name that the user gave, for messages
    model: str  # as open_clip names it: `local-dir:FOLDER` or an architecture
    weights: Path
    sha256: str  # of the file of weights; of OpenAI's archive also for its copy
    name: str  # of the embedding space, equal for equal architecture and weights
    # Options of the images' preprocessing that `model` does not say itself.
    preprocessing: Mapping[str, Any] = field(default_factory=dict)


def find_clip_files(path: str | Path | PretrainedName) -> ClipFiles:
    """Return the files of a CLIP, downloaded and verified if need be, or raise an InputError."""
    if isinstance(path, str) and path.startswith(ON_HUB):
        name, commit = _on_hub(path)
        return _hub_files(f"{ON_HUB}{name}", name, commit or _main_commit(name), OF_OPEN_CLIP)
    if isinstance(path, str) and not Path(path).exists() and Path(path).suffix not in ENDINGS:
        path = _pretrained_name(path) or path
    if isinstance(path, PretrainedName):
        return _named_files(path)
    path = Path(path)
    if path.is_dir():
        return _folder_files(path, path)
    if path.suffix not in (".yaml", ".yml"):
        found = "a file" if path.exists() else "nothing"
        raise InputError(
            f"{path}: expected a folder with {CONFIG}, a file that pins weights (.yaml), a table "
            "of texts (.parquet), a name that open_clip knows (ViT-B-32:openai) or "
            f"{ON_HUB}OWNER/NAME, found {found}"
        )
    pinned = read_pinned_weights(path)
    if isinstance(pinned, HubWeights):
        return _hub_files(str(path), pinned.hub, pinned.revision, [pinned.weights])
    assert isinstance(pinned, DownloadedWeights)
    return _downloaded_files(str(path), pinned)


def read_pinned_weights(path: Path) -> Section:
    """Read what a YAML file says of the weights of a CLIP, without a download."""
    return read_one_of(path, KINDS, "the pinned weights of a CLIP")


def open_clip_model(architecture: str, pretrained: str = DEFAULT_TAG) -> PretrainedName:
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
        expected = "expected one that open_clip.list_pretrained() lists"
        raise InputError(
            f"clip: open_clip has no weights for an architecture {architecture!r}; "
            + (f"did you mean {near}?" if near else expected)
        )
    tag = pretrained.lower().replace("-", "_")
    if tag not in known[name]:
        raise InputError(
            f"clip: open_clip has no weights {pretrained!r} for {name}; expected one of "
            f"{', '.join(known[name])}"
        )
    return PretrainedName(name, tag)


def clip_source(clip: str | Path, pretrained: str = DEFAULT_TAG) -> str:
    """Return a CLIP as `load_clip` takes it in any folder, for good.

    An absolute path, ARCHITECTURE:TAG, or hf-hub:OWNER/NAME@COMMIT; the commit that is not given is
    that of `main` today. An architecture with weights of one tag needs no tag.
    """
    if str(clip).startswith(ON_HUB):
        name, commit = _on_hub(str(clip))
        return f"{ON_HUB}{name}@{commit or _main_commit(name)}"
    if Path(clip).exists() or Path(clip).suffix in ENDINGS:
        return str(Path(clip).resolve())
    name, _, tag = str(clip).partition(":")
    if not tag and pretrained == DEFAULT_TAG:
        pretrained = _default_tag(name)
    return str(open_clip_model(name, tag or pretrained))


def licence(source: str | None) -> str | None:
    """Return the licence of the weights that a source (`clip_source`) names, None if not known."""
    if source is None:
        return None
    named = _on_hub(source)[0] if source.startswith(ON_HUB) else source.partition(":")[2]
    if Path(source).suffix in (".yaml", ".yml"):
        pinned = read_pinned_weights(Path(source))
        ours = isinstance(pinned, DownloadedWeights) and pinned.sha256 in OPENAI_SHA256
        named = pinned.hub if isinstance(pinned, HubWeights) else DEFAULT_TAG if ours else ""
    known = [start for start in LICENCES if named.startswith(start)]
    return LICENCES[max(known, key=len)] if known else None


def _on_hub(source: str) -> tuple[str, str | None]:
    """Return the repository and the commit that hf-hub:OWNER/NAME[@COMMIT] names."""
    found = re.fullmatch(rf"{ON_HUB}({FILE}/{FILE})(?:@([0-9a-f]{{40}}))?", source)
    if found is None:
        raise InputError(f"{source}: expected {ON_HUB}OWNER/NAME or {ON_HUB}OWNER/NAME@COMMIT")
    return found[1], found[2]


def _main_commit(repository: str) -> str:
    """Return the commit that `main` of a repository is; without a network, the one in the cache."""
    commit = hub_file(f"{ON_HUB}{repository}", repository, [CONFIG], None).parent.name
    logger.info("%s%s: its main is the commit %s", ON_HUB, repository, commit)
    return commit


def _known_tags() -> dict[str, list[str]]:
    """Return the tags of weights by architecture: open_clip's, and OpenAI's in any case."""
    import open_clip

    known = {name: [DEFAULT_TAG] for base in OPENAI for name in (base, base + QUICK)}
    for name, tag in open_clip.list_pretrained():
        tags = known.setdefault(name, [])
        if tag not in tags:
            tags.append(tag)
    return known


def _default_tag(architecture: str) -> str:
    """Return `openai`, or the only tag of an architecture that has no weights of OpenAI's."""
    tags = _known_tags().get(architecture.replace("/", "-"), [])
    return tags[0] if len(tags) == 1 else DEFAULT_TAG


def _pretrained_name(text: str) -> PretrainedName | None:
    """Return the model that ARCHITECTURE or ARCHITECTURE:TAG names, None for any other text."""
    architecture, _, tag = text.partition(":")
    if architecture.replace("/", "-") not in _known_tags():
        return None
    return open_clip_model(architecture, tag or _default_tag(architecture))


def _named_files(model: PretrainedName) -> ClipFiles:
    base = model.architecture.removesuffix(QUICK)
    if model.tag == DEFAULT_TAG and base in OPENAI:
        url, sha256 = f"{OPENAI_URL}/{OPENAI[base]}", OPENAI[base].partition("/")[0]
        pinned = DownloadedWeights(architecture=base + QUICK, url=url, sha256=sha256)
        return _downloaded_files(str(model), pinned)
    import open_clip

    config = open_clip.get_pretrained_cfg(model.architecture, model.tag)
    built = open_clip.get_model_config(model.architecture) or {}
    _check_transformers(f"clip: {model}", built.get("text_cfg", {}))
    place, _, file = config["hf_hub"].rpartition("/")
    names = (f"{file.removesuffix('.bin')}.safetensors", file) if file else OF_OPEN_CLIP
    weights = hub_file(f"clip: {model}", place, names, None)
    commit = re.search(r"/snapshots/([0-9a-f]{40})/", weights.as_posix())
    if commit:
        logger.info("%s: the weights of commit %s of %s", model, commit[1], place)
    architecture = model.architecture
    if config.get("quick_gelu") and not built.get("quick_gelu"):
        # These weights were trained with another activation than the plain architecture has.
        architecture += QUICK
    sha256 = file_sha256(weights)
    return ClipFiles(
        where=str(model),
        model=architecture,
        weights=weights,
        sha256=sha256,
        name=f"open_clip:{architecture}:{sha256[:12]}",
        preprocessing={
            option: config[key] for key, option in PREPROCESSING.items() if key in config
        },
    )


def _downloaded_files(where: str, pinned: DownloadedWeights) -> ClipFiles:
    return ClipFiles(
        where=where,
        model=pinned.architecture,
        weights=_download(where, pinned),
        sha256=pinned.sha256,
        name=f"open_clip:{pinned.architecture}:{pinned.sha256[:12]}",
    )


def _hub_files(where: str, repository: str, revision: str, names: Sequence[str]) -> ClipFiles:
    """Return the files of a CLIP of the hub, with the first of some files of weights it has."""
    folder = hub_file(where, repository, [CONFIG], revision).parent
    text = _model_config(Path(where), folder / CONFIG)["text_cfg"]  # before the large download
    if text.get("hf_tokenizer_name"):
        from huggingface_hub import snapshot_download

        from_hub(
            f"{where}: cannot fetch the tokenizer of {repository} at {revision} from {HUB}",
            lambda: snapshot_download(repository, revision=revision, allow_patterns=TOKENIZERS),
        )
    weights = hub_file(where, repository, names, revision)
    return _folder_files(Path(where), folder, weights.relative_to(folder).as_posix())


def _folder_files(where: Path, folder: Path, weights: str | None = None) -> ClipFiles:
    config = _model_config(where, folder / CONFIG)
    canonical = json.dumps(config, sort_keys=True, separators=(",", ":"))
    config_hash = hashlib.sha256(canonical.encode()).hexdigest()[:12]
    file = folder / weights if weights else _only_weights(where, folder)
    _check_sizes(folder / CONFIG, config, file.stat().st_size)
    sha256 = file_sha256(file)
    return ClipFiles(
        where=str(where),
        model=f"local-dir:{folder}",
        weights=file,
        sha256=sha256,
        name=f"open_clip:{config_hash}:{sha256[:12]}",
    )


def _model_config(where: Path, file: Path) -> dict[str, Any]:
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
    _check_transformers(str(where), text)
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


def _only_weights(where: Path, folder: Path) -> Path:
    """Return the one file of weights in a folder; of several formats the safe one."""
    files = sorted(file for pattern in WEIGHTS for file in folder.glob(pattern))
    safe = [file for file in files if file.suffix == ".safetensors"]
    if len(files) == 1 or len(safe) == 1:
        return (safe or files)[0]
    names = ", ".join(file.name for file in files) or "none"
    raise InputError(f"{where}: expected one file of weights (.safetensors), found {names}")


def _download(where: str, pinned: DownloadedWeights) -> Path:
    """Return the weights in the cache folder of open_clip, downloaded and checked if need be."""
    name = pinned.url.rsplit("/", 1)[-1]
    if pinned.sha256 not in OPENAI_SHA256:  # other weights cannot take the place of OpenAI's
        name = f"{pinned.sha256[:16]}-{name}"
    target, copy = Path.home() / ".cache" / "clip" / name, COPIES.get(pinned.sha256)
    if not target.is_file():
        from huggingface_hub import try_to_load_from_cache

        if copy:
            kept = try_to_load_from_cache(copy["hub"], SAFE, revision=copy["revision"])
            if isinstance(kept, str):
                return _copy(where, copy)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Of several processes one downloads, and the others wait for its file.
        with FileLock(f"{target}.lock"):
            if not target.is_file():
                try:
                    download(where, pinned.url, pinned.sha256, target)
                except NotFetchedError as error:
                    if copy is None:
                        raise
                    return _copy(where, copy, error)
    sha256 = file_sha256(target)
    if sha256 != pinned.sha256:
        raise InputError(
            f"{target}: its SHA-256 is {sha256}; expected {pinned.sha256} ({where}); remove the "
            "file to download it again"
        )
    return target


def _copy(where: str, copy: Mapping[str, str], failed: NotFetchedError | None = None) -> Path:
    """Return the copy of an archive of OpenAI's on the hub, for an address that has failed."""
    hub, revision = copy["hub"], copy["revision"]
    if failed:
        logger.warning("%s (%s); its copy is taken: %s", failed.problem, failed.reason, hub)
    try:
        weights = hub_file(where, hub, [SAFE], revision)
    except NotFetchedError as error:
        if failed is None:
            raise
        raise NotFetchedError(
            f"{failed.problem} ({failed.reason}), nor its copy {hub} at {revision} from {HUB}",
            error.reason,
            failed.advice,
        ) from error
    sha256 = file_sha256(weights)
    if sha256 != copy["sha256"]:
        raise InputError(
            f"{weights}: its SHA-256 is {sha256}; expected {copy['sha256']} ({where}); remove the "
            "file to download it again"
        )
    return weights
