"""Where weights come from: folders, pins, names; a hub and addresses stand in for real ones."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from safetensors.torch import load_file, save_file

from infopursuit.clip import download, weights
from infopursuit.clip.download import HOSTS
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.clip.weights import (
    OPENAI,
    OPENAI_SHA256,
    DownloadedWeights,
    clip_source,
    find_clip_files,
    licence,
    open_clip_model,
    read_pinned_weights,
)
from infopursuit.core.errors import InputError
from tests.clip.conftest import MODEL, ROOT, write_archive

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MEAN = (0.1, 0.2, 0.3)
TEXTS = ["a red bird", "four legs"]
CONFIG, SAFE = "open_clip_config.json", "open_clip_model.safetensors"


@pytest.fixture
def copy(tiny_clip: Path, tmp_path: Path) -> Path:
    """A copy of the tiny CLIP, to spoil."""
    return Path(shutil.copytree(tiny_clip, tmp_path / "copy"))


def write_pinned(path: Path, **keys: str) -> Path:
    path.write_text("".join(f"{key}: {value}\n" for key, value in keys.items()))
    return path


def write_nan(folder: Path) -> None:
    state = load_file(folder / SAFE)
    state["text_projection"][:] = torch.nan
    save_file(state, folder / SAFE)


def write_config(folder: Path, model: Any = MODEL, **tokenizer: Any) -> None:
    if tokenizer:
        model = {**MODEL, "text_cfg": {**MODEL["text_cfg"], "tokenizer_kwargs": tokenizer}}
    (folder / CONFIG).write_text(json.dumps({"model_cfg": model}))


def large(**towers: dict[str, Any]) -> dict[str, Any]:
    return {**MODEL, **{name: {**MODEL[name], **changes} for name, changes in towers.items()}}


# -- folders ---------------------------------------------------------------------------------


def test_the_name_follows_weights_and_configuration(tiny_clip: Path, copy: Path) -> None:
    name = find_clip_files(tiny_clip).name
    assert find_clip_files(copy).name == name
    assert name.startswith("open_clip:")
    assert name.endswith(":" + hashlib.sha256((tiny_clip / SAFE).read_bytes()).hexdigest()[:12])
    write_config(copy, MODEL | {"quick_gelu": True})
    assert find_clip_files(copy).name != name


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: write_config(f, MODEL | {"embed_dim": 8}), "cannot load"),
        (lambda f: (f / SAFE).write_bytes(b"no"), "cannot load"),
        (write_nan, "NaN"),
        (lambda f: write_config(f, large(vision_cfg={"layers": 10**6})), "expected at most 256"),
        (lambda f: write_config(f, large(text_cfg={"vocab_size": 6e7})), "size is 60000000.0"),
        (lambda f: write_config(f, large(text_cfg={"hf_model_name": "x/y"})), "bring code"),
        # A configuration brings no code and reads no other file.
        (lambda f: write_config(f, trust_remote_code=True), "kwargs sets trust_remote_code; exp"),
        (lambda f: write_config(f, clean="lower", bpe_path="/x"), "kwargs sets bpe_path; expected"),
        (lambda f: write_config(f, tokenizer_file="x"), "kwargs sets tokenizer_file; expected"),
    ],
)
def test_messages_about_folders(copy: Path, spoil: Callable[[Path], Any], message: str) -> None:
    spoil(copy)
    with pytest.raises(InputError, match=message):
        load_clip(copy, "cpu").encode_texts(["a"])


def test_a_program_that_replaces_weights_does_not_run(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy / SAFE).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.save(torch.jit.script(torch.nn.Identity()), copy / "open_clip_model.pt")
    monkeypatch.setattr(torch.jit, "load", lambda *_, **__: pytest.fail("the program runs"))
    with pytest.raises(InputError, match="is a TorchScript archive, which is a program"):
        load_clip(copy, "cpu").encode_texts(["a"])


# -- pins ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour: red\n", "one of the keys"),
        ("hub: a/b\nrevision: main\n", "revision: .* found 'main'"),
        (f"hub: a/b\nrevision: {COMMIT}\ncolour: red\n", "colour"),
        ("architecture: RN50\nurl: http://x/y\n", "sha256"),
        # Weights of a repository are in it, and an address is of the web and ends in a name.
        *(
            (f"hub: a/b\nrevision: {COMMIT}\nweights: {path}\n", "weights: String should match")
            for path in ("/x.pt", "a/../../x.pt", ".x", "a//b")
        ),
        *(
            (f"architecture: RN50\nsha256: {'f' * 64}\nurl: {url}\n", "url: String should match")
            for url in (
                "file:///etc/passwd",
                "https://there/..",
                "https://there/a?b=/../../x",
            )
        ),
    ],
)
def test_messages_about_pins(tmp_path: Path, text: str, message: str) -> None:
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(text)
    with pytest.raises(InputError, match=message):
        load_clip(pinned, "cpu")


class _Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        if self.path != "/redirected.pt":
            super().do_GET()
            return
        self.send_response(302)
        self.send_header("Location", "ftp://127.0.0.1/w.pt")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server of the files in the test's folder, which is the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    _Quiet.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_download_is_verified_and_kept(tmp_path: Path, web: str) -> None:
    (tmp_path / "w.pt").write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    kept = tmp_path / ".cache" / "clip" / f"{digest[:16]}-w.pt"
    keys = {"architecture": "RN50", "url": f"{web}/w.pt"}
    wrong = write_pinned(tmp_path / "wrong.yaml", **keys, sha256="f" * 64)
    with pytest.raises(InputError, match=r"w\.pt has the SHA-256 .*; expected ffff"):
        find_clip_files(wrong)
    assert [path.suffix for path in kept.parent.iterdir()] in ([], [".lock"])
    pinned = write_pinned(tmp_path / "right.yaml", **keys, sha256=digest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Quiet, "asked", [])
        callers = [threading.Thread(target=find_clip_files, args=(pinned,)) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert len(_Quiet.asked) == 1, "several callers, one download"
    (tmp_path / "w.pt").unlink()
    assert find_clip_files(pinned).weights.read_bytes() == b"weights"
    kept.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"its SHA-256 is .* remove the file to download it again"):
        find_clip_files(pinned)


@pytest.mark.parametrize(
    ("url", "hosts", "message"),
    [
        ("{web}/w.pt", "other.example", "is not at one of .*allow it with INFOPURSUIT_HOSTS=127"),
        ("http://huggingface.co/w.pt", "", "by https"),
        ("https://evil-github.com/w.pt", "", "is not at one of"),
        ("{web}/redirected.pt", "127.0.0.1", "ftp://127.0.0.1/w.pt is not at one of"),
        ("{web}/endless.pt", "127.0.0.1", r"more than 0 GB\)"),
    ],
)
def test_a_stranger_s_address_is_not_asked(
    tmp_path: Path, web: str, monkeypatch: pytest.MonkeyPatch, url: str, hosts: str, message: str
) -> None:
    """The file that pins a CLIP travels with a model."""
    (tmp_path / "endless.pt").write_bytes(bytes(100_000))
    monkeypatch.setenv(HOSTS, hosts)
    monkeypatch.setattr(download, "MOST_BYTES", 10_000)
    keys = {"architecture": "RN50", "url": url.format(web=web), "sha256": "f" * 64}
    with pytest.raises(InputError, match=message):
        find_clip_files(write_pinned(tmp_path / "clip.yaml", **keys))
    assert bool(_Quiet.asked) == ("127.0.0.1" in hosts)
    assert not list(tmp_path.glob(".cache/clip/*.incomplete"))


def test_without_a_network_messages_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(HOSTS, "127.0.0.1")
    pinned = write_pinned(
        tmp_path / "pinned.yaml",
        architecture="ViT-B-32-quickgelu",
        url="http://127.0.0.1:9/ViT-B-32.pt",
        sha256="f" * 64,
    )
    with pytest.raises(InputError, match=r"pinned\.yaml: cannot download .*place the file at"):
        load_clip(pinned, "cpu")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    pinned = write_pinned(tmp_path / "hub.yaml", hub="nobody/no-clip", revision=COMMIT)
    with pytest.raises(InputError, match=r"hub\.yaml: cannot fetch nobody/no-clip at 0123"):
        load_clip(pinned, "cpu")


# -- OpenAI's archives -----------------------------------------------------------------------


def test_openai_s_weights_are_pinned_here_whatever_open_clip_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name and the YAML file in params/clip lead to one file and one embedding space."""
    asked: list[DownloadedWeights] = []

    def download(where: str, pinned: DownloadedWeights) -> Path:
        asked.append(pinned)
        return tmp_path / "weights.pt"

    monkeypatch.setattr(weights, "_download", download)
    monkeypatch.setattr(open_clip, "get_pretrained_cfg", lambda name, tag: {"hf_hub": "other/"})
    monkeypatch.setattr(open_clip, "list_pretrained", list)
    paths = sorted((ROOT / "params" / "clip").glob("*-openai.yaml"))
    assert len(paths) == 3
    for path in paths:
        pinned = find_clip_files(path)
        name = path.stem.removesuffix("-openai")
        assert find_clip_files(open_clip_model(name)).name == pinned.name
        assert find_clip_files(f"{name}-quickgelu:openai").name == pinned.name
        assert pinned.model == f"{name}-quickgelu"
        assert asked[-3] == asked[-2] == asked[-1] == read_pinned_weights(path)
        assert pinned.sha256 in OPENAI_SHA256
    assert len(OPENAI) == len(OPENAI_SHA256) == 9


