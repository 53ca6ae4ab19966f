"""What a benchmark ran on, and where it writes."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

OUT = Path("artifacts/benchmarks")


def machine() -> str:
    """Processor, cores and versions, for the reader of the table."""
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{names[0] if names else platform.processor()}, {torch.get_num_threads()} threads{gpu}, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )
