"""float16 towers, on the CPU, which can compute them too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.clip.half_precision import halve
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.clip.weights import find_clip_files
from infopursuit.core.errors import InputError
from tests.clip.tiny import MODEL

CPU = torch.device("cpu")
TEXTS = ["a red bird", "four legs", "x", "a striped tail"]
# What CoCa has beyond a CLIP: a decoder, a class token after the text, towers with two outputs.
COCA = {
    "vision_cfg": {
        **MODEL["vision_cfg"],
        "attentional_pool": True,
        "attn_pooler_heads": 2,
        "output_tokens": True,
    },
    "text_cfg": {**MODEL["text_cfg"], "embed_cls": True, "output_tokens": True},
    "multimodal_cfg": MODEL["text_cfg"],
}


def half(folder: Path) -> OpenClip:
    return OpenClip(find_clip_files(folder), CPU, torch.float16)


def pictures(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def spoilt(tiny_clip: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the tiny CLIP with some of its weights multiplied."""
    from safetensors.torch import load_file, save_file

    def spoil(**factors: float) -> Path:
        folder = shutil.copytree(tiny_clip, tmp_path / "spoilt", dirs_exist_ok=True)
        state = load_file(tiny_clip / "open_clip_model.safetensors")
        for name, factor in factors.items():
            state[name.replace("__", ".")] *= factor
        save_file(state, folder / "open_clip_model.safetensors")
        return folder

    return spoil


def test_float16_agrees_with_float32_and_is_float16(tiny_clip: Path) -> None:
    whole, halved = load_clip(tiny_clip, "cpu"), half(tiny_clip)
    for name, batch in [("encode_texts", TEXTS), ("encode_images", pictures())]:
        wanted, first, second = (getattr(clip, name)(batch) for clip in (whole, halved, halved))
        assert np.array_equal(first, second), "the first batch is float16 like the others"
        assert not np.array_equal(first, wanted)
        assert (first * wanted).sum(axis=1).min() > 0.9999
        assert first.dtype == np.float32
    bytes_of_images = (pictures() * 40 + 100).clamp(0, 255).to(torch.uint8)
    found, wanted = halved.encode_images(bytes_of_images), whole.encode_images(bytes_of_images)
    assert (found * wanted).sum(axis=1).min() > 0.9999


def test_only_the_first_batch_of_a_tower_is_made_twice(
    tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = half(tiny_clip)
    model = clip._loaded[0]
    types = []
    encode = model.encode_image

    def watched(images: torch.Tensor) -> torch.Tensor:
        types.append(images.dtype)
        return encode(images)

    monkeypatch.setattr(model, "encode_image", watched)
    for _ in range(3):
        clip.encode_images(pictures())
        clip.encode_texts(TEXTS)
    assert types == [torch.float32, *[torch.float16] * 3]


@pytest.mark.parametrize("kind", ["CLIP", "CustomTextCLIP", "CoCa"])
def test_each_tower_is_converted_alone(kind: str) -> None:
    import open_clip

    settings = MODEL | (COCA if kind == "CoCa" else {})
    model = getattr(open_clip, kind)(**settings).eval().requires_grad_(False)
    pixels, tokens = pictures(), torch.randint(1, 400, (2, 16))
    wanted = model.encode_image(pixels), model.encode_text(tokens)
    halve(model, "images")
    assert {p.dtype for p in model.visual.parameters()} == {torch.float16}
    assert torch.equal(model.encode_text(tokens), wanted[1])
    halve(model, "texts")
    assert {p.dtype for p in model.parameters()} == {torch.float16}
    found = model.encode_image(pixels.half()), model.encode_text(tokens)
    for rows, expected in zip(found, wanted, strict=True):
        assert rows.dtype == torch.float16
        assert torch.cosine_similarity(rows.float(), expected).min() > 0.9999


def test_an_overflow_in_float16_is_told_and_told_again(spoilt: Callable[..., Path]) -> None:
    folder = spoilt(visual__ln_post__weight=3e4, visual__proj=3e4, ln_final__weight=3e4)
    whole, clip = load_clip(folder, "cpu"), half(folder)
    assert np.isfinite(whole.encode_images(pictures())).all()
    for _ in range(2):
        with pytest.raises(
            InputError,
            match=r"compute\.half_precision: .* of images in float16; expected a cosine of at "
            r"least 0\.999 .*, found numbers that are not finite",
        ):
            clip.encode_images(pictures())
    folder = spoilt(ln_final__weight=3e4, text_projection=3e4)
    assert np.isfinite(load_clip(folder, "cpu").encode_texts(TEXTS)).all()
    with pytest.raises(InputError, match=r"compute\.half_precision: .* of texts in float16"):
        half(folder).encode_texts(TEXTS)


def test_numbers_that_float16_loses_are_told(spoilt: Callable[..., Path]) -> None:
    clip = half(spoilt(visual__proj=1e-6))
    with pytest.raises(InputError, match=r"compute\.half_precision: .* found a cosine of 0\.\d"):
        clip.encode_images(pictures())


def test_a_failed_tower_leaves_the_other_usable(spoilt: Callable[..., Path]) -> None:
    folder = spoilt(visual__ln_post__weight=3e4, visual__proj=3e4)
    clip = half(folder)
    wanted = clip.encode_texts(TEXTS)
    with pytest.raises(InputError, match=r"compute\.half_precision"):
        clip.encode_images(pictures())
    assert np.array_equal(clip.encode_texts(TEXTS), wanted)


def test_nan_in_float32_is_no_matter_of_precision(spoilt: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match="NaN") as error:
        half(spoilt(visual__proj=float("nan"))).encode_images(pictures())
    assert "half_precision" not in str(error.value)


def test_half_precision_is_for_a_gpu_and_part_of_the_stamp(
    tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, asked = load_clip(tiny_clip, "cpu"), load_clip(tiny_clip, "cpu", half_precision=True)
    assert asked.stamp == plain.stamp
    assert np.array_equal(asked.encode_images(pictures()), plain.encode_images(pictures()))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    stamps = {load_clip(tiny_clip, "cuda", half_precision=on).stamp for on in (False, True)}
    assert len(stamps) == 2
    assert json.dumps(sorted(stamps)).count("float16") == 1
