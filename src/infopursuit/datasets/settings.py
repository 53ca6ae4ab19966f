"""Settings of a data set."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from infopursuit.core.settings import Positive, Section, Share, check_names


class DatasetSettings(Section):
    """One data set: its images, its classes, what is said of them, the size of its dictionary."""

    images: str
    classes: str
    knowledge: str
    question_reference: str
    answer_reference: str
    annotations: str
    k: Annotated[int, Field(ge=2)]
    budget: Positive | None
    max_rejected: Share
    variational: dict[str, Any]

    @field_validator(
        "knowledge", "question_reference", "answer_reference", "annotations", mode="before"
    )
    @classmethod
    def _a_path(cls, path: Any) -> Any:
        if path is None:  # which DVC cannot have as a dependency
            nothing = "params/no_knowledge.csv, or params/no_annotations.csv"
            raise ValueError(f"null; expected a path; for none {nothing}")
        return path

    @model_validator(mode="after")
    def _askable(self) -> DatasetSettings:
        if self.budget is not None and self.budget > self.k:
            raise ValueError(f"budget is {self.budget}; expected at most k = {self.k}")
        return self

    @property
    def largest_budget(self) -> int:
        """T, the largest budget of queries that is evaluated."""
        return min(128, self.k) if self.budget is None else self.budget


def _named(datasets: dict[str, DatasetSettings]) -> dict[str, DatasetSettings]:
    check_names("datasets", datasets)
    return datasets


# All data sets by name.
Datasets = Annotated[dict[str, DatasetSettings], AfterValidator(_named)]
