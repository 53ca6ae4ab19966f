"""A small model of embeddings, and one of pictures by a tiny CLIP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import infopursuit
from infopursuit.cli.command_line import main
from infopursuit.datasets.decoding import to_rgb
from infopursuit.datasets.trained_on import KEY
from tests.clip.conftest import tiny_clip as tiny_clip
from tests.estimators.conftest import model as model
from tests.estimators.conftest import world as world
from tests.planted import PHOTO_TEXTS, write_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings of texts are kept in a folder of the test."""
    monkeypatch.setenv("INFOPURSUIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def colors(tmp_path_factory: pytest.TempPathFactory, tiny_clip: Path) -> Path:
    """The folder of a model, `model`, and its pictures, `photos`."""
    home = tmp_path_factory.mktemp("colors")
    photos = write_folder(home / "photos", 4)
    files = sorted(photos.rglob("*.png"))
    pictures, labels = [to_rgb(file) for file in files], [file.parent.name for file in files]
    fitted = infopursuit.fit(pictures, labels, PHOTO_TEXTS, clip=tiny_clip)
    del fitted.provenance_[KEY]  # to this model all files are new
    fitted.save(home / "model")
    return home


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Callable:
    """Runs the command line: exit status, what it prints, what it logs."""

    def command(*arguments: object) -> tuple[int, str, str]:
        caplog.clear()
        caplog.set_level("INFO", logger="infopursuit")
        status = main([str(each) for each in arguments])
        return status, capsys.readouterr().out, "\n".join(caplog.messages)

    return command
