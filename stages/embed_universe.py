"""Embed the universe and the control texts: texts.parquet, control.parquet -> embeddings.

python stages/embed_universe.py
"""

from functools import partial
from pathlib import Path

from infopursuit.embeddings.chunks import Embedding
from infopursuit.embeddings.clip import load_clip
from infopursuit.embeddings.embed_texts import embed_control, embed_universe
from infopursuit.engines import choose_workers
from infopursuit.params import Params
from infopursuit.stage import SCRATCH, Rows, run

UNIVERSE = Path("artifacts/universe")


def main(params: Params) -> Rows:
    """Embed every text and keep where it came from."""
    compute = params.compute
    open_clip = partial(
        load_clip, params.clip, compute.device, half_precision=compute.half_precision
    )
    clip, workers = open_clip(), choose_workers(compute, open_clip)
    batch_size, chunk = compute.embed_batch_size, compute.embed_chunk
    # The few control texts first: a kill must not cost the finished embedding of the universe.
    control = embed_control(
        UNIVERSE / "control.parquet",
        UNIVERSE / "control_embeddings.parquet",
        clip,
        Embedding(batch_size, chunk, SCRATCH / "embed" / "control"),
    )
    texts = embed_universe(
        UNIVERSE / "texts.parquet",
        UNIVERSE / "embeddings.parquet",
        clip,
        Embedding(batch_size, chunk, SCRATCH / "embed" / "universe"),
        max_similarity=params.universe.max_similarity,
        device=compute.device,
        workers=workers,
    )
    return Rows(read=texts[0] + control[0], written=texts[1] + control[1])


if __name__ == "__main__":
    run(main)
