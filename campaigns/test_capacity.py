"""Memory of a fit on shards is flat in the number of images."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from campaigns.capacity import may_grow_by
from tests.stage_scripts import ROOT

SIZES, WIDTH = (60_000, 1_440_000), 64


def test_24_times_as_many_images_take_no_more_memory() -> None:
    command = [sys.executable, "-m", "campaigns.capacity", "--json", "--width", str(WIDTH)]
    command += ["--rows", "8192", "--sizes", *map(str, SIZES)]
    # Freed arrays go back to the system at once: the allocator keeps none, whatever the order.
    allocator = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(2**20)}
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **allocator}, check=True, capture_output=True
    )
    first, second = json.loads(done.stdout)
    assert second - first < may_grow_by(SIZES, WIDTH), f"{first} bytes, then {second}"
