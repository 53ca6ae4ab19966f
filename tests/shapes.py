"""How signatures are checked: beartype, for which a whole number is a float, as PEP 484 says."""

import os

import pytest
from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))

# Where signatures are checked, a wrong type does not reach the code.
UNTYPED = pytest.mark.skipif(
    os.environ.get("JAXTYPING_DISABLE") != "1", reason="types of signatures are checked"
)
