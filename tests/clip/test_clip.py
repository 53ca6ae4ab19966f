from __future__ import annotations

import hashlib
import io
import json
import shutil
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.pretrained import openai_archives
from infopursuit.clip.towers import OpenClip, choose_device, load_clip
from infopursuit.clip.weights import read_pinned_weights
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_TEXTS, write_table
from tests.clip.tiny import MODEL
from tests.datasets.images import encoded

ROOT = Path(__file__).parents[2]

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_folder_gives_the_same_embeddings_as_open_clip(tiny_clip: Path) -> None:
    import open_clip

    clip = load_clip(tiny_clip, "cpu")
    assert isinstance(clip, OpenClip)
    model, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{tiny_clip}")
    model.eval()
    image = Image.open(io.BytesIO(encoded(0)))
    texts = ["a red bird", "four legs", "x"]
    with torch.no_grad():
        pixels = preprocess(image)[None]
        wanted_image = model.encode_image(pixels, normalize=True).numpy()
        tokens = open_clip.get_tokenizer(f"local-dir:{tiny_clip}")(texts)
        wanted_texts = model.encode_text(tokens, normalize=True).numpy()
    assert torch.equal(clip.preprocess(image)[None], pixels)
    np.testing.assert_allclose(clip.encode_images(pixels), wanted_image, atol=1e-6)
    found = clip.encode_texts(texts)
    np.testing.assert_allclose(found, wanted_texts, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert clip.width == 16 == found.shape[1]


def test_the_name_follows_weights_and_configuration(tiny_clip: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_clip, tmp_path / "copy")
    name = load_clip(tiny_clip, "cpu").name
    assert name is not None
    assert load_clip(copy, "cpu").name == name
    weights = (tiny_clip / "open_clip_model.safetensors").read_bytes()
    assert name.startswith("open_clip:")
    assert name.endswith(":" + hashlib.sha256(weights).hexdigest()[:12])
    config = {"model_cfg": {**MODEL, "quick_gelu": True}}
    (copy / "open_clip_config.json").write_text(json.dumps(config))
    assert load_clip(copy, "cpu").name != name


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "open_clip_config.json").unlink(), "no open_clip_config.json"),
        (lambda f: (f / "open_clip_config.json").write_text("{"), "a configuration of open_clip"),
        (lambda f: (f / "open_clip_config.json").write_text("{}"), "no key 'model_cfg'"),
        (lambda f: (f / "open_clip_model.safetensors").unlink(), "one file of weights"),
        (lambda f: (f / "open_clip_model.safetensors").write_bytes(b"no"), "cannot load"),
    ],
)
def test_a_spoiled_folder_is_told(tiny_clip: Path, tmp_path: Path, spoil, message: str) -> None:
    folder = shutil.copytree(tiny_clip, tmp_path / "spoiled")
    spoil(folder)
    with pytest.raises(InputError, match=message):
        load_clip(folder, "cpu").encode_texts(["a"])


def test_weights_of_another_architecture_are_told(tiny_clip: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_clip, tmp_path / "other")
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": MODEL | {"embed_dim": 8}})
    )
    with pytest.raises(InputError, match="cannot load"):
        load_clip(folder, "cpu").encode_texts(["a"])


def test_weights_that_give_nan_are_told(tiny_clip: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_clip, tmp_path / "nan")
    state = load_file(folder / "open_clip_model.safetensors")
    state["text_projection"][:] = torch.nan
    save_file(state, folder / "open_clip_model.safetensors")
    with pytest.raises(InputError, match="NaN"):
        load_clip(folder, "cpu").encode_texts(["a"])


def test_a_path_that_is_no_clip_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found nothing"):
        load_clip(tmp_path / "absent", "cpu")


def test_cuda_without_a_gpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(InputError, match=r"compute\.device"):
        choose_device("cuda")


def write_pinned(path: Path, **keys: str) -> Path:
    path.write_text("".join(f"{key}: {value}\n" for key, value in keys.items()))
    return path


