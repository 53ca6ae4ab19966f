"""The one exception that means: the input is at fault, and here is what to change."""


class InputError(ValueError):
    """A bad parameter, file, row or service, told in one line a person can act on.

    The message names the file, key or row, what was expected and what was found. Stages print it
    without a traceback and exit with status 1 (see `infopursuit.core.stage`).
    """
