"""Embed the universe and the control texts: texts.parquet, control.parquet -> embeddings.

python stages/embed_universe.py
"""

from infopursuit.core.stage import SCRATCH, RowCounts, code_key, run

from functools import partial

from infopursuit.clip.embed_tables import Embedding, embed_control, embed_universe
from infopursuit.clip.towers import load_clip
from infopursuit.clip.weights import EmbeddingsSettings
from infopursuit.core.devices import log_where_it_computes
from infopursuit.core.executors import choose_workers
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.generation.settings import UniverseSettings
from infopursuit.pipeline import paths


class Settings(Section):
    clip: str
    universe: UniverseSettings
    embeddings: EmbeddingsSettings
    compute: ComputeSettings


def main(settings: Settings) -> RowCounts:
    """Embed every text and keep where it came from."""
    compute = settings.compute
    log_where_it_computes(compute.device)
    open_clip = partial(
        load_clip, settings.clip, compute.device, half_precision=compute.half_precision
    )
    clip, workers = open_clip(), choose_workers(compute, open_clip)
    batch_size, chunk = compute.embed_batch_size, compute.embed_chunk
    shard_rows, code = settings.embeddings.shard_rows, code_key(__file__)
    # The few control texts first: a kill must not cost the finished embedding of the universe.
    control = embed_control(
        paths.UNIVERSE_FOLDER / "control.parquet",
        paths.CONTROL,
        clip,
        Embedding(batch_size, chunk, SCRATCH / "embed" / "control", code=code),
    )
    texts = embed_universe(
        paths.TEXTS,
        paths.UNIVERSE,
        clip,
        Embedding(batch_size, chunk, SCRATCH / "embed" / "universe", shard_rows, code),
        max_similarity=settings.universe.max_similarity,
        device=compute.device,
        workers=workers,
    )
    return RowCounts(read=texts[0] + control[0], written=texts[1] + control[1])


if __name__ == "__main__":
    run(main)
