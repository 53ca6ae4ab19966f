"""Where weights come from: folders, pins, names, and a hub on this machine."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from safetensors.torch import load_file, save_file

from infopursuit.clip import weights
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.clip.weights import (
    CONFIG,
    OPENAI,
    SAFE,
    HubWeights,
    clip_source,
    find_clip_files,
    licence,
)
from infopursuit.core.errors import InputError
from infopursuit.core.settings import read_settings
from tests.clip.conftest import MODEL, ROOT
from tests.small_hub import serving

FIRST, SECOND = "a" * 40, "b" * 40
MEAN = (0.1, 0.2, 0.3)
TEXTS = ["a red bird", "four legs"]
BIN = "open_clip_pytorch_model.bin"
PINS = sorted((ROOT / "params" / "clip").glob("*.yaml"))


@pytest.fixture
def copy(tiny_clip: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_clip, tmp_path / "copy"))


@pytest.fixture
def hub(tmp_path: Path, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a hub's models, with the tiny CLIP; open_clip knows two tags of it."""
    from huggingface_hub import close_session, constants

    models = tmp_path / "models"
    shutil.copytree(tiny_clip, models / "some/tiny" / FIRST)
    row = {"url": "", "hf_hub": "some/tiny/", "mean": MEAN, "std": MEAN, "resize_mode": "squash"}
    tags = {"here": row, "quick": {**row, "quick_gelu": True}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", tags)
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", MODEL)
    quick = MODEL | {"quick_gelu": True}
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny-quickgelu", quick)
    with serving(tmp_path) as env:
        monkeypatch.setattr(constants, "ENDPOINT", url := env["HF_ENDPOINT"])
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("{")[2]
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{url}/{{{template}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        yield models
        close_session()


def asked(models: Path) -> str:
    file = models.parent / "asked.txt"
    return file.read_text() if file.exists() else ""


def write_nan(folder: Path) -> None:
    state = load_file(folder / SAFE)
    state["text_projection"][:] = torch.nan
    save_file(state, folder / SAFE)


def write_program(folder: Path) -> None:
    (folder / SAFE).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.save(torch.jit.script(torch.nn.Identity()), folder / "open_clip_model.pt")


def write_config(folder: Path, model: Any = MODEL, **tokenizer: Any) -> None:
    if tokenizer:
        model = {**MODEL, "text_cfg": {**MODEL["text_cfg"], "tokenizer_kwargs": tokenizer}}
    (folder / CONFIG).write_text(json.dumps({"model_cfg": model}))


def large(**towers: dict[str, Any]) -> dict[str, Any]:
    return {**MODEL, **{name: {**MODEL[name], **changes} for name, changes in towers.items()}}


# -- folders ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda f: write_config(f, MODEL | {"embed_dim": 8}), "cannot load"),
        (lambda f: write_config(f, MODEL | {"embed_dim": 2**17}), "embed_dim"),
        (lambda f: write_config(f, MODEL | {"vision_cfg": {"layers": 300}}), "layers"),
        (
            lambda f: write_config(f, MODEL | {"vision_cfg": {"layers": 99, "width": 9999}}),
            "too small",
        ),
        (lambda f: write_config(f, MODEL | {"text_cfg": {"hf_model_name": "x"}}), "hf_model_name"),
        (lambda f: (f / SAFE).write_bytes(b"no"), "cannot load"),
        (lambda f: shutil.copy(f / SAFE, f / "other.safetensors"), "one file of weights"),
        (lambda f: (f / CONFIG).unlink(), "no open_clip_config"),
        (lambda f: (f / CONFIG).write_text("{}"), "model_cfg"),
        (write_nan, "NaN"),
        (lambda f: write_config(f, large(vision_cfg={"layers": 10**6})), "expected at most 256"),
        (lambda f: write_config(f, large(text_cfg={"vocab_size": 6e7})), "size is 60000000.0"),
        (lambda f: write_config(f, large(text_cfg={"hf_model_name": "x/y"})), "bring code"),
        # A configuration brings no code and reads no other file.
        (lambda f: write_config(f, trust_remote_code=True), "trust_remote_code"),
        (lambda f: write_config(f, clean="lower", bpe_path="/x"), "bpe_path"),
        (lambda f: write_config(f, tokenizer_file="x"), "tokenizer_file"),
        (write_program, "TorchScript"),
    ],
)
def test_a_folder_that_is_no_clip_is_refused(
    copy: Path, spoil: Callable[[Path], Any], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(copy)
    monkeypatch.setattr(torch.jit, "load", lambda *_, **__: pytest.fail("the program runs"))
    with pytest.raises(InputError, match=word):
        load_clip(copy, "cpu").encode_texts(["a"])


# -- the hub ---------------------------------------------------------------------------------


def test_a_repository_by_its_name_is_the_commit_that_main_was(
    hub: Path, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = clip_source("hf-hub:some/tiny")
    assert source == f"hf-hub:some/tiny@{FIRST}"
    (hub / "some/tiny" / SECOND).mkdir()
    clip, here = load_clip(source, "cpu"), load_clip(tiny_clip, "cpu")
    assert clip.name == here.name
    np.testing.assert_array_equal(clip.encode_texts(TEXTS), here.encode_texts(TEXTS))
    before = asked(hub)
    assert find_clip_files(source).name == here.name
    assert asked(hub) == before, "a commit in the cache needs no network"
    with pytest.raises(InputError, match=rf"cannot fetch {CONFIG} of some/tiny .*Not Found"):
        clip_source("hf-hub:some/tiny")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert find_clip_files(clip_source(source)).name == here.name


def test_a_pickle_is_found_by_a_repository_s_name_and_not_by_a_pin(
    hub: Path, tiny_clip: Path, tmp_path: Path
) -> None:
    folder = hub / "some/tiny" / FIRST
    torch.save(load_file(folder / SAFE), folder / BIN)
    (folder / SAFE).unlink()
    wanted = load_clip(tiny_clip, "cpu").encode_texts(TEXTS)
    np.testing.assert_array_equal(load_clip("hf-hub:some/tiny").encode_texts(TEXTS), wanted)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"hub: some/tiny\nrevision: {FIRST}\n")
    with pytest.raises(InputError, match=rf"pinned.*{SAFE} of some/tiny at aaaa.*Not Found"):
        find_clip_files(pinned)


def test_weights_with_another_checksum_than_the_hub_told_are_refused(hub: Path) -> None:
    file = find_clip_files(source := f"hf-hub:some/tiny@{FIRST}").weights
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    file.resolve().write_bytes(b"something else")
    message = rf"models--some--tiny.* has the SHA-256 \w+; expected {right}; remove the file"
    for name in (source, "tiny:here"):
        with pytest.raises(InputError, match=message):
            find_clip_files(name)
    file.resolve().unlink()
    assert find_clip_files(source).weights.exists()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("hf-hub:some/gated", "fetch open_clip_config.json of some/gated.*Access .* is restricted"),
        ("hf-hub:some/nothing", "Repository Not Found"),
        (f"hf-hub:some/tiny@{SECOND}", f"some/tiny at {SECOND} from .*Revision Not Found"),
        (f"hf-hub:some/siglip@{FIRST}", r"package transformers.*pip install 'infopursuit\[siglip"),
        ("offline", "tiny:here: cannot fetch .* of some/tiny .*offline"),
    ],
)
def test_what_the_hub_says_is_told(
    hub: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    for name in ("gated", "siglip"):
        shutil.copytree(hub / "some/tiny" / FIRST, hub / "some" / name / FIRST)
    (hub / "some/gated" / FIRST / "GATED").touch()
    text = {**MODEL["text_cfg"], "hf_tokenizer_name": "some/siglip"}
    write_config(hub / "some/siglip" / FIRST, {**MODEL, "text_cfg": text})
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    if source == "offline":
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        source = "tiny:here"
    with pytest.raises(InputError, match=message):
        find_clip_files(source)
    assert SAFE not in asked(hub)


# -- pins ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("colour: red\n", "missing key"),
        ("hub: a/b\nrevision: main\n", "revision"),
        (f"hub: a/b\nrevision: {FIRST}\ncolour: red\n", "colour"),
        # Weights of a repository are in it.
        *(
            (f"hub: a/b\nrevision: {FIRST}\nweights: {path}\n", "weights")
            for path in ("/x.pt", "a/../../x.pt", ".x", "a//b")
        ),
    ],
)
def test_a_wrong_pin_is_refused(tmp_path: Path, text: str, word: str) -> None:
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(text)
    with pytest.raises(InputError, match=word):
        load_clip(pinned, "cpu")


