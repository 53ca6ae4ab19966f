"""CLIP's two towers behind one small interface, whichever way the weights came.

    clip = load_clip("artifacts/menagerie/clip", "auto")
    texts = clip.encode_texts(["a red bird", "four legs"])               # (2, d), unit norm
    images = clip.encode_images(torch.stack([clip.preprocess(picture)]))   # (1, d), unit norm

`embed_texts` (text_cache) and `embed_pictures` (pictures) do the same with a progress bar, a cache
of texts, and pictures of any kind.

A table of precomputed texts stands in for a CLIP whose weights are not at hand: it looks texts up
and refuses images.
"""

from __future__ import annotations

import contextlib
import json
import logging
import pickle
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from PIL.Image import Image

from infopursuit.clip.half_precision import HalfPrecision, Tower
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.pretrained import (
    PretrainedName,
    find_pretrained,
    openai_archives,
    pretrained_name,
)
from infopursuit.clip.text_tower import TextTower
from infopursuit.clip.weights import CONFIG, ClipFiles, find_clip_files
from infopursuit.core.embeddings import unit_rows
from infopursuit.core.errors import InputError

if TYPE_CHECKING:  # it imports torchvision, which only an image needs
    from infopursuit.clip.preprocessing import Preprocessing

# What torch and open_clip raise for files that are damaged or of another architecture.
LOADING_ERRORS = (OSError, RuntimeError, ValueError, TypeError, KeyError, pickle.UnpicklingError)
# Entries of OpenAI's archives that say what the architecture says already.
OPENAI_EXTRAS = ("input_resolution", "context_length", "vocab_size")


