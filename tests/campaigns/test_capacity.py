"""Memory of a fit on shards is flat in the number of images."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.stage_scripts import ROOT


def test_eight_times_as_many_images_take_no_more_memory() -> None:
    sizes = ["60000", "480000"]
    command = [sys.executable, "-m", "tests.campaigns.capacity", "--json", "--width", "64"]
    command += ["--rows", "8192", "--sizes", *sizes]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    first, second = json.loads(done.stdout)
    more = 420_000 * 64 * 4  # what the images more are as float32
    assert second - first < more / 4, f"{first} bytes, then {second}"
