"""The short form: the sources, traps in files, names as markup, and a key."""

from __future__ import annotations

import contextlib
import os
import pickle
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from campaigns.strangers import PROMISES, ROOT, ways_in_source, ways_to_run_code
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_TEXTS, read_table
from infopursuit.datasets.embedded_files import read_embeddings
from infopursuit.estimators.hub import model_card
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.queries.answer_cache import AnswerCache
from infopursuit.queries.language_models.openai_server import OpenAIServer
from tests.estimators.conftest import model as model
from tests.estimators.conftest import world as world
from tests.explorer.made_up import HOSTILE
from tests.queries.language_models.test_openai_server import SAMPLING, client, completion, serving

SECRET = "sk-0123456789abcdef"


def test_no_source_turns_data_into_code() -> None:
    assert not list(ways_to_run_code())


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from joblib import load",
        "eval(text)",
        "os.system(name)",
        "ray.cloudpickle.dumps(x)",
        "subprocess.run(x, shell=True)",
        "np.load(x, allow_pickle=True)",
        "torch.load(x)",
        "torch.load(x, weights_only=False)",
        "torch.jit.load(x)",
        "YAML(typ='unsafe')",
        "AutoModel.from_pretrained(x, trust_remote_code=flag)",
    ],
)
def test_a_source_that_runs_code_is_found(line: str) -> None:
    assert len(list(ways_in_source(Path("src/infopursuit/some.py"), line))) == 1


def test_the_named_tests_exist() -> None:
    for test in (test for _, _, tests in PROMISES for test in tests):
        path, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8"), test


class _Trap:
    def __reduce__(self) -> tuple:
        return os.mkdir, ("trapped",)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return a pickle that makes a folder when it is read."""
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(_Trap(), protocol=2)
    pickle.loads(content)  # the trap works
    Path("trapped").rmdir()
    return content


def test_a_pickle_in_place_of_data_does_not_run(trap: bytes, tmp_path: Path) -> None:
    class Run:
        def state_dict(self) -> dict: ...

        def load_state_dict(self, state: dict) -> None:
            raise AssertionError("the state was read")

    torch.save({"trap": _Trap()}, "whole.pt")
    for content in (trap, Path("whole.pt").read_bytes()):
        Path("run.pt").write_bytes(content)
        with pytest.raises(InputError, match=r"run\.pt: the file is damaged"):
            Checkpoint("run.pt", 0.0).restore(Run())
        Path("run.pt").write_bytes(sha256(content).digest() + content)
        with pytest.raises(pickle.UnpicklingError):
            Checkpoint("run.pt", 0.0).restore(Run())
    np.save("trap.npy", np.array([_Trap()], dtype=object), allow_pickle=True)
    for name, content in {"t.parquet": trap, "t.npy": trap}.items():
        Path(name).write_bytes(content)
    for name in ("t.parquet", "t.npy", "trap.npy"):
        with pytest.raises(InputError):
            read_embeddings(Path(name), Path(name) if name.endswith(".npy") else None)
    assert not Path("trapped").exists()


def test_a_type_that_brings_a_pickle_does_not_run(trap: bytes) -> None:
    """Older versions of pyarrow read the pickle of such a type with the schema."""
    marks = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": trap,
    }
    text = pa.field("text", pa.string(), metadata=marks)
    fields = [text, pa.field("source", pa.string()), pa.field("embedding", pa.list_(pa.float32()))]
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array([[1.0]], pa.list_(pa.float32()))]
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), "t.parquet")
    with contextlib.suppress(InputError):
        read_table("t.parquet", EMBEDDED_TEXTS)
    assert not Path("trapped").exists()


def test_names_are_texts_in_cards_and_figures(world, model, tmp_path: Path) -> None:
    hostile = model.with_class_names(HOSTILE[:4])
    card = model_card(hostile.as_saved())
    assert "\n- \\<script\\>alert(1)\\</script\\>\n" in card
    assert "<script" not in card.split("## Where it comes from")[0].replace("\\<", "")
    explained = hostile.explain(world.unseen[:1])[0]
    explained.plot().savefig(tmp_path / "figure.svg")
    tree = ElementTree.parse(tmp_path / "figure.svg")
    assert not [each for each in tree.iter() if each.tag.endswith("script")]


def test_a_key_is_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    with serving(lambda request: completion("yes")) as (url, requests):
        server: OpenAIServer = client(url, api_key_variable="SOME_KEY")
        cache = AnswerCache(tmp_path, {**server.identity, "seed": 3})
        cache.add(["a"], server.answer(["a"], SAMPLING))
    assert requests[0]["authorization"] == f"Bearer {SECRET}"
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == 2
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in files)
    assert SECRET not in caplog.text
