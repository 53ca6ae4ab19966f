"""Embed the images and class names of a data set: images.parquet, images.classes.parquet.

images.rejected.parquet lists the unreadable images, images.duplicates.parquet the test images that
nearly equal a training image.

python stages/embed_images.py --dataset menagerie
"""

from infopursuit.core.stage import SCRATCH, RowCounts, code_key, run

from functools import partial
from pathlib import Path

from infopursuit.clip.embed_tables import Embedding, embed_classes, embed_images, open_both
from infopursuit.clip.towers import choose_device, load_clip
from infopursuit.clip.weights import EmbeddingsSettings
from infopursuit.core.devices import log_where_it_computes
from infopursuit.core.executors import choose_workers
from infopursuit.core.files import read_text_list
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.datasets.duplicates import list_near_copies, log_empty_classes
from infopursuit.datasets.embedded_files import copy_embedded_images
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.settings import Datasets
from infopursuit.pipeline import paths


class Settings(Section):
    clip: str
    datasets: Datasets
    embeddings: EmbeddingsSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    """Embed the images (or take their embeddings), list the unreadable ones, embed the classes."""
    chosen, compute = settings.datasets[dataset], settings.compute
    log_where_it_computes(compute.device)
    classes = read_text_list(paths.classes(dataset))
    clip = load_clip(settings.clip, compute.device, half_precision=compute.half_precision)
    out = paths.images(dataset)
    rejected = paths.images(dataset, "rejected")
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
            code=code_key(__file__),
        )
        source = open_image_source(chosen.images, classes)
        opened = (settings.clip, compute.device, compute.half_precision, chosen.images, classes)
        workers = choose_workers(compute, partial(open_both, *opened))
        rows = embed_images(source, out, rejected, clip, how, chosen.max_rejected, workers)
    log_empty_classes(out, classes)
    copies = paths.images(dataset, "duplicates")
    list_near_copies(out, copies, choose_device(compute.device))
    embed_classes(classes, paths.images(dataset, "classes"), clip, compute.embed_batch_size)
    return RowCounts(*rows)


if __name__ == "__main__":
    run(main)
