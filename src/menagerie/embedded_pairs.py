"""The embeddings of switched pairs: how their file is written, and read beside the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Float32
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit.core.tables import TableSchema, embedding_matrix, read_table, write_table
from menagerie.counterfactuals import COUNTERFACTUALS

EMBEDDED_PAIRS = TableSchema(
    "embedded pictures of switched pairs",
    (
        pa.field("pair", pa.string(), nullable=False),
        pa.field("holds", pa.bool_(), nullable=False),
    ),
    embedded=True,
)
NAMES = [field.name for field in EMBEDDED_PAIRS.columns]


def pair_pictures(path: str | Path) -> tuple[dict[str, list[Any]], list[bytes]]:
    """Names and sides of the pictures of counterfactuals.parquet, and the encoded pictures.

    Raises:
        InputError: the file breaks its schema.
    """
    table = read_table(path, COUNTERFACTUALS, [*NAMES, "image"])
    columns = {name: table.column(name).to_pylist() for name in NAMES}
    return columns, table.column("image").to_pylist()


def write_pairs(
    path: str | Path,
    columns: dict[str, list[Any]],
    embeddings: Float32[np.ndarray, "n d"],
    clip: str | None,
) -> None:
    """Write what `pair_pictures` names with its embeddings, by the CLIP of this name."""
    write_table(path, EMBEDDED_PAIRS, {**columns, "embedding": embeddings}, clip)


def load_pair_embeddings(path: str | Path, drawn: str | Path) -> Float[Tensor, "n d"]:
    """The unit-norm embeddings of the pictures of `drawn`, in their order.

    Raises:
        InputError: a file breaks its schema, or they are not of the same pictures.
    """
    table = read_table(path, EMBEDDED_PAIRS)
    expected = read_table(drawn, COUNTERFACTUALS, NAMES)
    for name in NAMES:
        if table.column(name).to_pylist() != expected.column(name).to_pylist():
            raise InputError(
                f"{path}: the column {name!r} is not that of {drawn}; expected the same pictures "
                "in the same order"
            )
    rows = torch.from_numpy(embedding_matrix(table, path).astype("float32"))
    return functional.normalize(rows, dim=1)
