"""Models that open_clip knows by name, from a hub and addresses that stand in for real ones."""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path

import numpy as np
import open_clip
import pytest

from infopursuit.clip.pretrained import find_pretrained, open_clip_model, pretrained_name
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.core.errors import InputError
from tests.clip.tiny import MODEL

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MEAN = (0.1, 0.2, 0.3)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Makes open_clip know an architecture `tiny`, with weights on the hub."""
    factory, pretrained = open_clip.factory, open_clip.pretrained
    common = {"mean": MEAN, "std": MEAN, "interpolation": "bilinear", "resize_mode": "squash"}
    tags = {
        "here": {"url": "", "hf_hub": "somebody/tiny/", **common},
        "quick": {"url": "", "hf_hub": "somebody/tiny/", "quick_gelu": True, **common},
    }
    monkeypatch.setitem(factory._MODEL_CONFIGS, "tiny", MODEL)
    monkeypatch.setitem(factory._MODEL_CONFIGS, "tiny-quickgelu", MODEL | {"quick_gelu": True})
    monkeypatch.setitem(pretrained._PRETRAINED, "tiny", tags)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def hub(known: None, tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the hub's client as a download leaves it; there is no network."""
    import huggingface_hub

    repository = tmp_path / "hub" / "models--somebody--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    shutil.copy(tiny_clip / "open_clip_model.safetensors", snapshot)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return snapshot


@pytest.mark.parametrize("by_name", [True, False])
def test_a_name_and_a_tag_load_the_weights_of_the_hub(
    hub: Path, tiny_clip: Path, by_name: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        clip = load_clip("tiny:here" if by_name else open_clip_model("tiny", "here"), "cpu")
    assert f"tiny:here: the weights of commit {COMMIT} of somebody/tiny/" in caplog.text
    assert isinstance(clip, OpenClip)
    digest = hashlib.sha256((hub / "open_clip_model.safetensors").read_bytes()).hexdigest()
    assert clip.name == f"open_clip:tiny:{digest[:12]}"
    assert clip.width == 16
    texts = ["a red bird", "four legs"]
    wanted = load_clip(tiny_clip, "cpu").encode_texts(texts)
    np.testing.assert_array_equal(clip.encode_texts(texts), wanted)
    # The preprocessing is that of the tag.
    normalize = clip.preprocess.transforms[-1]
    assert (tuple(normalize.mean), tuple(normalize.std)) == (MEAN, MEAN)
    assert "No pretrained weights" not in caplog.text


def test_weights_trained_with_quick_gelu_get_it(hub: Path) -> None:
    quick = load_clip("tiny:quick", "cpu")
    assert quick.name is not None
    assert quick.name.startswith("open_clip:tiny-quickgelu:")
    plain = load_clip("tiny:here", "cpu")
    assert np.abs(quick.encode_texts(["a bird"]) - plain.encode_texts(["a bird"])).max() > 1e-5


def test_openai_s_weights_are_those_of_the_file_that_pins_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of an address and the YAML file in params/clip lead to one file and one space."""
    from infopursuit.clip.weights import DownloadedWeights, find_clip_files

    asked: list[DownloadedWeights] = []

    def downloaded(where: str, pinned: DownloadedWeights) -> Path:
        asked.append(pinned)
        return tmp_path / "weights.pt"

    monkeypatch.setattr("infopursuit.clip.pretrained.downloaded", downloaded)
    monkeypatch.setattr("infopursuit.clip.weights.downloaded", downloaded)
    for architecture in ("RN50", "ViT-B-32", "ViT-L-14"):
        named = find_pretrained(open_clip_model(architecture))
        pinned = find_clip_files(f"params/clip/{architecture}-openai.yaml")
        assert (named.name, named.model) == (pinned.name, pinned.model)
        assert named.preprocessing["image_interpolation"] == "bicubic"
        assert asked[-2] == asked[-1]


def test_names_are_told_from_paths(
    known: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert str(pretrained_name("ViT-B/32")) == "ViT-B-32:openai"
    assert str(pretrained_name("ViT-B-32:laion2b-s34b-b79k")) == "ViT-B-32:laion2b_s34b_b79k"
    assert pretrained_name("artifacts/clip") is None
    with pytest.raises(InputError, match=r"or a name that open_clip knows .* found nothing"):
        load_clip("artifacts/clip")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ViT-B-32").mkdir()
    with pytest.raises(InputError, match=r"ViT-B-32: no open_clip_config\.json"):
        load_clip("ViT-B-32")


@pytest.mark.parametrize(
    ("architecture", "tag", "message"),
    [
        ("ViT-B-23", "openai", r"architecture 'ViT-B-23'; did you mean .*ViT-B-32"),
        ("?", "openai", r"architecture '\?'; expected one that open_clip\.list_pretrained"),
        ("ViT-B-32", "mine", "no weights 'mine' for ViT-B-32; expected one of openai, laion400m"),
        ("tiny", "openai", "no weights 'openai' for tiny; expected one of here, quick"),
    ],
)
def test_names_that_open_clip_does_not_know_are_told(
    known: None, architecture: str, tag: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_clip_model(architecture, tag)


def test_without_a_network_a_name_says_what_to_do(hub: Path) -> None:
    (hub / "open_clip_model.safetensors").unlink()
    message = "cannot fetch the weights of tiny:here from somebody/tiny/ .*; connect to the network"
    with pytest.raises(InputError, match=message):
        load_clip("tiny:here", "cpu")


def test_an_address_that_cannot_be_reached_is_told(
    known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://127.0.0.1:9/openaipublic/" + 64 * "f" + "/tiny.pt"
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED["tiny"], "openai", {"url": url})
    with pytest.raises(InputError, match=r"tiny:openai: cannot download .* or place the file at"):
        load_clip("tiny", "cpu")


def test_the_alarm_about_random_weights_is_not_shown_and_others_are(
    tiny_clip: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build = open_clip.create_model_and_transforms

    def building(*args: object, **options: object) -> object:
        logging.getLogger().warning("the disk is nearly full")
        logging.getLogger("another").info("a step of another library")
        return build(*args, **options)

    monkeypatch.setattr(open_clip, "create_model_and_transforms", building)
    with caplog.at_level(logging.INFO):
        load_clip(tiny_clip, "cpu").encode_texts(["a"])
        build(f"local-dir:{tiny_clip}", load_weights=False)
    assert caplog.text.count("No pretrained weights loaded") == 1
    assert "the disk is nearly full" in caplog.text
    assert "a step of another library" in caplog.text


def test_loading_leaves_the_root_logger_as_it_was(
    tiny_clip: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    load_clip(tiny_clip, "cpu").encode_texts(["a"])
    assert root.handlers == []
    assert root.filters == []
    assert capsys.readouterr().err == ""
