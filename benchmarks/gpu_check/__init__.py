"""What the engine does on a GPU, and how fast, on a machine with little besides torch.

    make gpu-check                               at most 10 minutes on one NVIDIA GPU
    make gpu-check ARGS="--device cpu --tiny"    the same code in half a minute, at no real size

Needs Python 3.11 or newer, torch, numpy, jaxtyping, pyarrow and tqdm; no network, no installation.
Writes artifacts/benchmarks/gpu_check.json and gpu_check.md after every row.

__main__.py    runs the parts
rows.py        a row of the table, and the files
checks.py      the same results as on the CPU, repeated to the bit
engine.py      steps and roll-outs against the naive implementation on the same device
"""
