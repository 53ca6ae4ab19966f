"""CLIP's two towers behind one small interface, wherever the weights came from.

    clip = load_clip("stages/menagerie/clip", "auto")
    texts = clip.encode_texts(["a red bird", "four legs"])                 # (2, d), unit norm
    images = clip.encode_images(torch.stack([clip.preprocess(picture)]))   # (1, d), unit norm

`embed_texts` and `embed_pictures` (embed.py) do the same with a progress bar, a cache of texts, and
pictures of any kind. A table of precomputed texts can replace a CLIP without weights: it looks
texts up and refuses images.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from PIL.Image import Image

from infopursuit.clip.patches import patch_embeddings
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.text_tower import TextTower, refuse_long
from infopursuit.clip.weights import CONFIG, ClipFiles, find_clip_files
from infopursuit.core.arrays import unit_rows
from infopursuit.core.errors import InputError

# The least cosine of float16 to float32. Rounding to 11 bits leaves 1 - 3e-6 in the menagerie's
# CLIP; activations beyond the range of float16 (65,504, or below 6e-8) leave far less. An error of
# this size points anywhere in d = 512 dimensions, so it moves a cosine with another embedding by
# about sqrt(2 * (1 - 0.999) / 512) = 0.002.
MIN_COSINE = 0.999
# How a person says where the CLIP of a model is.
NAMED_BY = "give --clip, or in Python infopursuit.load(..., clip=...)"
# How many times as long as wide a picture is resized as a whole; of a longer one, its middle is.
MOST_LONG = 20

Tower = Literal["texts", "images"]


class OpenClip:
    """A CLIP that open_clip builds; the towers are loaded when first used.

    In float16, the first batch of each tower must agree with float32. `name` is that of the
    embedding space, kept in the metadata of every file made with it.
    """

    def __init__(
        self, files: ClipFiles, device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        self._files = files
        self._dtype = dtype
        self._halved: set[Tower] = set()
        self.device = device
        self.name = files.name

    @property
    def half_precision(self) -> bool:
        """Whether the towers compute in float16."""
        return self._dtype == torch.float16

    @property
    def stamp(self) -> str:
        """What the last bits of its numbers depend on besides batches."""
        machine = f"{self.device} {self._dtype} {torch.get_num_threads()}"
        return f"{self.name} torch {torch.__version__} {machine}"

    @cached_property
    def width(self) -> int:
        """Width d of the embeddings."""
        return _architecture(self._files)["embed_dim"]

    def encode_texts(
        self, texts: Sequence[str], batch_size: int = 64
    ) -> Float32[np.ndarray, "n d"]:
        """Embed texts, in their order, with unit norm; `batch_size` is for texts of full length."""
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        refuse_long(texts, self._loaded[2])
        tower = self._text_tower
        return self._encode("texts", lambda _: tower.encode(texts, batch_size))

    def encode_images(
        self, batch: UInt8[torch.Tensor, "b 3 h w"] | Float[torch.Tensor, "b 3 h w"]
    ) -> Float32[np.ndarray, "b d"]:
        """Embed a batch of images, as `pixels` or `preprocess` return them, with unit norm."""
        model, preprocessing, _ = self._loaded
        with torch.inference_mode():
            images = preprocessing.normalized(batch.to(self.device, non_blocking=True))
            return self._encode("images", lambda dtype: model.encode_image(images.to(dtype)))

    def encode_maps(
        self,
        batch: UInt8[torch.Tensor, "b 3 y x"] | Float[torch.Tensor, "b 3 y x"],
        directions: Float[torch.Tensor, "q d"],
    ) -> tuple[Float32[np.ndarray, "b d"], Float32[np.ndarray, "b q h w"]]:
        """Embed a batch of images, and map how much each patch speaks along each direction.

        One pass of the tower. A map has a number for each patch, in rows from the top left corner
        of the image as the tower sees it: the patch's embedding, of unit norm, times the direction.

        Raises:
            InputError: the tower is of a kind that has no embeddings of patches.
        """
        model, preprocessing, _ = self._loaded
        patch_maps: list[torch.Tensor] = []

        def encode(dtype: torch.dtype) -> torch.Tensor:
            try:
                pictures, patches = patch_embeddings(model.visual, images.to(dtype))
            except InputError as error:
                raise InputError(f"{self._files.where}: {error}") from error
            maps = torch.einsum("bhwd,qd->bqhw", patches, directions.to(patches))
            patch_maps[:] = [maps.float().cpu()]
            return pictures

        with torch.inference_mode():
            images = preprocessing.normalized(batch.to(self.device, non_blocking=True))
            rows = self._encode("images", encode)
        return rows, patch_maps[0].numpy()

    @property
    def preprocess(self) -> Callable[[Image], torch.Tensor]:
        """Turns an image into a (3, h, w) float32 tensor for `encode_images`."""
        return self._loaded[1].whole

    def seen(self, width: int, height: int) -> tuple[float, float, float, float]:
        """Return the part of a picture of this size that the tower sees.

        Its left, top, right and bottom, in widths and heights of the picture from the top left
        corner; beyond 0 and 1 where the preprocessing adds a margin.
        """
        return self._loaded[1].seen(width, height)

    @property
    def pixels(self) -> Callable[[Image], UInt8[np.ndarray, "3 h w"]]:
        """Turns an image into uint8, which `encode_images` scales and normalises on the device."""
        return self._loaded[1].pixels

    def _encode(
        self, tower: Tower, encode: Callable[[torch.dtype], torch.Tensor]
    ) -> Float32[np.ndarray, "b d"]:
        """Return unit rows of `encode` in the precision of this CLIP."""
        if self.half_precision and tower not in self._halved:
            rows = self._first_half_batch(tower, encode)
        else:
            rows = encode(self._dtype)
        return unit_rows(rows.float().cpu().numpy(), f"{self._files.where}: a batch")

    def _first_half_batch(
        self, tower: Tower, encode: Callable[[torch.dtype], torch.Tensor]
    ) -> torch.Tensor:
        """Convert a tower to float16, and check its first batch against float32."""
        whole = encode(torch.float32)
        unit_rows(whole.cpu().numpy(), f"{self._files.where}: the first batch of {tower}")
        halve(self._loaded[0], tower)
        half = encode(torch.float16)
        # NaN counts as the worst; an overflow gives it.
        cosines = torch.cosine_similarity(whole.float(), half.float()).nan_to_num(nan=-1.0)
        worst = cosines.min().item()
        if worst >= MIN_COSINE:
            self._halved.add(tower)
            return half
        # The model has two precisions now; a caller who goes on gets a fresh one.
        self._halved.clear()
        for name in ("_loaded", "_text_tower"):
            self.__dict__.pop(name, None)
        finite = bool(half.isfinite().all())
        result = f"a cosine of {worst:.4f}" if finite else "numbers that are not finite"
        raise InputError(
            f"compute.half_precision: {self._files.where} does not keep its embeddings of {tower} "
            f"in float16; expected a cosine of at least {MIN_COSINE} to those in float32 in the "
            f"first batch, found {result}; set it to false"
        )

    @cached_property
    def _text_tower(self) -> TextTower:
        return TextTower(self._loaded[0], self._loaded[2], self.device)

    @cached_property
    def _loaded(self) -> tuple[Any, Preprocessing, Callable[..., torch.Tensor]]:
        return _load_towers(self._files, self.device)


class Preprocessing:
    """open_clip's transform of an image in two parts, so that each runs where it is cheapest.

    Resizing runs in the threads that decode; scaling and normalising run once for a batch, on the
    device, to which bytes are a fourth of the way. Both parts together equal the whole.
    """

    def __init__(self, whole: Any) -> None:
        from torchvision.transforms import CenterCrop, Compose, Normalize, ToTensor

        *resizing, to_tensor, normalize = whole.transforms
        if not (isinstance(to_tensor, ToTensor) and isinstance(normalize, Normalize)):
            raise TypeError(
                f"expected a transform that ends in to-tensor and normalise, got {whole}"
            )
        self.whole: Callable[[Image], torch.Tensor] = whole
        self._resizing = Compose(resizing)
        self._crops = any(isinstance(each, CenterCrop) for each in resizing)
        self._mean, self._std = (
            torch.as_tensor(values, dtype=torch.float32).view(-1, 1, 1)
            for values in (normalize.mean, normalize.std)
        )

    def pixels(self, image: Image) -> UInt8[np.ndarray, "3 h w"]:
        """Resize and crop an image, without torch, which would start threads in every thread."""
        return np.asarray(self._resizing(self._middle(image))).transpose(2, 0, 1).copy()

    def _middle(self, image: Image) -> Image:
        """Cut off what cropping would, of a picture that is very long: resized, it fills memory."""
        short, long = sorted(image.size)
        if not self._crops or long <= MOST_LONG * short:
            return image
        longest = MOST_LONG * short + (long - MOST_LONG * short) % 2  # the middle stays the middle
        width, height = (min(side, longest) for side in image.size)
        left, top = (image.width - width) // 2, (image.height - height) // 2
        return image.crop((left, top, left + width, top + height))

    def seen(self, width: int, height: int) -> tuple[float, float, float, float]:
        """Return the part of a picture that is left after resizing and cropping."""
        resize, *crop = (each for each in self._resizing.transforms if hasattr(each, "size"))
        if not crop:  # squeezed into the size
            return 0.0, 0.0, 1.0, 1.0
        size = crop[0].size
        rows, columns = (size, size) if isinstance(size, int) else size
        fit = max if getattr(resize, "longest", 0) else min
        scale = fit(height / rows, width / columns)
        across, down = columns * scale / width / 2, rows * scale / height / 2
        return 0.5 - across, 0.5 - down, 0.5 + across, 0.5 + down

    def normalized(
        self, batch: UInt8[torch.Tensor, "b 3 h w"] | Float[torch.Tensor, "b 3 h w"]
    ) -> Float32[torch.Tensor, "b 3 h w"]:
        """Scale and normalise a batch of `pixels` on its device; floats stay as they are."""
        if batch.is_floating_point():
            return batch.float()
        mean, std = self._mean.to(batch.device), self._std.to(batch.device)
        # The order and the divisions of torchvision, for the same last bits.
        return batch.float().div_(255).sub_(mean).div_(std)


@torch.inference_mode(mode=False)
def halve(model: Any, tower: Tower) -> None:
    """Convert one tower of open_clip's model to float16, in place."""
    if tower == "images":
        model.visual.half()
        return
    for name, module in model.named_children():
        if name != "visual":
            module.half()
    # A CLIP keeps the ends of its text tower itself, next to the modules.
    for parameter in model.parameters(recurse=False):
        parameter.data = parameter.data.half()
    for name, buffer in list(model.named_buffers(recurse=False)):
        if buffer.is_floating_point():
            setattr(model, name, buffer.half())


