"""The command line: `python -m infopursuit explain --model FOLDER IMAGE...`.

    python -m infopursuit explain --model artifacts/models/menagerie-llm-alternating-0 photo.jpg

prints the questions, the answers and what the classifier believes after each; `--out DIR` draws
the figure too. The pipeline itself is run by `dvc repro`.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from infopursuit.errors import InputError

logger = logging.getLogger("infopursuit")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 on bad input, 2 on bad usage."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    chosen = _parser().parse_args(arguments)
    try:
        explain(chosen)
    except InputError as error:
        logger.error("infopursuit: %s", error)
        return 1
    return 0


def explain(chosen: argparse.Namespace) -> None:
    """Explain each image on standard output, and as a figure where `--out` names a folder.

    Raises:
        InputError: the model, the CLIP or an image cannot be read.
    """
    # After the arguments are checked: torch and matplotlib take seconds to import.
    from PIL import Image

    import infopursuit
    from infopursuit.presentation.chosen_images import figure_names
    from infopursuit.presentation.explanation_figure import explanation_png
    from infopursuit.presentation.terminal import told

    classifier = infopursuit.load(chosen.model, clip=chosen.clip)
    explained = classifier.explain(
        chosen.images, stop_at_probability=chosen.stop, max_queries=chosen.max_queries
    )
    sys.stdout.write("\n".join(told(trajectory) for trajectory in explained))
    if chosen.out is None:
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    names = figure_names([path.stem for path in chosen.images])
    for path, name, trajectory in zip(chosen.images, names, explained, strict=True):
        with Image.open(path) as picture:
            (chosen.out / name).write_bytes(explanation_png(trajectory, chosen.classes, picture))
        logger.info("%s", chosen.out / name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infopursuit",
        description="Image classifiers that explain themselves by the questions they ask.",
    )
    parser.add_argument(
        "--version", action="version", version=f"infopursuit {version('infopursuit')}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "explain",
        help="classify images and tell the questions that led there",
        description="Classify images and tell the questions and answers that led there.",
    )
    command.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER",
        help="a trained model, such as artifacts/models/menagerie-llm-alternating-0",
    )  # fmt: skip
    command.add_argument(
        "--clip", metavar="PATH",
        help="the CLIP the model was trained with, where it has moved since",
    )  # fmt: skip
    command.add_argument("--out", type=Path, metavar="DIR", help="also draw IMAGE.png there")
    command.add_argument(
        "--stop", type=_probability, default=0.85, metavar="P",
        help="stop at this probability of a class (default %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--max-queries", type=_count, default=20, metavar="N",
        help="ask at most so many questions (default %(default)s)",
    )  # fmt: skip
    command.add_argument(
        "--classes", type=_count, default=10, metavar="N",
        help="classes shown in the figure (default %(default)s)",
    )  # fmt: skip
    command.add_argument("images", type=Path, nargs="+", metavar="IMAGE", help="image files")
    return parser


def _probability(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(
            f"{text} is no probability; expected more than 0, at most 1"
        )
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small; expected 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
