"""The command line: fit a classifier, explain images with it, set up the pipeline.

infopursuit fit photos/ --out model
infopursuit explain --model model photo.jpg
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import shtab

from infopursuit.cli.help_texts import (
    ABOUT,
    CHECK_EXAMPLES,
    CONFIGURE_EXAMPLES,
    EXAMPLES,
    EXPLAIN,
    EXPLAIN_EXAMPLES,
    EXPORT,
    EXPORT_EXAMPLES,
    FIT,
    FIT_EXAMPLES,
    SERVE,
    SERVE_EXAMPLES,
)
from infopursuit.core.errors import InputError, one_line
from infopursuit.core.whole_files import TOLD, number_of, reason

logger = logging.getLogger("infopursuit")

# What the packages of `infopursuit[pipeline]` are imported as.
PIPELINE = ("datasets", "dvc", "httpx", "jinja2", "polars", "pydantic", "ruamel")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit status: 0; 1 on bad input; 2 on bad usage; 130 where it is interrupted.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("httpx", "huggingface_hub", "open_clip"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    chosen = parser().parse_args(arguments)
    try:
        status = chosen.run(chosen)
        sys.stdout.flush()
    except InputError as error:
        logger.error("infopursuit: %s", error)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in PIPELINE:
            raise
        logger.error("infopursuit: this needs pip install 'infopursuit[pipeline]' (%s)", error)
        return 1
    except KeyboardInterrupt:
        logger.error("infopursuit: stopped; %s", chosen.kept)
        return 130
    except BrokenPipeError:  # whoever reads has read enough: head, less
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if number_of(error) not in TOLD:
            raise
        logger.error("infopursuit: %s", one_line(reason(error)))
        return 1
    return status or 0


def _run(module: str, function: str) -> Callable[[argparse.Namespace], int | None]:
    """A command, whose module is imported when it runs: torch takes seconds."""

    def run(chosen: argparse.Namespace) -> int | None:
        return getattr(import_module(module), function)(chosen)

    return run


class _Parser(argparse.ArgumentParser):
    """A parser whose messages are one line, whatever they quote."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    found = _Parser(
        prog="infopursuit",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    release = f"infopursuit {version('infopursuit')}"
    found.add_argument("--version", action="version", version=release)
    shtab.add_argument_to(
        found, "--print-completion", help="print what completes these commands in a shell"
    )
    commands = found.add_subparsers(required=True, metavar="COMMAND", title="commands")
    _add_fit(commands)
    _add_explain(commands)
    _add_export(commands)
    _add_serve(commands)
    command = _command(
        commands, "configure", "merge ready-made settings into params.yaml", CONFIGURE_EXAMPLES
    )
    _file(command, "settings", metavar="FILE", help="such as those in params/")
    _file(
        command, "--params", default=Path("params.yaml"), metavar="FILE",
        help="the parameters to change (default %(default)s)",
    )  # fmt: skip
    command.set_defaults(run=_configure, kept="the parameters are as they were")
    command = _command(
        commands, "check", "check params.yaml and all inputs that it names", CHECK_EXAMPLES
    )
    _file(
        command, "params", nargs="?", default=Path("params.yaml"), metavar="FILE",
        help="the parameters (default %(default)s)",
    )  # fmt: skip
    command.set_defaults(run=_check, kept="nothing was changed")
    return found


def _add_fit(commands: Any) -> None:
    command = _command(commands, "fit", "fit a classifier and save it", FIT_EXAMPLES, FIT)
    _file(
        command, "images", metavar="IMAGES",
        help="a folder of images, or embeddings (.npz, .npy, .parquet)",
    )  # fmt: skip
    _folder(command, "--out", required=True, metavar="FOLDER", help="where to save the model")
    _file(
        command, "--texts", metavar="FILE",
        help="texts that may become questions (default: those that ship with infopursuit)",
    )  # fmt: skip
    _file(command, "--labels", metavar="FILE", help="of the rows of an .npy file")
    command.add_argument(
        "--queries", type=count, default=128, metavar="K", dest="n_queries",
        help="questions in the dictionary (default %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--clip", metavar="CLIP",
        help="a model of open_clip by name, a folder of one, or a YAML file that pins one "
        "(default for images: ViT-B-32)",
    )  # fmt: skip
    command.add_argument(
        "--pretrained", default="openai", metavar="TAG",
        help="the weights of a CLIP that has a name (default %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--classes", nargs="+", metavar="CLASS", help="of the folder, only these classes"
    )
    command.add_argument(
        "--ban", nargs="+", default=[], metavar="TEXT",
        help="texts or words that no question may contain",
    )  # fmt: skip
    command.add_argument(
        "--keep", nargs="+", default=[], metavar="TEXT",
        help="questions that are in the dictionary whatever is chosen",
    )  # fmt: skip
    command.add_argument(
        "--first", metavar="TEXT", help="the question that every image is asked first"
    )
    command.add_argument(
        "--random-state", type=int, default=0, metavar="SEED",
        help="seed of samples of many images (default %(default)s)",
    )  # fmt: skip
    _device(command)
    command.set_defaults(
        run=_run("infopursuit.cli.fit", "fit"),
        kept="no model was written; embeddings of texts are kept, so run the same command again",
    )


