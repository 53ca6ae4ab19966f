"""Images for the explorer, in the forms people have them in, answered by models.

photos/                   CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE, or images alone
new.jpg  'new/*.jpg'      images whose class is not known
images.parquet            columns image (encoded), embedding or both; class_name or label, id, split
images.npz  rows.npy      embeddings, without pictures; as `infopursuit fit` takes them

Where there is no split, all of them are test images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from infopursuit.cli.embedded_files import (
    embedding_rows,
    plain_values,
    read_images,
    read_rows,
)
from infopursuit.cli.explain import image_files
from infopursuit.clip.pictures import embed_readable_pictures
from infopursuit.core.clip_names import clip_name
from infopursuit.core.errors import InputError
from infopursuit.datasets.image_folders import read_image_folder
from infopursuit.datasets.image_source import SPLITS, spelled
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.inputs import rows_of
from infopursuit.estimators.pictures import clip_of
from infopursuit.explorer.contents import TEST, TRAIN
from infopursuit.explorer.shown_images import (
    SCORED,
    UNKNOWN,
    AnsweredImages,
    Pictures,
    spread,
)

TRAINING, TESTED = SPLITS
# Pictures that are in memory at once while they are embedded.
BLOCK = 512
IMAGE, EMBEDDING, ID, SPLIT = "image", "embedding", "id", "split"
CLASSES = ("class_name", "label")


@dataclass(frozen=True)
class Source:
    """n images as they were given.

    Attributes:
        where: for messages.
        ids: what the page calls them.
        classes: the class of each: a name, a number, or None.
        splits: `train` or `test`, of each.
        pictures: gives those of some rows; None where there are none.
        embeddings: (n, d); None where a CLIP has to embed the pictures.
        clip: the CLIP that these come from, None where that is not known.
    """

    where: str
    ids: list[str]
    classes: list[Any]
    splits: list[str]
    pictures: Pictures | None
    embeddings: np.ndarray | None = None
    clip: str | None = None


class Answered(NamedTuple):
    """Images for a page.

    Attributes:
        test: images to explain.
        train: images of the training split; None where there are none.
        rejected: what could not be read, with the reason.
    """

    test: AnsweredImages
    train: AnsweredImages | None
    rejected: dict[str, str]


def answered_images(models: Sequence[PursuitClassifier], given: Sequence[str]) -> Answered:
    """The images, answered by all models; of many test images an even sample over the classes.

    Args:
        models: of the same classes.
        given: folders, files and patterns, see above.

    Raises:
        InputError: a source is malformed or empty, has a class that the models do not know, or is
            embedded by another CLIP; or pictures come to a model that does not know its CLIP.
    """
    parts: dict[str, list[AnsweredImages]] = {split: [] for split in SPLITS}
    rejected: dict[str, str] = {}
    for path in given:
        source = _source(path)
        labels = _labels(source, models[0])
        for split, most in ((TESTED, TEST + SCORED), (TRAINING, TRAIN)):
            rows = [row for row, found in enumerate(source.splits) if found == split]
            if rows:
                order = spread(labels[rows])[:most]
                chosen = sorted(rows[place] for place in order)
                found, unreadable = _answered(source, labels, chosen, models)
                rejected |= unreadable
                parts[split].append(found)
    test = _joined(parts[TESTED])
    if test is None or not test.ids:
        why = next((f": {name}: {reason}" for name, reason in rejected.items()), "")
        raise InputError(f"{', '.join(given)}: no test image that can be read{why}")
    return Answered(test, _joined(parts[TRAINING]), rejected)


def _source(given: str) -> Source:
    path = Path(given)
    if path.is_dir() and any(each.is_dir() for each in _visible(path)):
        folder = read_image_folder(path)
        ids = [file.relative_to(path).as_posix() for file in folder.files]
        splits = folder.splits or [TESTED] * len(ids)
        return Source(given, ids, list(folder.labels), splits, _of_files(folder.files))
    if path.suffix == ".parquet" and path.exists():
        return _of_table(path)
    if path.suffix == ".npz":
        return _of_arrays(path)
    if path.suffix == ".npy":
        rows = read_rows(path)
        ids = [f"{path.name}[{row}]" for row in range(len(rows))]
        return Source(given, ids, [None] * len(ids), [TESTED] * len(ids), None, np.asarray(rows))
    files = image_files([given])
    ids = [file.relative_to(path).as_posix() if path.is_dir() else str(file) for file in files]
    return Source(given, ids, [None] * len(ids), [TESTED] * len(ids), _of_files(files))


def _visible(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if not each.name.startswith(".")]


def _of_files(files: Sequence[Path]) -> Pictures:
    return lambda rows: [files[row] for row in rows]


def _of_arrays(path: Path) -> Source:
    train, test = read_images(path)
    parts = [(TESTED, train)] if test is None else [(TRAINING, train), (TESTED, test)]
    return Source(
        str(path),
        [f"{split}[{row}]" for split, part in parts for row in range(len(part.labels))],
        [each for _, part in parts for each in part.labels.tolist()],
        [split for split, part in parts for _ in part.labels],
        None,
        np.concatenate([part.embeddings for _, part in parts]),
    )


def _of_table(path: Path) -> Source:
    try:
        schema = pq.read_schema(path)
        there = set(schema.names)
        if not there & {IMAGE, EMBEDDING}:
            raise InputError(
                f"{path}: no column {IMAGE!r} or {EMBEDDING!r}; found {', '.join(schema.names)}"
            )
        if len(there) < len(schema.names):
            raise InputError(f"{path}: two columns have one name; found {', '.join(schema.names)}")
        if IMAGE in there and not _is_binary(schema.field(IMAGE).type):
            kind = schema.field(IMAGE).type
            raise InputError(f"{path}: image is {kind}; expected binary, encoded images")
        table = pq.read_table(path, columns=[name for name in schema.names if name != IMAGE])
        table.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
    count = pq.read_metadata(path).num_rows
    columns = {
        name: plain_values(path, table, name, nulls=name in CLASSES)
        for name in (ID, SPLIT, *CLASSES)
        if name in table.column_names
    }
    odd = [split for split in columns.get(SPLIT, []) if split not in SPLITS]
    if odd:
        raise InputError(f"{path}: the split {odd[0]!r}; expected 'train' or 'test'")
    return Source(
        str(path),
        [str(each) for each in columns.get(ID, [f"{path.name}[{row}]" for row in range(count)])],
        columns.get("class_name") or columns.get("label") or [None] * count,
        columns.get(SPLIT) or [TESTED] * count,
        _of_column(path) if IMAGE in there else None,
        embedding_rows(table.column(EMBEDDING), path) if EMBEDDING in there else None,
        clip_name(path, schema),
    )


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _of_column(path: Path) -> Pictures:
    """The encoded images of some rows; only their row groups are read."""

    def pictures(rows: Sequence[int]) -> list[Any]:
        wanted, found, first = set(rows), {}, 0
        try:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    count = file.metadata.row_group(group).num_rows
                    here = wanted & set(range(first, first + count))
                    if here:
                        column = file.read_row_group(group, columns=[IMAGE]).column(IMAGE)
                        found |= {row: column[row - first].as_py() for row in here}
                    first += count
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: column {IMAGE!r} is damaged ({error})") from error
        return [found[row] for row in rows]

    return pictures


def _labels(source: Source, model: PursuitClassifier) -> np.ndarray:
    """The number of the class of each image, -1 where it has none."""
    names = model.pursuit_.class_names
    numbers = {spelled(name): number for number, name in enumerate(names)}
    labels = np.full(len(source.ids), UNKNOWN, dtype=np.int64)
    for row, given in enumerate(source.classes):
        if given is None:
            continue
        label = numbers.get(spelled(str(given)))
        if label is None and isinstance(given, int) and given in range(len(names)):
            label = given
        if label is None:
            raise InputError(
                f"{source.where}: the model has no class {given!r}; expected one of "
                f"{', '.join(names[:10])}"
            )
        labels[row] = label
    return labels


def _answered(
    source: Source, labels: np.ndarray, rows: list[int], models: Sequence[PursuitClassifier]
) -> tuple[AnsweredImages, dict[str, str]]:
    """Those of the rows that can be read, and why the others cannot."""
    rejected: dict[str, str] = {}
    if source.embeddings is not None:
        for model in models:
            if None not in (source.clip, model.clip_) and source.clip != model.clip_:
                raise InputError(
                    f"{source.where}: embedded by {source.clip}; the model was fitted with "
                    f"{model.clip_}: expected one CLIP for both"
                )
        answers = [_answers(model, source.embeddings[rows]) for model in models]
    else:
        answers, kept = _embedded(source, rows, models, rejected)
        rows = [rows[place] for place in kept]
    ids = [source.ids[row] for row in rows]
    pictures = None if source.pictures is None else _some(source.pictures, rows)
    return AnsweredImages(ids, labels[rows], answers, pictures), rejected


def _some(pictures: Pictures, rows: Sequence[int]) -> Pictures:
    return lambda places: pictures([rows[place] for place in places])


def _embedded(
    source: Source,
    rows: list[int],
    models: Sequence[PursuitClassifier],
    rejected: dict[str, str],
) -> tuple[list[torch.Tensor], list[int]]:
    """The answers to the pictures that every CLIP could read, and the places of these."""
    assert source.pictures is not None
    blocks: list[list[torch.Tensor]] = [[] for _ in models]
    kept: list[int] = []
    for start in range(0, len(rows), BLOCK):
        pictures = list(source.pictures(rows[start : start + BLOCK]))
        found = [embed_readable_pictures(clip_of(model), pictures) for model in models]
        # One decoder for all: what one CLIP cannot read, no other can.
        for place, reason in found[0].rejected.items():
            rejected[source.ids[rows[start + place]]] = reason
        kept += [start + place for place in found[0].rows]
        for block, model, of_model in zip(blocks, models, found, strict=True):
            block.append(_answers(model, of_model.embeddings))
    return [torch.cat(block) for block in blocks], kept


def _answers(model: PursuitClassifier, embeddings: np.ndarray) -> torch.Tensor:
    pursuit = model.pursuit_
    return pursuit.answers(rows_of(model, embeddings).tensor().to(pursuit.device)).cpu()


def _joined(parts: Sequence[AnsweredImages]) -> AnsweredImages | None:
    if not parts:
        return None
    owners = [(part, place) for part in parts for place in range(len(part.ids))]

    def pictures(rows: Sequence[int]) -> list[Any]:
        found: dict[int, Any] = {}
        for part in parts:
            here = [row for row in rows if owners[row][0] is part]
            found |= zip(here, part.given([owners[row][1] for row in here]), strict=True)
        return [found[row] for row in rows]

    return AnsweredImages(
        [each for part in parts for each in part.ids],
        np.concatenate([part.labels for part in parts]),
        [torch.cat(blocks) for blocks in zip(*(part.answers for part in parts), strict=True)],
        pictures,
    )
