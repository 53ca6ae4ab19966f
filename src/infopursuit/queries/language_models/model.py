"""What every backend offers: prompts in, answers out, in the same order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable


class Answer(NamedTuple):
    """What a language model wrote, and why it stopped: `stop` at its end, `length` cut off, ..."""

    text: str
    finish_reason: str


@dataclass(frozen=True)
class Sampling:
    """How answers are drawn: temperature (0 for the likeliest), top-p, tokens at most, and seed.

    `pattern`, a regular expression, admits no other answers, but for those that `max_tokens` cuts
    off; None admits all. Recorded answers stay as they are.
    """

    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    pattern: str | None = None

    def seed_for(self, prompt: str) -> int:
        """Return the seed of one request, 31 bits.

        With one seed for all, every answer would be drawn with the same random numbers; with the
        prompt's place in the batch, it would change when other prompts are asked next to it.
        """
        digest = hashlib.sha256(f"{self.seed} {prompt}".encode()).digest()
        return int.from_bytes(digest[:4], "big") >> 1


@runtime_checkable
class LanguageModel(Protocol):
    """A backend."""

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """All that changes the answers besides prompt and sampling, as JSON values.

        None if an answer costs nothing to ask again, so that none is kept.
        """
        ...

    @property
    def chunk(self) -> int:
        """How many prompts to hand over at once; at most these are lost if the process dies."""
        ...

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        """Return one answer for each prompt, in order."""
        ...
