"""Any server that speaks OpenAI's chat completions: vLLM serve, Ollama, OpenAI itself."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.model import Answer, Sampling
from infopursuit.queries.settings import OpenAISettings

logger = logging.getLogger(__name__)

CONCURRENT_REQUESTS = 16
FIRST_PAUSE_SECONDS = 1.0  # before the first retry; each further pause is twice as long
LONGEST_PAUSE_SECONDS = 60.0
# Statuses that another try can cure: too early, too many requests, and the server's own failures.
PASSING_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
UNSTRUCTURED = "set language_model.structured_output to false, or use vLLM's server"


class OpenAIServer:
    """The backend that asks a server over HTTP, several prompts at a time."""

    chunk = 4 * CONCURRENT_REQUESTS

    def __init__(self, settings: OpenAISettings) -> None:
        base_url = settings.base_url
        if not base_url.startswith(("http://", "https://")):
            raise InputError(
                f"language_model.openai.base_url: expected http://... or https://..., "
                f"found {base_url!r}"
            )
        if "@" in urlsplit(base_url).netloc:  # it would be written into caches and files
            raise InputError(
                "language_model.openai.base_url: expected an address without a name and a "
                "password; a key comes from the environment variable "
                f"{settings.api_key_variable}"
            )
        self.settings = settings
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        # Reading the certificates takes longer than many an answer: once is enough.
        self._certificates = httpx.create_ssl_context()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The server and its name for the model."""
        settings = self.settings
        return {"backend": "openai", "base_url": settings.base_url, "model": settings.model}

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        """Put each prompt to the server as one user message.

        A failed connection, a time-out, status 429 and statuses from 500 are tried again with
        growing pauses; the first prompt that fails for good stops all others. A pattern is sent as
        vLLM's server takes it (`structured_outputs`), and an answer that came to its end without
        matching it shows that this server does not.
        """
        variable = self.settings.api_key_variable
        key = os.environ.get(variable, "").strip()
        if not (key.isascii() and key.isprintable()):  # httpx would repeat it in its error
            raise InputError(
                f"the environment variable {variable}: expected a key of printable ASCII "
                "characters on one line"
            )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        stopped = threading.Event()
        with (
            httpx.Client(
                headers=headers, timeout=self.settings.timeout_seconds, verify=self._certificates
            ) as client,
            ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool,
        ):
            requests = _Requests(self.settings, self.url, client, key, sampling, stopped)
            futures = [pool.submit(requests.ask, prompt) for prompt in prompts]
            try:
                return [future.result() for future in futures]
            finally:
                # After a failure the rest is not needed; after success this has no effect.
                stopped.set()
                pool.shutdown(cancel_futures=True)


@dataclass
class _Requests:
    """The requests of one call, which share a connection, a key and the end of all waiting."""

    settings: OpenAISettings
    url: str
    client: httpx.Client
    key: str
    sampling: Sampling
    stopped: threading.Event
    reported: set[int] = field(default_factory=set)

    def ask(self, prompt: str) -> Answer:
        """Return the answer to one prompt, after as many tries as it takes."""
        sampling = self.sampling
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed_for(prompt),
        }
        if sampling.pattern is not None:
            body["structured_outputs"] = {"regex": sampling.pattern}
        failure = ""
        tries = self.settings.max_retries + 1
        for attempt in range(tries):
            try:
                response = self.client.post(self.url, json=body)
            except httpx.TransportError as error:
                failure = f"{type(error).__name__}: {error}"
            else:
                if response.status_code == 200:
                    return read_completion(response, self.url, self.key, sampling.pattern)
                failure = f"status {response.status_code}: {_start(response.text, self.key)}"
                if response.status_code not in PASSING_STATUSES:
                    hint = self._hint(response.status_code)
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

    def _hint(self, status: int) -> str:
        if status in (401, 403):
            return (
                f"; the key is read from the environment variable {self.settings.api_key_variable}"
            )
        if status in (400, 422) and self.sampling.pattern is not None:
            return f"; if it does not know structured_outputs, {UNSTRUCTURED}"
        return ""


def read_completion(
    response: httpx.Response, url: str, key: str = "", pattern: str | None = None
) -> Answer:
    """Return the answer in a server's reply."""
    try:
        choice = response.json()["choices"][0]
        text, finish_reason = choice["message"]["content"], choice["finish_reason"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(
            f"{url}: the reply is not a chat completion; expected choices[0].message.content, "
            f"found {_start(response.text, key)}"
        ) from error
    # Null if the server withheld the text, for example with finish_reason content_filter.
    if not isinstance(text, str | None) or not isinstance(finish_reason, str | None):
        raise InputError(
            f"{url}: the reply has {text!r} as content and {finish_reason!r} as finish_reason; "
            "expected texts"
        )
    # JSON can escape half of a surrogate pair, which no UTF-8 file can hold.
    text = (text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if pattern and finish_reason == "stop" and not re.fullmatch(pattern, text.strip()):
        raise InputError(
            f"{url}: expected answers of the form asked for by structured_outputs, found "
            f"{_start(text, key)}: the server seems to ignore it; {UNSTRUCTURED}"
        )
    return Answer(text, finish_reason or "unknown")


def _start(text: str, key: str) -> str:
    """Return the start of a text for a message, without the key, which a refusal may repeat."""
    text = " ".join((text.replace(key, "***") if key else text).split())
    return repr(text if len(text) <= 200 else text[:200] + "...")
