"""Old module paths still work, and name the new ones."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path

import pytest

import infopursuit
from infopursuit._moved import MODULES, NAMES, new_module

# A documented name of each moved module that the documentation of 0.1.0 named.
DOCUMENTED = [
    "answers.rules.ThresholdAnswers",
    "answers.score_map.ScoreMap",
    "answers.text_directions.TextDirections",
    "answers.thresholds.ThresholdFit",
    "answers.words.information_of_words",
    "answers.information.information_gain",
    "naive_bayes.fit.fit_table",
    "naive_bayes.selection.informative_rows",
    "naive_bayes.put_off.PutOff",
    "vip.settings.VariationalSettings",
    "vip.training.Trainer",
    "dictionary.learnable.LearnableDictionary",
    "queries.visual_vocabulary.visual_vocabulary",
    "queries.visual_vocabulary.phrase_kinds",
    "queries.wording.question",
    "queries.knowledge.KnowledgeTable",
    "queries.knowledge_lists.open_knowledge",
    "explanation.explanation.Step",
    "explanation.explanation.Candidate",
    "explanation.frame.FramedPage",
    "explanation.stopping.StoppingRule",
    *NAMES,
]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_documented_name_has_an_old_path(name: str) -> None:
    old, _, attribute = name.rpartition(".")
    with pytest.warns(FutureWarning, match=rf"infopursuit\.{name} is now infopursuit\."):
        value = getattr(import_module(f"infopursuit.{old}"), attribute)
    assert value is not None


@pytest.mark.parametrize("old", MODULES)
def test_the_new_module_exists_and_the_old_file_does_not(old: str) -> None:
    new = new_module(old)
    assert new
    assert import_module(new)
    path = Path(infopursuit.__file__).parent / Path(*old.split("."))
    assert not path.with_suffix(".py").exists()
    assert not (path / "__init__.py").exists()


def test_the_line_with_the_longest_prefix_counts() -> None:
    assert new_module("dictionary.medoids") == "infopursuit.pursuit.dictionary.medoids"
    assert new_module("dictionary.universe") == "infopursuit.texts.text_table"
    assert new_module("core.errors") is None


def test_an_old_import_gives_the_same_object_and_a_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from infopursuit.explanation.stopping import StoppingRule  # pyright: ignore
    assert StoppingRule is infopursuit.StoppingRule
    assert {each.category for each in caught} == {FutureWarning}


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError):
        import_module("infopursuit.answers.rules").NoSuchRule  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        import_module("infopursuit.answers.no_such_module").anything  # noqa: B018
