"""`python -m infopursuit` is the command `infopursuit`."""

import sys

from infopursuit.cli.command_line import main

if __name__ == "__main__":
    sys.exit(main())
