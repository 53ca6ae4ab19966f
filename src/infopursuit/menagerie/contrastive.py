"""The menagerie's CLIP: an ordinary open_clip model, small, trained contrastively on drawn pairs.

The result is a folder that open_clip reads like any other model of its own kind:
`open_clip.create_model_and_transforms("local-dir:FOLDER")`.
"""

import io
import json
import logging
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from jaxtyping import Float, Int, UInt8
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor
from tqdm import tqdm

from infopursuit.errors import InputError
from infopursuit.menagerie.settings import ClipSettings
from infopursuit.repeatable import compute_repeatably

logger = logging.getLogger(__name__)

CONFIG_FILE = "open_clip_config.json"
WEIGHTS_FILE = "open_clip_model.safetensors"
MEAN, STD = 0.5, 0.25
MAX_LOGIT_SCALE = math.log(100.0)


def model_config(settings: ClipSettings, size: int) -> dict[str, Any]:
    """The content of open_clip_config.json for pictures of size x size pixels."""
    vision, text = settings.vision, settings.text
    return {
        "model_cfg": {
            "embed_dim": settings.embed_dim,
            "vision_cfg": {
                "image_size": size,
                "layers": vision.layers,
                "width": vision.width,
                "head_width": vision.head_width,
            },
            "text_cfg": {
                "context_length": text.context_length,
                "vocab_size": 49408,
                "width": text.width,
                "heads": text.heads,
                "layers": text.layers,
            },
        },
        "preprocess_cfg": {"mean": [MEAN] * 3, "std": [STD] * 3},
    }


def decode(pngs: Sequence[bytes], where: str) -> UInt8[Tensor, "n 3 h w"]:
    """Pictures as one tensor (n, 3, h, w), uint8.

    Raises:
        InputError: a picture is damaged or not as large as the first one.
    """
    arrays: list[np.ndarray] = []
    for row, png in enumerate(pngs):
        try:
            with Image.open(io.BytesIO(png)) as picture:
                array = np.asarray(picture.convert("RGB"))
        except OSError as error:
            raise InputError(f"{where}: row {row}: expected a PNG picture: {error}") from error
        if arrays and array.shape != arrays[0].shape:
            raise InputError(
                f"{where}: row {row}: expected a picture of shape {arrays[0].shape}, "
                f"found {array.shape}"
            )
        arrays.append(array)
    return torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2).contiguous()


def tokenize(texts: Sequence[Sequence[str]], context_length: int) -> Int[Tensor, "n m t"]:
    """Token ids (n, m, context_length) of the m texts of each of n pictures, each text once."""
    tokenizer = open_clip.SimpleTokenizer(context_length=context_length)
    distinct = list(dict.fromkeys(text for row in texts for text in row))
    number = {text: index for index, text in enumerate(distinct)}
    rows = torch.tensor([[number[text] for text in row] for row in texts])
    return tokenizer(distinct)[rows]


def _batches(count: int, batch: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """`steps` batches of row numbers: every row once per round, in a new order each round."""
    waiting = torch.empty(0, dtype=torch.int64)
    for _ in range(steps):
        while len(waiting) < batch:
            waiting = torch.cat([waiting, torch.randperm(count, generator=generator)])
        yield waiting[:batch]
        waiting = waiting[batch:]


def _augment(
    pixels: UInt8[Tensor, "b 3 h w"], shift: int, generator: torch.Generator
) -> Float[Tensor, "b 3 h w"]:
    """Normalised pictures, some mirrored, all moved by a few pixels: no text tells either."""
    mirrored = torch.rand(len(pixels), generator=generator) < 0.5
    flipped = torch.where(mirrored[:, None, None, None], pixels.flip(-1), pixels)
    floats = (flipped.float() / 255.0 - MEAN) / STD
    if shift == 0:
        return floats
    down, right = torch.randint(0, 2 * shift + 1, (2,), generator=generator).tolist()
    padded = torch.nn.functional.pad(floats, (shift, shift, shift, shift), mode="replicate")
    height, width = pixels.shape[-2:]
    return padded[:, :, down : down + height, right : right + width]


def train(
    folder: Path,
    pixels: UInt8[Tensor, "n 3 h w"],
    tokens: Int[Tensor, "n m t"],
    settings: ClipSettings,
) -> open_clip.CLIP:
    """Train the model whose config lies in `folder`, by open_clip's ClipLoss and AdamW.

    A batch pairs each picture with one of its texts, drawn anew each time. The learning rate warms
    up and then falls to zero along a cosine. Equal inputs and threads give equal weights.

    Args:
        folder: holds open_clip_config.json.
        pixels: pictures, uint8.
        tokens: m tokenised texts per picture, int64.
        settings: model and training settings.

    Raises:
        InputError: there are fewer pictures than one batch needs.
    """
    if len(pixels) < settings.batch_size:
        raise InputError(
            f"clip.batch_size: expected at most the {len(pixels)} drawn pairs, "
            f"found {settings.batch_size}"
        )
    compute_repeatably()
    torch.manual_seed(settings.seed)
    generator = torch.Generator().manual_seed(settings.seed)
    model = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
    assert isinstance(model, open_clip.CLIP)  # what a config without custom parts builds
    # Channels last is the fast layout of convolutions on a CPU; the values stay the same.
    model.visual.to(memory_format=torch.channels_last)
    loss_of = open_clip.ClipLoss()
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)
    model.train()
    every, average = max(1, settings.steps // 10), 0.0
    batches = _batches(len(pixels), settings.batch_size, settings.steps, generator)
    for step, rows in enumerate(tqdm(batches, total=settings.steps, desc="clip", disable=None)):
        warm = min(1.0, (step + 1) / max(1, settings.warmup_steps))
        rate = settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        for group in optimizer.param_groups:
            group["lr"] = rate
        choice = torch.rand(rows.shape[0], tokens.shape[1], generator=generator).argsort(dim=1)
        choice = choice[:, : settings.texts_per_step]
        images = model.encode_image(_augment(pixels[rows], settings.shift, generator), True)
        texts = model.encode_text(tokens[rows[:, None], choice].flatten(0, 1), True)
        texts = texts.unflatten(0, choice.shape)
        scale = model.logit_scale.exp()
        losses = [loss_of(images, texts[:, which], scale) for which in range(choice.shape[1])]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0.0, MAX_LOGIT_SCALE)
        average += loss.item()
        if (step + 1) % every == 0:
            logger.info("step %d of %d: loss %.4f", step + 1, settings.steps, average / every)
            average = 0.0
    return model.eval()


def write_config(folder: Path, settings: ClipSettings, size: int) -> None:
    """Write open_clip_config.json into a new or existing folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(model_config(settings, size), indent=2, sort_keys=True)
    (folder / CONFIG_FILE).write_text(text + "\n", encoding="utf-8")


def write_weights(folder: Path, model: torch.nn.Module) -> None:
    """Write the weights beside the config, without metadata: equal weights, equal bytes."""
    weights = {name: value.contiguous() for name, value in sorted(model.state_dict().items())}
    save_file(weights, folder / WEIGHTS_FILE)


@torch.inference_mode()
def retrieval_accuracy(
    model: open_clip.CLIP, pixels: UInt8[Tensor, "n 3 h w"], tokens: Int[Tensor, "n t"]
) -> float:
    """The share of pictures whose own text scores highest among the texts of all n pictures."""
    images = model.encode_image((pixels.float() / 255.0 - MEAN) / STD, normalize=True)
    texts = model.encode_text(tokens, normalize=True)
    best = (images @ texts.T).argmax(dim=1)
    return (best == torch.arange(len(pixels))).float().mean().item()
