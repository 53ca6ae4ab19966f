"""States come back as they were; any damage is told, and nothing of it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.states import read_state, write_state
from infopursuit.vip.checkpoints import Checkpoint


@pytest.fixture
def path(tmp_path: Path) -> Path:
    state = {"weights": torch.arange(1000.0), "step": 3, "told": None, "inner": {"a": [1, 2]}}
    write_state(state, tmp_path / "run.pt")
    return tmp_path / "run.pt"


def test_a_state_comes_back(path: Path) -> None:
    state = read_state(path)
    assert torch.equal(state.pop("weights"), torch.arange(1000.0))
    assert state == {"step": 3, "told": None, "inner": {"a": [1, 2]}}


def test_a_byte_that_changed_is_told_wherever_it_is(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match="the file is damaged"):
            read_state(path)


@pytest.mark.parametrize("left", [0, 10, 32, 500, -1])
def test_a_file_that_was_cut_off_is_told(path: Path, left: int) -> None:
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(InputError, match=r"run\.pt: the file is damaged; .* Delete it"):
        Checkpoint(path, 0.0).restore(torch.nn.Linear(1, 1))
