"""Where tensors are computed, as one line in the log of a run."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger(__name__)


def log_where_it_computes(device: str) -> None:
    """Name what `auto`, `cpu` or `cuda` stands for here; of a CPU also why it is no GPU."""
    import torch

    if device != "cpu" and torch.cuda.is_available():
        logger.info("computes on the GPU %s", torch.cuda.get_device_name())
        return
    why = "" if device == "cpu" else f" ({_why_no_gpu(torch)})"
    logger.info("computes on the CPU, threads: %d%s", torch.get_num_threads(), why)


def _why_no_gpu(torch: Any) -> str:
    name, version = (
        ("CUDA", torch.version.cuda) if torch.version.cuda else ("ROCm", torch.version.hip)
    )
    if version is None:
        return "this torch is built for CPUs alone"
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:  # it says what is the matter with the driver
        return f"torch for {name} {version}: {str(error).split('. ')[0].rstrip('.')}"
    return f"torch for {name} {version} sees no GPU"
