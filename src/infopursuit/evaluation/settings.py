"""Settings of the evaluation."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infopursuit.core.settings import Positive, Section, Share


class EvaluateSettings(Section):
    """What is measured on the test split, in one pass."""

    max_probability: list[Share] = Field(min_length=1)
    entropy_nats: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    stability_steps: list[Positive] = Field(min_length=1)
    calibration_bins: Annotated[int, Field(ge=2)]
    bootstrap_resamples: Annotated[int, Field(ge=100)]
