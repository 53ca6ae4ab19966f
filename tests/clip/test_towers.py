"""The towers of a CLIP: against open_clip, in float16, without padding; a table instead."""

from __future__ import annotations

import io
import json
import logging
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from open_clip.transform import image_transform
from PIL import Image
from safetensors.torch import load_file, save_file
from torchvision.transforms import Compose

from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.text_tower import TextTower, refuse_long, tokens_of
from infopursuit.clip.towers import (
    MOST_LONG,
    OpenClip,
    Preprocessing,
    image_tower,
    load_clip,
    model_clip,
)
from infopursuit.clip.weights import CONFIG, find_clip_files
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import to_rgb
from tests.clip.conftest import MODEL, write_texts
from tests.datasets.images import encoded

CPU = torch.device("cpu")
TEXTS = ["a red bird", "four legs", "x", "a striped tail"]


def test_a_folder_gives_the_same_embeddings_as_open_clip(tiny_clip: Path, clip: OpenClip) -> None:
    model, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{tiny_clip}")
    model.eval()
    image = Image.open(io.BytesIO(encoded(0)))
    with torch.no_grad():
        pixels = preprocess(image)[None]
        wanted_image = model.encode_image(pixels, normalize=True).numpy()
        tokens = open_clip.get_tokenizer(f"local-dir:{tiny_clip}")(TEXTS)
        wanted_texts = model.encode_text(tokens, normalize=True).numpy()
    assert torch.equal(clip.preprocess(image)[None], pixels)
    np.testing.assert_allclose(clip.encode_images(pixels), wanted_image, atol=1e-6)
    embeddings = clip.encode_texts(TEXTS)
    np.testing.assert_allclose(embeddings, wanted_texts, atol=1e-6)
    assert clip.width == 16 == embeddings.shape[1]


def test_the_clip_of_a_model_is_loaded_once_and_is_the_one_it_was_fitted_with(
    tiny_clip: Path, clip: OpenClip, tmp_path: Path
) -> None:
    source = str(tiny_clip)
    found = model_clip(source, clip.name, "cpu")
    assert found.name == clip.name
    assert model_clip(source, None, "cpu") is found
    for wrong, message in [
        ((None, clip.name), rf"does not know where its CLIP \({clip.name}\) is"),
        ((str(tmp_path / "gone"), "other"), r"is not there; expected other: give --clip"),
        ((source, "other"), f"is {clip.name}; the model was fitted with other"),
    ]:
        with pytest.raises(InputError, match=message):
            model_clip(*wrong, device="cpu")


