"""Texts that ship with the library, for pictures that come with none; and texts near a query.

from infopursuit.texts import nearest, visual_vocabulary
visual_vocabulary(kinds=["part", "color"])
nearest("striped body", visual_vocabulary(), clip="ViT-B-32:openai")

`nearest` needs CLIP and faiss, so it is imported when it is used: a stage that only reads texts
depends on neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from infopursuit.texts.vocabulary import visual_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    nearest: Callable[..., list[tuple[str, float]]]

__all__ = ["nearest", "visual_vocabulary"]


def __getattr__(name: str) -> Any:
    if name == "nearest":
        return import_module(f"{__name__}.near_texts").nearest
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
