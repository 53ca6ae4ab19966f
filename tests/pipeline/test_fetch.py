"""`infopursuit fetch`: what a run needs from a network is listed, fits the disks, is fetched."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from infopursuit.core.errors import InputError
from infopursuit.pipeline import fetch as fetching
from infopursuit.pipeline.fetch import fetch
from tests.pipeline.test_check import edit
from tests.pipeline.test_check import project as project

CAPTIONS = '{"annotations": [{"id": 1, "caption": "A dog."}]}'
SETTINGS = "queries:\n  corpora: {{coco: {}}}\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def coco(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose captions lie at an address of this machine; the file with its settings."""
    archive = project / "served/annotations.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("annotations/captions_train2017.json", CAPTIONS)
    (project / "coco.yaml").write_text(SETTINGS.format("data/captions_train2017.json"))
    served = partial(Quiet, directory=archive.parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/annotations.zip"
        monkeypatch.setattr(fetching, "COCO_URL", url)
        monkeypatch.setattr(fetching, "COCO_MD5", hashlib.md5(archive.read_bytes()).hexdigest())
        yield project / "coco.yaml"
        server.shutdown()


def test_captions_are_fetched_once(coco: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    before = Path("params.yaml").read_bytes()
    fetch(coco)
    assert Path("data/captions_train2017.json").read_text() == CAPTIONS
    assert list(Path("data").iterdir()) == [Path("data/captions_train2017.json")]
    assert "queries.corpora.coco: http" in caplog.text
    assert "0.25 GB to come; licence: CC BY 4.0" in caplog.text
    assert "all is there" in caplog.text
    caplog.clear()
    fetch(coco)
    assert "to come" not in caplog.text
    assert Path("params.yaml").read_bytes() == before


def test_what_cannot_be_fetched_is_named(coco: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(coco.parent, "datasets", "pets", "images", value="pin.yaml")
    monkeypatch.setattr(fetching, "COCO_MD5", "0" * 32)
    with pytest.raises(InputError) as caught:
        fetch(coco)
    assert [line.partition(" (")[0] for line in str(caught.value).splitlines()] == [
        "datasets.pets.images: pin.yaml: root: no folder data/birds; expected the data set there, "
        "as the file describes",
        "queries.corpora.coco: data/captions_train2017.json: cannot be fetched from "
        f"{fetching.COCO_URL}",
    ]
    coco.write_text(SETTINGS.format("data/mine.json"))
    with pytest.raises(InputError, match=r"coco: data/mine\.json: not there; expected captions"):
        fetch(coco)
