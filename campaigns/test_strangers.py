"""The short form: traps in files, and names as markup."""

from __future__ import annotations

import os
import pickle
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from campaigns.strangers import PROMISES, ROOT
from infopursuit.core.errors import InputError
from infopursuit.datasets.embedded_files import read_embeddings
from infopursuit.estimators.hub import model_card
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from tests.estimators.conftest import model as model
from tests.estimators.conftest import world as world
from tests.explorer.made_up import HOSTILE


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


def test_names_are_texts_in_cards_and_figures(world, model, tmp_path: Path) -> None:
    hostile = model.with_class_names(HOSTILE[:4])
    card = model_card(hostile.as_saved())
    assert "\n- \\<script\\>alert(1)\\</script\\>\n" in card
    assert "<script" not in card.split("## Where it comes from")[0].replace("\\<", "")
    explained = hostile.explain(world.unseen[:1])[0]
    explained.plot().savefig(tmp_path / "figure.svg")
    tree = ElementTree.parse(tmp_path / "figure.svg")
    assert not [each for each in tree.iter() if each.tag.endswith("script")]
