"""Modules and names that have moved since 0.1.0: the old paths still work, with a FutureWarning.

Add a line here when you rename a documented module or class. The next version removes the lines.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # `typing` is not imported here: see the package's own docstring
if TYPE_CHECKING:
    from typing import Any

# Old module or package, without `infopursuit.` in front, and the new one. The line with the longest
# matching prefix counts: `answers.rules` is in `infopursuit.pursuit.answers`.
MODULES = {
    "answers": "infopursuit.pursuit.answers",
    "answers.score_map": "infopursuit.pursuit.answers.directions",
    "answers.text_directions": "infopursuit.pursuit.answers.directions",
    "answers.words": "infopursuit.pursuit.answers.information",
    "baselines": "infopursuit.peers.black_boxes",
    "baselines.baseline": "infopursuit.peers.black_boxes",
    "baselines.fixed_order": "infopursuit.peers.fixed_order",
    "baselines.linear": "infopursuit.peers.black_boxes",
    "baselines.logistic": "infopursuit.peers.heads",
    "baselines.mlp": "infopursuit.peers.black_boxes",
    "baselines.settings": "infopursuit.peers.settings",
    "baselines.zero_shot": "infopursuit.peers.black_boxes",
    "clip.embed_images": "infopursuit.clip.embed_tables",
    "clip.embed_universe": "infopursuit.clip.embed_tables",
    "clip.pictures": "infopursuit.clip.embed",
    "clip.pretrained": "infopursuit.clip.weights",
    "clip.text_cache": "infopursuit.clip.embed",
    "datasets.class_names": "infopursuit.datasets.image_folders",
    "datasets.dataset_settings": "infopursuit.datasets.pinned_datasets",
    "datasets.embedded_images": "infopursuit.datasets.embedded_files",
    "datasets.image_shards": "infopursuit.datasets.labelled_images",
    "datasets.image_tables": "infopursuit.datasets.open_images",
    "datasets.rows": "infopursuit.datasets.matrix",
    "datasets.samples": "infopursuit.datasets.labelled_images",
    "dictionary": "infopursuit.pursuit.dictionary",
    "dictionary.universe": "infopursuit.texts.text_table",
    "estimators.deciding": "infopursuit.estimators.base",
    "estimators.dictionary": "infopursuit.texts.text_table",
    "estimators.near_texts": "infopursuit.texts.near_texts",
    "estimators.information_pursuit": "infopursuit.estimators.naive_bayes",
    "evaluation.baseline_metrics": "infopursuit.evaluation.run_metrics",
    "executors": "infopursuit.core.executors",
    "explanation": "infopursuit.pursuit.explanation",
    "explorer.notebook": "infopursuit.explorer.page",
    "explanation.explanation": "infopursuit.pursuit.explanation",
    "explanation.figure": "infopursuit.report.figures",
    "explanation.frame": "infopursuit.core.renderers",
    "explanation.html": "infopursuit.report.notebook",
    "explanation.stopping": "infopursuit.pursuit.stopping",
    "explanation.text": "infopursuit.pursuit.explanation",
    "meaning.explained": "infopursuit.meaning.measures",
    "meaning.judgements": "infopursuit.texts.knowledge",
    "meaning.ranking": "infopursuit.meaning.truth",
    "naive_bayes": "infopursuit.pursuit.naive_bayes",
    "naive_bayes.put_off": "infopursuit.pursuit.naive_bayes.model",
    "naive_bayes.settings": "infopursuit.estimators.methods",
    "peers.budgets": "infopursuit.peers.peer",
    "peers.contributions": "infopursuit.peers.peer",
    "peers.decision_tree": "infopursuit.peers.trees",
    "peers.generative_ip": "infopursuit.peers.pursuits",
    "peers.ip_omp": "infopursuit.peers.codes",
    "peers.label_free": "infopursuit.peers.linear",
    "peers.labo": "infopursuit.peers.linear",
    "peers.lm4cv": "infopursuit.peers.codes",
    "peers.paper_networks": "infopursuit.peers.pursuits",
    "peers.pcbm": "infopursuit.peers.linear",
    "peers.pursuit_classifier": "infopursuit.peers.pursuits",
    "peers.res_cbm": "infopursuit.peers.codes",
    "peers.rule_list": "infopursuit.peers.trees",
    "peers.selected_texts": "infopursuit.peers.codes",
    "peers.sparse_logistic": "infopursuit.peers.linear",
    "peers.splice": "infopursuit.peers.codes",
    "peers.zero_shot": "infopursuit.peers.linear",
    "queries.answer_pattern": "infopursuit.queries.parsing",
    "queries.captions": "infopursuit.queries.corpora",
    "queries.control": "infopursuit.queries.universe",
    "queries.language_models.vllm_environment": "infopursuit.queries.language_models.vllm_engine",
    "queries.knowledge": "infopursuit.texts.knowledge",
    "queries.knowledge_lists": "infopursuit.texts.knowledge",
    "queries.normalization": "infopursuit.texts.normalization",
    "queries.related": "infopursuit.texts.wording",
    "queries.visual_vocabulary": "infopursuit.texts.vocabulary",
    "queries.wording": "infopursuit.texts.wording",
    "vip": "infopursuit.pursuit.vip",
    "vip.histories": "infopursuit.pursuit.vip.batches",
}
# Old names in moved modules that have another name, or another module, than their neighbours:
# "naive_bayes.put_off.PutOff": "infopursuit.pursuit.new_module.NewName".
NAMES: dict[str, str] = {
    "answers.rules.fit_threshold_rule": "infopursuit.pursuit.vip.updates.fit_threshold_rule",
    "datasets.rows.Rows": "infopursuit.datasets.matrix.Matrix",
    "datasets.rows.UnitRows": "infopursuit.datasets.matrix.UnitMatrix",
    "datasets.samples.held_out_rows": "infopursuit.datasets.labelled_images.held_out_by_seed",
    "naive_bayes.put_off.PutOff": "infopursuit.pursuit.naive_bayes.model.RedundantQuestions",
}


def new_module(old: str) -> str | None:
    """Return the module that `infopursuit.OLD` is now; None if it has not moved."""
    parts = old.split(".")
    for end in range(len(parts), 0, -1):
        found = MODULES.get(".".join(parts[:end]))
        if found is not None:
            return ".".join([found, *parts[end:]])
    return None


class _MovedModule(ModuleType):
    """A module under its old path: it looks names up in the new one, and says so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        old = f"{self.__name__.removeprefix('infopursuit.')}.{name}"
        default = f"{new_module(old.rpartition('.')[0])}.{name}"
        module, _, renamed = NAMES.get(old, default).rpartition(".")
        value = getattr(import_module(module), renamed)
        warnings.warn(
            f"infopursuit.{old} is now {module}.{renamed}; the old name goes with the next version",
            FutureWarning,
            stacklevel=2,
        )
        return value


class _MovedFinder:
    """Finds the modules of the table under their old paths (`sys.meta_path`)."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, old = name.partition(".")
        if package != "infopursuit" or new_module(old) is None:
            return None
        return ModuleSpec(name, self, is_package=True)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _MovedModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """A moved module has no code."""


def install() -> None:
    """Let old paths be imported; called when the library is imported."""
    sys.meta_path.insert(0, _MovedFinder())  # pyright: ignore[reportArgumentType]
