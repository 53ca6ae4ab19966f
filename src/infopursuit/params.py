"""What may be set in params.yaml: strict types, no unknown keys, one clear message for a mistake.

`params.yaml` itself is the manual: it explains every key. This module holds the types, the checks
across keys, and nothing that computes.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import (
    Field,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from infopursuit.pursuit.recipe import Recipe
from infopursuit.settings_files import Section, first_mistake, read_settings

NAME = re.compile(r"[A-Za-z0-9_.]+")

Share = Annotated[float, Field(ge=0, le=1)]
Init = Literal["llm", "random", "medoids", "informative", "words"]
INITS: tuple[str, ...] = get_args(Init)


class RunParams(Section):
    datasets: list[str] = Field(min_length=1)
    inits: list[Init] = Field(min_length=1)
    methods: list[str] = Field(min_length=1)
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    truths: list[Literal["menagerie"]]

    @field_validator("datasets", "inits", "methods", "seeds", "truths")
    @classmethod
    def _distinct(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError(f"{values} names an entry twice")
        return values


class SamplingParams(Section):
    temperature: Annotated[float, Field(ge=0)]
    top_p: Share
    max_tokens: Annotated[int, Field(ge=1)]
    seed: int


class VllmParams(Section):
    model: str
    revision: str | None
    engine: dict[str, Any]


class OpenAIParams(Section):
    base_url: str
    model: str
    api_key_variable: str
    timeout_seconds: Annotated[float, Field(gt=0)]
    max_retries: Annotated[int, Field(ge=0)]


class LanguageModelParams(Section):
    backend: Literal["recorded", "vllm", "openai"]
    recorded: str
    vllm: VllmParams
    openai: OpenAIParams
    structured_output: bool
    sampling: SamplingParams


class QueriesParams(Section):
    corpora: dict[str, str] = Field(min_length=1)
    prompt: str
    concepts_per_caption: Annotated[int, Field(ge=1)]
    max_captions: Annotated[int, Field(ge=1)] | None


class UniverseParams(Section):
    max_words: Annotated[int, Field(ge=1)]
    min_characters: Annotated[int, Field(ge=1)]
    max_characters: Annotated[int, Field(ge=1)]
    drop_or: bool
    drop_parentheses: bool
    drop_class_names: bool
    max_similarity: Share | None
    control_words: str


class DatasetParams(Section):
    images: str
    classes: str
    dictionary: str
    k: Annotated[int, Field(ge=2)]
    budget: Annotated[int, Field(ge=1)] | None
    max_rejected: Share
    recipe: dict[str, Any]

    @model_validator(mode="after")
    def _askable(self) -> DatasetParams:
        if self.budget is not None and self.budget > self.k:
            raise ValueError(f"budget is {self.budget}; expected at most k = {self.k}")
        return self


class InitializeParams(Section):
    medoids_distances: Annotated[int, Field(ge=1)]
    medoids_reach: Annotated[int, Field(ge=2)]
    held_out: Annotated[float, Field(gt=0, lt=1)]


class BlackBoxParams(Section):
    hidden: Annotated[int, Field(ge=1)]
    updates: Annotated[int, Field(ge=1)]
    batch_size: Annotated[int, Field(ge=1)]
    learning_rate: Annotated[float, Field(gt=0)]
    weight_decay: Annotated[float, Field(ge=0)]
    held_out: Annotated[float, Field(gt=0, lt=1)]
    seed: int


class EvaluateParams(Section):
    max_probability: list[Share] = Field(min_length=1)
    entropy_nats: list[Annotated[float, Field(ge=0)]] = Field(min_length=1)
    stability_steps: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    calibration_bins: Annotated[int, Field(ge=2)]
    bootstrap_resamples: Annotated[int, Field(ge=100)]


class ExplainParams(Section):
    images: Annotated[int, Field(ge=1)]
    ids: dict[str, list[str]]
    max_queries: Annotated[int, Field(ge=1)]
    stop_at_probability: Share
    classes_shown: Annotated[int, Field(ge=2)]


class RayParams(Section):
    address: str
    workers: Annotated[int, Field(ge=1)]
    cpus_per_worker: Annotated[float, Field(ge=0)]
    gpus_per_worker: Annotated[float, Field(ge=0)]


class ComputeParams(Section):
    device: Literal["auto", "cpu", "cuda"]
    threads: Annotated[int, Field(ge=1)] | None
    processes: Annotated[int, Field(ge=1)]
    engine: Literal["local", "ray"]
    ray: RayParams
    vllm_engine: dict[str, Any]
    vllm_python: str | None
    half_precision: bool
    embed_batch_size: Annotated[int, Field(ge=1)]
    embed_chunk: Annotated[int, Field(ge=1)]
    checkpoint_seconds: Annotated[float, Field(ge=0)]

    def torch_device(self) -> str:
        """`cuda` or `cpu`; `auto` takes a GPU where there is one."""
        if self.device != "auto":
            return self.device
        import torch  # takes seconds to import, and most stages need none of it

        return "cuda" if torch.cuda.is_available() else "cpu"


# The recipe as a strict section, so that the training engine itself needs no pydantic.
_RECIPE_TYPES = get_type_hints(Recipe)
_RECIPE_FIELDS: dict[str, Any] = {
    field.name: (_RECIPE_TYPES[field.name], field.default) for field in fields(Recipe)
}
RecipeParams = create_model("RecipeParams", __base__=Section, **_RECIPE_FIELDS)


class Params(Section):
    """All of params.yaml."""

    run: RunParams
    clip: str
    language_model: LanguageModelParams
    queries: QueriesParams
    universe: UniverseParams
    datasets: dict[str, DatasetParams]
    initialize: InitializeParams
    recipes: dict[str, dict[str, Any]]
    black_box: BlackBoxParams
    evaluate: EvaluateParams
    explain: ExplainParams
    compute: ComputeParams

    @model_validator(mode="after")
    def _consistent(self) -> Params:
        for section, names in (
            ("datasets", self.datasets),
            ("queries.corpora", self.queries.corpora),
            ("recipes", self.recipes),
        ):
            for name in names:
                if not NAME.fullmatch(name):
                    raise ValueError(
                        f"{section}: the name {name!r}; expected letters, digits, '_' and '.'"
                    )
        for name in self.run.datasets:
            if name not in self.datasets:
                raise ValueError(f"run.datasets: {name!r} is not a key of datasets")
        for name in self.run.truths:
            if name not in self.run.datasets:
                raise ValueError(
                    f"run.truths: {name!r} is not among run.datasets; expected one of them, or []"
                )
        for method in self.run.methods:
            if method not in self.recipes:
                raise ValueError(f"run.methods: {method!r} is not a key of recipes")
        for method in self.recipes:
            for name in self.datasets:
                held_out = self.recipe(method, name).held_out
                if method in self.run.methods and held_out != self.initialize.held_out:
                    raise ValueError(
                        f"recipes.{method}: held_out is {held_out} for {name}; expected that of "
                        f"initialize, {self.initialize.held_out}: both set aside the same images"
                    )
        return self

    def budget(self, dataset: str) -> int:
        """T, the largest budget of queries that is evaluated."""
        settings = self.datasets[dataset]
        return min(128, settings.k) if settings.budget is None else settings.budget

    def recipe(self, method: str, dataset: str) -> Recipe:
        """The recipe of a method with the overrides of a data set."""
        settings = {**self.recipes[method], **self.datasets[dataset].recipe}
        return build_recipe(settings, f"recipes.{method} with datasets.{dataset}.recipe")


def build_recipe(settings: dict[str, Any], where: str) -> Recipe:
    """A Recipe from YAML values, strictly typed.

    Raises:
        ValueError: an unknown setting or a value of the wrong type, named with its path.
    """
    pairs = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    try:
        return Recipe(**RecipeParams.model_validate(pairs).model_dump())
    except ValidationError as error:
        raise ValueError(f"{where}.{first_mistake(error)}") from error
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from error


def load_params(path: str | Path = "params.yaml") -> Params:
    """Read and check a params file.

    Raises:
        InputError: as `read_settings` says; also for what breaks a rule across keys.
    """
    return read_settings(path, Params)
