"""What every backend offers: prompts in, answers out, in the same order."""

from __future__ import annotations

import base64
import hashlib
import io
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import to_rgb

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


class Cost(NamedTuple):
    """What one answer about a picture took.

    Attributes:
        tokens_read: 0 if a server does not count them, as `tokens_written`.
        seconds: None if the answer was kept from an earlier run.
    """

    tokens_read: int
    tokens_written: int
    seconds: float | None


class Answer(NamedTuple):
    """What a language model wrote.

    Attributes:
        text: the answer.
        finish_reason: why it stopped: `stop` at its end, `length` if cut off, ...
        probability: of the word chosen, among `ImagePrompt.choices`; None if it is not known.
        cost: of an answer about a picture.
    """

    text: str
    finish_reason: str
    probability: float | None = None
    cost: Cost | None = None


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

        At most these are lost if the process dies, and none if they are `AnswersAsTheyCome`.
        """
        ...

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Return one answer for each prompt, in order."""
        ...


@runtime_checkable
class AnswersAsTheyCome(Protocol):
    """A backend whose answers come one by one, so that each can be kept at once."""

    def answer_one_by_one(
        self, prompts: Sequence[Prompt], sampling: Sampling
    ) -> Iterator[tuple[int, Answer]]:
        """Yield each answer with the place of its prompt, in any order."""
        ...


class NotRecordedError(InputError):
    """Of all that recorded answers are asked, they answer nothing."""


@runtime_checkable
class AnswersFromRecord(Protocol):
    """A backend that says again what was recorded, and knows nothing else."""

    def recorded(
        self, kind: str, names: Collection[str] = (), others: Collection[str] = ()
    ) -> list[tuple[str, list[str]]]:
        """Return what the answers about captions, classes or texts are about.

        Args:
            kind: the variable of prompts that says it: `caption`, `class_name` or `text`; or
                `classes`, of prompts for queries.
            names: those of interest, of `classes` all together; any if there are none. Case and
                outer punctuation do not matter.
            others: what each is asked with, the texts of `class_name`, the classes of `text`: one
                of these at least; any if there are none.

        Returns:
            Names, each with the texts or classes that one answer is about, as they were recorded.

        Raises:
            NotRecordedError: there is none; the message says how to do without.
        """
        ...


def choice_probability(
    text: str, choices: Sequence[str], likely: Sequence[tuple[str, float]]
) -> float | None:
    """Return how probable the chosen word is among all choices, by the likely first tokens.

    Args:
        text: the answer.
        choices: the words.
        likely: tokens with their log-probabilities.
    """
    weight = dict.fromkeys(choices, 0.0)
    for token, value in likely:
        start = token.strip().lower()
        for word in choices:
            weight[word] += math.exp(value) if start and word.startswith(start) else 0.0
    total, chosen = sum(weight.values()), weight.get(text.strip(" .").lower(), 0.0)
    return round(chosen / total, 6) if total and chosen else None
