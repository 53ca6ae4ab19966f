"""Memory of a fit on shards is flat in the number of images."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.stage_scripts import ROOT


def test_24_times_as_many_images_take_no_more_memory(tmp_path: Path) -> None:
    sizes = ["--sizes", "60000", "1440000", "--width", "64", "--rows", "8192"]
    # Freed arrays go back to the system at once: the allocator keeps none, whatever the order.
    allocator = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(2**20)}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "campaigns.capacity", *sizes]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **allocator, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0, (tmp_path / "artifacts/campaigns/capacity.md").read_text()