def test_openai_s_archives_load_whatever_open_clip_lists(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    cache = tmp_path / ".cache" / "clip"
    digest = write_archive(load_file(tiny_clip / SAFE), cache / "tiny.pt")
    shutil.copy(cache / "tiny.pt", cache / f"{digest[:16]}-tiny.pt")
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", MODEL)
    monkeypatch.setattr(open_clip, "list_pretrained", list)
    keys = {"architecture": "tiny", "url": "http://nowhere/tiny.pt", "sha256": digest}
    pinned = write_pinned(tmp_path / "tiny.yaml", **keys)
    with pytest.raises(InputError, match="which is a program"):
        load_clip(pinned, "cpu").encode_texts(TEXTS)
    for module in ("towers", "weights"):
        monkeypatch.setattr(f"infopursuit.clip.{module}.OPENAI_SHA256", {digest})
    clip = load_clip(pinned, "cpu")
    assert (clip.name, clip.width) == (f"open_clip:tiny:{digest[:12]}", 16)
    wanted = load_clip(tiny_clip, "cpu").encode_texts(TEXTS)
    np.testing.assert_array_equal(clip.encode_texts(TEXTS), wanted)


# -- names -----------------------------------------------------------------------------------


@pytest.fixture
def hub(tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """open_clip knows an architecture `tiny`, the hub's cache has its weights; no network."""
    import huggingface_hub

    common = {"mean": MEAN, "std": MEAN, "interpolation": "bilinear", "resize_mode": "squash"}
    row = {"url": "", "hf_hub": "somebody/tiny/", **common}
    tags = {"here": row, "quick": {**row, "quick_gelu": True}}
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", MODEL)
    quick = MODEL | {"quick_gelu": True}
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny-quickgelu", quick)
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", tags)
    repository = tmp_path / "hub" / "models--somebody--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    shutil.copy(tiny_clip / SAFE, snapshot)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return snapshot


@pytest.mark.parametrize("by_name", [True, False])
def test_a_name_and_a_tag_load_the_weights_of_the_hub(
    hub: Path, tiny_clip: Path, by_name: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        clip = load_clip("tiny:here" if by_name else open_clip_model("tiny", "here"), "cpu")
    assert f"tiny:here: the weights of commit {COMMIT} of somebody/tiny" in caplog.text
    assert isinstance(clip, OpenClip)
    digest = hashlib.sha256((hub / SAFE).read_bytes()).hexdigest()
    assert (clip.name, clip.width) == (f"open_clip:tiny:{digest[:12]}", 16)
    wanted = load_clip(tiny_clip, "cpu").encode_texts(TEXTS)
    np.testing.assert_array_equal(clip.encode_texts(TEXTS), wanted)
    # The preprocessing is that of the tag.
    normalize = clip.preprocess.transforms[-1]
    assert (tuple(normalize.mean), tuple(normalize.std)) == (MEAN, MEAN)


def test_weights_trained_with_quick_gelu_get_it(hub: Path) -> None:
    quick, plain = load_clip("tiny:quick", "cpu"), load_clip("tiny:here", "cpu")
    assert str(quick.name).startswith("open_clip:tiny-quickgelu:")
    assert np.abs(quick.encode_texts(["a bird"]) - plain.encode_texts(["a bird"])).max() > 1e-5


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("ViT-B-32:laion2b_s34b_b79k", "MIT"),
        ("PE-Core-B-16:meta", "Apache-2.0"),
        ("ViT-B-32:metaclip_400m", "CC-BY-NC-4.0, not for commercial use"),
        ("hf-hub:laion/CLIP-ViT-B-32-256x256-DataComp-s34B-b86K", "MIT"),
        ("hf-hub:somebody/tiny", None),
        ("/a/folder", None),
        (None, None),
    ],
)
def test_licences_of_weights(source: str | None, wanted: str | None) -> None:
    assert licence(source) == wanted


def test_each_ready_pin_is_of_a_commit_and_says_its_licence() -> None:
    pins = sorted((ROOT / "params" / "clip").glob("*.yaml"))
    assert len(pins) == 8
    for path in pins:
        said = licence(str(path))
        assert said is not None
        words = " ".join(path.read_text(encoding="utf-8").replace("#", "").split())
        assert said in words or ("For research alone (Apple's" in words and "Apple's" in said)


def test_the_only_tag_of_an_architecture_needs_no_name(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = open_clip.pretrained._PRETRAINED["tiny"]
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", {"here": tags["here"]})
    assert clip_source("tiny") == "tiny:here"
    with pytest.raises(InputError, match="no weights 'quick' for tiny; expected one of here"):
        clip_source("tiny", "quick")


def test_the_copies_have_the_numbers_of_openai_s_archives() -> None:
    """Where both are in the caches, as after one run without and one with OpenAI's address."""
    from huggingface_hub import try_to_load_from_cache

    compared = 0
    for archive, copy in weights.COPIES.items():
        (name,) = [path.split("/")[1] for path in OPENAI.values() if path.startswith(archive)]
        safe = try_to_load_from_cache(copy["hub"], SAFE, revision=copy["revision"])
        file = Path.home() / ".cache" / "clip" / name
        if isinstance(safe, str) and file.is_file():
            whole = torch.jit.load(file, map_location="cpu").state_dict()
            for key, value in load_file(safe).items():
                assert torch.equal(value, whole[key].to(value.dtype)), f"{name}: {key}"
            compared += 1
    if not compared:
        pytest.skip("no archive of OpenAI's and its copy in the caches")


def test_spellings_of_names(hub: Path) -> None:
    assert str(open_clip_model("ViT-B/32")) == "ViT-B-32:openai"
    named = open_clip_model("ViT-B-32", "laion2b-s34b-b79k")
    assert str(named) == "ViT-B-32:laion2b_s34b_b79k"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("artifacts/clip", "a name that open_clip knows .* or hf-hub:OWNER/NAME, found nothing"),
        ("hf-hub:tiny", "expected hf-hub:OWNER/NAME or hf-hub:OWNER/NAME@COMMIT"),
        ("hf-hub:a/tiny@main", "expected hf-hub:OWNER/NAME or hf-hub:OWNER/NAME@COMMIT"),
        ("ViT-B-32:mine", "no weights 'mine' for ViT-B-32; expected one of openai, laion400m"),
        ("tiny", "no weights 'openai' for tiny; expected one of here, quick"),
        (
            "tiny:here",
            "tiny:here: cannot fetch somebody/tiny from the Hugging Face hub .*; connect",
        ),
    ],
)
def test_messages_about_names(hub: Path, name: str, message: str) -> None:
    (hub / SAFE).unlink()
    with pytest.raises(InputError, match=message):
        load_clip(name, "cpu")


def test_unknown_architectures_are_reported_with_near_ones() -> None:
    with pytest.raises(InputError, match=r"architecture 'ViT-B-23'; did you mean .*ViT-B-32"):
        open_clip_model("ViT-B-23")
