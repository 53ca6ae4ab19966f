"""What every backend offers: prompts in, answers out, in the same order."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from infopursuit.datasets.decoding import to_rgb

NOT_RECORDED = "not recorded"  # the finish_reason of what no recorded answer is about
# What servers call the end of an answer, or say if they do not know: all else cuts it off.
ENDS = frozenset(
    ("stop", "end_turn", "stop_sequence", "eos", "eos_token", "end_of_text", "complete",
     "completed", "finished", "unknown", "unspecified", NOT_RECORDED)
)  # fmt: skip
# The longest side of a picture that is sent, in pixels.
LONGEST_SIDE = 768


class ImagePrompt(NamedTuple):
    """A question about a picture: the encoded PNG, the text, and the words that may answer it."""

    image: bytes
    text: str
    choices: tuple[str, ...]


Prompt = str | ImagePrompt


def encoded(picture: Any) -> bytes:
    """Return a picture as it is sent: upright RGB, at most LONGEST_SIDE wide and high, PNG."""
    image, file = to_rgb(picture), io.BytesIO()
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    image.save(file, "PNG")
    return file.getvalue()


def prompt_key(prompt: Prompt) -> str:
    """Return what tells prompts apart: the text; of a picture its SHA-256 and the text."""
    if isinstance(prompt, str):
        return prompt
    return f"{hashlib.sha256(prompt.image).hexdigest()} {' '.join(prompt.choices)}\n{prompt.text}"


def message_content(prompt: Prompt) -> Any:
    """Return the content of a user message; a picture comes first, so that its prefix is kept."""
    if isinstance(prompt, str):
        return prompt
    address = f"data:image/png;base64,{base64.b64encode(prompt.image).decode()}"
    return [
        {"type": "image_url", "image_url": {"url": address}},
        {"type": "text", "text": prompt.text},
    ]


class Answer(NamedTuple):
    """What a language model wrote.

    Attributes:
        text: the answer.
        finish_reason: why it stopped: `stop` at its end, `length` if cut off, ...
    """

    text: str
    finish_reason: str

    @property
    def cut(self) -> bool:
        """Whether it stopped before its end, as far as the server says."""
        return self.finish_reason.lower().removeprefix("finish_reason_") not in ENDS


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

    def seed_for(self, prompt: Prompt) -> int:
        """Return the seed of one request, 31 bits.

        With one seed for all, every answer would be drawn with the same random numbers; with the
        prompt's place in the batch, it would change when other prompts are asked next to it.
        """
        digest = hashlib.sha256(f"{self.seed} {prompt_key(prompt)}".encode()).digest()
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
        """How many prompts to hand over at once.

        At most these are lost if the process dies; none of a server's.
        """
        ...

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Return one answer for each prompt, in order."""
        ...
