"""CLIP's two towers behind one small interface, whichever way the weights came.

    clip = load_clip("artifacts/menagerie/clip", "auto")
    texts = clip.encode_texts(["a red bird", "four legs"])               # (2, d), unit norm
    images = clip.encode_images(torch.stack([clip.preprocess(picture)]))   # (1, d), unit norm

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
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32
from PIL.Image import Image

from infopursuit.embeddings.clip_files import CONFIG, ClipFiles, find_clip_files
from infopursuit.embeddings.precomputed_texts import PrecomputedTexts
from infopursuit.embeddings.unit_rows import unit_rows
from infopursuit.errors import InputError

# What torch and open_clip raise for files that are damaged or of another architecture.
LOADING_ERRORS = (OSError, RuntimeError, ValueError, TypeError, KeyError, pickle.UnpicklingError)
# Entries of OpenAI's archives that say what the architecture says already.
OPENAI_EXTRAS = ("input_resolution", "context_length", "vocab_size")


class OpenClip:
    """A CLIP that open_clip builds, in float32; the towers are loaded when first used.

    Attributes:
        name: the name of its embedding space, kept in the metadata of every file it makes.
    """

    def __init__(self, files: ClipFiles, device: torch.device) -> None:
        self._files = files
        self._device = device
        self.name = files.name

    @property
    def stamp(self) -> str:
        """What the last bits of its numbers depend on besides weights and batches."""
        return f"{self.name} torch {torch.__version__} {self._device} {torch.get_num_threads()}"

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

    def encode_texts(self, texts: Sequence[str]) -> Float32[np.ndarray, "n d"]:
        """Embed one batch of texts, as they are, with unit norm."""
        _, _, tokenize = self._loaded
        with torch.inference_mode():
            tokens = tokenize(list(texts)).to(self._device)
            return self._unit(self._loaded[0].encode_text(tokens))

    def encode_images(self, batch: Float[torch.Tensor, "b 3 h w"]) -> Float32[np.ndarray, "b d"]:
        """Embed one batch of preprocessed images, with unit norm."""
        with torch.inference_mode():
            return self._unit(self._loaded[0].encode_image(batch.to(self._device)))

    @property
    def preprocess(self) -> Callable[[Image], torch.Tensor]:
        """Turns an image into a (3, h, w) float32 tensor for `encode_images`."""
        return self._loaded[1]

    def _unit(self, rows: torch.Tensor) -> Float32[np.ndarray, "n d"]:
        return unit_rows(rows.float().cpu().numpy(), f"{self._files.where}: a batch")

    @cached_property
    def _loaded(self) -> tuple[Any, Callable[[Image], torch.Tensor], Callable[..., torch.Tensor]]:
        return _load_towers(self._files, self._device)


Clip = OpenClip | PrecomputedTexts


def load_clip(path: str | Path, device: str = "auto") -> Clip:
    """The CLIP at `path`.

    Args:
        path: a folder in open_clip's layout (open_clip_config.json and weights), a card (.yaml)
            that pins weights, or a Parquet file of precomputed texts (text, source, embedding).
        device: `auto`, `cpu` or `cuda`.

    Raises:
        InputError: the path is none of these, weights cannot be fetched or are not those pinned,
            or `cuda` is asked for where there is none.
    """
    if Path(path).suffix == ".parquet":
        return PrecomputedTexts(path)
    return OpenClip(find_clip_files(path), choose_device(device))


def choose_device(name: str) -> torch.device:
    """The device for `auto` (a GPU where there is one), `cpu` or `cuda`."""
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise InputError("compute.device: cuda, but torch finds no GPU; expected auto or cpu")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def _load_towers(
    files: ClipFiles, device: torch.device
) -> tuple[Any, Callable[[Image], torch.Tensor], Callable[..., torch.Tensor]]:
    """The model with its weights, the preprocessing of images, the tokenizer."""
    import open_clip
    from safetensors import SafetensorError

    create: Callable[..., tuple[Any, Any, Any]] = open_clip.create_model_and_transforms
    try:
        with _silenced():
            built, _, preprocess = create(files.model, load_weights=False, pretrained_text=False)
            tokenizer: Any = open_clip.get_tokenizer(files.model)
            if _is_torchscript(files.weights):
                state = _torchscript_state(files.weights)
                built.load_state_dict({k: v for k, v in state.items() if k not in OPENAI_EXTRAS})
            else:
                open_clip.load_checkpoint(built, str(files.weights))
    except (*LOADING_ERRORS, SafetensorError) as error:
        message = " ".join(str(error).split())[:300]
        raise InputError(
            f"{files.where}: open_clip cannot load {files.weights} as {files.model} ({message})"
        ) from error
    return built.to(device).eval().requires_grad_(False), preprocess, tokenizer


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


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """open_clip tells the root logger each step, and warns of weights that are loaded after it."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
