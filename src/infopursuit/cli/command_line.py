"""The command line: fit a classifier, explain images with it, set up the pipeline.

infopursuit fit photos/ --out model
infopursuit explain --model model photo.jpg
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import shtab

from infopursuit.cli.options import HELP, count, given_path, port, probability, request_field
from infopursuit.cli.options import add_command as _command
from infopursuit.cli.options import add_option as _option
from infopursuit.cli.options import add_path as _path
from infopursuit.cli.options import runs as _run
from infopursuit.core.errors import InputError, explain_os_error, is_user_error, one_line
from infopursuit.core.terminal import LogLines

logger = logging.getLogger("infopursuit")

# Parts of messages of torch and of the system's loader if there is not enough memory.
NO_MEMORY = ("can't allocate memory", "failed to map segment")
# What brings commands and options of its own, in a folder that nothing else imports.
ROOMS = ["infopursuit.keys.options"]
# What the packages of `infopursuit[pipeline]` are imported as.
PIPELINE = ("datasets", "dvc", "jinja2", "openai", "polars", "pydantic", "ruamel")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit status: 0; 1 on bad input; 2 on bad usage; 130 if it is interrupted.
    """
    _open_streams()
    chosen = parser().parse_args(arguments)
    form = "%(asctime)s %(name)s: %(message)s" if chosen.verbose else "%(message)s"
    logged = logging.StreamHandler()
    logged.setFormatter(LogLines(form))
    logging.basicConfig(level=logging.INFO, handlers=[logged])
    level = logging.ERROR if chosen.quiet else logging.DEBUG if chosen.verbose else logging.INFO
    logger.setLevel(level)
    for noisy in ("httpx", "httpx2", "huggingface_hub", "open_clip", "openai"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING - 10 * chosen.verbose))
    if not chosen.verbose:  # each of five tries in four lines; the error says what came of it
        logging.getLogger("huggingface_hub.utils._http").setLevel(logging.ERROR)
    try:
        Path.cwd()
    except OSError:  # torch would end the process
        logger.error("infopursuit: the working directory is gone; expected to start in another")
        return 1
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _log_warning
            status = chosen.run(chosen)
        _flush_output()
    except InputError as error:
        logger.error("infopursuit: %s", error)
        logger.debug("where it was found:", exc_info=error)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in PIPELINE:
            raise
        logger.error("infopursuit: this needs pip install 'infopursuit[pipeline]' (%s)", error)
        return 1
    except KeyboardInterrupt:
        logger.error("infopursuit: stopped; %s", chosen.kept)
        return 130
    except BrokenPipeError:  # the reader has enough: head, less
        _drop_output()
        return 0
    except (MemoryError, RuntimeError, ImportError) as error:
        known = isinstance(error, MemoryError) or any(each in str(error) for each in NO_MEMORY)
        if not known:
            raise
        logger.error("infopursuit: there is not enough memory for this (%s)", one_line(str(error)))
        return 1
    except OSError as error:
        if not is_user_error(error):
            raise
        logger.error("infopursuit: %s", one_line(explain_os_error(error)))
        try:
            _flush_output()
        except OSError:
            _drop_output()
        return 1
    return status or 0


def _flush_output() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _drop_output() -> None:
    """Let what standard output does not take go nowhere: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_streams() -> None:
    """Let standard streams take any text, and replace those that are closed, but for the output."""
    for name, mode in (("stdin", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a class name may be no text of this terminal
            stream.reconfigure(errors="backslashreplace")


def _log_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Log a warning as one line, without the line of code that it comes from."""
    logger.warning("warning: %s", one_line(str(message)))