def test_openai_s_weights_are_of_one_commit_and_one_space_however_they_are_named(
    hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256((hub / "some/tiny" / FIRST / SAFE).read_bytes()).hexdigest()
    pin = {"hub": "some/tiny", "revision": FIRST, "sha256": digest, "archive": "f" * 12}
    monkeypatch.setitem(OPENAI, "tiny", pin)
    tags = open_clip.pretrained._PRETRAINED["tiny"]
    monkeypatch.setitem(tags, "openai", tags["quick"])
    shutil.copytree(hub / "some/tiny" / FIRST, hub / "some/tiny" / SECOND)
    pinned = tmp_path / "tiny.yaml"
    pinned.write_text(f"hub: some/tiny\nrevision: {FIRST}\n")
    for source in ("tiny", "tiny:openai", f"hf-hub:some/tiny@{FIRST}", pinned):
        found = find_clip_files(source)
        assert (found.model, found.name) == (
            f"{'tiny'}-quickgelu",
            f"open_clip:tiny-quickgelu:{'f' * 12}",
        )
        assert found.weights.parent.name == FIRST
    monkeypatch.setitem(pin, "sha256", "0" * 64)
    with pytest.raises(InputError, match=f"SHA-256 {digest}; expected 0000"):
        find_clip_files(pinned)


def test_the_pins_of_openai_s_weights_are_the_repositories_that_open_clip_names() -> None:
    pins = [read_settings(path, HubWeights) for path in PINS if "openai" in path.name]
    assert {(pin.hub, pin.revision) for pin in pins} <= {
        (pin["hub"], pin["revision"]) for pin in OPENAI.values()
    }
    assert len(pins) == 3
    for name, pin in OPENAI.items():
        known = open_clip.get_pretrained_cfg(name, "openai")
        assert known["hf_hub"] == f"{pin['hub']}/"
        assert f"/{pin['archive']}" in known["url"]


# -- names -----------------------------------------------------------------------------------


def test_a_name_and_a_tag_load_the_weights_of_the_hub(
    hub: Path, tiny_clip: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        clip = load_clip("tiny:here", "cpu")
    assert f"tiny:here: the weights of commit {FIRST} of some/tiny" in caplog.text
    assert isinstance(clip, OpenClip)
    digest = hashlib.sha256((tiny_clip / SAFE).read_bytes()).hexdigest()
    assert (clip.name, clip.width) == (f"open_clip:tiny:{digest[:12]}", 16)
    wanted = load_clip(tiny_clip, "cpu").encode_texts(TEXTS)
    np.testing.assert_array_equal(clip.encode_texts(TEXTS), wanted)
    # The preprocessing is that of the tag.
    normalize = clip.preprocess.transforms[-1]
    assert (tuple(normalize.mean), tuple(normalize.std)) == (MEAN, MEAN)
    # Weights trained with quick GELU get it.
    quick = load_clip("tiny:quick", "cpu")
    assert str(quick.name).startswith("open_clip:tiny-quickgelu:")
    assert np.abs(quick.encode_texts(TEXTS) - wanted).max() > 1e-5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("artifacts/clip", "expected a folder with"),
        ("ViT-B-23", "ViT-B-23: nothing.*did you mean .*ViT-B-32"),
        ("hf-hub:tiny", "expected hf-hub:OWNER/NAME"),
        ("hf-hub:a/tiny@main", "expected hf-hub:OWNER/NAME"),
        ("ViT-B-32:mine", "no weights 'mine' for ViT-B-32; expected one of openai, laion400m"),
        ("tiny", "no weights 'openai' for tiny; expected one of here, quick"),
    ],
)
def test_a_name_that_nobody_knows_is_refused(hub: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_clip(name, "cpu")


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.stem)
def test_each_ready_pin_says_its_licence(path: Path) -> None:
    known = licence(str(path))
    assert known is not None
    words = " ".join(path.read_text(encoding="utf-8").replace("#", "").split())
    assert known in words or ("For research alone (Apple's" in words and "Apple's" in known)
