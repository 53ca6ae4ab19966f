"""Any server that speaks OpenAI's chat completions: vLLM serve, Ollama, OpenAI itself."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.model import Answer, Sampling

logger = logging.getLogger(__name__)

CONCURRENT_REQUESTS = 16
LONGEST_PAUSE_SECONDS = 60.0
# Statuses that another try can cure: too early, too many requests, and the server's own failures.
PASSING_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
UNSTRUCTURED = "set language_model.structured_output to false, or use vLLM's server"


class OpenAIServer:
    """The backend that asks a server over HTTP, several prompts at a time."""

    chunk = 4 * CONCURRENT_REQUESTS

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key_variable: str,
        timeout_seconds: float,
        max_retries: int,
        first_pause_seconds: float = 1.0,
    ) -> None:
        """Note which server to ask; nothing is sent yet.

        Args:
            base_url: address of the server up to and with `/v1`.
            model: the name that the server knows the model by.
            api_key_variable: environment variable with the key; no key is sent where it is unset.
            timeout_seconds: how long to wait for one answer.
            max_retries: how often to ask again after a failure that may pass.
            first_pause_seconds: pause before the first retry; each further one is twice as long.

        Raises:
            InputError: the address is not http or https, or has a password in it.
        """
        if not base_url.startswith(("http://", "https://")):
            raise InputError(
                f"language_model.openai.base_url: expected http://... or https://..., "
                f"found {base_url!r}"
            )
        if "@" in urlsplit(base_url).netloc:  # it would be written into caches and files
            raise InputError(
                "language_model.openai.base_url: expected an address without a name and a "
                f"password; a key comes from the environment variable {api_key_variable}"
            )
        self.base_url = base_url
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        self.model = model
        self.api_key_variable = api_key_variable
        self.timeout_seconds = timeout_seconds
        self.max_retries = max_retries
        self.first_pause_seconds = first_pause_seconds
        # Reading the certificates takes longer than many an answer: once is enough.
        self._certificates = httpx.create_ssl_context()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The server and its name for the model."""
        return {"backend": "openai", "base_url": self.base_url, "model": self.model}

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        """Put each prompt to the server as one user message.

        A failed connection, a time-out, status 429 and statuses from 500 are tried again with
        growing pauses; the first prompt that fails for good stops all others. A pattern is sent as
        vLLM's server takes it (`structured_outputs`), and an answer that came to its end without
        matching it shows that this server does not.

        Raises:
            InputError: the server stays out of reach, refuses the request, or its reply is no chat
                completion or breaks the pattern; the message names the address.
        """
        key = os.environ.get(self.api_key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):  # httpx would tell it in its error
            raise InputError(
                f"the environment variable {self.api_key_variable}: expected a key of printable "
                "ASCII characters on one line"
            )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        stopped = threading.Event()
        reported: set[int] = set()
        with (
            httpx.Client(
                headers=headers, timeout=self.timeout_seconds, verify=self._certificates
            ) as client,
            ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool,
        ):
            futures = [
                pool.submit(self._ask, client, key, prompt, sampling, stopped, reported)
                for prompt in prompts
            ]
            try:
                return [future.result() for future in futures]
            finally:
                # After a failure nobody needs the rest; after success this has no effect.
                stopped.set()
                pool.shutdown(cancel_futures=True)

    def _ask(
        self,
        client: httpx.Client,
        key: str,
        prompt: str,
        sampling: Sampling,
        stopped: threading.Event,
        reported: set[int],
    ) -> Answer:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed_for(prompt),
        }
        if sampling.pattern is not None:
            body["structured_outputs"] = {"regex": sampling.pattern}
        failure = ""
        for attempt in range(self.max_retries + 1):
            try:
                response = client.post(self.url, json=body)
            except httpx.TransportError as error:
                failure = f"{type(error).__name__}: {error}"
            else:
                if response.status_code == 200:
                    answer = self._answer_in(response, key)
                    self._check_form(answer, sampling.pattern)
                    return answer
                failure = f"status {response.status_code}: {_start(_without(key, response.text))}"
                if response.status_code not in PASSING_STATUSES:
                    hint = self._hint(response.status_code, sampling)
                    raise InputError(f"{self.url} refused the request, {failure}{hint}")
            if attempt == self.max_retries:
                break
            pause = min(self.first_pause_seconds * 2**attempt, LONGEST_PAUSE_SECONDS)
            # All requests fail together when a server is down: one line for each round of tries.
            if attempt not in reported:
                reported.add(attempt)
                logger.warning("%s: %s; next try in %.1f s", self.url, failure, pause)
            if stopped.wait(pause):
                break
        raise InputError(
            f"{self.url} gave no answer in {self.max_retries + 1} tries, the last ended in "
            f"{failure}; check that the server runs, then run this again: answers so far are kept"
        )

    def _hint(self, status: int, sampling: Sampling) -> str:
        if status in (401, 403):
            return f"; the key is read from the environment variable {self.api_key_variable}"
        if status in (400, 422) and sampling.pattern is not None:
            return f"; if it does not know structured_outputs, {UNSTRUCTURED}"
        return ""

    def _check_form(self, answer: Answer, pattern: str | None) -> None:
        if pattern is None or answer.finish_reason != "stop":
            return
        if re.fullmatch(pattern, answer.text.strip()) is None:
            raise InputError(
                f"{self.url}: expected answers of the form asked for by structured_outputs, found "
                f"{_start(answer.text)}: the server seems to ignore it; {UNSTRUCTURED}"
            )

    def _answer_in(self, response: httpx.Response, key: str) -> Answer:
        try:
            choice = response.json()["choices"][0]
            text = choice["message"]["content"]
            finish_reason = choice["finish_reason"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise InputError(
                f"{self.url}: the reply is no chat completion; expected "
                f"choices[0].message.content, found {_start(_without(key, response.text))}"
            ) from error
        # Null where the server withheld the text, for example with finish_reason content_filter.
        if not isinstance(text, str | None) or not isinstance(finish_reason, str | None):
            raise InputError(
                f"{self.url}: the reply has {text!r} as content and {finish_reason!r} as "
                "finish_reason; expected texts"
            )
        # JSON can escape half of a surrogate pair, which no UTF-8 file can hold.
        whole = (text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return Answer(whole, finish_reason or "unknown")


def _without(key: str, text: str) -> str:
    """A refusal may repeat the key, and is logged."""
    return text.replace(key, "***") if key else text


def _start(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 200 else shown[:200] + "...")