def _add_explain(commands: Any) -> None:
    command = _command(
        commands, "explain", "explain the predictions of a model", EXPLAIN_EXAMPLES, EXPLAIN
    )
    _model(command)
    command.add_argument(
        "--format", choices=("text", "json", "csv", "html"), default="text",
        help="of the output (default %(default)s)",
    )  # fmt: skip
    _file(command, "--out", metavar="FILE", help="write there and not to the terminal")
    _folder(command, "--figures", metavar="FOLDER", help="also draw a figure of each image there")
    command.add_argument(
        "--stop", type=probability, metavar="P",
        help="stop at this probability of a class (default: the model's own rule)",
    )  # fmt: skip
    command.add_argument(
        "--max-queries", type=count, metavar="N", help="ask at most so many questions"
    )
    command.add_argument(
        "--classes", type=count, default=10, metavar="N", dest="classes_shown",
        help="classes shown in a figure (default %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--interactive", action="store_true",
        help="answer the questions yourself, or, with an image, change its answers",
    )  # fmt: skip
    command.add_argument(
        "--decisive", action="store_true",
        help="show the few answers, chosen from all, that alone lead to the class: up to a "
        "probability of --stop (0.95), or --max-queries (10) of them",
    )  # fmt: skip
    _device(command)
    _file(command, "images", nargs="*", metavar="IMAGE", help="files, folders, patterns", type=str)
    command.set_defaults(
        run=_run("infopursuit.cli.explain", "explain"),
        kept="what was shown is complete, a file of --out was not written",
    )


def _add_export(commands: Any) -> None:
    command = _command(
        commands, "export", "write a page to explore a model", EXPORT_EXAMPLES, EXPORT
    )
    _model(command)
    _images(command)
    command.add_argument(
        "--title", metavar="TEXT", help="of the page (default: the name of the model)"
    )
    _device(command)
    _file(command, "page", metavar="PAGE", help="the .html file to write")
    command.set_defaults(run=_run("infopursuit.cli.export", "export"), kept="no page was written")


def _add_serve(commands: Any) -> None:
    command = _command(commands, "serve", "explore a model in the browser", SERVE_EXAMPLES, SERVE)
    _model(command, action="append", dest="models")
    _images(command)
    command.add_argument(
        "--title", metavar="TEXT", help="of the page (default: the name of the model)"
    )
    command.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS",
        help="where to listen (default %(default)s: this machine alone)",
    )  # fmt: skip
    command.add_argument(
        "--port", type=port, default=8000, metavar="PORT",
        help="(default %(default)s; 0 for any that is free)",
    )  # fmt: skip
    command.add_argument(
        "--allow", action="append", default=[], metavar="NAME",
        help="another name that browsers may call this server by",
    )  # fmt: skip
    _device(command)
    command.set_defaults(run=_run("infopursuit.cli.serve", "serve"), kept="nothing was stored")


def _model(command: argparse.ArgumentParser, **options: Any) -> None:
    command.add_argument(
        "--model", required=True, metavar="MODEL", **options,
        help="the folder of a model, or user/name on the Hugging Face hub",
    ).complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # fmt: skip
    command.add_argument(
        "--clip", metavar="CLIP", help="the CLIP the model was fitted with, where it has moved"
    )


def _images(command: argparse.ArgumentParser) -> None:
    _file(
        command, "--images", action="append", default=[], metavar="IMAGES", type=str,
        help="a folder, a table (.parquet, .npz), a file or a pattern; may be given again",
    )  # fmt: skip


def _configure(chosen: argparse.Namespace) -> None:
    from infopursuit.pipeline.configure import configure

    configure(chosen.settings, chosen.params)


def _check(chosen: argparse.Namespace) -> None:
    import_module("infopursuit.pipeline.check").check(chosen.params)


def _command(
    commands: Any, name: str, about: str, examples: str, description: str | None = None
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=about,
        description=description or f"{about.capitalize()}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _file(command: argparse.ArgumentParser, name: str, **options: Any) -> None:
    action: Any = command.add_argument(name, **{"type": Path, **options})
    action.complete = shtab.FILE


def _folder(command: argparse.ArgumentParser, name: str, **options: Any) -> None:
    action: Any = command.add_argument(name, type=Path, **options)
    action.complete = shtab.DIRECTORY


def _device(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto",
        help="where the CLIP computes (default %(default)s: a GPU where there is one)",
    )  # fmt: skip


def probability(text: str) -> float:
    """A probability, more than 0 and at most 1."""
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected more than 0, at most 1")
    return value


def port(text: str) -> int:
    """A port, 0 to 65535."""
    value = int(text)
    if value not in range(65536):
        raise argparse.ArgumentTypeError(f"{text}: expected 0 to 65535")
    return value


def count(text: str) -> int:
    """A whole number from 1 on."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected 1 or more")
    return value
