"""Shapes and types in signatures are checked in tests, unless JAXTYPING_DISABLE=1 (`make test`)."""

import atexit
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

from tests import shapes

# Tests run in parallel processes; more threads than cores would slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What tests embed is not kept for the person who runs them.
os.environ["INFOPURSUIT_CACHE"] = tempfile.mkdtemp(prefix="infopursuit-tests-")
atexit.register(shutil.rmtree, os.environ["INFOPURSUIT_CACHE"], ignore_errors=True)

if os.environ.get("JAXTYPING_DISABLE") != "1":
    install_import_hook(["infopursuit", "infopursuit_study"], f"{shapes.__name__}.checked")

# Tests measure no time, and examples are the same in every run.
settings.register_profile("infopursuit", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("infopursuit")


@pytest.fixture(autouse=True)
def log_level_of_a_test() -> Iterator[None]:
    """Commands set it, in the process of the test: the next test starts without it."""
    logger = logging.getLogger("infopursuit")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start one browser for all tests of a process, which cannot have a second Playwright."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


def pytest_collection_modifyitems(items: list) -> None:
    """Run files of minutes first, so that the last worker does not wait for one of them."""
    items.sort(key=lambda item: "tests/repro" not in item.path.as_posix())
