"""Results by key: whole or absent, of one job alone, and damage is reported."""

from __future__ import annotations

import pickle
from hashlib import sha256
from pathlib import Path

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.results import ResultFolder
from infopursuit.pursuit.vip.checkpoints import Checkpoint


@pytest.fixture
def results(tmp_path: Path) -> ResultFolder:
    results = ResultFolder(tmp_path, "job")
    state = {"weights": torch.arange(1000.0), "step": 3, "last": None, "inner": {"a": [1, 2]}}
    results.write_state("run.pt", state)
    return results


def test_a_state_comes_back(results: ResultFolder) -> None:
    state = results.read_state("run.pt")
    assert state is not None
    assert torch.equal(state.pop("weights"), torch.arange(1000.0))
    assert state == {"step": 3, "last": None, "inner": {"a": [1, 2]}}
    assert results.read_state("other.pt") is None


def test_any_changed_byte_of_a_state_is_reported(results: ResultFolder) -> None:
    path = results.path("run.pt")
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match="the file is damaged"):
            results.read_state("run.pt")
    for left in (0, 10, 32, 500, -1):
        path.write_bytes(whole[:left])
        with pytest.raises(InputError, match=r"run\.pt: the file is damaged; .* Delete it"):
            Checkpoint(path, 0.0).restore(torch.nn.Linear(1, 1))


def test_a_pickle_with_the_digest_of_a_state_is_not_run(results: ResultFolder) -> None:
    content = pickle.dumps(print, protocol=2)  # any function, which tensors never name
    results.path("run.pt").write_bytes(sha256(content).digest() + content)
    with pytest.raises(pickle.UnpicklingError):
        results.read_state("run.pt")
