"""Every kind of bad input, and that there are hundreds of them."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path
from threading import Event, Thread

import pytest

from campaigns.bad_inputs import KINDS, tried
from campaigns.kinds import Kind
from campaigns.watched import watched


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_a_bad_input_is_reported_in_one_line(kind: Kind, tmp_path: Path) -> None:
    tried(kind, tmp_path)


def test_there_are_hundreds_of_kinds_each_has_a_name_and_families_have_several() -> None:
    assert len({kind.key for kind in KINDS}) == len(KINDS) >= 200
    assert min(Counter(kind.family for kind in KINDS).values()) >= 5


def test_threads_of_a_reader_are_watched_and_older_ones_are_not(tmp_path: Path) -> None:
    def connect(go: Event) -> None:
        go.wait()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", 1), timeout=1)

    go = Event()
    older = Thread(target=connect, args=[go])
    older.start()
    with watched(tmp_path):
        go.set()
        older.join()
    own = Thread(target=connect, args=[go])
    with (
        pytest.raises(AssertionError, match=r"a reader of a file did socket\."),
        watched(tmp_path),
    ):
        own.start()
        own.join()
