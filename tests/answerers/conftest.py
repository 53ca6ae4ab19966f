"""A small model of pictures, the command line, and the data of a stage."""

from tests.cli.conftest import cache as cache
from tests.cli.conftest import colors as colors
from tests.cli.conftest import run as run
from tests.cli.conftest import tiny_clip as tiny_clip