Clip = OpenClip | PrecomputedTexts


def image_tower(clip: Clip) -> OpenClip:
    """Return a CLIP that embeds images; InputError if it is a table of texts."""
    if not isinstance(clip, OpenClip):
        raise InputError(
            f"{clip.path}: `clip` is a table of texts, which cannot embed images; expected "
            "precomputed images (a Parquet file with the column embedding) for every data set"
        )
    return clip


def load_clip(path: str | Path, device: str = "auto", *, half_precision: bool = False) -> Clip:
    """Return the CLIP at `path`, or of a name.

    Args:
        path: a folder in open_clip's layout (open_clip_config.json and weights), a YAML file that
            pins weights, a Parquet file of precomputed texts (text, source, embedding), or a model
            that open_clip knows: `open_clip_model("ViT-B-32", "openai")` or "ViT-B-32:openai".
        device: `auto`, `cpu` or `cuda`.
        half_precision: whether the towers compute in float16, on a GPU only; their first batch
            must agree with float32.

    Raises:
        InputError: the path is none of these, weights cannot be fetched or are not those pinned,
            or `cuda` is asked for and there is no GPU.
    """
    if Path(path).suffix == ".parquet":
        return PrecomputedTexts(path)
    chosen = choose_device(device)
    halved = half_precision and chosen.type == "cuda"
    return OpenClip(find_clip_files(path), chosen, torch.float16 if halved else torch.float32)


