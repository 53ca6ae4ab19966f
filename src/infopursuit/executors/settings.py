"""How to compute, not what: nothing here makes a stage run again."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from infopursuit.core.settings import Positive, Section


class RaySettings(Section):
    """The Ray cluster that generates and embeds."""

    address: str
    workers: Positive
    cpus_per_worker: Annotated[float, Field(ge=0)]
    gpus_per_worker: Annotated[float, Field(ge=0)]


class ComputeSettings(Section):
    """Devices, processes, batch sizes, checkpoints."""

    device: Literal["auto", "cpu", "cuda"]
    threads: Positive | None
    processes: Positive
    engine: Literal["local", "ray"]
    ray: RaySettings
    vllm_engine: dict[str, Any]
    vllm_python: str | None
    half_precision: bool
    embed_batch_size: Positive
    embed_chunk: Positive
    checkpoint_seconds: Annotated[float, Field(ge=0)]

    def torch_device(self) -> str:
        """`cuda` or `cpu`; `auto` takes a GPU where there is one."""
        if self.device != "auto":
            return self.device
        import torch  # takes seconds to import, and most stages need none of it

        return "cuda" if torch.cuda.is_available() else "cpu"