class OpenClip:
    """A CLIP that open_clip builds; the towers are loaded when first used.

    Attributes:
        name: the name of its embedding space, kept in the metadata of every file it makes.
        device: where the towers compute.
    """

    def __init__(
        self, files: ClipFiles, device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        """`dtype` is what the towers compute in, float32 or, once checked, float16."""
        self._files = files
        self._dtype = dtype
        self._half = HalfPrecision(files.where)
        self.device = device
        self.name = files.name

    @property
    def half_precision(self) -> bool:
        """Whether the towers compute in float16."""
        return self._dtype == torch.float16

    @property
    def stamp(self) -> str:
        """What the last bits of its numbers depend on besides weights and batches."""
        machine = f"{self.device} {self._dtype} {torch.get_num_threads()}"
        return f"{self.name} torch {torch.__version__} {machine}"

    @cached_property
    def width(self) -> int:
        """Width d of the embeddings."""
        if self._files.model.startswith("local-dir:"):
            config = Path(self._files.model.removeprefix("local-dir:")) / CONFIG
            return json.loads(config.read_text(encoding="utf-8"))["model_cfg"]["embed_dim"]
        import open_clip

        config = open_clip.get_model_config(self._files.model)
        if config is None:
            raise InputError(
                f"{self._files.where}: open_clip knows no architecture {self._files.model!r}"
            )
        return config["embed_dim"]

    def encode_texts(
        self, texts: Sequence[str], batch_size: int = 64
    ) -> Float32[np.ndarray, "n d"]:
        """Embed texts, as they are and in their order, with unit norm.

        Args:
            texts: any number of texts.
            batch_size: texts of full length per batch of the tower.
        """
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        tower = self._text_tower
        return self._unit(self._rows("texts", lambda _: tower.encode(texts, batch_size)))

    def encode_images(
        self, batch: UInt8[torch.Tensor, "b 3 h w"] | Float[torch.Tensor, "b 3 h w"]
    ) -> Float32[np.ndarray, "b d"]:
        """Embed one batch of images as `pixels` (uint8) or `preprocess` (float32) give them.

        Returns:
            Rows of unit norm.
        """
        model, preprocessing, _ = self._loaded
        with torch.inference_mode():
            images = preprocessing.normalized(batch.to(self.device, non_blocking=True))
            return self._unit(
                self._rows("images", lambda dtype: model.encode_image(images.to(dtype)))
            )

    @property
    def preprocess(self) -> Callable[[Image], torch.Tensor]:
        """Turns an image into a (3, h, w) float32 tensor for `encode_images`."""
        return self._loaded[1].whole

    @property
    def pixels(self) -> Callable[[Image], UInt8[np.ndarray, "3 h w"]]:
        """Turns an image into uint8, which `encode_images` scales and normalises on the device."""
        return self._loaded[1].pixels

    def _rows(
        self, tower: Tower, encode: Callable[[torch.dtype], torch.Tensor]
    ) -> Float[torch.Tensor, "b d"]:
        """What `encode` gives with its tower, in the precision of this CLIP."""
        if self._dtype == torch.float32:
            return encode(torch.float32)
        try:
            return self._half.rows(tower, self._loaded[0], encode)
        except InputError:
            # The model is between two precisions: whoever goes on all the same gets a fresh one.
            self._half = HalfPrecision(self._files.where)
            for name in ("_loaded", "_text_tower"):
                self.__dict__.pop(name, None)
            raise

    def _unit(self, rows: torch.Tensor) -> Float32[np.ndarray, "n d"]:
        return unit_rows(rows.float().cpu().numpy(), f"{self._files.where}: a batch")

    @cached_property
    def _text_tower(self) -> TextTower:
        return TextTower(self._loaded[0], self._loaded[2], self.device)

    @cached_property
    def _loaded(self) -> tuple[Any, Preprocessing, Callable[..., torch.Tensor]]:
        return _load_towers(self._files, self.device)


Clip = OpenClip | PrecomputedTexts


def load_clip(
    path: str | Path | PretrainedName, device: str = "auto", *, half_precision: bool = False
) -> Clip:
    """The CLIP at `path`, or of a name.

    Args:
        path: a folder in open_clip's layout (open_clip_config.json and weights), a YAML file that
            pins weights, a Parquet file of precomputed texts (text, source, embedding), or a model
            that open_clip knows: `open_clip_model("ViT-B-32", "openai")` or "ViT-B-32:openai".
        device: `auto`, `cpu` or `cuda`.
        half_precision: whether the towers compute in float16, on a GPU alone; their first batch
            must agree with float32.

    Raises:
        InputError: the path is none of these, weights cannot be fetched or are not those pinned,
            or `cuda` is asked for where there is none.
    """
    if not isinstance(path, PretrainedName) and Path(path).suffix == ".parquet":
        return PrecomputedTexts(path)
    chosen = choose_device(device)
    halved = half_precision and chosen.type == "cuda"
    return OpenClip(_files(path), chosen, torch.float16 if halved else torch.float32)


def _files(path: str | Path | PretrainedName) -> ClipFiles:
    if isinstance(path, PretrainedName):
        return find_pretrained(path)
    # Names hold no file's ending, so paths that lead nowhere do without the import of open_clip.
    is_name = isinstance(path, str) and not Path(path).exists()
    if is_name and Path(path).suffix not in (".yaml", ".yml"):
        model = pretrained_name(str(path))
        if model is not None:
            return find_pretrained(model)
    return find_clip_files(path)


@dataclass(frozen=True)
class SameClip:
    """What a worker is sent in the place of a CLIP.

    Attributes:
        stamp: what the numbers of the CLIP in the stage's own process depend on.
        threads: how many threads torch has there; sums in another order end in other bits.
    """

    stamp: str
    threads: int

    def check(self, clip: Clip) -> Clip:
        """Set the threads of this process, and see that `clip` gives the numbers of the stage's.

        Raises:
            InputError: it would not: there are other weights, another torch or another device.
        """
        torch.set_num_threads(self.threads)
        if clip.stamp != self.stamp:
            raise InputError(
                f"compute.ray: a worker has the CLIP {clip.stamp!r}, the process of the stage has "
                f"{self.stamp!r}; expected the same files and the same torch on all machines, and "
                "a GPU for the stage where compute.ray.gpus_per_worker gives the workers one"
            )
        return clip


def same_clip(clip: Clip) -> SameClip:
    """What workers are to compare their CLIP with."""
    return SameClip(clip.stamp, torch.get_num_threads())


def choose_device(name: str) -> torch.device:
    """The device for `auto` (a GPU where there is one), `cpu` or `cuda`."""
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise InputError("compute.device: cuda, but torch finds no GPU; expected auto or cpu")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def _load_towers(
    files: ClipFiles, device: torch.device
) -> tuple[Any, Preprocessing, Callable[..., torch.Tensor]]:
    """The model with its weights, the preprocessing of images, the tokenizer."""
    import open_clip
    from safetensors import SafetensorError

    from infopursuit.clip.preprocessing import Preprocessing

    create: Callable[..., tuple[Any, Any, Any]] = open_clip.create_model_and_transforms
    torchscript = _is_torchscript(files.weights)
    if torchscript and files.sha256 not in openai_archives():
        raise InputError(
            f"{files.where}: {files.weights} is a TorchScript archive, which is a program that "
            "runs when it is read; expected weights as .safetensors, or the archives of OpenAI"
        )
    try:
        with _without_false_alarm():
            built, _, preprocess = create(
                files.model, load_weights=False, pretrained_text=False, **files.preprocessing
            )
            tokenizer: Any = open_clip.get_tokenizer(files.model)
            if torchscript:
                state = _torchscript_state(files.weights)
                built.load_state_dict({k: v for k, v in state.items() if k not in OPENAI_EXTRAS})
            else:
                open_clip.load_checkpoint(built, str(files.weights))
    except (*LOADING_ERRORS, SafetensorError) as error:
        message = " ".join(str(error).split())[:300]
        raise InputError(
            f"{files.where}: open_clip cannot load {files.weights} as {files.model} ({message})"
        ) from error
    return built.to(device).eval().requires_grad_(False), Preprocessing(preprocess), tokenizer


def _torchscript_state(path: Path) -> dict[str, torch.Tensor]:
    with warnings.catch_warnings():
        # torch is retiring TorchScript, which these archives are; reading one still works.
        warnings.simplefilter("ignore", FutureWarning)
        return torch.jit.load(path, map_location="cpu").state_dict()


def _is_torchscript(path: Path) -> bool:
    """OpenAI publishes its weights as TorchScript archives, which hold a `constants.pkl`."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(Path(name).name == "constants.pkl" for name in archive.namelist())


class _Expected(logging.Filter):
    """Drops what open_clip tells of each step, and its alarm that weights are loaded after it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if "open_clip" not in Path(record.pathname).parts:
            return True
        alarm = record.getMessage().startswith("No pretrained weights loaded")
        return record.levelno >= logging.WARNING and not alarm


@contextlib.contextmanager
def _without_false_alarm() -> Iterator[None]:
    """Let through what open_clip logs but for `_Expected`; it logs by the root logger."""
    root, expected = logging.getLogger(), _Expected()
    # Without a handler, `logging.info` would give the user's program one for good.
    handler = None if root.handlers else logging.lastResort
    if handler is not None:
        root.addHandler(handler)
    root.addFilter(expected)
    try:
        yield
    finally:
        root.removeFilter(expected)
        if handler is not None:
            root.removeHandler(handler)
