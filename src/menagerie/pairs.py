"""What the file of training pairs holds; by itself, so that training depends on no drawing."""

import pyarrow as pa

from infopursuit.core.tables import TableSchema

PAIRS = TableSchema(
    "pictures with their facts and with captions that are true of them, to train the CLIP on",
    (
        pa.field("image", pa.binary(), nullable=False),
        pa.field("facts", pa.list_(pa.string()), nullable=False),
        pa.field("captions", pa.list_(pa.string()), nullable=False),
    ),
)
