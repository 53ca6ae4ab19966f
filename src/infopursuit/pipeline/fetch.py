"""Everything that a run needs from a network, fetched before it: then the run needs none.

    infopursuit fetch params/cifar10-vitl14.yaml

The file is merged into params.yaml in memory, as `configure` would on disk. What it names is listed
with sizes and licences, and nothing is fetched if the disks have no room for it: CLIP's weights,
data sets of the hub and of torchvision, COCO's captions, the weights of a language model for vLLM.
What is there already is not fetched again, and what has to be fetched by hand is named.
"""

from __future__ import annotations

import logging
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.constants import HF_HOME
from torchvision.datasets.utils import download_url

from infopursuit.clip.weights import HubWeights, find_clip_files
from infopursuit.core.errors import InputError, hub_reason, one_line
from infopursuit.core.files import atomic_write
from infopursuit.core.settings import read_settings
from infopursuit.datasets.image_folders import read_class_names
from infopursuit.datasets.open_images import open_image_source
from infopursuit.datasets.packed_pictures import PINS
from infopursuit.datasets.pinned_datasets import (
    HubDataset,
    TorchvisionDataset,
    hub_files,
    hub_patterns,
    read_pinned_dataset,
)
from infopursuit.generation.class_queries import is_prompt
from infopursuit.generation.corpora import has_captions
from infopursuit.pipeline.configure import params_with
from infopursuit.pipeline.params import Params
from infopursuit.pipeline.paths import ARTIFACTS

logger = logging.getLogger("infopursuit")

# The captions that COCO publishes, by the names of their files; the address has no certificate.
COCO_URL = "http://images.cocodataset.org/annotations/annotations_trainval2017.zip"
COCO_MD5, COCO_BYTES = "f4bbac642086de4f52a3fdda2de5fa2c", 252907541
CAPTIONS = ("captions_train2017.json", "captions_val2017.json")
# Of what `datasets` fetches, it writes another copy that it reads from.
COPIES = 2
# Files of a language model that vLLM does not read.
NOT_READ = ["original/*", "*.pth", "*.gguf"]


class Needed(NamedTuple):
    """Something that a run needs from a network."""

    key: str  # of params.yaml
    what: str
    size: int | None  # bytes that are still to come; None if nobody says
    folder: Path  # on whose disk they will be
    licence: str
    fetch: Callable[[], Any]


def fetch(overlay: str | Path, params_file: str | Path = "params.yaml") -> None:
    """Fetch what `params_file` with the settings of `overlay` needs.

    Raises:
        InputError: a disk is too small (nothing is fetched then), something cannot be fetched, or
            has to be fetched by hand: a line for each, and the rest is there.
    """
    params = params_with(overlay, params_file)
    mistakes: list[str] = []
    needed = list(_needed(params, mistakes))
    for each in needed:
        size = "size unknown" if each.size is None else f"{each.size / 1e9:.2f} GB to come"
        licence = f"; licence: {each.licence}" if each.licence else ""
        logger.info("%s: %s, %s%s", each.key, each.what, size, licence)
    _check_disks(needed)
    for each in needed:
        try:
            each.fetch()
        except InputError as error:
            mistakes.append(f"{each.key}: {error}")
    if mistakes:
        raise InputError(*mistakes)
    logger.info(
        "all is there: with HF_HUB_OFFLINE=1, `infopursuit configure %s && make repro` needs no "
        "network",
        overlay,
    )


def _check_disks(needed: list[Needed]) -> None:
    """Raise InputError if what is to come does not fit on a disk."""
    sizes: defaultdict[int, int] = defaultdict(int)
    folders: dict[int, Path] = {}
    for each in needed:
        folder = next(path for path in (each.folder, *each.folder.parents) if path.exists())
        disk = folder.stat().st_dev
        sizes[disk] += each.size or 0
        folders[disk] = folder
    for disk, size in sizes.items():
        free = shutil.disk_usage(folders[disk]).free
        logger.info("%s: %.1f GB to come, %.1f GB free", folders[disk], size / 1e9, free / 1e9)
        if size > free:
            raise InputError(
                f"{folders[disk]}: {size / 1e9:.1f} GB to come, and {free / 1e9:.1f} GB are free; "
                "make room, or set HF_HOME to a folder of a larger disk"
            )


