from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from infopursuit.clip import text_cache
from infopursuit.clip.text_cache import VARIABLE, cache_folder, embed_texts
from infopursuit.clip.towers import OpenClip, load_clip
from infopursuit.core.errors import InputError
from tests.clip.test_clip import write_texts

TEXTS = ["a red bird", "four legs", "", "water", "four legs"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def clip(tiny_clip: Path, embedded: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> OpenClip:
    """A CLIP that notes which texts go through its tower."""
    clip = load_clip(tiny_clip, "cpu")
    assert isinstance(clip, OpenClip)
    encode = clip.encode_texts

    def noted(texts: list[str], batch_size: int = 64) -> np.ndarray:
        embedded.append(list(texts))
        return encode(texts, batch_size)

    monkeypatch.setattr(clip, "encode_texts", noted)
    return clip


@pytest.fixture
def embedded() -> list[list[str]]:
    return []


def files(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.parquet"))


def test_the_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "infopursuit"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "infopursuit"
    monkeypatch.setenv(VARIABLE, "~/own")
    assert cache_folder() == tmp_path / "own"


def test_each_text_is_embedded_once(
    cache: Path, clip: OpenClip, tiny_clip: Path, embedded: list[list[str]]
) -> None:
    wanted = load_clip(tiny_clip, "cpu").encode_texts(TEXTS)
    first = embed_texts(clip, TEXTS)
    np.testing.assert_allclose(first, wanted, atol=1e-6)
    assert embedded == [TEXTS[:4]]
    assert np.array_equal(embed_texts(clip, TEXTS[::-1]), first[::-1])
    assert embedded == [TEXTS[:4]]
    more = embed_texts(clip, ["new", *TEXTS[:2]])
    assert embedded == [TEXTS[:4], ["new"]]
    assert np.array_equal(more[1:], first[:2])
    assert len(files(cache)) == 2
    assert embed_texts(clip, []).shape == (0, 16)
    assert len(files(cache)) == 2
    embed_texts(clip, TEXTS, cache=False)
    assert embedded[2] == TEXTS[:4]


def test_other_weights_are_another_folder(cache: Path, clip: OpenClip) -> None:
    embed_texts(clip, ["a"])
    first = clip.name
    clip.name = "open_clip:other/:1"
    embed_texts(clip, ["a"])
    folders = sorted(folder.name for folder in (cache / "texts").iterdir())
    assert folders == sorted([first.replace(":", "_"), "open_clip_other__1"])


def test_many_files_are_joined(
    cache: Path, clip: OpenClip, embedded: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_cache, "FILES", 4)
    monkeypatch.setattr(text_cache, "BLOCK", 2)
    texts = [f"text {number}" for number in range(9)]
    first = embed_texts(clip, texts)
    assert [len(block) for block in embedded] == [2, 2, 2, 2, 1]
    (joined,) = files(cache)
    assert sorted(pq.read_table(joined).column("text").to_pylist()) == texts
    assert np.array_equal(embed_texts(clip, texts), first)
    assert len(embedded) == 5


def test_an_interrupted_call_keeps_what_it_has(
    cache: Path, clip: OpenClip, embedded: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_cache, "BLOCK", 2)
    encode = clip.encode_texts

    def interrupted(texts: list[str], batch_size: int = 64) -> np.ndarray:
        if "stop" in texts:
            raise KeyboardInterrupt
        return encode(texts, batch_size)

    monkeypatch.setattr(clip, "encode_texts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embed_texts(clip, ["a", "b", "stop"])
    monkeypatch.setattr(clip, "encode_texts", encode)
    embed_texts(clip, ["b", "a"])
    assert embedded == [["a", "b"]]


def test_a_damaged_file_is_told_and_passed_over(
    cache: Path, clip: OpenClip, embedded: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    first = embed_texts(clip, ["a"])
    (file,) = files(cache)
    file.write_bytes(file.read_bytes()[:-20])
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(embed_texts(clip, ["a"]), first)
    assert f"{file}: passed over" in caplog.text
    assert len(embedded) == 2
    caplog.clear()
    embed_texts(clip, ["a"])
    assert len(embedded) == 2
    assert not caplog.records


def test_files_that_another_process_joins_meanwhile_are_found_again(
    cache: Path, clip: OpenClip, embedded: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_texts(clip, ["a"])
    embed_texts(clip, ["b"])
    read = pq.read_table
    joined: list[bool] = []

    def meanwhile(file: Path, **options: object) -> object:
        if not joined:
            joined.append(True)
            monkeypatch.setattr(text_cache, "FILES", 1)
            text_cache._Kept(clip).join()
            assert len(files(cache)) == 1
        return read(file, **options)

    monkeypatch.setattr("infopursuit.clip.text_cache.pq.read_table", meanwhile)
    embed_texts(clip, ["a", "b"])
    assert embedded == [["a"], ["b"]]


def test_a_cache_that_cannot_be_written_is_told(
    cache: Path, clip: OpenClip, caplog: pytest.LogCaptureFixture
) -> None:
    cache.write_text("a file in the place of the folder")
    with caplog.at_level(logging.WARNING):
        found = embed_texts(clip, ["a"])
    assert found.shape == (1, 16)
    assert "embeddings of texts cannot be kept" in caplog.text
    assert VARIABLE in caplog.text


PROCESS = """
import sys
from infopursuit.clip import text_cache
from infopursuit.clip.towers import load_clip
text_cache.FILES, text_cache.BLOCK = 3, 5
clip = load_clip(sys.argv[1], "cpu")
for start in range(0, 40, 5):
    texts = [f"text {number}" for number in range(start + int(sys.argv[2]), start + 15)]
    rows = text_cache.embed_texts(clip, texts)
    assert rows.shape == (len(texts), 16)
"""


def test_processes_share_the_cache(
    cache: Path, clip: OpenClip, tiny_clip: Path, embedded: list[list[str]]
) -> None:
    command = [sys.executable, "-W", "error", "-c", PROCESS, str(tiny_clip)]
    running = [
        subprocess.Popen([*command, str(shift)], stderr=subprocess.PIPE, text=True)
        for shift in (0, 3)
    ]
    for process in running:
        _, told = process.communicate(timeout=300)
        assert (process.returncode, told) == (0, "")
    texts = [f"text {number}" for number in range(50)]
    found = embed_texts(clip, texts)
    assert embedded == []
    np.testing.assert_allclose(found, load_clip(tiny_clip).encode_texts(texts), atol=1e-6)
    assert not list(cache.rglob("*.partial"))


def test_tables_have_no_cache_and_strings_are_no_lists(cache: Path, tmp_path: Path) -> None:
    write_texts(tmp_path / "table.parquet", ["a", "b"])
    table = load_clip(tmp_path / "table.parquet")
    assert np.array_equal(embed_texts(table, np.array(["b"])), table.encode_texts(["b"]))
    assert not cache.exists()
    with pytest.raises(InputError, match=r"found 'a'; write \[text\]"):
        embed_texts(table, "a")
    for wrong in (None, 3):
        with pytest.raises(InputError, match=r"row 1 is (NoneType|int); expected a text"):
            embed_texts(table, ["a", wrong])
