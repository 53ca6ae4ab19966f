"""Embed the texts of the universe: texts.parquet -> embeddings.parquet.

python stages/embed_universe.py
"""

from pathlib import Path

from infopursuit.embeddings.chunks import Embedding
from infopursuit.embeddings.clip import load_clip
from infopursuit.embeddings.embed_texts import embed_universe
from infopursuit.params import Params
from infopursuit.stage import SCRATCH, Rows, run

UNIVERSE = Path("artifacts/universe")


def main(params: Params) -> Rows:
    """Embed every text of the universe and keep where it came from."""
    read, written = embed_universe(
        UNIVERSE / "texts.parquet",
        UNIVERSE / "embeddings.parquet",
        load_clip(params.clip, params.compute.device),
        Embedding(
            batch_size=params.compute.embed_batch_size,
            chunk=params.compute.embed_chunk,
            scratch=SCRATCH / "embed" / "universe",
        ),
        max_similarity=params.universe.max_similarity,
        device=params.compute.device,
    )
    return Rows(read, written)


if __name__ == "__main__":
    run(main)
