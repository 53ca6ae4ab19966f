"""What the benchmarks share: clocks, memory, processes and files."""

from __future__ import annotations

import functools
import json
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

OUT = Path("artifacts/benchmarks")


def machine() -> str:
    """Return processor, threads and versions, for the reader of a table."""
    import torch

    cpu = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0]
    name = cpu.strip(" :\t") or platform.processor()
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{name}, {torch.get_num_threads()} threads{gpu}, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def seconds(call: Callable[[], object], device: str = "cpu") -> float:
    """Return the wall-clock time of a call, including the work that the device still has to do."""
    import torch  # late: it takes 500 MB, which some benchmarks do not need

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - started


def timed(
    call: Callable[..., Any], title: str, taken: dict[str, float], clock: Callable[[], float]
) -> Callable[..., Any]:
    """Return the same function, with its time added to `taken[title]`."""

    @functools.wraps(call)
    def run(*arguments: Any, **options: Any) -> Any:
        started = clock()
        try:
            return call(*arguments, **options)
        finally:
            taken[title] = taken.get(title, 0.0) + clock() - started

    return run


def time_parts(
    parts: Sequence[tuple[str, str, str]],
    taken: dict[str, float],
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Let parts of the library, each a module, a name and a title, add up their seconds."""
    for module, name, title in parts:
        *owners, function = name.split(".")
        holder: Any = functools.reduce(getattr, owners, import_module(f"infopursuit.{module}"))
        setattr(holder, function, timed(getattr(holder, function), title, taken, clock))


def system_gb() -> float:
    """Return the peak memory that the system counts, with pages of mapped files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@contextmanager
def memory_watched() -> Iterator[dict[str, int]]:
    """Yield the largest memory of this process without pages of files, in kB, seen every 50 ms."""
    peak, ended = {"own": 0}, threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            status = Path("/proc/self/status").read_text()
            peak["own"] = max(peak["own"], int(status.partition("RssAnon:")[2].split()[0]))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def in_own_process(module: str, *arguments: object) -> str:
    """Run `python -m benchmarks.MODULE` and return the last line that it writes."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return output.splitlines()[-1]


def save(name: str, figures: Any, *parts: str) -> str:
    """Write the figures as NAME.json, and NAME.md: the machine, then the parts."""
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    text = "\n\n".join([f"{machine()}. `python -m benchmarks.{name}`", *parts]) + "\n"
    (OUT / f"{name}.md").write_text(text, encoding="utf-8")
    return text
