"""Commands that measure the engine, compare models, and make tables of this repository."""

from __future__ import annotations

import sys
from pathlib import Path

# The comparison of peers is next to the stages that make it.
sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
