"""Settings of the black boxes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infopursuit.core.settings import Positive, Section


class MLPSettings(Section):
    """How the MLP on the embeddings is trained: AdamW with a cosine decay of the rate to zero."""

    hidden: Positive
    updates: Positive
    batch_size: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    weight_decay: Annotated[float, Field(ge=0)]
    seed: int
