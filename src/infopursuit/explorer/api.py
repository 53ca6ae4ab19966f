"""What the page may ask its server, and what it hears: the types of the API."""

from __future__ import annotations

from typing import Annotated

from pydantic import FailFast, Field

from infopursuit.explorer.payload import Base64, Part, Thumbnail

# Histories in one request, and values of queries in one answer; the page asks for no more at once.
MOST = 4096
MOST_VALUES = 500_000


class Told(Part):
    """A question that was asked, and its answer from 0 (no) to 1 (yes)."""

    query: Annotated[int, Field(ge=0)]
    answer: Annotated[float, Field(ge=0, le=1)]


class Histories(Part):
    """What to think about: histories of one model, each in the order asked."""

    model: Annotated[int, Field(ge=0, le=1)]
    # The first mistake is enough: to describe millions takes minutes.
    histories: Annotated[
        list[Annotated[list[Told], FailFast()]], Field(min_length=1, max_length=MOST), FailFast()
    ]


class Thought(Part):
    """What the model makes of a history.

    Attributes:
        posterior: of the classes.
        values: of the queries, null for those that were asked.
    """

    posterior: list[float]
    values: list[float | None]


class Steps(Part):
    """One thought for each history."""

    steps: list[Thought]


class Answers(Part):
    """The answers of a picture, as `payload.Image` has them."""

    id: str
    thumbnail: Thumbnail
    answers: list[Base64]


class Failure(Part):
    """Why a request was refused, in one sentence."""

    error: str
