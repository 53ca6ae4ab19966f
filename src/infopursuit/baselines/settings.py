"""Settings of the baselines."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infopursuit.core.settings import Positive, Section


class BaselinesSettings(Section):
    """How the MLP on the embeddings is trained."""

    hidden: Positive
    updates: Positive
    batch_size: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    weight_decay: Annotated[float, Field(ge=0)]
    seed: int
