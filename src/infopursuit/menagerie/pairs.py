"""What the file of training pairs holds; by itself, so that training depends on no drawing."""

import pyarrow as pa

from infopursuit.tables import TableSchema

PAIRS = TableSchema(
    "pictures with texts that are true of them, for training the menagerie's CLIP",
    (
        pa.field("image", pa.binary(), nullable=False),
        pa.field("texts", pa.list_(pa.string()), nullable=False),
    ),
)
