"""One run on several processes, as torchrun starts them: images sharded, networks replicated.

Every process draws the same batches and histories and computes an equal part of each; gradients
are averaged. The run is the same one, up to the rounding of sums, whatever the number of processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import torch
import torch.distributed as distributed
from torch import Tensor

from infopursuit.core.errors import InputError


@dataclass(frozen=True)
class Processes:
    """This process among `count` that train together; alone by default."""

    rank: int = 0
    count: int = 1

    @classmethod
    def join(cls) -> Processes:
        """Join the group that torchrun started this process in; alone if it did not.

        Processes with GPUs take one each and talk through NCCL, others through gloo.
        """
        if not started_by_torchrun():
            return cls()
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        return cls(distributed.get_rank(), distributed.get_world_size())

    def leave(self) -> None:
        """Take the group down; the last thing a process does with it."""
        if self.count > 1:
            distributed.destroy_process_group()

    def part(self, batch: int) -> slice:
        """Return this process's rows of a batch."""
        if batch % self.count:
            raise InputError(
                f"a batch of {batch} images does not divide among {self.count} processes; "
                "expected a multiple"
            )
        size = batch // self.count
        return slice(self.rank * size, (self.rank + 1) * size)

    def share(self, n: int) -> slice:
        """Return this process's rows of n, which stand together; the first ones have one more."""
        each, more = divmod(n, self.count)
        start = self.rank * each + min(self.rank, more)
        return slice(start, start + each + (self.rank < more))

    def sum(self, value: Tensor) -> Tensor:
        """Return the sum of a tensor over all processes, in place."""
        if self.count > 1:
            distributed.all_reduce(value)
        return value

    def mean(self, value: Tensor) -> Tensor:
        """Return the mean of a tensor over all processes."""
        return self.sum(value.clone()) / self.count if self.count > 1 else value

    def average_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace every gradient by its mean over the processes, in one message."""
        if self.count == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        joined = self.mean(torch.cat([g.flatten() for g in gradients]))
        for gradient, mean in zip(
            gradients, joined.split([g.numel() for g in gradients]), strict=True
        ):
            gradient.copy_(mean.view_as(gradient))


ALONE = Processes()


@dataclass(frozen=True)
class Execution:
    """Where a run computes; it changes the result by the rounding of sums, and on a GPU the draws.

    Attributes:
        device: images and, on a GPU, the universe move there once.
        processes: those that train the run together.
    """

    device: torch.device | str = "cpu"
    processes: Processes = ALONE


def started_by_torchrun() -> bool:
    """Whether this process is one of a group."""
    return "LOCAL_RANK" in os.environ


def restart_as_group(count: int) -> NoReturn:
    """Replace this process by torchrun with `count` processes that run the same command."""
    command = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    os.execv(sys.executable, [sys.executable, *command, *sys.argv])
