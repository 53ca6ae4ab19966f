"""Work for the workers of a cluster; they import it from here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_up import GeneratedShards
from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import Shard


@dataclass(frozen=True)
class Doubled:
    """Writes texts twice, and takes its time; `bad` is no text that it likes."""

    seconds: float = 0.0
    fails_to_open: bool = False

    def __call__(self) -> Callable[[str], str]:
        if self.fails_to_open:
            raise InputError("there is no model at NOWHERE")
        return self.double

    def double(self, text: str) -> str:
        time.sleep(self.seconds)
        if text == "bad":
            raise InputError(f"the shard {text!r} is bad: expected a good one")
        if text == "bug":
            raise KeyError(text)
        return 2 * text


@dataclass(frozen=True)
class Whereabouts:
    """Tells which machine, process and folder did a shard; each waits until both machines work."""

    log: Path
    seconds: float

    def __call__(self) -> Callable[[str], tuple[str, int, str]]:
        import ray

        node = ray.get_runtime_context().get_node_id()
        (self.log / f"{node}.{os.getpid()}").touch()

        def work(text: str) -> tuple[str, int, str]:
            deadline = time.monotonic() + 60
            while len({file.name.split(".")[0] for file in self.log.iterdir()}) < 2:
                if time.monotonic() > deadline:
                    raise InputError("one machine never started")
                time.sleep(0.02)
            time.sleep(self.seconds)
            return node, os.getpid(), str(Path.cwd())

        return work


@dataclass(frozen=True)
class SlowShards(GeneratedShards):
    """Made-up images that take their time, and leave a file in `log` for each reading."""

    log: Path | None = None
    seconds: float = 0.0

    def read(self, number: int) -> Shard:
        """Draw a shard."""
        assert self.log is not None
        (self.log / f"{number}.{os.getpid()}.{time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        return super().read(number)
