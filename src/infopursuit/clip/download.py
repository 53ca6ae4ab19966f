"""Fetch files of weights: from an address, or from the Hugging Face hub.

A broken download from an address goes on where it ended, also in a later run: what came lies in
`FILE.incomplete` beside the file. What cannot be fetched is a `NotFetchedError`.
"""

from __future__ import annotations

import http.client
import logging
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tqdm import tqdm

from infopursuit.core.errors import InputError, explain_os_error, is_user_error
from infopursuit.core.files import file_sha256, packaged_toml
from infopursuit.core.hub_errors import hub_reason

logger = logging.getLogger(__name__)

T = TypeVar("T")

KNOWN_HOSTS = packaged_toml("infopursuit.clip", "weights.toml")["hosts"]
CONNECT_SECONDS = 30
# Seconds before a server that broke off, or is busy, is asked again.
PAUSES = (1, 3, 10, 30)
BUSY = frozenset({408, 429, 500, 502, 503, 504})
# Names further hosts that weights may be downloaded from, with blanks between.
HOSTS = "INFOPURSUIT_HOSTS"
# The largest download, and the longest: bytes and seconds.
MOST_BYTES, MOST_SECONDS = 2**35, 6 * 3600
HUB = "the Hugging Face hub"


class NotFetchedError(InputError):
    """Something could not be fetched from one place: `problem` (`reason`); `advice`."""

    def __init__(self, problem: str, reason: str, advice: str) -> None:
        super().__init__(f"{problem} ({reason}); {advice}")
        self.problem, self.reason, self.advice = problem, reason, advice


def download(where: str, url: str, sha256: str, target: Path) -> None:
    """Download a file and check it; NotFetchedError if the address does not give it.

    One caller at a time: others wait for the lock of `target`.
    """
    check_host(where, url)
    partial = target.with_name(f"{target.name}.incomplete")
    opener = urllib.request.build_opener(_CheckedRedirects(where))
    logger.info("%s: downloading %s", where, url)
    try:
        _receive_all(opener, url, partial)
    except InputError:
        raise
    except OSError as error:
        if is_user_error(error):
            raise InputError(explain_os_error(error, partial)) from error
        raise _not_downloaded(where, url, target, error) from error
    except (ValueError, http.client.HTTPException) as error:
        if isinstance(error, ValueError):
            partial.unlink(missing_ok=True)
        raise _not_downloaded(where, url, target, error) from error
    found = file_sha256(partial)
    if found != sha256:
        partial.unlink()
        raise NotFetchedError(
            f"{where}: {url} has the SHA-256 {found}; expected {sha256}",
            "what came is removed",
            f"place the file at {target}",
        )
    partial.replace(target)


def _not_downloaded(where: str, url: str, target: Path, error: Exception) -> NotFetchedError:
    advice = f"or place the file at {target}"
    if isinstance(error, _BrokenOffError):
        advice = f"run it again, it goes on from there, {advice}"
    elif isinstance(error, urllib.error.HTTPError):
        advice = advice.removeprefix("or ")
    else:
        advice = f"connect to the network, {advice}"
    reason = str(error).rstrip(".") or type(error).__name__
    return NotFetchedError(f"{where}: cannot download {url}", reason, advice)


class _BrokenOffError(OSError):
    """A connection ended before the file did."""


def _receive_all(opener: Any, url: str, partial: Path) -> None:
    """Write a file to `partial`, in several goes if the server breaks off."""
    ends = time.monotonic() + MOST_SECONDS
    for pause in (*PAUSES, None):
        try:
            _receive(opener, url, partial, ends)
            return
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            if pause is None or time.monotonic() > ends or not _may_pass(error):
                raise
            logger.warning("%s: %s; asked again in %d s", url, error, pause)
            time.sleep(pause)