def _needed(params: Params, mistakes: list[str]) -> Iterator[Needed]:
    def find(key: str, look: Callable[[], Needed | None]) -> Iterator[Needed]:
        try:
            needed = look()
        except InputError as error:
            mistakes.append(f"{key}: {error}")
        else:
            yield from [] if needed is None else [needed]

    yield from find("clip", partial(_clip, params.clip))
    files = [*params.queries.dictionaries.values()]
    for name, each in params.datasets.items():
        files.append(each.knowledge)
        key = f"datasets.{name}.images"
        yield from find(key, partial(_images, key, Path(each.images), each.classes))
    captions = [path for path in params.queries.corpora.values() if has_captions(path)]
    for name, path in params.queries.corpora.items():
        yield from find(key := f"queries.corpora.{name}", partial(_captions, key, Path(path)))
    model, vllm = params.language_model, params.language_model.vllm
    if model.backend == "vllm" and vllm.revision and (captions or any(map(is_prompt, files))):
        key = "language_model.vllm.model"
        repository = {"repo_id": vllm.model, "revision": vllm.revision, "ignore_patterns": NOT_READ}
        yield from find(key, partial(_of_hub, key, repository))


def _clip(path: str) -> Needed | None:
    if Path(path).suffix not in PINS:
        return None
    pinned = read_settings(path, HubWeights)
    repository = {"repo_id": pinned.hub, "revision": pinned.revision}
    get = partial(find_clip_files, path)
    return _of_hub("clip", repository, get, lambda: ["*.json", pinned.weights])


def _images(key: str, path: Path, classes: str) -> Needed | None:
    if path.suffix not in PINS:
        if ARTIFACTS not in path.parents and not path.exists():
            raise InputError(f"{path}: not there; expected your own images")
        return None
    pinned = read_pinned_dataset(path)
    get = partial(_open, path, classes)
    if isinstance(pinned, HubDataset):
        repository = {"repo_id": pinned.hub, "repo_type": "dataset", "revision": pinned.revision}
        needed = _of_hub(key, repository, get, lambda: hub_patterns(hub_files(pinned)))
        return needed._replace(size=COPIES * (needed.size or 0))
    if isinstance(pinned, TorchvisionDataset):
        return Needed(key, f"torchvision's {pinned.torchvision}", None, Path(pinned.root), "", get)
    get()  # nothing to fetch; the line says what is missing
    return None


def _open(path: Path, classes: str) -> None:
    open_image_source(path, read_class_names(classes))


def _captions(key: str, path: Path) -> Needed | None:
    if not has_captions(path) or path.exists() or ARTIFACTS in path.parents:
        return None
    if path.name not in CAPTIONS:
        raise InputError(f"{path}: not there; expected captions (of {' and '.join(CAPTIONS)} the "
                         "archive is known)")  # fmt: skip
    return Needed(key, COCO_URL, COCO_BYTES, path.parent, "CC BY 4.0", partial(_coco, path))


def _coco(path: Path) -> None:
    archive = path.parent / COCO_URL.rpartition("/")[2]
    try:
        download_url(COCO_URL, str(path.parent), archive.name, COCO_MD5)
        with (
            zipfile.ZipFile(archive) as packed,
            packed.open(f"annotations/{path.name}") as source,
            atomic_write(path) as partly,
            partly.open("wb") as file,
        ):
            shutil.copyfileobj(source, file)
    except (OSError, RuntimeError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path}: cannot be fetched from {COCO_URL} ({one_line(str(error))}); run this again, "
            "or place the file there"
        ) from error
    archive.unlink()


def _of_hub(
    key: str,
    repository: dict[str, Any],
    get: Callable[[], Any] | None = None,
    files: Callable[[], list[str] | None] = lambda: None,
) -> Needed:
    """Return a repository, as far as it is needed.

    Args:
        repository: arguments of `snapshot_download`.
        get: fetches it in another way.
        files: gives the patterns of its files that are needed, None for all.
    """
    name, which = repository["repo_id"], {"repo_type": "model", **repository}
    page = f"https://huggingface.co/{'datasets/' * (which['repo_type'] == 'dataset')}{name}"
    try:
        which["allow_patterns"] = files()
        listed: Any = snapshot_download(**which, dry_run=True)
        about: Any = HfApi().repo_info(name, repo_type=which["repo_type"])
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{name} at {which['revision']}: {hub_reason(error)}; see {page}"
        ) from error
    size = sum(each.file_size or 0 for each in listed if each.will_download)
    card = about.card_data or {}
    terms = str(card.get("license_name") or card.get("license") or f"see {page}")
    licence = f"{terms}, to be accepted at {page}" if about.gated else terms
    get = get or partial(snapshot_download, **which)
    return Needed(key, name, size, Path(HF_HOME), licence, get)
