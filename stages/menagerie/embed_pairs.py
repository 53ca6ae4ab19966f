"""Embed the pairs of pictures that differ in one attribute.

python stages/menagerie/embed_pairs.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from infopursuit.clip.embed import embed_pictures
from infopursuit.clip.towers import load_clip
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.pipeline import paths
from menagerie.embedded_pairs import pair_pictures, write_pairs


class Settings(Section):
    """What this stage reads of params.yaml."""

    clip: str
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    compute = settings.compute
    clip = load_clip(settings.clip, compute.device, half_precision=compute.half_precision)
    columns, pictures = pair_pictures(paths.COUNTERFACTUALS)
    embeddings = embed_pictures(clip, pictures, compute.embed_batch_size)
    write_pairs(paths.images(dataset, "pairs"), columns, embeddings, clip.name)
    return RowCounts(read=len(pictures), written=len(embeddings))


if __name__ == "__main__":
    run(main)
