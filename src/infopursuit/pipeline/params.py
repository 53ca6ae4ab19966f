"""All of params.yaml, and the rules across its sections.

`params.yaml` itself is the manual: it explains every key. A stage reads only the sections that it
needs, so that no stage runs again because a rule here has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from infopursuit.clip.weights import EmbeddingsSettings
from infopursuit.core.settings import ComputeSettings, Positive, Section, check_names, read_settings
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.methods import Method, build_method
from infopursuit.generation.settings import (
    LanguageModelSettings,
    QueriesSettings,
    QuestionsSettings,
    UniverseSettings,
)
from infopursuit.pipeline.benchmark_settings import BenchmarkSettings
from infopursuit.pipeline.run_settings import EvaluateSettings, ExplainSettings, RunSettings
from infopursuit.pursuit.dictionary.settings import InitializeSettings
from infopursuit.texts.normalization import words_pattern


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
    benchmark: BenchmarkSettings
    evaluate: EvaluateSettings
    explain: ExplainSettings
    compute: ComputeSettings

    @model_validator(mode="after")
    def _consistent(self) -> Params:
        check_names("methods", self.methods)
        for mistake in self._mistakes():
            raise ValueError(mistake)
        for method in self.methods:
            for dataset in self.datasets:
                self.method(method, dataset)
        return self

    def _mistakes(self) -> Iterator[str]:
        named = {
            "run.datasets": self.run.datasets,
            "queries.dictionaries": self.queries.dictionaries,
            "queries.lists": self.queries.lists,
            "benchmark.datasets": self.benchmark.datasets,
        }
        for key, names in named.items():
            for name in names:
                if name not in self.datasets:
                    yield f"{key}: {name!r} is not a key of datasets"
        for init, section in (("llm", "dictionaries"), ("list", "lists")):
            for name in self.run.datasets if init in self.run.inits else ():
                if name not in getattr(self.queries, section):
                    yield (
                        f"queries.{section}: no entry for {name!r}, which the init {init!r} of "
                        "run.inits needs; expected one, or other inits"
                    )
        for text in self.questions.kept if self.questions.ban else ():
            if re.search(words_pattern(self.questions.ban), text):
                yield f"questions: {text!r} is to be kept, and is banned"
        for name in self.run.truth:
            if name not in self.run.datasets:
                yield f"run.truth: {name!r} is not among run.datasets; expected one of them, or []"
        for method in self.run.methods:
            if method not in self.methods:
                yield f"run.methods: {method!r} is not a key of methods"

    def method(self, method: str, dataset: str) -> Method:
        """Return the settings of a method with the overrides of a data set."""
        where = f"methods.{method} with datasets.{dataset}.variational"
        return build_method(self.methods[method], self.datasets[dataset].variational, where)


def load_params(path: str | Path = "params.yaml") -> Params:
    """Read and check a params file."""
    return read_settings(path, Params)
