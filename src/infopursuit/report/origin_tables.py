"""Where the runs come from: the settings of their methods, and which model of each was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from infopursuit.core.numbers import NOTHING, share
from infopursuit.report.methods import has_updates
from infopursuit.report.runs import Run


class SelectionRow(NamedTuple):
    """Where the weights of a run come from: its phase and number of updates, if it has any."""

    run: Run
    phase: str
    updates: str
    validation_auc: str


def settings_rows(runs: Sequence[Run]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Names of the methods, and each setting with its value for each method that has it."""
    methods: dict[str, Mapping[str, Any]] = {run.key.method: run.settings for run in runs}
    names = sorted({name for settings in methods.values() for name in settings})
    return list(methods), [
        (name, [_setting(settings, name) for settings in methods.values()]) for name in names
    ]


def selection_rows(runs: Sequence[Run]) -> list[SelectionRow]:
    """Which weights of each run were kept; a method without updates has none to choose from."""
    return [
        SelectionRow(
            run,
            run.selected["phase"] if has_updates(run.settings) else NOTHING,
            str(run.selected["updates"]) if has_updates(run.settings) else NOTHING,
            share(run.validation_auc),
        )
        for run in runs
    ]


def _setting(settings: Mapping[str, Any], name: str) -> str:
    return setting(settings[name]) if name in settings else NOTHING


def setting(value: Any) -> str:
    """A value of the settings as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
