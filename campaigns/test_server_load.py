"""The short form: seconds of people and attackers at once, and a server in this process."""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from campaigns.server_load import SHORT, people_and_attackers
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.server import server
from tests.estimators.test_pictures import write_folder
from tests.explorer.conftest import serving
from tests.explorer.made_up import STOP, images, naive_bayes
from tests.explorer.test_server import seen


def test_people_are_answered_while_the_server_is_attacked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    pursuit = naive_bayes(64)
    content = contents([(pursuit, Facts("m", STOP, sees=True))], images([pursuit]), served=True)
    photos = write_folder(tmp_path / "photos", 1)
    with serving(server([seen(pursuit)], content)) as address:
        people = people_and_attackers(SHORT, os.getpid(), address, photos)
        # In a thread: a browser of other tests keeps an event loop in this one.
        found = ThreadPoolExecutor(1).submit(asyncio.run, people).result()
    assert not found.failures
    assert not caplog.messages
    assert found.seconds["page"] and found.seconds["steps"]
    assert {"bombs and garbage", "a body without an end"} <= set(found.attacks)
    # A body without an end would take gigabytes, were it kept.
    assert max(mb for _, mb in found.memory) < found.memory[0][1] + 500
