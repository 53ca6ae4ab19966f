"""Any server that speaks OpenAI's chat completions: vLLM serve, Ollama, OpenAI itself.

What a server sends passes one place, `_Requests._sent`: it is at most MOST_BYTES long, whole within
the time limit, not compressed, and the key is masked in it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.model import (
    Answer,
    Cost,
    ImagePrompt,
    Prompt,
    Sampling,
    choice_probability,
    message_content,
)
from infopursuit.queries.settings import OpenAISettings

logger = logging.getLogger(__name__)

CONCURRENT_REQUESTS = 16
FIRST_PAUSE_SECONDS = 1.0  # before the first retry; each further pause is twice as long
LONGEST_PAUSE_SECONDS = 60.0
# Statuses that another try can cure: too early, too many requests, and the server's own failures.
PASSING_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
# Bytes of one reply: an answer has some thousand.
MOST_BYTES = 2**24
# A shorter key could be a word of an answer.
SHORTEST_KEY = 4
UNSTRUCTURED = "set language_model.structured_output to false, or use vLLM's server"


class OpenAIServer:
    """The backend that asks a server over HTTP, several prompts at a time."""

    chunk = 4 * CONCURRENT_REQUESTS

    def __init__(self, settings: OpenAISettings) -> None:
        base_url = settings.base_url
        if not base_url.startswith(("http://", "https://")):
            raise InputError(
                f"openai.base_url: expected http://... or https://..., found {base_url!r}"
            )
        parts = urlsplit(base_url)
        # They would be written into caches and files.
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise InputError(
                "openai.base_url: expected an address without a name and a "
                "password, and without `?`; a key comes from the environment variable "
                f"{settings.api_key_variable}"
            )
        self.settings = settings
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        # Reading the certificates takes longer than many an answer: once is enough.
        self._certificates = httpx.create_ssl_context()
        # Whether the words that may answer are sent; not to a server that refused them.
        self.sends_choices = True

    @property
    def identity(self) -> Mapping[str, Any]:
        """The server and its name for the model."""
        settings = self.settings
        return {"backend": "openai", "base_url": settings.base_url, "model": settings.model}

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Put each prompt to the server as one user message, a picture first.

        A failed connection, a time-out, status 429 and statuses from 500 are tried again with
        growing pauses; the first prompt that fails for good stops all others. A pattern is sent as
        vLLM's server takes it (`structured_outputs`), and an answer that came to its end without
        matching it shows that this server does not. With a picture go the words that may answer
        it and a wish for log-probabilities, until the server refuses them.
        """
        variable = self.settings.api_key_variable
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):  # httpx would repeat it in its error
            raise InputError(
                f"the environment variable {variable}: expected a key of printable ASCII "
                "characters on one line"
            )
        stopped = threading.Event()
        with ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool:
            requests = _Requests(
                self.settings, self.url, self._certificates, key, sampling, stopped, self
            )
            futures = [pool.submit(requests.ask, prompt) for prompt in prompts]
            try:
                return [future.result() for future in futures]
            finally:
                # After a failure the rest is not needed; after success this has no effect.
                stopped.set()
                pool.shutdown(cancel_futures=True)