def model_clip(source: str | None, name: str | None, device: str = "auto") -> Clip:
    """Return the CLIP that a model was fitted with, loaded once for all models that share it."""
    if source is None:
        named = f" ({name})" if name else ""
        raise InputError(
            f"the model does not know where its CLIP{named} is; expected embeddings, or the CLIP: "
            f"{NAMED_BY}"
        )
    if Path(source).is_absolute() and not Path(source).exists():
        raise InputError(
            f"{source}: the CLIP of the model is not there; expected "
            f"{name or 'the one that it was fitted with'}: {NAMED_BY}"
        )
    clip = _shared_clip(source, device)
    if None not in (clip.name, name) and clip.name != name:
        raise InputError(f"{source} is {clip.name}; the model was fitted with {name}")
    return clip


@lru_cache(maxsize=2)
def _shared_clip(source: str, device: str) -> Clip:
    return load_clip(source, device)


@dataclass(frozen=True)
class SameClip:
    """What a worker must agree with: the stamp of the stage's CLIP, and torch's threads there.

    Sums in another order end in other bits.
    """

    stamp: str
    threads: int

    @classmethod
    def of(cls, clip: Clip) -> SameClip:
        """Return what workers compare their CLIP with."""
        return cls(clip.stamp, torch.get_num_threads())

    def check(self, clip: Clip) -> Clip:
        """Set the threads of this process, and refuse a `clip` that computes other numbers."""
        torch.set_num_threads(self.threads)
        if clip.stamp != self.stamp:
            raise InputError(
                f"compute.ray: a worker has the CLIP {clip.stamp!r}, the process of the stage has "
                f"{self.stamp!r}; expected the same files and the same torch on all machines, and "
                "a GPU for the stage where compute.ray.gpus_per_worker gives the workers one"
            )
        return clip


