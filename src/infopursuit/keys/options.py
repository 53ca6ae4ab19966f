"""`infopursuit key` among the commands; its words are in help.toml."""

from __future__ import annotations

from typing import Any

from infopursuit.cli.options import HELP, add_command, add_option, add_path, probability, runs
from infopursuit.core.files import packaged_toml


def add(commands: Any) -> None:
    """Add the command."""
    HELP.update(packaged_toml("infopursuit.keys", "help.toml"))
    run = runs("infopursuit.keys.command", "key")
    command = add_command(commands, "key", run, "no key was written")
    add_path(command, "table", "TABLE")
    add_path(command, "--out", "FILE", required=True)
    add_option(command, "--title", "TEXT")
    add_option(command, "--reliability", "P", type=probability, default=0.9)
    add_option(command, "--creator", "NAME")
    add_option(command, "--license", "URL")
