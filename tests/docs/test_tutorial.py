"""The tutorial runs from top to bottom, and shows what it gives."""

from __future__ import annotations

import pytest

from tests.docs.notebook import NOTEBOOK, executed, texts


@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_the_tutorial_gives_the_outputs_that_it_shows() -> None:
    import nbformat

    shown = texts(nbformat.read(NOTEBOOK, as_version=4))
    assert shown
    assert texts(executed()) == shown, "python -m tests.docs.refresh"
