"""Embed the images and class names of a data set: NAME.parquet, NAME.classes.parquet.

NAME.rejected.parquet lists the unreadable images, NAME.duplicates.parquet the test images that
nearly equal a training image.

python stages/embed_images.py --dataset menagerie
"""

from infopursuit.core.stage import SCRATCH, Rows, run

from functools import partial
from pathlib import Path

from infopursuit.clip.embed_images import embed_images, open_both
from infopursuit.clip.embed_universe import embed_classes
from infopursuit.clip.embedding_chunks import Embedding
from infopursuit.clip.settings import EmbeddingsSettings
from infopursuit.clip.towers import choose_device, load_clip
from infopursuit.core.settings import Section
from infopursuit.core.text_lists import read_text_list
from infopursuit.datasets.duplicates import list_near_copies, tell_empty_classes
from infopursuit.datasets.embedded_images import copy_embedded_images
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.settings import Datasets
from infopursuit.executors import choose_workers
from infopursuit.executors.settings import ComputeSettings

IMAGES = Path("artifacts/images")


class Settings(Section):
    """What this stage reads of params.yaml."""

    clip: str
    datasets: Datasets
    embeddings: EmbeddingsSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> Rows:
    """Embed the images (or take their embeddings), list the unreadable ones, embed the classes."""
    chosen, compute = settings.datasets[dataset], settings.compute
    classes = read_text_list(f"artifacts/classes/{dataset}.txt")
    clip = load_clip(settings.clip, compute.device, half_precision=compute.half_precision)
    out = IMAGES / f"{dataset}.parquet"
    rejected = IMAGES / f"{dataset}.rejected.parquet"
    if has_embeddings(chosen.images):
        images = Path(chosen.images)
        rows = copy_embedded_images(
            images, classes, out, rejected, clip.width, clip.name, settings.embeddings.shard_rows
        )
    else:
        how = Embedding(
            batch_size=compute.embed_batch_size,
            chunk=compute.embed_chunk,
            scratch=SCRATCH / "embed" / f"images-{dataset}",
            shard_rows=settings.embeddings.shard_rows,
        )
        source = open_image_source(chosen.images, classes)
        opened = (settings.clip, compute.device, compute.half_precision, chosen.images, classes)
        workers = choose_workers(compute, partial(open_both, *opened))
        rows = embed_images(source, out, rejected, clip, how, chosen.max_rejected, workers)
    tell_empty_classes(out, classes)
    copies = IMAGES / f"{dataset}.duplicates.parquet"
    list_near_copies(out, copies, choose_device(compute.device))
    embed_classes(classes, IMAGES / f"{dataset}.classes.parquet", clip, compute.embed_batch_size)
    return Rows(*rows)


if __name__ == "__main__":
    run(main)
