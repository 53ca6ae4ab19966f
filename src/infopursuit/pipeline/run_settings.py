"""Settings of the runs, their evaluation and their explanations."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from infopursuit.core.settings import Positive, Section, Share
from infopursuit.pursuit.dictionary.settings import Init
from infopursuit.pursuit.stopping import StoppingRule


class RunSettings(Section):
    """Which runs to train: every combination of the lists."""

    datasets: list[str] = Field(min_length=1)
    inits: list[Init] = Field(min_length=1)
    methods: list[str] = Field(min_length=1)
    seeds: list[Annotated[int, Field(ge=0, lt=2**32)]] = Field(min_length=1)
    truth: list[Literal["menagerie"]]

    @field_validator("datasets", "inits", "methods", "seeds", "truth")
    @classmethod
    def _distinct(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError(f"{values} names an entry twice")
        return values


class EvaluateSettings(Section):
    """What is measured on the test split, in one pass.

    Attributes:
        max_probability: stop once the largest posterior probability reaches one of these.
        entropy_nats: stop once the entropy of the posterior is at most one of these.
        stability_steps: stop once the predicted class has not changed for so many queries.
        calibration_bins: bins of the expected calibration error.
        bootstrap_resamples: resamples of the test images for confidence intervals.
    """

    max_probability: list[Share] = Field([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99], min_length=1)
    entropy_nats: list[Annotated[float, Field(ge=0)]] = Field(
        [1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05], min_length=1
    )
    stability_steps: list[Positive] = Field([2, 3, 4, 6, 8, 12], min_length=1)
    calibration_bins: Annotated[int, Field(ge=2)]
    bootstrap_resamples: Annotated[int, Field(ge=100)]


class ExplainSettings(Section):
    """Which images to explain, and when to stop asking."""

    images: Positive
    ids: dict[str, list[str]]
    stop_at_probability: Share | None
    stop_when_unchanged: Positive | None
    max_queries: Positive | None
    classes_shown: Annotated[int, Field(ge=2)]

    @property
    def stop(self) -> StoppingRule:
        """The stopping rule that these settings describe."""
        return StoppingRule(
            self.stop_at_probability, self.max_queries, stability=self.stop_when_unchanged
        )