def test_pinned_weights_load_a_torchscript_archive_as_openai_publishes_it(
    tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import open_clip
    from safetensors.torch import load_file

    def archive(state: dict[str, torch.Tensor]) -> torch.nn.Module:
        """Nested modules that hold a state, like the published archives."""
        root = torch.nn.Module()
        for key, value in state.items():
            *path, name = key.split(".")
            module = root
            for part in path:
                if not hasattr(module, part):
                    module.add_module(part, torch.nn.Module())
                module = getattr(module, part)
            module.register_buffer(name, value)
        return root

    state = load_file(tiny_clip / "open_clip_model.safetensors")
    extras = {"input_resolution": torch.tensor(32), "vocab_size": torch.tensor(49408)}
    cache = tmp_path / ".cache" / "clip"
    cache.mkdir(parents=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.save(torch.jit.script(archive(state | extras)), cache / "tiny.pt")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", MODEL)
    digest = hashlib.sha256((cache / "tiny.pt").read_bytes()).hexdigest()
    monkeypatch.setattr("infopursuit.clip.towers.openai_archives", lambda: {digest})
    pinned = write_pinned(
        tmp_path / "tiny.yaml", architecture="tiny", url="http://nowhere/tiny.pt", sha256=digest
    )
    clip = load_clip(pinned, "cpu")
    assert clip.name == f"open_clip:tiny:{digest[:12]}"
    assert clip.width == 16
    texts = ["a red bird", "four legs"]
    wanted = load_clip(tiny_clip, "cpu").encode_texts(texts)
    np.testing.assert_array_equal(clip.encode_texts(texts), wanted)

    (cache / "tiny.pt").write_bytes(b"something else")
    with pytest.raises(InputError, match="SHA-256"):
        load_clip(pinned, "cpu")


class _Program(torch.nn.Module):
    """Writes a file when it is read."""

    def __init__(self, weight: torch.Tensor, path: str) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)
        self.path = path

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, str, bool]:
        return self.weight, self.path, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, str, bool]) -> None:
        self.weight = state[0]
        self.path = state[1]
        self.training = state[2]
        torch.save(state[0], state[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_a_program_in_the_place_of_weights_does_not_run(tiny_clip: Path, tmp_path: Path) -> None:
    target = tmp_path / "written"
    folder = Path(shutil.copytree(tiny_clip, tmp_path / "clip"))
    (folder / "open_clip_model.safetensors").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        program = torch.jit.script(_Program(torch.zeros(2), str(target)))
        torch.jit.save(program, folder / "open_clip_model.pt")
        target.unlink(missing_ok=True)
        torch.jit.load(folder / "open_clip_model.pt")
    target.unlink()  # it would work
    with pytest.raises(InputError, match="is a TorchScript archive, which is a program"):
        load_clip(folder, "cpu").encode_texts(["a"])
    assert not target.exists()


def test_the_archives_of_openai_are_those_that_may_run() -> None:
    found = openai_archives()
    pinned = sorted((ROOT / "params" / "clip").glob("*-openai.yaml"))
    assert {read_pinned_weights(path).sha256 for path in pinned} <= found  # type: ignore[attr-defined]
    assert len(found) == 9


@pytest.mark.parametrize(
    "options", [{"trust_remote_code": True}, {"bpe_path": "/etc/passwd"}, {"tokenizer_file": "x"}]
)
def test_a_configuration_brings_no_code_and_reads_no_other_file(
    tiny_clip: Path, tmp_path: Path, options: dict
) -> None:
    folder = Path(shutil.copytree(tiny_clip, tmp_path / "clip"))
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"]["tokenizer_kwargs"] = {"clean": "lower", **options}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=f"tokenizer_kwargs sets {next(iter(options))}; expected"):
        load_clip(folder, "cpu")


@pytest.mark.parametrize(
    "keys",
    [
        {"url": "file:///etc/passwd"},
        {"url": "https://there/.."},
        {"url": "https://there/"},
        {"url": "https://there/a?b=/../../x"},
        {"url": "ftp://there/x.pt"},
    ],
)
def test_an_address_is_of_the_web_and_ends_in_a_name(tmp_path: Path, keys: dict) -> None:
    path = write_pinned(tmp_path / "x.yaml", architecture="RN50", sha256="f" * 64, **keys)
    with pytest.raises(InputError, match="url: String should match pattern"):
        load_clip(path, "cpu")


@pytest.mark.parametrize("weights", ["../x.pt", "/x.pt", "a/../../x.pt", ".x", "a//b"])
def test_weights_of_a_repository_are_in_it(tmp_path: Path, weights: str) -> None:
    path = write_pinned(tmp_path / "x.yaml", hub="a/b", revision="a" * 40, weights=weights)
    with pytest.raises(InputError, match="weights: String should match pattern"):
        load_clip(path, "cpu")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a server of the files in the test's folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_download_is_verified_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: str
) -> None:
    from infopursuit.clip.weights import find_clip_files

    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "w.pt").write_bytes(b"weights")
    url = f"{web}/w.pt"
    wrong = write_pinned(tmp_path / "wrong.yaml", architecture="RN50", url=url, sha256="f" * 64)
    with pytest.raises(InputError, match="SHA-256"):
        find_clip_files(wrong)
    assert not list((tmp_path / ".cache" / "clip").iterdir())
    digest = hashlib.sha256(b"weights").hexdigest()
    pinned = write_pinned(tmp_path / "right.yaml", architecture="RN50", url=url, sha256=digest)
    assert find_clip_files(pinned).weights.read_bytes() == b"weights"
    (tmp_path / "w.pt").unlink()
    assert find_clip_files(pinned).weights.read_bytes() == b"weights"


