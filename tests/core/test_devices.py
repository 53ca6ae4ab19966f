"""The line that says where a run computes."""

from __future__ import annotations

import logging

import pytest
import torch

from infopursuit.core.devices import log_where_it_computes

CPU = f"computes on the CPU, threads: {torch.get_num_threads()}"


def _too_old() -> None:
    raise RuntimeError("it is too old (found 12000). Please update it.")


@pytest.mark.parametrize(
    ("device", "cuda", "gpu", "told"),
    [
        ("auto", "13.0", True, "computes on the GPU A card"),
        ("cpu", "13.0", True, CPU),
        ("auto", None, False, f"{CPU} (this torch is built for CPUs alone)"),
        ("auto", "13.0", False, f"{CPU} (torch for CUDA 13.0: it is too old (found 12000))"),
    ],
)
def test_where_it_computes(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    device: str,
    cuda: str | None,
    gpu: bool,
    told: str,
) -> None:
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A card")
    monkeypatch.setattr(torch.cuda, "init", _too_old)
    with caplog.at_level(logging.INFO):
        log_where_it_computes(device)
    assert caplog.messages == [told]
