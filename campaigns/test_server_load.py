"""The short form: seconds of users and attackers at once, and a server in this process."""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from campaigns.server_load import SHORT, users_and_attackers
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.server import server
from tests.estimators.test_pictures import write_folder
from tests.explorer.conftest import serving
from tests.explorer.made_up import STOP, images, naive_bayes
from tests.explorer.test_server import seen


def test_users_are_answered_while_the_server_is_attacked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    pursuit = naive_bayes(64)
    content = contents([(pursuit, Facts("m", STOP, sees=True))], images([pursuit]), served=True)
    photos = write_folder(tmp_path / "photos", 1)
    with serving(server([seen(pursuit)], content)) as address:
        run = users_and_attackers(SHORT, os.getpid(), address, photos)
        # In a thread: a browser of other tests keeps an event loop in this one.
        record = ThreadPoolExecutor(1).submit(asyncio.run, run).result()
    assert not record.failures
    assert not caplog.messages
    assert record.seconds["page"] and record.seconds["steps"]
    assert {"bombs and garbage", "a body without an end"} <= set(record.attacks)
    # A body without an end would take gigabytes if it were kept.
    assert max(mb for _, mb in record.memory) < record.memory[0][1] + 500