def test_without_a_network_an_address_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    pinned = write_pinned(
        tmp_path / "pinned.yaml",
        architecture="ViT-B-32-quickgelu",
        url="http://127.0.0.1:9/ViT-B-32.pt",
        sha256="f" * 64,
    )
    with pytest.raises(InputError, match=r"pinned\.yaml: cannot download .*place the file at"):
        load_clip(pinned, "cpu")


def test_without_a_network_pinned_hub_weights_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    pinned = write_pinned(tmp_path / "pinned.yaml", hub="nobody/no-clip", revision=COMMIT)
    started = time.perf_counter()
    with pytest.raises(InputError, match=r"pinned\.yaml: cannot fetch nobody/no-clip at 0123"):
        load_clip(pinned, "cpu")
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a mapping of settings"),
        ("colour: red\n", "one of the keys"),
        ("a: [", "not valid YAML"),
        ("hub: a/b\nrevision: main\n", "revision: .* found 'main'"),
        ("hub: a/b\nrevision: " + COMMIT + "\ncolour: red\n", "colour"),
        ("architecture: RN50\nurl: http://x/y\n", "sha256"),
    ],
)
def test_mistakes_in_pinned_weights_are_told(tmp_path: Path, text: str, message: str) -> None:
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(text)
    with pytest.raises(InputError, match=message):
        load_clip(pinned, "cpu")


def test_the_shipped_weights_are_well_formed() -> None:
    from infopursuit.clip.weights import DownloadedWeights
    from infopursuit.core.settings import read_settings

    paths = sorted(Path("params/clip").glob("*.yaml"))
    assert len(paths) == 3
    for path in paths:
        pinned = read_settings(path, DownloadedWeights)
        assert pinned.sha256 in pinned.url
        assert path.stem.removesuffix("-openai") + "-quickgelu" == pinned.architecture


def write_texts(path: Path, texts: list[str], clip: str | None = None) -> np.ndarray:
    matrix = np.random.default_rng(0).normal(size=(len(texts), 16)).astype(np.float16)
    columns = {"text": texts, "source": ["here"] * len(texts), "embedding": matrix}
    write_table(path, EMBEDDED_TEXTS, columns, clip)
    return matrix.astype(np.float32)


def test_a_table_looks_texts_up(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    matrix = write_texts(path, ["a", "b", "c"], "open_clip:some")
    clip = load_clip(path, "cpu")
    assert isinstance(clip, PrecomputedTexts)
    assert (clip.name, clip.width) == ("open_clip:some", 16)
    wanted = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(clip.encode_texts(["c", "a", "c"]), wanted[[2, 0, 2]], atol=1e-6)


def test_a_table_refuses_unknown_texts_images_and_repeated_rows(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    write_texts(path, ["a", "b"])
    clip = load_clip(path, "cpu")
    with pytest.raises(InputError, match="'red', 'blue' not among its 2 texts"):
        clip.encode_texts(["a", "red", "blue"])
    with pytest.raises(InputError, match="cannot embed images"):
        _ = clip.preprocess
    with pytest.raises(InputError, match="cannot embed images"):
        clip.encode_images(torch.zeros(1, 3, 32, 32))
    write_texts(path, ["a", "b", "a"])
    with pytest.raises(InputError, match="row 0 and a later one are both 'a'"):
        load_clip(path, "cpu")
