"""Settings of the language model, of its questions, and of the universe."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from infopursuit.core.settings import Positive, Section, Share, check_names
from infopursuit.texts.normalization import normalize


class SamplingSettings(Section):
    """How the language model draws its answers."""

    temperature: Annotated[float, Field(ge=0)]
    top_p: Share
    max_tokens: Positive
    seed: int


class VllmSettings(Section):
    """An engine in the stage's own process."""

    model: str
    revision: str | None
    engine: dict[str, Any]


class OpenAISettings(Section):
    """A server that speaks OpenAI's chat completions."""

    base_url: str
    model: str
    api_key_variable: str
    timeout_seconds: Annotated[float, Field(gt=0)]
    max_retries: Annotated[int, Field(ge=0)]
    requests_at_once: Positive = 16
    extra: dict[str, Any] = Field(default_factory=dict)


class LanguageModelSettings(Section):
    """Which language model, and how it answers."""

    backend: Literal["recorded", "vllm", "openai"]
    recorded: str
    vllm: VllmSettings
    openai: OpenAISettings
    candidates: Positive | None
    structured_output: bool
    sampling: SamplingSettings


class QueriesSettings(Section):
    """The texts that may become queries."""

    corpora: dict[str, str] = Field(min_length=1)
    dictionaries: dict[str, str]
    lists: dict[str, str]
    prompt: str
    concepts_per_caption: Positive
    max_captions: Positive | None

    @model_validator(mode="after")
    def _named(self) -> QueriesSettings:
        for section in ("corpora", "dictionaries", "lists"):
            check_names(f"queries.{section}", getattr(self, section))
        return self


class QuestionsSettings(Section):
    """What a person wants of the questions, however they are chosen."""

    ban: list[str]
    keep: list[str]
    first: str | None

    @field_validator("ban", "keep", "first")
    @classmethod
    def _written(cls, texts: list[str] | str | None) -> list[str] | str | None:
        for text in [texts] if isinstance(texts, str) else texts or ():
            if not normalize(text):
                raise ValueError(f"{text!r} is not a text")
        return texts

    @property
    def kept(self) -> list[str]:
        """The texts that are in every dictionary, the first question among them."""
        return [*([] if self.first is None else [self.first]), *self.keep]


class UniverseSettings(Section):
    """What a text must be like to enter the universe."""

    max_words: Positive
    min_characters: Positive
    max_characters: Positive
    drop_or: bool
    drop_parentheses: bool
    # Paths, since the stage depends on what is there.
    drop_class_names: Literal["artifacts/classes", "params/no_class_names.txt"]
    max_similarity: Share | None
    control_words: str