def _may_pass(error: Exception) -> bool:
    """Whether the next try may be better: not without a network, and not if there is no file."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in BUSY
    if isinstance(error, urllib.error.URLError):
        return isinstance(error.reason, TimeoutError)
    return not (isinstance(error, OSError) and is_user_error(error))


def _receive(opener: Any, url: str, partial: Path, ends: float) -> None:
    done = partial.stat().st_size if partial.exists() else 0
    asked = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})  # noqa: S310
    try:
        answer = opener.open(asked, timeout=CONNECT_SECONDS)
    except urllib.error.HTTPError as error:
        if not done or error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        partial.unlink()  # it is no part of the file
        return _receive(opener, url, partial, ends)
    with answer as source:
        goes_on = source.status == http.HTTPStatus.PARTIAL_CONTENT
        if not goes_on or not source.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
            done = 0
        length = source.headers.get("Content-Length")
        total = done + int(length) if length else None
        quiet = logger.getEffectiveLevel() >= logging.ERROR
        bar: tqdm = tqdm(
            total=total,
            initial=done,
            desc=url.rpartition("/")[2],
            unit="B",
            unit_scale=True,
            disable=quiet or None,  # None: shown on a terminal alone
        )
        with bar, partial.open("ab" if done else "wb") as file:
            while block := source.read1(1 << 20):
                file.write(block)
                bar.update(len(block))
                done += len(block)
                if done > MOST_BYTES:
                    raise ValueError(f"more than {MOST_BYTES / 1e9:.0f} GB")
                if time.monotonic() > ends:
                    hours = MOST_SECONDS // 3600
                    raise _BrokenOffError(f"after {hours} hours {done:,} bytes are there")
    if total is not None and done < total:
        raise _BrokenOffError(f"it ended after {done:,} of {total:,} bytes")
    return None


def check_host(where: str, url: str) -> None:
    """Raise InputError for an address on a host that nobody allowed."""
    parts = urlsplit(url)
    named = os.environ.get(HOSTS, "").split()
    known = any(f".{parts.hostname}".endswith(f".{host}") for host in KNOWN_HOSTS)
    schemes = ("http", "https") if parts.hostname in named else ("https",) if known else ()
    if parts.scheme not in schemes:
        raise InputError(
            f"{where}: {url} is not at one of {', '.join(KNOWN_HOSTS)} by https; if you trust it, "
            f"allow it with {HOSTS}={parts.hostname}, or place the file at a path"
        )


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, where: str) -> None:
        self.where = where

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str):
        check_host(self.where, newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


# -- the hub ---------------------------------------------------------------------------------


def from_hub(problem: str, ask: Callable[[], T]) -> T:
    """Return what the client of the hub gives; its errors become one line that says what to do."""
    try:
        return ask()
    except Exception as error:  # the client raises errors of several libraries
        reason, advice = hub_reason(error)
        raise NotFetchedError(problem, reason, f"{advice}, or give a local folder") from error


def hub_file(where: str, repository: str, names: Sequence[str], revision: str | None) -> Path:
    """Return the first of some files that a repository has; InputError if it has none of them."""
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, RemoteEntryNotFoundError

    at = f" at {revision}" if revision else ""
    missing: Exception | None = None

    def first() -> Path | None:
        nonlocal missing
        for name in names:
            try:
                return Path(hf_hub_download(repository, name, revision=revision))
            except EntryNotFoundError as error:
                missing = error
        if not isinstance(missing, RemoteEntryNotFoundError):
            assert missing is not None
            raise missing  # there is no network, and the cache lacks it
        return None

    found = from_hub(f"{where}: cannot fetch {repository}{at} from {HUB}", first)
    if found is not None:
        return found
    there = from_hub(
        f"{where}: cannot list {repository}{at} on {HUB}",
        lambda: HfApi().list_repo_files(repository, revision=revision),
    )
    raise InputError(
        f"{where}: {repository} has no file {' or '.join(names)}{at}; it has "
        f"{', '.join(sorted(there)) or 'none'}"
    )
