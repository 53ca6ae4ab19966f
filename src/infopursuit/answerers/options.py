"""`--second-opinion` of `explain` and `predict`; its words are in help.toml."""

from __future__ import annotations

import argparse
from typing import Any

import shtab

from infopursuit.cli.options import HELP, add_option, add_path, count, request_field
from infopursuit.core.files import packaged_toml


def add(commands: Any) -> None:
    """Add the options to both commands, which call `second_opinion_of` when they run."""
    HELP["shared"].update(packaged_toml("infopursuit.answerers", "help.toml"))
    for command in (commands.choices["explain"], commands.choices["predict"]):
        add_option(command, "--second-opinion", "WHERE")
        add_option(command, "--second-opinion-model", "NAME")
        add_option(
            command, "--second-opinion-option", "KEY=VALUE", type=request_field, action="append"
        )
        add_option(command, "--second-opinion-calls", "N", type=count)
        add_path(command, "--second-opinion-images", "FOLDER", shtab.DIRECTORY)
        add_option(command, "--second-opinion-alone", None, action="store_true")
        command.set_defaults(second_opinion_of=second_opinion)


def second_opinion(chosen: argparse.Namespace) -> Any:
    """Return who looks at pictures, by --second-opinion and the options about it."""
    from infopursuit.cli.explain import language_model_of

    needed = {
        "--second-opinion-model": chosen.second_opinion_model,
        "--second-opinion-option": chosen.second_opinion_option,
        "--second-opinion-calls": chosen.second_opinion_calls,
        "--second-opinion-images": chosen.second_opinion_images,
        "--second-opinion-alone": chosen.second_opinion_alone or None,
    }
    model = language_model_of("--second-opinion", chosen.second_opinion, needed)
    if model is None:
        return None
    from infopursuit.answerers.second_opinion import MOST, SecondOpinion
    from infopursuit.datasets.image_folders import read_image_folder

    images = None
    if chosen.second_opinion_images is not None:
        folder = read_image_folder(chosen.second_opinion_images)
        images = (folder.pictures, folder.labels)
    calls = chosen.second_opinion_calls or MOST
    return SecondOpinion(model, calls, chosen.second_opinion_alone, images)
