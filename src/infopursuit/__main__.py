"""The command line: explain new images with a trained model, or take over ready-made settings.

    python -m infopursuit explain --model artifacts/models/menagerie-llm-alternating-0 photo.jpg
    python -m infopursuit configure params/vitb32-precomputed.yaml

The pipeline itself is run by `dvc repro`.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from infopursuit.errors import InputError

logger = logging.getLogger("infopursuit")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 on bad input, 2 on bad usage."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    chosen = _parser().parse_args(arguments)
    try:
        chosen.run(chosen)
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
    from infopursuit.presentation.trajectories import Stop

    classifier = infopursuit.load(chosen.model, clip=chosen.clip)
    explained = classifier.explain(chosen.images, Stop(chosen.stop, chosen.max_queries))
    sys.stdout.write("\n".join(told(trajectory) for trajectory in explained))
    if chosen.out is None:
        return
    chosen.out.mkdir(parents=True, exist_ok=True)
    names = figure_names([path.stem for path in chosen.images])
    for path, name, trajectory in zip(chosen.images, names, explained, strict=True):
        with Image.open(path) as picture:
            (chosen.out / name).write_bytes(explanation_png(trajectory, chosen.classes, picture))
        logger.info("%s", chosen.out / name)


def take_over(chosen: argparse.Namespace) -> None:
    """Merge ready-made settings into the parameters of the pipeline.

    Raises:
        InputError: a file cannot be read, or the result is not valid.
    """
    from infopursuit.configure import configure

    configure(chosen.settings, chosen.params)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infopursuit",
        description="Image classifiers that explain themselves by the questions they ask.",
    )
    release = f"infopursuit {version('infopursuit')}"
    parser.add_argument("--version", action="version", version=release)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_explain(commands)
    about = "merge ready-made settings into params.yaml"
    command = commands.add_parser("configure", help=about, description=about.capitalize() + ".")
    command.add_argument("settings", type=Path, metavar="FILE", help="such as those in params/")
    command.add_argument(
        "--params", type=Path, default=Path("params.yaml"), metavar="FILE",
        help="the parameters to change (default %(default)s)",
    )  # fmt: skip
    command.set_defaults(run=take_over)
    return parser


def _add_explain(commands: Any) -> None:
    about = "classify images and tell the questions and answers that led there"
    command = commands.add_parser("explain", help=about, description=about.capitalize() + ".")
    command.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER",
        help="a trained model, such as artifacts/models/menagerie-llm-alternating-0",
    )  # fmt: skip
    command.add_argument(
        "--clip", type=Path, metavar="PATH",
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
    command.set_defaults(run=explain)


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