def test_a_tokenizer_may_not_ask_to_run_code(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where transformers is installed, it would read the answer from the standard input."""
    folder = shutil.copytree(tiny_clip, tmp_path / "clip")
    config = json.loads((folder / CONFIG).read_text())
    config["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "x"
    (folder / CONFIG).write_text(json.dumps(config))
    options: list[dict] = []

    def get_tokenizer(_: str, **more: Any) -> Callable:
        options.append(more)
        return open_clip.tokenize

    monkeypatch.setattr(open_clip, "get_tokenizer", get_tokenizer)
    monkeypatch.setattr("infopursuit.clip.weights.importlib.util.find_spec", lambda _: "there")
    assert load_clip(folder, "cpu").preprocess
    assert options == [{"trust_remote_code": False}]


# -- preprocessing ---------------------------------------------------------------------------


def test_a_very_long_picture_is_resized_without_its_ends(clip: OpenClip) -> None:
    draw = np.random.default_rng(0)
    for size in ((6, 6 * MOST_LONG), (6, 6 * MOST_LONG + 1), (6, 501), (500, 6)):
        small = draw.integers(0, 255, (size[1] // 6, size[0] // 6, 3), dtype=np.uint8)
        picture = Image.fromarray(small).resize(size)
        whole = clip._loaded[1]._resizing(picture)
        found = clip.pixels(picture).transpose(1, 2, 0)
        assert np.abs(found.astype(int) - np.asarray(whole)).mean() < 2  # of noise
    # As a whole it would take 3 GB at this CLIP's 16 pixels, and far more at the usual 224.
    line = Image.new("RGB", (2_000_000, 1), (0, 90, 0))
    assert np.unique(clip.pixels(line)[1]).tolist() == [90]


@pytest.mark.parametrize("mode", ["shortest", "longest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
def test_both_parts_of_the_preprocessing_equal_the_whole(mode: Any, interpolation: Any) -> None:
    how: dict[str, Any] = {"resize_mode": mode, "interpolation": interpolation}
    whole: Any = image_transform(32, is_train=False, std=(0.3, 0.2, 0.1), **how)
    parts = Preprocessing(whole)
    seen = {"shortest": (0.25, 0, 0.75, 1), "longest": (0, -0.5, 1, 1.5), "squash": (0, 0, 1, 1)}
    assert parts.seen(200, 100) == seen[mode]
    images = [to_rgb(encoded(0, size=size)) for size in [(40, 36), (33, 90), (20, 20), (64, 31)]]
    images.append(images[0].convert("L"))
    pixels = [torch.from_numpy(parts.pixels(image)) for image in images]
    wanted = torch.stack([whole(image) for image in images])
    assert torch.equal(parts.normalized(torch.stack(pixels)), wanted)
    assert torch.equal(parts.normalized(wanted), wanted)
    with pytest.raises(TypeError, match="ends in to-tensor and normalise"):
        Preprocessing(Compose([*whole.transforms, torch.nn.Identity()]))


# -- float16, on the CPU, which can compute it too -------------------------------------------


def half(folder: Path) -> OpenClip:
    return OpenClip(find_clip_files(folder), CPU, torch.float16)


def pictures(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def spoilt(tiny_clip: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the tiny CLIP with some of its weights multiplied."""

    def spoil(**factors: float) -> Path:
        folder = shutil.copytree(tiny_clip, tmp_path / "spoilt", dirs_exist_ok=True)
        state = load_file(tiny_clip / "open_clip_model.safetensors")
        for name, factor in factors.items():
            state[name.replace("__", ".")] *= factor
        save_file(state, folder / "open_clip_model.safetensors")
        return folder

    return spoil


def test_float16_agrees_with_float32_and_only_the_first_batch_is_made_twice(
    tiny_clip: Path, clip: OpenClip, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved = half(tiny_clip)
    model = halved._loaded[0]
    types = []
    encode = model.encode_image

    def watched(images: torch.Tensor) -> torch.Tensor:
        types.append(images.dtype)
        return encode(images)

    monkeypatch.setattr(model, "encode_image", watched)
    for name, batch in [("encode_texts", TEXTS), ("encode_images", pictures())]:
        wanted, first, second = (getattr(each, name)(batch) for each in (clip, halved, halved))
        assert np.array_equal(first, second), "the first batch is float16 like the others"
        assert not np.array_equal(first, wanted)
        assert (first * wanted).sum(axis=1).min() > 0.9999
        assert first.dtype == np.float32
    pixels = (pictures() * 40 + 100).clamp(0, 255).to(torch.uint8)
    assert (halved.encode_images(pixels) * clip.encode_images(pixels)).sum(axis=1).min() > 0.9999
    assert types == [torch.float32, *[torch.float16] * 3]


def test_a_tower_that_float16_spoils_is_refused_each_time_and_leaves_the_other_usable(
    spoilt: Callable[..., Path],
) -> None:
    folder = spoilt(visual__ln_post__weight=3e4, visual__proj=3e4)
    assert np.isfinite(load_clip(folder, "cpu").encode_images(pictures())).all()
    clip = half(folder)
    wanted = clip.encode_texts(TEXTS)
    message = (
        r"compute\.half_precision: .* of images in float16; expected a cosine of at least 0\.999 "
        r".*, found numbers that are not finite"
    )
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            clip.encode_images(pictures())
    assert np.array_equal(clip.encode_texts(TEXTS), wanted)
    with pytest.raises(InputError, match=r"compute\.half_precision: .* found a cosine of 0\.\d"):
        half(spoilt(visual__proj=1e-6)).encode_images(pictures())
    with pytest.raises(InputError, match="NaN") as error:
        half(spoilt(visual__proj=float("nan"))).encode_images(pictures())
    assert "half_precision" not in str(error.value)


def test_half_precision_is_for_a_gpu_and_part_of_the_stamp(
    tiny_clip: Path, clip: OpenClip, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = load_clip(tiny_clip, "cpu", half_precision=True)
    assert asked.stamp == clip.stamp
    assert np.array_equal(asked.encode_images(pictures()), clip.encode_images(pictures()))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    stamps = [load_clip(tiny_clip, "cuda", half_precision=on).stamp for on in (False, True)]
    assert ["float16" in stamp for stamp in stamps] == [False, True]


# -- a table of texts ------------------------------------------------------------------------


def test_a_table_looks_texts_up_and_refuses_all_else(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    matrix = write_texts(path, ["a", "b", "c"], "open_clip:some")
    clip = load_clip(path, "cpu")
    assert isinstance(clip, PrecomputedTexts)
    assert (clip.name, clip.width) == ("open_clip:some", 16)
    wanted = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(clip.encode_texts(["c", "a", "c"]), wanted[[2, 0, 2]], atol=1e-6)
    with pytest.raises(InputError, match="'red', 'blue' not among its 3 texts"):
        clip.encode_texts(["a", "red", "blue"])
    with pytest.raises(InputError, match="cannot embed images"):
        image_tower(clip)
    write_texts(path, ["a", "b", "a"])
    with pytest.raises(InputError, match="row 0 and a later one are both 'a'"):
        load_clip(path, "cpu")


# -- texts without their padding, against `encode_text` of open_clip ---------------------------

MIXED_TEXTS = [
    "a striped tail",
    "",
    "red",
    " ".join(["feather"] * 40),
    "Café, naïve &amp; fine",
    "a photo of a giant panda, eating",
    "red",
    "x " * 14,
    "<end_of_text> and more",
    "RED\n thing",
]
MULTIMODAL = {"context_length": 16, "width": 32, "heads": 2, "layers": 1, "vocab_size": 49408}


def model_of(kind: str, **text: Any) -> Any:
    import open_clip

    settings = {**MODEL, "text_cfg": {**MODEL["text_cfg"], "layers": 3, **text}}
    if kind == "CoCa":
        settings["multimodal_cfg"] = MULTIMODAL
    torch.manual_seed(0)
    model = getattr(open_clip, kind)(**settings).eval().requires_grad_(False)
    # At their initial size attention hardly tells tokens apart; here it must.
    for name, parameter in model.named_parameters():
        if "in_proj_weight" in name:
            parameter *= 3
    return model


@cache
def tokenizer(clean: str = "lower") -> Any:
    from open_clip.tokenizer import SimpleTokenizer

    return SimpleTokenizer(context_length=16, clean=clean)


def plain(model: Any, texts: list[str]) -> np.ndarray:
    with torch.inference_mode():
        rows = [model.encode_text(tokenizer()([text]), normalize=True) for text in texts]
    return torch.cat(rows).float().numpy()


def unit(rows: torch.Tensor) -> np.ndarray:
    return torch.nn.functional.normalize(rows, dim=-1).numpy()


CAUSAL = [
    ("CLIP", {}),
    ("CLIP", {"pool_type": "eos", "eos_id": 49407}),
    ("CLIP", {"proj_type": "none"}),
    ("CLIP", {"proj_bias": True, "act_kwargs": {"approximate": "tanh"}}),
    ("CLIP", {"qk_norm": True, "scale_attn": True, "scale_fc": True, "ls_init_value": 0.5}),
    ("CustomTextCLIP", {}),
    ("CustomTextCLIP", {"pool_type": "eos", "eos_id": 49407, "pad_id": 1}),
]


@pytest.mark.parametrize(("kind", "text"), CAUSAL)
def test_texts_without_padding_embed_as_with_padding(kind: str, text: dict[str, Any]) -> None:
    model = model_of(kind, **text)
    tower = TextTower(model, tokenizer(), CPU)
    assert tower.obstacle is None
    wanted = plain(model, MIXED_TEXTS)
    for batch_size in (1, 2, 64):
        rows = tower.encode(MIXED_TEXTS, batch_size)
        np.testing.assert_allclose(unit(rows), wanted, atol=1e-5)
        assert torch.equal(rows, tower.encode(MIXED_TEXTS, batch_size))
    # Other texts differ by far more than that.
    apart = 1 - wanted @ wanted.T + np.eye(len(MIXED_TEXTS))
    for equal in ([2, 6], [1, 8]):
        apart[np.ix_(equal, equal)] = 1
    assert apart.min() > 1e-3


NOT_CUT = [
    ("CLIP", {"no_causal_mask": True}, "its attention is not causal"),
    ("CLIP", {"pool_type": "last"}, "read off at: last"),
    ("CLIP", {"pool_type": "first"}, "read off at: first"),
    ("CustomTextCLIP", {"no_causal_mask": True, "pool_type": "last"}, "not causal"),
    ("CustomTextCLIP", {"no_causal_mask": True}, "not causal"),
    ("CustomTextCLIP", {"embed_cls": True}, "1 - cosine is"),
    ("CoCa", {"embed_cls": True}, "1 - cosine is"),
    ("mask", {}, "its mask lets tokens see later ones"),
]


@pytest.mark.parametrize(("kind", "text", "reason"), NOT_CUT)
def test_towers_that_need_padding_get_it(
    kind: str, text: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of(kind.replace("mask", "CLIP"), output_tokens=kind == "CoCa", **text)
    if kind == "mask":
        model.attn_mask[3, 9] = 0
    with caplog.at_level(logging.INFO):
        tower = TextTower(model, tokenizer(), CPU)
    assert reason in caplog.text
    assert tower.obstacle is not None
    for batch_size in (1, 3, 64):
        rows = tower.encode(MIXED_TEXTS, batch_size)
        np.testing.assert_allclose(unit(rows), plain(model, MIXED_TEXTS), atol=1e-5)


SPECIAL = ["&lt ;x&amp;lt;", "<start_of_text>", "don't  they'll", "a\x00b", "ﬁne", "Ä&"]


@example([*MIXED_TEXTS, *SPECIAL])
@given(st.lists(st.text(max_size=30) | st.text("aB'<>&;# 1_.é\t\n", max_size=40), max_size=8))
def test_tokens_are_those_of_open_clip(texts: list[str]) -> None:
    for clean in ("lower", "whitespace", "canonicalize"):
        assert torch.equal(tokens_of(texts, tokenizer(clean)), tokenizer(clean)(texts))


@pytest.mark.parametrize("end", ["red", "not red", "&lt; red"])
def test_a_text_of_more_tokens_than_are_read_is_refused(end: str) -> None:
    refuse_long(["very " * 13 + "red", "blue " * 14], tokenizer())
    with pytest.raises(InputError, match=f"the text .*{end}' has more than the 16 tokens"):
        refuse_long(["blue", "very " * 30 + end], tokenizer())
