"""Embed the images and class names of a data set: NAME.parquet, NAME.classes.parquet.

python stages/embed_images.py --dataset menagerie
"""

from functools import partial
from pathlib import Path

from infopursuit.embeddings.chunks import Embedding
from infopursuit.embeddings.clip import load_clip
from infopursuit.embeddings.embed_images import embed_images, open_both
from infopursuit.embeddings.embed_texts import embed_classes
from infopursuit.embeddings.image_sources import has_embeddings, open_image_source
from infopursuit.embeddings.precomputed_images import copy_embedded_images
from infopursuit.engines import choose_workers
from infopursuit.params import Params
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.text_lists import read_text_list

IMAGES = Path("artifacts/images")


def main(params: Params, dataset: str) -> Rows:
    """Embed the images (or take their embeddings), list the unreadable ones, embed the classes."""
    settings, compute = params.datasets[dataset], params.compute
    classes = read_text_list(settings.classes)
    clip = load_clip(params.clip, compute.device, half_precision=compute.half_precision)
    out = IMAGES / f"{dataset}.parquet"
    rejected = IMAGES / f"{dataset}.rejected.parquet"
    if has_embeddings(settings.images):
        rows = copy_embedded_images(Path(settings.images), classes, out, rejected, clip)
    else:
        how = Embedding(
            batch_size=compute.embed_batch_size,
            chunk=compute.embed_chunk,
            scratch=SCRATCH / "embed" / f"images-{dataset}",
        )
        source = open_image_source(settings.images, classes)
        opened = (params.clip, compute.device, compute.half_precision, settings.images, classes)
        workers = choose_workers(compute, partial(open_both, *opened))
        rows = embed_images(source, out, rejected, clip, how, settings.max_rejected, workers)
    embed_classes(classes, IMAGES / f"{dataset}.classes.parquet", clip, compute.embed_batch_size)
    return Rows(*rows)


if __name__ == "__main__":
    run(main)
