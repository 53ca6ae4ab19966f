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
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import shtab

from infopursuit.core.errors import InputError, explain_os_error, is_user_error, one_line

logger = logging.getLogger("infopursuit")

# Parts of messages of torch and of the system's loader if there is not enough memory.
NO_MEMORY = ("can't allocate memory", "failed to map segment")
# What the packages of `infopursuit[pipeline]` are imported as.
PIPELINE = ("datasets", "dvc", "httpx", "jinja2", "polars", "pydantic", "ruamel")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit status: 0; 1 on bad input; 2 on bad usage; 130 if it is interrupted.
    """
    _open_streams()
    chosen = parser().parse_args(arguments)
    form = "%(asctime)s %(name)s: %(message)s" if chosen.verbose else "%(message)s"
    logging.basicConfig(level=logging.INFO, format=form, stream=sys.stderr)
    level = logging.ERROR if chosen.quiet else logging.DEBUG if chosen.verbose else logging.INFO
    logger.setLevel(level)
    for noisy in ("httpx", "huggingface_hub", "open_clip"):
        logging.getLogger(noisy).setLevel(max(level, logging.WARNING - 10 * chosen.verbose))
    try:
        Path.cwd()
    except OSError:  # torch would end the process
        logger.error("infopursuit: the working directory is gone; expected to start in another")
        return 1
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _log_warning
            status = chosen.run(chosen)
        if sys.stdout is not None:
            sys.stdout.flush()
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
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
        return 1
    return status or 0


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


def _run(module: str, function: str) -> Callable[[argparse.Namespace], int | None]:
    """Return a command, whose module is imported when it runs: torch takes seconds."""

    def run(chosen: argparse.Namespace) -> int | None:
        return getattr(import_module(module), function)(chosen)

    return run


class _Parser(argparse.ArgumentParser):
    """A parser whose messages are one line, whatever they quote."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = _Parser(
        prog="infopursuit",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    release = f"infopursuit {version('infopursuit')}"
    whole.add_argument("--version", action="version", version=release)
    shtab.add_argument_to(
        whole, "--print-completion", help="print what completes these commands in a shell"
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for add in (
        _add_fit, _add_knowledge, _add_explain, _add_predict, _add_cover, _add_export, _add_serve,
        _add_key,
        _add_configure, _add_check,
    ):  # fmt: skip
        add(commands)
    return whole


def _add_fit(commands: Any) -> None:
    command = _command(commands, "fit", "fit a classifier and save it", FIT_EXAMPLES, FIT)
    images = "a folder of images, or embeddings (.npz, .npy, .parquet)"
    _path(command, "images", "IMAGES", images)
    _path(command, "--out", "FOLDER", "where to save the model", shtab.DIRECTORY, required=True)
    texts = "texts that may become questions (default: those that ship with infopursuit)"
    _path(command, "--texts", "FILE", texts)
    _path(command, "--labels", "FILE", "of the rows of an .npy file")
    dictionary = "questions in the dictionary (default %(default)s)"
    _option(command, "--queries", "K", dictionary, type=count, default=128, dest="n_queries")
    clip = (
        "a model of open_clip by name, a folder of one, or a YAML file that pins one "
        "(default for images: ViT-B-32)"
    )
    _option(command, "--clip", "CLIP", clip)
    weights = "the weights of a CLIP that has a name (default %(default)s)"
    _option(command, "--pretrained", "TAG", weights, default="openai")
    _option(command, "--classes", "CLASS", "of the folder, only these classes", nargs="+")
    tested = (
        "of a folder without train/ and test/, the share of each class that is not fitted on but "
        "measures the accuracy (default %(default)s; 0 fits on all)"
    )
    _option(command, "--test-fraction", "SHARE", tested, type=float, default=0.2)
    ban = "texts or words that no question may contain"
    _option(command, "--ban", "TEXT", ban, nargs="+", default=[])
    keep = "questions that are in the dictionary whatever is chosen"
    _option(command, "--keep", "TEXT", keep, nargs="+", default=[])
    knowledge = "what is true of the classes: lists (.jsonl) or a table (.csv, .parquet)"
    _path(command, "--knowledge", "FILE", knowledge)
    annotations = "what people say of single images: image,text,answer,by (.csv, .parquet)"
    _path(command, "--annotations", "FILE", annotations)
    certified = "ask only what people found right in at least 75 %% of the images"
    _option(command, "--certified", None, certified, action="store_true")
    llm = (
        "ask a language model for questions, for what is true of the classes, and for its opinion "
        "of the questions chosen: the address of a server of OpenAI's chat completions (key in "
        "OPENAI_API_KEY), vllm:FOLDER or vllm:MODEL@REVISION"
    )
    _option(command, "--llm", "WHERE", llm)
    _option(command, "--llm-model", "NAME", "of the model on the server of --llm")
    vllm = "the Python of an environment with vllm, if it is not installed here"
    _path(command, "--vllm", "PYTHON", vllm, type=str, dest="vllm_python")
    _option(command, "--first", "TEXT", "the question that every image is asked first")
    seed = "seed of samples of many images (default %(default)s)"
    _option(command, "--random-state", "SEED", seed, type=int, default=0)
    _device(command)
    command.set_defaults(
        run=_run("infopursuit.cli.fit", "fit"),
        kept="no model was written; embeddings are kept, so run the same command again",
    )


def _add_knowledge(commands: Any) -> None:
    about = "write what a model knows of its classes as a table to edit"
    command = _command(commands, "knowledge", about, KNOWLEDGE_EXAMPLES, KNOWLEDGE)
    _path(command, "model", "MODEL", "the folder of a model", shtab.DIRECTORY, type=str)
    _path(command, "--out", "FILE", "the .csv file to write", required=True)
    run = _run("infopursuit.cli.knowledge", "knowledge")
    command.set_defaults(run=run, kept="no table was written")


def _add_explain(commands: Any) -> None:
    about = "explain the predictions of a model"
    command = _command(commands, "explain", about, EXPLAIN_EXAMPLES, EXPLAIN)
    _model(command)
    formats = ("text", "json", "csv", "html")
    output = "of the output (default %(default)s)"
    _option(command, "--format", None, output, choices=formats, default="text")
    _path(command, "--out", "FILE", "write there and not to the terminal")
    figures = "also draw a figure of each image there"
    _path(command, "--figures", "FOLDER", figures, shtab.DIRECTORY)
    stop = "stop at this probability of a class (default: the model's own rule)"
    _option(command, "--stop", "P", stop, type=probability)
    _option(command, "--max-queries", "N", "ask at most this many questions", type=count)
    shown = "classes shown in a figure (default %(default)s)"
    _option(command, "--classes", "N", shown, type=count, default=10, dest="classes_shown")
    interactive = "answer the questions yourself, or, with an image, change its answers"
    _option(command, "--interactive", None, interactive, action="store_true")
    everything = "a line for each question, also for answers that changed little"
    _option(command, "--all", None, everything, action="store_true", dest="everything")
    decisive = (
        "show the few answers, chosen from all, that alone lead to the class: up to a "
        "probability of --stop (0.95), or --max-queries (10) of them"
    )
    _option(command, "--decisive", None, decisive, action="store_true")
    where = (
        "also show where in the image each yes comes from: in a figure of each image (in "
        "--figures; default figures/), and in --format html"
    )
    _option(command, "--where", None, where, action="store_true")
    _second_opinion(command)
    _device(command)
    _path(command, "images", "IMAGE", "files, folders, patterns", nargs="*", type=str)
    command.set_defaults(
        run=_run("infopursuit.cli.explain", "explain"),
        kept="what was shown is complete, a file of --out was not written",
    )


def _second_opinion(command: argparse.ArgumentParser) -> None:
    where = (
        "ask a vision-language model about the answers that matter: the address of a server of "
        "OpenAI's chat completions with images (key in OPENAI_API_KEY), vllm:FOLDER or "
        "vllm:MODEL@REVISION"
    )
    _option(command, "--second-opinion", "WHERE", where)
    _option(command, "--second-opinion-model", "NAME", "of the model on that server")
    most = "questions put to it about an image (default 6)"
    _option(command, "--second-opinion-calls", "N", most, type=count)
    images = "a folder CLASS/IMAGE: its rates are estimated from up to 30 images of each class"
    _path(command, "--second-opinion-images", "FOLDER", images, shtab.DIRECTORY)
    alone = "let it answer every question, and CLIP none"
    _option(command, "--second-opinion-alone", None, alone, action="store_true")
    vllm = "the Python of an environment with vllm, if it is not installed here"
    _path(command, "--vllm", "PYTHON", vllm, type=str, dest="vllm_python")


def _add_cover(commands: Any) -> None:
    about = "measure whether the places that `explain --where` marks matter"
    command = _command(commands, "cover", about, COVER_EXAMPLES, COVER)
    _model(command)
    seed = "seed of the random places (default %(default)s)"
    _option(command, "--random-state", "SEED", seed, type=int, default=0)
    _device(command)
    _path(command, "images", "IMAGE", "files, folders, patterns", nargs="+", type=str)
    command.set_defaults(run=_run("infopursuit.cli.explain", "cover"), kept="nothing was written")


def _add_predict(commands: Any) -> None:
    about = "predict the classes of images, a row for each"
    command = _command(commands, "predict", about, PREDICT_EXAMPLES, PREDICT)
    _model(command)
    output = "of the output (default %(default)s)"
    _option(command, "--format", None, output, choices=("csv", "json"), default="csv")
    _path(command, "--out", "FILE", "write there and not to the terminal")
    stop = "stop at this probability of a class (default: the model's own rule)"
    _option(command, "--stop", "P", stop, type=probability)
    _option(command, "--max-queries", "N", "ask at most this many questions", type=count)
    _second_opinion(command)
    _device(command)
    _path(command, "images", "IMAGE", "files, folders, patterns", nargs="+", type=str)
    command.set_defaults(
        run=_run("infopursuit.cli.predict", "predict"), kept="no file of --out was written"
    )


def _add_export(commands: Any) -> None:
    about = "write a page to explore a model"
    command = _command(commands, "export", about, EXPORT_EXAMPLES, EXPORT)
    _model(command)
    _images_and_title(command)
    _device(command)
    as_key = "only ask a person: an identification key, with the surest picture of each class"
    _option(command, "--key", None, as_key, action="store_true")
    _path(command, "page", "PAGE", "the .html file to write")
    command.set_defaults(run=_run("infopursuit.cli.explore", "export"), kept="no page was written")


def _add_serve(commands: Any) -> None:
    command = _command(commands, "serve", "explore a model in the browser", SERVE_EXAMPLES, SERVE)
    _model(command, action="append", dest="models")
    _images_and_title(command)
    host = "where to listen (default %(default)s: this machine alone)"
    _option(command, "--host", "ADDRESS", host, default="127.0.0.1")
    free = "(default %(default)s; 0 for any that is free)"
    _option(command, "--port", "PORT", free, type=port, default=8000)
    allow = "another name that browsers may call this server by"
    _option(command, "--allow", "NAME", allow, action="append", default=[])
    _device(command)
    command.set_defaults(run=_run("infopursuit.cli.explore", "serve"), kept="nothing was stored")


def _add_key(commands: Any) -> None:
    about = "write an identification key"
    command = _command(commands, "key", about, KEY_EXAMPLES, KEY)
    table = "classes by characters (.csv, Clavis .json, SDD .xml), knowledge, or a model's folder"
    _path(command, "table", "TABLE", table)
    out = "a page (.html), Clavis (.json), a table (.csv) or a printed key (.md)"
    _path(command, "--out", "FILE", out, required=True)
    _option(command, "--title", "TEXT", "of the key (default: its own, or the name of the file)")
    reliability = "how often a person answers right (default %(default)s)"
    _option(command, "--reliability", "P", reliability, type=probability, default=0.9)
    error = "of a printed key, the share of wrong names at which it ends (default %(default)s)"
    _option(command, "--error", "P", error, type=probability, default=0.05)
    command.set_defaults(run=_run("infopursuit.cli.key", "key"), kept="no key was written")


def _add_configure(commands: Any) -> None:
    about = "merge ready-made settings into params.yaml"
    command = _command(commands, "configure", about, CONFIGURE_EXAMPLES)
    _path(command, "settings", "FILE", "such as those in params/")
    params = "the parameters to change (default %(default)s)"
    _path(command, "--params", "FILE", params, default=Path("params.yaml"))
    command.set_defaults(run=_configure, kept="the parameters are as they were")


def _add_check(commands: Any) -> None:
    about = "check params.yaml and all inputs that it names"
    command = _command(commands, "check", about, CHECK_EXAMPLES)
    params = "the parameters (default %(default)s)"
    _path(command, "params", "FILE", params, nargs="?", default=Path("params.yaml"))
    command.set_defaults(run=_check, kept="nothing was changed")


def _configure(chosen: argparse.Namespace) -> None:
    from infopursuit.pipeline.configure import configure

    configure(chosen.settings, chosen.params)


def _check(chosen: argparse.Namespace) -> None:
    import_module("infopursuit.pipeline.check").check(chosen.params)


def _command(
    commands: Any, name: str, about: str, examples: str, description: str | None = None
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=about,
        description=description or f"{about.capitalize()}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = command.add_mutually_exclusive_group()
    quiet = "say nothing but errors, and show no progress"
    words.add_argument("-q", "--quiet", action="store_true", help=quiet)
    verbose = "say when and where things happen, and where an error was found"
    words.add_argument("-v", "--verbose", action="store_true", help=verbose)
    return command


def _option(
    command: argparse.ArgumentParser, name: str, metavar: str | None, about: str, **options: Any
) -> Any:
    given = {} if metavar is None else {"metavar": metavar}
    return command.add_argument(name, help=about, **given, **options)


def _path(
    command: argparse.ArgumentParser,
    name: str,
    metavar: str,
    about: str,
    complete: Any = shtab.FILE,
    **options: Any,
) -> None:
    _option(command, name, metavar, about, **{"type": given_path, **options}).complete = complete


def _model(command: argparse.ArgumentParser, **options: Any) -> None:
    model = "the folder of a model, or user/name on the Hugging Face hub"
    _path(command, "--model", "MODEL", model, shtab.DIRECTORY, required=True, type=str, **options)
    _option(command, "--clip", "CLIP", "the CLIP the model was fitted with, if it has moved")


def _images_and_title(command: argparse.ArgumentParser) -> None:
    images = "a folder, a table (.parquet, .npz), a file or a pattern; may be given again"
    _path(command, "--images", "IMAGES", images, action="append", default=[], type=str)
    _option(command, "--title", "TEXT", "of the page (default: the name of the model)")


def _device(command: argparse.ArgumentParser) -> None:
    where = "where the CLIP computes (default %(default)s: a GPU if there is one)"
    _option(command, "--device", None, where, choices=("auto", "cpu", "cuda"), default="auto")


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


ABOUT = """
Image classifiers that explain themselves: they ask yes/no questions, one after another, and show
which answers led to the prediction.
"""
EXAMPLES = """
examples:
  infopursuit fit photos/ --out model            # photos/CLASS/IMAGE; the texts ship with it
  infopursuit explain --model model new.jpg      # which questions, which answers, which class
  infopursuit explain --model model --interactive          # answer the questions yourself
  infopursuit export --model model --images photos page.html        # a page to explore and to share

infopursuit COMMAND --help shows examples.
Completion: infopursuit --print-completion bash  # or zsh, tcsh; put the output where the shell
                                                 # looks for completions
"""
FIT = """
Choose the questions that tell most of the classes, learn how each class answers them, and save the
model as a folder. The images are a folder CLASS/IMAGE, of which one image in five measures the
accuracy, or train/CLASS/IMAGE and test/CLASS/IMAGE; or embeddings that you have already.
"""
FIT_EXAMPLES = """
examples:
  infopursuit fit photos/ --out model
  infopursuit fit photos/ --texts my_texts.txt --queries 64 --out model     # a text a line
  infopursuit fit photos/ --llm http://localhost:11434/v1 --llm-model qwen3 --out model
  infopursuit fit photos/ --annotations labels.csv --out model   # image,text,answer,by
  infopursuit fit photos/ --clip ViT-L-14 --ban photo --out model
  infopursuit fit images.npz --texts texts.parquet --out model              # embeddings
  infopursuit fit X.npy --labels y.txt --texts texts.npz --out model

embeddings:
  .npz      embeddings, labels; or train_embeddings, train_labels, test_embeddings, test_labels
  .npy      the rows; their labels in --labels, .npy or a label a line
  .parquet  columns embedding, label or class_name, and split (train, test) if there is one
  with --texts as .parquet (text, embedding), as .npz (texts, embeddings), or a text a line, which
  --clip embeds
"""
KNOWLEDGE = """
Write the knowledge table that a model was fitted with: a row for each class, a column for each
text; 1 true, 0.5 of some pictures, 0 not true, empty if nothing is known. Edit it in a
spreadsheet, save it as CSV, and fit again.
"""
KNOWLEDGE_EXAMPLES = """
examples:
  infopursuit knowledge model --out table.csv
  infopursuit fit photos/ --knowledge table.csv --out model        # asks the texts of the table
"""
EXPLAIN = """
Ask the questions of images and show the answers and what they make of each class. Images are files,
folders, which are searched for images, and patterns such as 'new/*.jpg'. Files that cannot be read
are listed at the end, and the others are explained.
"""
EXPLAIN_EXAMPLES = """
examples:
  infopursuit explain --model model photo.jpg
  infopursuit explain --model model new/ 'more/*.png' --format csv --out answers.csv
  infopursuit explain --model model photo.jpg --figures figures/
  infopursuit explain --model model photo.jpg --where      # where in it each yes comes from
  infopursuit explain --model model photo.jpg --decisive   # the few answers that decide
  infopursuit explain --model model a.jpg --second-opinion URL --second-opinion-model NAME
  infopursuit explain --model user/name photo.jpg          # a model of the Hugging Face hub
  infopursuit explain --model model --interactive          # answer the questions yourself
  infopursuit explain --model model --interactive photo.jpg     # change answers of an image
  infopursuit explain --model model X.npy                  # embeddings instead of images

exit status: 0; 1 if the input is at fault or a file could not be read; 2 for a wrong option
"""
COVER = """
Cover the place of each yes, a fifth of the image, with the mean colour of the rest, and ask again;
do the same with a fifth somewhere else. If places mean anything, more answers are taken back.
"""
COVER_EXAMPLES = """
example:
  infopursuit cover --model model photos/
"""
PREDICT = """
Predict the class of each image: its probability, the three most probable classes, the share of
held-out images that are as unusual (familiarity), and the answers that raised the class most.
"""
PREDICT_EXAMPLES = """
examples:
  infopursuit predict --model model new/ --out classes.csv
  infopursuit predict --model model new.jpg 'more/*.png' --format json   # with all answers
"""
EXPORT = """
Write a page to explore the model: one file that works offline, in any browser, and can be mailed.
Change answers, strike questions, let the model guess what you think of. Some 200 test images are on
it, as small pictures with their answers.
"""
EXPORT_EXAMPLES = """
examples:
  infopursuit export --model model --images photos page.html     # CLASS/IMAGE, train/ and test/
  infopursuit export --model model --images images.parquet page.html
  infopursuit export --model model page.html                # no images: the model and its questions

A table has the columns image (encoded) or embedding or both; and class_name, id, split (train,
test) if these are known. The page has at most 5 MB; pictures that do not fit are left out.
"""
SERVE = """
Open the page of `infopursuit export` from a local server: it also takes your own images, which are
answered and forgotten, compares two models, and has models whose networks are too large for a page.
It needs pip install 'infopursuit[app]'.
"""
SERVE_EXAMPLES = """
examples:
  infopursuit serve --model model --images photos
  infopursuit serve --model model --model other --images photos       # two models side by side
  infopursuit serve --model model --host 0.0.0.0 --allow gpu7.example.org   # for others, too

Ctrl-C ends it. Nothing that is sent to it is stored.
"""
KEY = """
Make an identification key of a table of classes by characters: a page that works offline and asks
the question that tells most, forgives wrong answers and takes "not sure"; or another format.
"""
KEY_EXAMPLES = """
examples:
  infopursuit key plants.csv --out plants.html         # the page
  infopursuit key plants.csv --out plants.json         # Clavis 1.0, for other tools
  infopursuit key insects.sdd.xml --out insects.html   # from SDD 1.1
  infopursuit key plants.csv --out plants.md           # to print

plants.csv has a row for each class: its name, then a cell for each character, such as opposite,
opposite|alternate, yes, 30-100, or nothing if it is not known. A column `picture` names files.
"""
CONFIGURE_EXAMPLES = """
example:
  infopursuit configure params/vitb32-precomputed.yaml
"""
CHECK_EXAMPLES = """
example:
  infopursuit check                # params.yaml and every input it names, in seconds
"""
