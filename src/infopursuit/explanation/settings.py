"""Settings of the explanations of single test images."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infopursuit.core.settings import Positive, Section, Share


class ExplainSettings(Section):
    """Which images, and when to stop asking."""

    images: Positive
    ids: dict[str, list[str]]
    max_queries: Positive
    stop_at_probability: Share
    classes_shown: Annotated[int, Field(ge=2)]
