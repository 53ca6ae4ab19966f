"""Who does the work of a stage: this process, or the workers of a Ray cluster.

Generation and embedding are a pure function over shards (prompts, texts, ranges of images). `start`
opens the model and gives that function. The results of a shard are the same wherever it is done, so
a stage that keeps them by the shard's number writes the same bytes with either engine.

On a cluster, actors of Ray Data hold the model. They run the same code on the same files:
infopursuit is installed in the Python environment that Ray was started from on every machine, and
every machine sees the project folder under the same path. If a machine is lost, Ray does its shards
again elsewhere.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import re
import socket
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from infopursuit.core.errors import InputError

if TYPE_CHECKING:
    from infopursuit.core.settings import ComputeSettings

logger = logging.getLogger(__name__)

M = TypeVar("M")
S = TypeVar("S")
R = TypeVar("R")

CONNECT_SECONDS = 10
INSTALL = "install it with `pip install 'infopursuit[ray]'`, or set compute.engine to local"
ADVICE = (
    "start one with `ray start --head` and join machines with `ray start --address=HOST:PORT`, "
    "or set compute.engine to local"
)


@dataclass(frozen=True)
class RayCluster:
    """A running Ray cluster that this machine belongs to, and what is taken of it."""

    # `auto` (that of the environment variable RAY_ADDRESS, or of the cluster started on this
    # machine), or HOST:PORT of the head.
    address: str
    workers: int  # processes that hold a model each
    cpus_per_worker: float  # cores that Ray sets aside for each of them
    gpus_per_worker: float  # GPUs for each of them; a fraction shares one


@dataclass(frozen=True)
class Workers(Generic[M]):
    """Processes on other machines, each with its own model."""

    cluster: RayCluster  # where they run
    # Opens the model in a worker; picklable, with paths that every machine sees.
    open: Callable[[], M]


def choose_cluster(compute: ComputeSettings) -> RayCluster | None:
    """Return the cluster that the settings ask for; None if this process does the work itself."""
    return None if compute.engine == "local" else RayCluster(**compute.ray.model_dump())


def choose_workers(compute: ComputeSettings, open_model: Callable[[], M]) -> Workers[M] | None:
    """Return the workers that the settings ask for; None if this process does the work itself."""
    cluster = choose_cluster(compute)
    return None if cluster is None else Workers(cluster, open_model)


def run_shards(
    start: Callable[[], Callable[[S], R]],
    shards: Iterable[tuple[int, S]],
    cluster: RayCluster | None = None,
) -> Generator[tuple[int, R], None, None]:
    """Yield the result of each shard, with the shard's number, as it becomes known.

    This process yields in the order of the shards; a cluster as its workers finish. Close the
    generator (`contextlib.closing`) to stop the work early.

    Args:
        start: opens the model and gives the function that does a shard, once in each process that
            works; picklable for a cluster.
    """
    if cluster is not None:
        yield from _run_on_ray(start, shards, cluster)
        return
    work: Callable[[S], R] | None = None
    for index, shard in shards:
        if work is None:
            work = start()
        yield index, work(shard)


def _run_on_ray(
    start: Callable[[], Callable[[S], R]], shards: Iterable[tuple[int, S]], cluster: RayCluster
) -> Generator[tuple[int, R], None, None]:
    """Yield the results as the workers finish, each once.

    Results wait in the memory of the cluster, and workers pause while too many wait. Ray does the
    shards of a lost worker again, and gives up when half an hour brings no result.
    """
    items = [{"index": index, "shard": pickle.dumps(shard)} for index, shard in shards]
    if not items:
        return
    awaited = {item["index"] for item in items}
    ray = _imported()
    with _connected(ray, cluster.address):
        _warn_of_missing_resources(ray, cluster)
        dataset = _dataset(ray, start, items, cluster)
        del items  # the cluster has them
        with closing(iter(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))) as blocks:
            for block in blocks:
                for row in block.to_pylist():
                    if row["error"] is not None:
                        raise InputError(row["error"])
                    if row["index"] in awaited:
                        awaited.remove(row["index"])
                        yield row["index"], pickle.loads(row["result"])
    if awaited:
        raise RuntimeError(f"Ray gave no result for the shards {sorted(awaited)}")


class Worker:
    """What an actor holds: the function that does a shard, or why there is none."""

    def __init__(self, folder: str, start: bytes) -> None:
        self._error: str | None = None
        try:
            self._work = _started(folder, start)
        except InputError as error:
            self._error = str(error)

    def __call__(self, batch: Any) -> Any:
        """Do one shard; an InputError travels as a value, so that Ray does not wrap it."""
        import pyarrow as pa

        [row] = batch.to_pylist()
        result, error = None, self._error
        if error is None:
            try:
                result = pickle.dumps(self._work(pickle.loads(row["shard"])))
            except InputError as raised:
                error = str(raised)
        columns = {
            "index": pa.array([row["index"]], pa.int64()),
            "result": pa.array([result], pa.large_binary()),
            "error": pa.array([error], pa.string()),
        }
        return pa.table(columns)


def _started(folder: str, start: bytes) -> Callable[[Any], Any]:
    try:
        os.chdir(folder)
    except OSError as error:
        raise InputError(
            f"{folder}: no such folder on {socket.gethostname()}, a machine of the Ray cluster; "
            "expected the folder of the project under the same path on all of them"
        ) from error
    return pickle.loads(start)()


def _dataset(
    ray: Any, start: Callable[[], Any], items: list[dict[str, Any]], cluster: RayCluster
) -> Any:
    """Return the results of the shards, a block each, computed when they are read."""
    context = ray.data.DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    resources = {"num_cpus": cluster.cpus_per_worker}
    if cluster.gpus_per_worker:
        resources["num_gpus"] = cluster.gpus_per_worker
    with ray.data.DataContext.current(context):
        return ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
            Worker,
            fn_constructor_args=(str(Path.cwd()), ray.cloudpickle.dumps(start)),
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=min(cluster.workers, len(items))),
            **resources,
        )


def _imported() -> Any:
    """Import `ray` and `ray.data`, which then report failures alone."""
    # Read by Ray's C++ part, which otherwise writes to the terminal by itself.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Tries of 40 s to reach an address that does not answer as Ray does; 20 by default.
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.data")
    except ModuleNotFoundError as error:
        raise InputError(f"compute.engine: ray is not installed ({error}); {INSTALL}") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray


@contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    """Connect to the cluster; an existing connection is used and left."""
    if ray.is_initialized():
        yield
        return
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", address)
    if address != "auto":
        _check_address(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(
            f"compute.ray.address: no Ray cluster answers at {address!r} ({error}); {ADVICE}"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Raise InputError unless something listens at HOST:PORT; Ray itself takes long to give up."""
    match = re.fullmatch(r"(?P<host>[^/\s]+):(?P<port>\d{1,5})", address)
    if match is None:
        raise InputError(
            f"compute.ray.address: expected auto or HOST:PORT of the head, found {address!r}"
        )
    host = match["host"].strip("[]")
    try:
        socket.create_connection((host, int(match["port"])), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"compute.ray.address: no Ray cluster answers at {address!r} ({error}); {ADVICE}"
        ) from error


def _warn_of_missing_resources(ray: Any, cluster: RayCluster) -> None:
    """Warn of what the run will wait for: machines may still join, so this is not an error."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for machine in machines:
        cpus, gpus = machine.get("CPU", 0), machine.get("GPU", 0)
        if cpus >= cluster.cpus_per_worker and gpus >= cluster.gpus_per_worker:
            return
    logger.warning(
        "none of the %d machines of the Ray cluster has %g CPUs and %g GPUs (compute.ray): "
        "waiting for one that has",
        len(machines),
        cluster.cpus_per_worker,
        cluster.gpus_per_worker,
    )
