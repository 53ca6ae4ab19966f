"""What commands and their options are made of."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import shtab

from infopursuit.core.files import packaged_toml

# What the commands and their options say of themselves.
HELP = packaged_toml("infopursuit.cli", "help.toml")


def runs(module: str, function: str) -> Callable[[argparse.Namespace], int | None]:
    """Return a command, whose module is imported when it runs: torch takes seconds."""

    def run(chosen: argparse.Namespace) -> int | None:
        return getattr(import_module(module), function)(chosen)

    return run


def add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int | None], kept: str
) -> Any:
    """Add a command; its words are in help.toml. `kept` says what is left if it is interrupted."""
    words = HELP[name]
    command = commands.add_parser(
        name,
        help=words["about"],
        description=words.get("description", f"{words['about'].capitalize()}."),
        epilog=f"\n{words['examples']}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    volume = command.add_mutually_exclusive_group()
    quiet = "say nothing but errors, and show no progress"
    volume.add_argument("-q", "--quiet", action="store_true", help=quiet)
    verbose = "say when and where things happen, and where an error was found"
    volume.add_argument("-v", "--verbose", action="store_true", help=verbose)
    command.set_defaults(run=run, kept=kept)
    return command


def add_option(
    command: argparse.ArgumentParser, name: str, metavar: str | None, **options: Any
) -> Any:
    """Add an option; its words are those of the command, or shared ones."""
    own = HELP[command.prog.rpartition(" ")[2]].get("options", {})
    about = own[name] if name in own else HELP["shared"][name]
    extra = {} if metavar is None else {"metavar": metavar}
    return command.add_argument(name, help=about, **extra, **options)


def add_path(
    command: argparse.ArgumentParser,
    name: str,
    metavar: str,
    complete: Any = shtab.FILE,
    **options: Any,
) -> None:
    """Add an option that is a path, which shells complete."""
    add_option(command, name, metavar, **{"type": given_path, **options}).complete = complete


def given_path(text: str) -> Path:
    """Return a path; an empty text would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; expected one, or . for this folder")
    return Path(text)


def probability(text: str) -> float:
    """Return a probability, more than 0 and at most 1."""
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected more than 0, at most 1")
    return value


def request_field(text: str) -> tuple[str, Any]:
    """Return a field of requests and its value: JSON, or else a text."""
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise argparse.ArgumentTypeError(f"{text}: expected KEY=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def port(text: str) -> int:
    """Return a port, 0 to 65535."""
    value = int(text)
    if value not in range(65536):
        raise argparse.ArgumentTypeError(f"{text}: expected 0 to 65535")
    return value


def count(text: str) -> int:
    """Return a whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected 1 or more")
    return value