class _Parser(argparse.ArgumentParser):
    """A parser whose messages are one line, whatever they quote.

    Attributes:
        model_first: whether the model may also stand where --model is not given, as the first word.
    """

    model_first = False

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """Refuse unknown arguments here: argparse would show the usage of the whole program."""
        chosen, unknown = super().parse_known_args(*arguments, **named)
        if self.model_first and chosen.model is None:
            if not unknown or unknown[0].startswith("-"):
                self.error("the following arguments are required: --model")
            # What argparse took for the first word is the model, if a word is left over.
            words = [*filter(None, [getattr(chosen, "images", None)]), unknown.pop(0)]
            chosen.model = str(words[0])
            if len(words) > 1:
                chosen.images = given_path(words[1])
        if unknown:
            name = unknown[0].split("=")[0]
            near = get_close_matches(name, self._option_string_actions, n=1, cutoff=0.5)
            meant = f"; did you mean {near[0]}?" if near and name.startswith("-") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return chosen, unknown


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = _Parser(
        prog="infopursuit",
        description=HELP["about"],
        epilog=f"\n{HELP['examples']}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    release = f"infopursuit {version('infopursuit')}"
    whole.add_argument("--version", action="version", version=release)
    shtab.add_argument_to(
        whole, "--print-completion", help="print what completes these commands in a shell"
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for add in (
        _add_fit, _add_knowledge, _add_explain, _add_dialogue, _add_predict, _add_export,
        _add_serve, _add_annotate, *(import_module(room).add for room in ROOMS), _add_configure,
        _add_check, _add_fetch, _add_prune,
    ):  # fmt: skip
        add(commands)
    return whole


def _add_fit(commands: Any) -> None:
    run = _run("infopursuit.cli.fit", "fit")
    message = "no model was written; embeddings and answers are kept: run the same command again"
    command = _command(commands, "fit", run, message)
    _path(command, "images", "IMAGES")
    _out(command, "FOLDER", shtab.DIRECTORY, required=True)
    _path(command, "--texts", "FILE")
    _path(command, "--labels", "FILE")
    _option(command, "--label", "COLUMN")
    _path(command, "--costs", "FILE")
    _option(command, "--queries", "K", type=count, default=128, dest="n_queries")
    _clip(command)
    _option(command, "--pretrained", "TAG", default="openai")
    _option(command, "--classes", "CLASS", nargs="+")
    _option(command, "--test-fraction", "SHARE", type=float, default=0.2)
    _option(command, "--ban", "TEXT", nargs="+", default=[])
    _option(command, "--keep", "TEXT", nargs="+", default=[])
    _path(command, "--knowledge", "FILE")
    _path(command, "--annotations", "FILE")
    _language_model(command)
    _path(command, "--vllm", "PYTHON", type=str, dest="vllm_python")
    _option(command, "--first", "TEXT")
    _random_state(command)
    _device(command)


def _add_knowledge(commands: Any) -> None:
    run = _run("infopursuit.cli.knowledge", "knowledge")
    command = _command(commands, "knowledge", run, "no table was written")
    _model(command, first=True)
    _out(command, required=True)


def _add_explain(commands: Any) -> None:
    command = _explaining(commands, "explain")
    _path(command, "--figures", "FOLDER", shtab.DIRECTORY)
    _option(command, "--classes-shown", "N", type=count, default=10)
    _option(command, "--where", None, action="store_true")
    _path(command, "images", "IMAGE", nargs="+", type=str)


def _add_dialogue(commands: Any) -> None:
    command = _explaining(commands, "dialogue")
    _option(command, "--ask-below", "P", type=probability)
    _language_model(command)
    _path(command, "image", "IMAGE", nargs="?", type=str)


def _explaining(commands: Any, name: str) -> Any:
    """Add a command that writes explanations, with the options of all such commands."""
    message = "what was shown is complete, a file of --out was not written"
    command = _command(commands, name, _run(f"infopursuit.cli.{name}", name), message)
    _model(command)
    _clip(command)
    _output(command, "text", "json", "csv", "html")
    _stopping(command)
    _option(command, "--all", None, action="store_true", dest="everything")
    _device(command)
    return command


def _add_predict(commands: Any) -> None:
    run = _run("infopursuit.cli.predict", "predict")
    command = _command(commands, "predict", run, "no file of --out was written")
    _model(command)
    _clip(command)
    _output(command, "csv", "json")
    _stopping(command)
    _device(command)
    _path(command, "images", "IMAGE", nargs="+", type=str)


def _add_export(commands: Any) -> None:
    run = _run("infopursuit.cli.explore", "export")
    command = _command(commands, "export", run, "no page was written")
    _model(command)
    _clip(command)
    _images_and_title(command)
    _device(command)
    _option(command, "--key", None, action="store_true")
    _path(command, "page", "PAGE")


def _add_serve(commands: Any) -> None:
    run = _run("infopursuit.cli.explore", "serve")
    command = _command(commands, "serve", run, "nothing was stored")
    _model(command, action="append", dest="models")
    _clip(command)
    _images_and_title(command)
    _listening(command)
    _option(command, "--allow", "NAME", action="append", default=[])
    _device(command)


def _add_annotate(commands: Any) -> None:
    run = _run("infopursuit.cli.explore", "annotate")
    command = _command(commands, "annotate", run, "all answers given are saved")
    _model(command, first=True)
    _path(command, "images", "PHOTOS", shtab.DIRECTORY)
    _out(command, default=Path("annotations.csv"))
    _option(command, "--by", "NAME", default="")
    _option(command, "--unsure", None, action="store_true")
    _random_state(command)
    _clip(command)
    _listening(command)
    _device(command)


def _add_configure(commands: Any) -> None:
    command = _command(commands, "configure", _configure, "the parameters are as they were")
    _path(command, "settings", "FILE")
    _path(command, "--params", "FILE", default=Path("params.yaml"))


def _add_check(commands: Any) -> None:
    command = _command(commands, "check", _check, "nothing was changed")
    _path(command, "params", "FILE", nargs="?", default=Path("params.yaml"))


def _add_fetch(commands: Any) -> None:
    message = "what was fetched is kept; the same command goes on"
    _path(_command(commands, "fetch", _fetch, message), "settings", "FILE")


def _add_prune(commands: Any) -> None:
    _command(commands, "prune", _prune, "the locks are as they were")


def _configure(chosen: argparse.Namespace) -> None:
    import_module("infopursuit.pipeline.configure").configure(chosen.settings, chosen.params)


def _check(chosen: argparse.Namespace) -> None:
    import_module("infopursuit.pipeline.check").check(chosen.params)


def _fetch(chosen: argparse.Namespace) -> None:
    import_module("infopursuit.pipeline.fetch").fetch(chosen.settings)


def _prune(chosen: argparse.Namespace) -> None:
    import_module("infopursuit.pipeline.prune").prune()


def _model(command: Any, first: bool = False, **options: Any) -> None:
    """Add the model; with `first` it may also be the first word."""
    command.model_first = first
    _path(command, "--model", "MODEL", shtab.DIRECTORY, required=not first, type=str, **options)


def _clip(command: argparse.ArgumentParser) -> None:
    _option(command, "--clip", "CLIP")


def _out(
    command: argparse.ArgumentParser, what: str = "FILE", complete: Any = shtab.FILE, **options: Any
) -> None:
    _path(command, "--out", what, complete, **options)


def _output(command: argparse.ArgumentParser, *formats: str) -> None:
    _option(command, "--format", None, choices=formats, default=formats[0])
    _out(command)


def _language_model(command: argparse.ArgumentParser) -> None:
    _option(command, "--llm", "WHERE")
    _option(command, "--llm-model", "NAME")
    _option(command, "--llm-option", "KEY=VALUE", type=request_field, action="append")


def _random_state(command: argparse.ArgumentParser) -> None:
    _option(command, "--random-state", "SEED", type=int, default=0)


def _stopping(command: argparse.ArgumentParser) -> None:
    _option(command, "--stop", "P", type=probability)
    _option(command, "--max-queries", "N", type=count)
    _option(command, "--known", "QUESTION=ANSWER", action="append", default=[])
    _option(command, "--classes", "CLASS", action="append", default=[])


def _images_and_title(command: argparse.ArgumentParser) -> None:
    _path(command, "--images", "IMAGES", action="append", default=[], type=str)
    _option(command, "--title", "TEXT")


def _listening(command: argparse.ArgumentParser) -> None:
    _option(command, "--host", "ADDRESS", default="127.0.0.1")
    _option(command, "--port", "PORT", type=port, default=8000)


def _device(command: argparse.ArgumentParser) -> None:
    _option(command, "--device", None, choices=("auto", "cpu", "cuda"), default="auto")