def choose_device(name: str) -> torch.device:
    """Return the device for `auto` (a GPU if there is one), `cpu` or `cuda`."""
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise InputError("device cuda: torch finds no GPU; expected auto or cpu")
    return torch.device("cuda" if available and name != "cpu" else "cpu")


def _load_towers(
    files: ClipFiles, device: torch.device
) -> tuple[Any, Preprocessing, Callable[..., torch.Tensor]]:
    """Return the model with its weights, the preprocessing of images, and the tokenizer."""
    import open_clip

    create: Callable[..., tuple[Any, Any, Any]] = open_clip.create_model_and_transforms
    try:
        with _without_false_alarm():
            built, _, preprocess = create(
                files.model, load_weights=False, pretrained_text=False, **files.preprocessing
            )
            # Without this, transformers asks on standard input whether to run code of the folder.
            safe = {}
            if _architecture(files).get("text_cfg", {}).get("hf_tokenizer_name"):
                safe["trust_remote_code"] = False
            tokenizer: Any = open_clip.get_tokenizer(files.model, **safe)
            open_clip.load_checkpoint(built, str(files.weights))
        return built.to(device).eval().requires_grad_(False), Preprocessing(preprocess), tokenizer
    except Exception as error:  # what a stranger wrote may raise anything
        reason = str(error).strip() or type(error).__name__
        raise InputError(
            f"{files.where}: open_clip cannot load {files.weights} as {files.model} ({reason})"
        ) from error


def _architecture(files: ClipFiles) -> dict[str, Any]:
    if files.model.startswith("local-dir:"):
        config = Path(files.model.removeprefix("local-dir:")) / CONFIG
        return json.loads(config.read_text(encoding="utf-8"))["model_cfg"]
    import open_clip

    config = open_clip.get_model_config(files.model)
    if config is None:
        raise InputError(f"{files.where}: open_clip knows no architecture {files.model!r}")
    return config


@contextlib.contextmanager
def _without_false_alarm() -> Iterator[None]:
    """Drop what open_clip logs with the root logger: steps, and an alarm about random weights."""
    root = logging.getLogger()

    def is_not_open_clip_s(record: logging.LogRecord) -> bool:
        return "open_clip" not in Path(record.pathname).parts

    # Without a handler, `logging.info` would give the user's program one for good.
    handler = None if root.handlers else logging.lastResort
    if handler is not None:
        root.addHandler(handler)
    root.addFilter(is_not_open_clip_s)
    try:
        yield
    finally:
        root.removeFilter(is_not_open_clip_s)
        if handler is not None:
            root.removeHandler(handler)
