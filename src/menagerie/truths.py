"""Which phrases plainly name an attribute of a picture, so that an answer to them can be wrong.

The embedded world knows what is in each of its pictures (`pictures.TABLE`). A phrase is listed in
claims.csv where a person who sees the picture would answer it by that attribute alone: "striped
body" is, a "striped tail" is not, nor are "trees in background", which stand in every forest too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.tables import TableSchema, read_table


class Claim(NamedTuple):
    """What a phrase says of a picture: that the attribute holds, or (False) that it does not."""

    attribute: str
    holds: bool


CLAIMS = {
    phrase: Claim(attribute, holds == "yes")
    for phrase, attribute, holds in read_csv_table(Path(__file__).with_name("claims.csv")).rows
}
_NAMED = sorted({claim.attribute for claim in CLAIMS.values()})
ATTRIBUTES = TableSchema(
    "the truth of every attribute of every picture",
    (
        pa.field("id", pa.string(), nullable=False),
        *(pa.field(name, pa.bool_(), nullable=False) for name in _NAMED),
    ),
)


def claims_truth(
    path: str | Path, ids: Sequence[str], claims: Sequence[Claim]
) -> Bool[np.ndarray, "n q"]:
    """Whether each of q claims is true of each of n pictures.

    Args:
        path: the table of the pictures.
        ids: of the pictures.
        claims: what is said of them.

    Raises:
        InputError: the table breaks its schema, or lacks a picture.
    """
    names = sorted({claim.attribute for claim in claims})
    table = read_table(path, ATTRIBUTES, ["id", *names])
    rows = {name: row for row, name in enumerate(table.column("id").to_pylist())}
    for name in ids:
        if name not in rows:
            raise InputError(f"{path}: no attributes of the picture {name!r}; expected a row of it")
    order = [rows[name] for name in ids]
    truths = {name: table.column(name).to_numpy()[order] for name in names}
    holds = np.zeros((len(ids), len(claims)), dtype=bool)
    for column, claim in enumerate(claims):
        holds[:, column] = truths[claim.attribute] == claim.holds
    return holds
