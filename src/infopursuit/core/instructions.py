"""The instructions that numerical libraries may use, those that all processors with AVX2 have.

The order in which these libraries add up, and so the last bits, depends on the instructions. They
read the variables when they are loaded: a stage imports this before any of them, so that it writes
the same bytes on each such processor, whoever starts it. A variable that is set already stays, and
where numpy is loaded already, nothing is set: one process keeps to one way of adding up.
(MKL offers no AVX2 on AMD's processors, only `COMPATIBLE`: the small CLIP takes 40 % longer with
it, training does not.)

Threads that wait for each other sleep. By default they spin, which on cores that others use, too,
made training take five times as long; on idle cores it is worth little.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLES = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "FAISS_SIMD_LEVEL": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
PROCESSOR = Path("/proc/cpuinfo")
AVX2 = PROCESSOR.is_file() and " avx2 " in PROCESSOR.read_text(encoding="utf-8", errors="replace")

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if AVX2 and "numpy" not in sys.modules:
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
