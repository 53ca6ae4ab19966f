"""All of params.yaml, and the rules across its sections.

`params.yaml` itself is the manual: it explains every key. A stage reads only the sections that it
needs, so that no stage runs again because a rule here has changed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from infopursuit.baselines.settings import BaselinesSettings
from infopursuit.benchmark.settings import BenchmarkSettings
from infopursuit.clip.settings import EmbeddingsSettings
from infopursuit.core.settings import Positive, Section, check_names, read_settings
from infopursuit.datasets.settings import Datasets
from infopursuit.dictionary.settings import InitializeSettings
from infopursuit.evaluation.settings import EvaluateSettings
from infopursuit.executors.settings import ComputeSettings
from infopursuit.explanation.settings import ExplainSettings
from infopursuit.pipeline.methods import Method, build_method
from infopursuit.queries.settings import (
    LanguageModelSettings,
    QueriesSettings,
    QuestionsSettings,
    UniverseSettings,
)
from infopursuit.queries.universe import words_pattern
from infopursuit.report.settings import RunSettings


class Params(Section):
    """All of params.yaml."""

    run: RunSettings
    clip: str
    language_model: LanguageModelSettings
    queries: QueriesSettings
    universe: UniverseSettings
    questions: QuestionsSettings
    datasets: Datasets
    embeddings: EmbeddingsSettings
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    max_images: Positive
    initialize: InitializeSettings
    methods: dict[str, dict[str, Any]]
    baselines: BaselinesSettings
    benchmark: BenchmarkSettings
    evaluate: EvaluateSettings
    explain: ExplainSettings
    compute: ComputeSettings

    @model_validator(mode="after")
    def _consistent(self) -> Params:
        check_names("methods", self.methods)
        for name in self.run.datasets:
            if name not in self.datasets:
                raise ValueError(f"run.datasets: {name!r} is not a key of datasets")
        for section in ("dictionaries", "lists"):
            for name in getattr(self.queries, section):
                if name not in self.datasets:
                    raise ValueError(f"queries.{section}: {name!r} is not a key of datasets")
        for init, section in (("llm", "dictionaries"), ("list", "lists")):
            for name in self.run.datasets if init in self.run.inits else ():
                if name not in getattr(self.queries, section):
                    raise ValueError(
                        f"queries.{section}: no entry for {name!r}, which the init {init!r} of "
                        "run.inits needs; expected one, or other inits"
                    )
        for text in self.questions.kept if self.questions.ban else ():
            if re.search(words_pattern(self.questions.ban), text):
                raise ValueError(f"questions: {text!r} is to be kept, and is banned")
        for name in self.benchmark.datasets:
            if name not in self.datasets:
                raise ValueError(f"benchmark.datasets: {name!r} is not a key of datasets")
        for name in self.run.truth:
            if name not in self.run.datasets:
                raise ValueError(
                    f"run.truth: {name!r} is not among run.datasets; expected one of them, or []"
                )
        for method in self.run.methods:
            if method not in self.methods:
                raise ValueError(f"run.methods: {method!r} is not a key of methods")
        for method in self.methods:
            for name in self.datasets:
                self.method(method, name)
        return self

    def kind(self, method: str) -> str:
        """What a method is: `variational` or `naive_bayes`."""
        return self.methods[method]["method"]

    def method(self, method: str, dataset: str) -> Method:
        """The settings of a method with the overrides of a data set."""
        where = f"methods.{method} with datasets.{dataset}.variational"
        return build_method(self.methods[method], self.datasets[dataset].variational, where)


def load_params(path: str | Path = "params.yaml") -> Params:
    """Read and check a params file.

    Raises:
        InputError: as `read_settings` says; also for what breaks a rule across keys.
    """
    return read_settings(path, Params)
