"""Ctrl-C while a stage still imports: one line, exit status 130.

Every stage script imports `infopursuit.core.stage` first, and that imports this module, which
imports almost nothing. Torch and the like take seconds. An interruption there would end in a
traceback of their code, or be lost: Python ignores what is raised while it frees the locks of
imports. Until a stage begins nothing is open and nothing is written, so the process may end at
once.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_pressed = False


def end_at_once(number: int, frame: FrameType | None) -> None:
    """Report that the stage has not begun, and end the process without another line of Python."""
    name = sys.argv[0].rpartition(os.sep)[2].removesuffix(".py")
    os.write(2, f"{name}: stopped before it began; go on with dvc repro\n".encode())
    os._exit(130)


def is_stage() -> bool:
    """Return whether this process is a stage script, in the folder `stages` or one below.

    Tests import the frame of the stages, too, and are interrupted in another way.
    """
    script = os.path.realpath(sys.argv[0])
    folders = script.split(os.sep)[-3:-1]  # noqa: PTH206 - pathlib takes milliseconds to import
    return script.endswith(".py") and "stages" in folders


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _pressed
    _pressed = True
    raise KeyboardInterrupt


def begin() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from here on, for there is something to close."""
    if signal.getsignal(signal.SIGINT) is end_at_once:
        signal.signal(signal.SIGINT, _interrupt)


def was_pressed() -> bool:
    """Return whether Ctrl-C came since `begin`: an error after it may be a library's form of it.

    What is raised while code in C converts its arguments becomes a TypeError, for example.
    """
    return _pressed


def end() -> None:
    """Ignore Ctrl-C from here on: all is written, and the process is about to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# Python has another handler if it was started in the background, which no Ctrl-C reaches.
if is_stage() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_at_once)