@dataclass
class _Requests:
    """The requests of one call, which share a key and the end of all waiting."""

    settings: OpenAISettings
    url: str
    certificates: ssl.SSLContext
    key: str
    sampling: Sampling
    stopped: threading.Event
    server: OpenAIServer
    reported: set[int] = field(default_factory=set)

    def ask(self, prompt: Prompt) -> Answer:
        """Return the answer to one prompt, after as many tries as it takes."""
        sampling = self.sampling
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [{"role": "user", "content": message_content(prompt)}],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed_for(prompt),
        }
        if sampling.pattern is not None:
            body["structured_outputs"] = {"regex": sampling.pattern}
        choices = {}
        if isinstance(prompt, ImagePrompt) and self.server.sends_choices:
            known = {"choice": list(prompt.choices)}
            choices = {"structured_outputs": known, "logprobs": True, "top_logprobs": 5}
        started, failure = time.monotonic(), ""
        tries = self.settings.max_retries + 1
        for attempt in range(tries):
            try:
                status, reply = self._sent(body | choices)
                if choices and status in (400, 422):
                    logger.warning("%s does not know structured_outputs or logprobs", self.url)
                    choices, self.server.sends_choices = {}, False
                    status, reply = self._sent(body)
            except httpx.TransportError as error:
                failure = self._masked(f"{type(error).__name__}: {error}")
            else:
                if status == 200:
                    answer = read_completion(reply, self.url, sampling.pattern)
                    # JSON may have spelled the key in escapes.
                    masked = map(self._masked, (answer.text, answer.finish_reason))
                    answer = Answer(next(masked), next(masked))
                    if isinstance(prompt, ImagePrompt):
                        seconds = time.monotonic() - started
                        return _about_picture(answer, prompt, json.loads(reply), seconds)
                    return answer
                failure = f"status {status}: {_start(reply)}"
                if status not in PASSING_STATUSES:
                    hint = self._hint(status)
                    raise InputError(f"{self.url} refused the request, {failure}{hint}")
            if attempt == tries - 1:
                break
            pause = min(FIRST_PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS)
            # All requests fail together when a server is down: one line for each round of tries.
            if attempt not in self.reported:
                self.reported.add(attempt)
                logger.warning("%s: %s; next try in %.1f s", self.url, failure, pause)
            if self.stopped.wait(pause):
                break
        raise InputError(
            f"{self.url} gave no answer in {tries} tries, the last ended in {failure}; check that "
            "the server runs, then run this again: answers so far are kept"
        )

    def _sent(self, body: dict[str, Any]) -> tuple[int, str]:
        """Send one request; return the status and the reply, without the key.

        Raises:
            InputError: the reply is too long, or compressed.
            httpx.TransportError: it did not come, or was not whole after `timeout_seconds`.
        """
        headers = {"Accept-Encoding": "identity"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        limit, deadline = self.settings.timeout_seconds, _Deadline()
        watch = threading.Timer(limit, deadline.pass_)
        watch.daemon = True
        watch.start()
        try:
            with (
                httpx.Client(timeout=limit, verify=self.certificates) as client,
                client.stream(
                    "POST",
                    self.url,
                    json=body,
                    headers=headers,
                    extensions={"trace": deadline.trace},
                ) as response,
            ):
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    raise InputError(f"{self.url}: the reply is compressed; expected it as it is")
                content = bytearray()
                for chunk in response.iter_raw():
                    content += chunk
                    if len(content) > MOST_BYTES:
                        raise InputError(
                            f"{self.url}: the reply has more than {MOST_BYTES / 1e6:.0f} MB"
                        )
                return response.status_code, self._masked(content.decode(errors="replace"))
        except httpx.TransportError as error:
            if deadline.passed:
                raise httpx.ReadTimeout(f"no whole reply within {limit:g} s") from error
            raise
        finally:
            watch.cancel()

    def _masked(self, text: str) -> str:
        """Return what a server sent without the key, which it may repeat anywhere."""
        return text.replace(self.key, "***") if len(self.key) >= SHORTEST_KEY else text

    def _hint(self, status: int) -> str:
        if status in (401, 403):
            return (
                f"; the key is read from the environment variable {self.settings.api_key_variable}"
            )
        if status in (400, 422) and self.sampling.pattern is not None:
            return f"; if it does not know structured_outputs, {UNSTRUCTURED}"
        return ""


class _Deadline:
    """The end of one request: a server that sends a byte now and then would hold it for ever."""

    def __init__(self) -> None:
        self.passed = False
        self._socket: socket.socket | None = None

    def trace(self, event: str, details: dict[str, Any]) -> None:
        """Take the socket of a request when it is there, as httpx reports it."""
        if event == "connection.connect_tcp.complete":
            self._socket = details["return_value"].get_extra_info("socket")

    def pass_(self) -> None:
        """End the connection; whoever waits for it goes on with an error."""
        self.passed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it has ended by itself
                self._socket.shutdown(socket.SHUT_RDWR)


def read_completion(reply: str, url: str, pattern: str | None = None) -> Answer:
    """Return the answer in a server's reply."""
    try:
        choice = json.loads(reply)["choices"][0]
        text, finish_reason = choice["message"]["content"], choice["finish_reason"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(
            f"{url}: the reply is not a chat completion; expected choices[0].message.content, "
            f"found {_start(reply)}"
        ) from error
    # Null if the server withheld the text, for example with finish_reason content_filter.
    if not isinstance(text, str | None) or not isinstance(finish_reason, str | None):
        raise InputError(
            f"{url}: the reply has {_start(str(text))} as content and "
            f"{_start(str(finish_reason))} as finish_reason; expected texts"
        )
    # JSON can escape half of a surrogate pair, which no UTF-8 file can hold.
    text = (text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if pattern and finish_reason == "stop" and not re.fullmatch(pattern, text.strip()):
        raise InputError(
            f"{url}: expected answers of the form asked for by structured_outputs, found "
            f"{_start(text)}: the server seems to ignore it; {UNSTRUCTURED}"
        )
    return Answer(text, finish_reason or "unknown")


def _about_picture(answer: Answer, prompt: ImagePrompt, reply: Any, seconds: float) -> Answer:
    """Return an answer with its probability and its cost, as far as the server gives them."""
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    tokens = (usage.get(f"{name}_tokens") for name in ("prompt", "completion"))
    read, written = (each if isinstance(each, int) else 0 for each in tokens)
    try:
        first = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        likely = [(str(each["token"]), min(float(each["logprob"]), 0.0)) for each in first]
    except (LookupError, TypeError, ValueError):  # the server gives none
        likely = []
    probability = choice_probability(answer.text, prompt.choices, likely)
    return answer._replace(probability=probability, cost=Cost(read, written, seconds))


def _start(text: str) -> str:
    """Return the start of a text for a message."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 200 else text[:200] + "...")
