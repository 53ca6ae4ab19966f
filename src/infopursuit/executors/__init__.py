"""Who does the work of a stage: this process, or the workers of a Ray cluster.

Generation and embedding are a pure function over shards (prompts, texts, ranges of images). `start`
opens the model and gives that function; whoever runs it, the results of a shard are the same, so a
stage that keeps them by the shard's number writes the same bytes with either engine.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from infopursuit.executors.local import run_locally
from infopursuit.executors.ray_data import RayCluster, run_on_ray

if TYPE_CHECKING:
    from infopursuit.executors.settings import ComputeSettings

__all__ = ["RayCluster", "Workers", "choose_cluster", "choose_workers", "run_shards"]

M = TypeVar("M")
S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True)
class Workers(Generic[M]):
    """Processes on other machines, each with a model of its own.

    Attributes:
        cluster: where they run.
        open: opens the model in a worker; picklable, with paths that every machine sees.
    """

    cluster: RayCluster
    open: Callable[[], M]


def choose_cluster(compute: ComputeSettings) -> RayCluster | None:
    """The cluster that the settings ask for; None where this process does the work itself."""
    return None if compute.engine == "local" else RayCluster(**compute.ray.model_dump())


def choose_workers(compute: ComputeSettings, open_model: Callable[[], M]) -> Workers[M] | None:
    """The workers that the settings ask for; None where this process does the work itself."""
    cluster = choose_cluster(compute)
    return None if cluster is None else Workers(cluster, open_model)


def run_shards(
    start: Callable[[], Callable[[S], R]],
    shards: Iterable[tuple[int, S]],
    cluster: RayCluster | None = None,
) -> Generator[tuple[int, R], None, None]:
    """The result of each shard, with the shard's number, as it becomes known.

    This process yields in the order of the shards; a cluster as its workers finish. Close the
    generator (`contextlib.closing`) to stop the work early.

    Args:
        start: opens the model and gives the function that does a shard, once in each process that
            works; picklable where a cluster is given.
        shards: numbered shards, the numbers distinct; without any, nothing is opened.
        cluster: where to run; None for this process.

    Raises:
        InputError: raised by `start` or its function, here or in a worker; or Ray is not installed,
            or the cluster does not answer.
    """
    if cluster is None:
        return run_locally(start, shards)
    return run_on_ray(start, shards, cluster)
