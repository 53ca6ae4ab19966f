"""The form of `model.json`, which describes a saved model, and what its values stand for."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section, Share
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.parts import CLASSIFIERS, QUERIERS, RULES

# The format that is saved, and the first version of infopursuit that reads it.
FORMAT, REQUIRES = 7, "infopursuit>=0.1.0"

# Columns of a table, or numbers of an embedding: what a file says of it alone is believed.
LARGEST_WIDTH = 2**20

Count = Annotated[int, Field(ge=0)]


class _Classes(Section):
    values: Annotated[list[str | bool | int | float], Field(min_length=1)]
    type: str


class _ClipPlace(Section):
    name: str | None
    source: str | None


class _Stop(Section):
    probability: float | None = None
    max_queries: int | None = None
    entropy: float | None = None
    stability: int | None = None


class _Settings(Section):
    """The settings that a model is asked with; the others are those of its next fit."""

    model_config = ConfigDict(extra="allow")
    stop: _Stop | None


class _Provenance(Section):
    """What cards, pages and later commands show of the provenance."""

    model_config = ConfigDict(extra="allow")
    label: str | None = None
    named_by: str | None = None
    sources: dict[str, str] = Field(default_factory=dict)
    rejected: dict[str, str] = Field(default_factory=dict)
    test_accuracy: Share | None = None
    test_confidence: Share | None = None
    held_out_accuracy: Share | None = None
    held_out_confidence: Share | None = None
    # It is in every explanation.
    note: Annotated[str, Field(max_length=2000)] | None = None
    test_images: Count = 0
    held_out_images: Count = 0
    trained_on: str = ""


class _Table(Section):
    names: list[str]
    categories: list[list[str] | None]


class _Questions(Section):
    gaps: Literal["auto", "nothing", "tells"]
    costs: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None
    note: Annotated[str, Field(pattern=r"\S")] | None


class Description(Section):
    """The form of `model.json`."""

    format: int
    requires: str
    estimator: Literal["InformationPursuitClassifier", "VariationalInformationPursuit"]
    rule: Annotated[str, AfterValidator(RULES.known)]
    querier: Annotated[str, AfterValidator(QUERIERS.known)]
    classifier: Annotated[str, AfterValidator(CLASSIFIERS.known)]
    queries: list[str]
    classes: _Classes
    first: Count | None
    columns: list[str]
    width: Annotated[int, Field(ge=1, le=LARGEST_WIDTH)]
    clip: _ClipPlace
    settings: _Settings
    provenance: _Provenance
    questions: _Questions | None = None  # about columns, for another fit
    table: _Table | None = None  # of a model that reads raw tables
    words: list[list[str]] = Field(default_factory=list)  # of answers, if the rule has none
    wording: list[str] = Field(default_factory=list)
    said: list[Literal["knowledge"]] = Field(default_factory=list)
    sha256: dict[str, str]


def other_format(form: object, description: object) -> str:
    """Say what to do with a model of another format."""
    if not isinstance(form, int) or form < FORMAT:
        return ""
    requires = str(description.get("requires")) if isinstance(description, dict) else ""
    # A stranger's words are not repeated, unless they can be a version.
    named = re.fullmatch(r"infopursuit>=\d{1,4}(\.\d{1,4}){0,2}", requires)
    wanted = f"'{requires}'" if named else "--upgrade infopursuit"
    return (
        f". A newer version of infopursuit than this one, {version('infopursuit')}, wrote it: "
        f"pip install {wanted}"
    )


def table_columns(described: _Table | None, width: int) -> TableColumns | None:
    """Return what is in the columns of a table."""
    if described is None:
        return None
    if not len(described.names) == len(described.categories) == width:
        raise ValueError(f"table: expected names and categories of {width} columns")
    kinds = tuple(None if each is None else tuple(each) for each in described.categories)
    return TableColumns(tuple(described.names), kinds)


def class_labels(described: _Classes) -> np.ndarray:
    """Return the labels; a text type is as wide as they are, whatever it says."""
    values, kind = described.values, np.dtype(described.type)
    if kind.kind not in "iufbUO" or len(set(values)) < len(values):
        raise ValueError(f"classes of type {kind}: expected distinct texts or numbers")
    order = "<U" if kind.kind == "U" and kind.isnative else f"{kind.byteorder}U"
    classes = np.array(values, dtype=order if kind.kind == "U" else kind)
    if classes.tolist() != values:
        raise ValueError(f"classes: {kind} cannot hold {values[:3]}")
    return classes


def described_classes(classes: np.ndarray) -> dict[str, Any]:
    kind = classes.dtype
    if kind.kind not in "iufbU" and not all(isinstance(each, str) for each in classes):
        raise InputError(f"the labels are {kind}; expected texts or numbers, to be saved")
    return {"values": classes.tolist(), "type": "object" if kind.kind == "O" else kind.str}


def plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, set | frozenset | np.ndarray):
        return sorted(value) if isinstance(value, set | frozenset) else value.tolist()
    raise InputError(f"the setting {value!r} cannot be saved; expected plain values")
