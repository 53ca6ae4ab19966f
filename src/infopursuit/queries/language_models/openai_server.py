"""Any server that speaks OpenAI's chat completions: vLLM serve, Ollama, OpenAI itself.

Servers differ. What one refuses of a request is left out, or called by its other name, from then on
(`_Manners`); how many requests run at once, and when, follows its answers (`Pace`).

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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
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
from infopursuit.queries.language_models.pace import (
    Pace,
    Reply,
    StoppedError,
    wanted_pause,
)
from infopursuit.queries.settings import OpenAISettings

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 2.0  # before the first retry; each further pause is twice as long
LONGEST_PAUSE_SECONDS = 60.0
# A server that wants more time than this before the next request is not waited for.
LONGEST_WAIT_SECONDS = 900.0
# Statuses that another try can cure: too early, too many requests, and the server's own failures.
PASSING_STATUSES = frozenset({408, 425, 429, *range(500, 600)})
# Of these, the ones that say that a server has too much to do.
BUSY_STATUSES = frozenset({408, 429, 503, 504, 529})
# An error without a number that means 429.
_BUSY = re.compile(r"rate.?limit|too many requests|overloaded|quota|try again", re.IGNORECASE)
# Fields of a request that a server may do without, in the order in which they are given up if it
# names several; and the other name of one.
DISPENSABLE = ("top_p", "seed", "temperature")
OTHER_NAMES = {"max_tokens": "max_completion_tokens"}
# An error about the name of such a field, not about its value.
_UNKNOWN = re.compile(
    r"max_completion_tokens|support|unknown|unrecogni|unexpected|permitted|extra|deprecat",
    re.IGNORECASE,
)
# Fields that only this module sets.
TAKEN = ("model", "messages", "stream", "n")
# Bytes of one reply: an answer has some thousand.
MOST_BYTES = 2**24
# A shorter key could be a word of an answer.
SHORTEST_KEY = 4
PATH = "/chat/completions"
# Fields of a message in which servers put the thoughts of a model.
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
ASK_THE_SERVER = "; the log of the server may say why: does it know the name of the model?"
UNSTRUCTURED = "set language_model.structured_output to false, or use vLLM's server"


class OpenAIServer:
    """The backend that asks a server over HTTP, several prompts at a time."""

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
        for name in TAKEN:
            if name in settings.extra:
                raise InputError(
                    f"openai.extra: {name} is set by infopursuit; expected other fields of requests"
                )
        self.settings = settings
        self.base_url = base_url.rstrip("/").removesuffix(PATH).rstrip("/")
        self.url = f"{self.base_url}{PATH}"
        # Reading the certificates takes longer than many an answer: once is enough.
        self._certificates = httpx.create_ssl_context()
        self.manners, self.pace = _Manners(self.url), Pace(settings.requests_at_once)
        self.chunk = 4 * settings.requests_at_once

    @property
    def identity(self) -> Mapping[str, Any]:
        """The server, its name for the model, and what each request has besides."""
        settings = self.settings
        extra = {"extra": settings.extra} if settings.extra else {}
        return {"backend": "openai", "base_url": self.base_url, "model": settings.model} | extra

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Return one answer for each prompt, in order; see `answer_one_by_one`."""
        came = dict(self.answer_one_by_one(prompts, sampling))
        return [came[place] for place in range(len(prompts))]

    def answer_one_by_one(
        self, prompts: Sequence[Prompt], sampling: Sampling
    ) -> Iterator[tuple[int, Answer]]:
        """Put each prompt to the server as one user message, a picture first.

        A failed connection, a time-out, status 429 and statuses from 500 are tried again with
        growing pauses, or after the time that the server names. The first prompt that fails for
        good stops those that wait; answers on their way are still taken. A pattern is sent as
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
        failure: BaseException | None = None
        with ThreadPoolExecutor(self.settings.requests_at_once) as pool:
            requests = _Requests(self, self._certificates, key, sampling)
            futures = {pool.submit(requests.ask, each): n for n, each in enumerate(prompts)}
            try:
                for future in as_completed(futures):
                    error = future.exception()
                    if error is None:
                        yield futures[future], future.result()
                        continue
                    requests.stop()
                    if failure is None or isinstance(failure, StoppedError):
                        failure = error
            finally:
                # If nobody wants more answers; after success this has no effect.
                requests.stop()
                pool.shutdown(cancel_futures=True)
        if failure is not None:
            raise failure


class _Manners:
    """What a server does not take, so that it is asked without from then on."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.refused: dict[str, str | None] = {}  # with the other name that it takes
        # Whether the words that may answer are sent.
        self.sends_choices = True
        self._lock = threading.Lock()

    def request(self, fields: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that the server takes, and those that a person wants besides."""
        body = dict(fields)
        for name, other in [*OTHER_NAMES.items(), *((v, k) for k, v in OTHER_NAMES.items())]:
            if name in extra:
                body.pop(other, None)
        body |= extra
        for name, other in self.refused.items():
            if name in body:
                value = body.pop(name)
                if other is not None:
                    body[other] = value
        return {name: value for name, value in body.items() if value is not None}

    def learn(self, reply: Reply, sent: Mapping[str, Any], extra: Mapping[str, Any]) -> bool:
        """Take what a refusal says of a request; return whether another form is worth a try."""
        with self._lock:
            if any(name in sent for name in self.refused):
                return True  # meanwhile another request has learnt
            named = [
                name
                for name in (*OTHER_NAMES, *DISPENSABLE)
                if name in sent
                and (name not in extra or name in OTHER_NAMES)
                and _names(reply.text, name)
                and (name not in OTHER_NAMES or _UNKNOWN.search(reply.text))
            ]
            if named:
                name = named[0]
                other = self.refused[name] = OTHER_NAMES.get(name)
                instead = f"sends {other} instead" if other else "goes without it"
                logger.warning("%s does not take %s: infopursuit %s", self.url, name, instead)
            elif "logprobs" in sent and "logprobs" not in extra:
                if self.sends_choices:
                    logger.warning("%s does not know structured_outputs or logprobs", self.url)
                self.sends_choices = False
                return True
            return bool(named)


def _names(reply: str, field_name: str) -> bool:
    """Return whether an error is about a field: by the parameter that it names, or in its words."""
    try:
        error = json.loads(reply)["error"]
        named = error["param"].rpartition(".")[2]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        named = None
    return named == field_name if named else re.search(rf"\b{field_name}\b", reply) is not None


@dataclass
class _Requests:
    """The requests of one call, which share a key and the end of all waiting."""

    server: OpenAIServer
    certificates: ssl.SSLContext
    key: str
    sampling: Sampling
    stopped: threading.Event = field(default_factory=threading.Event)
    reported: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.settings, self.url = self.server.settings, self.server.url

    def stop(self) -> None:
        """Let no further request start."""
        self.stopped.set()
        self.server.pace.wake()

    def ask(self, prompt: Prompt) -> Answer:
        """Return the answer to one prompt, after as many tries as it takes.

        A try in which the server was busy does not count if it gave another answer meanwhile: then
        this one's turn comes, too.
        """
        pace, started = self.server.pace, time.monotonic()
        tries, attempt = self.settings.max_retries + 1, 0
        while True:
            pace.enter(self.stopped)
            sent, before, answer, busy = time.monotonic(), pace.answered, None, False
            wait: float | None = None
            try:
                reply = self._adapted(prompt)
                if reply.status == 200:
                    answer = self._answer(reply.text, prompt, time.monotonic() - started)
                    return answer
                where = "" if reply.status == reply.sent else f" in a reply of status {reply.sent}"
                failure = f"status {reply.status}{where}: {_start(reply.text)}"
                if reply.status not in PASSING_STATUSES:
                    hint = self._hint(reply)
                    raise InputError(f"{self.url} refused the request, {failure}{hint}")
                busy, wait = reply.status in BUSY_STATUSES, wanted_pause(reply)
            except httpx.TransportError as error:
                failure = self._masked(f"{type(error).__name__}: {error}")
                busy = isinstance(error, httpx.TimeoutException)
            finally:
                pace.leave(answer is not None)
            if wait is not None and wait > LONGEST_WAIT_SECONDS:
                raise InputError(
                    f"{self.url} wants no request for {wait:.0f} s ({failure}); run this again "
                    "then: answers so far are kept"
                )
            if busy:
                pace.slow_down(sent, wait or 0.0)
            if not (busy and pace.answered > before):
                attempt += 1
            if attempt == tries:
                break
            pause = min(FIRST_PAUSE_SECONDS * 2 ** max(attempt - 1, 0), LONGEST_PAUSE_SECONDS)
            pause = pause if wait is None else 0.0  # all requests wait as long as the server says
            # All requests fail together when a server is down: one line for each round of tries.
            if attempt not in self.reported:
                self.reported.add(attempt)
                after = pause if wait is None else wait
                logger.warning("%s: %s; next try in %.1f s", self.url, failure, after)
            if self.stopped.wait(pause):
                raise StoppedError
        raise InputError(
            f"{self.url} gave no answer in {tries} {'try' if tries == 1 else 'tries'}, the last "
            f"ended in {failure}; check that "
            "the server runs, then run this again: answers so far are kept"
        )

    def _adapted(self, prompt: Prompt) -> Reply:
        """Send a prompt in the form that the server takes, and learn of its refusals."""
        sampling, manners, extra = self.sampling, self.server.manners, self.settings.extra
        fields: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [{"role": "user", "content": message_content(prompt)}],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed_for(prompt),
        }
        if sampling.pattern is not None:
            fields["structured_outputs"] = {"regex": sampling.pattern}
        while True:
            choices = {}
            if isinstance(prompt, ImagePrompt) and manners.sends_choices:
                known = {"choice": list(prompt.choices)}
                choices = {"structured_outputs": known, "logprobs": True, "top_logprobs": 5}
            body = manners.request(fields | choices, extra)
            reply = self._sent(body)
            if reply.status not in (400, 422) or not manners.learn(reply, body, extra):
                return reply

    def _answer(self, reply: str, prompt: Prompt, seconds: float) -> Answer:
        answer = read_completion(reply, self.url, self.sampling.pattern)
        # JSON may have spelled the key in escapes.
        masked = map(self._masked, (answer.text, answer.finish_reason))
        answer = Answer(next(masked), next(masked))
        if isinstance(prompt, ImagePrompt):
            return _about_picture(answer, prompt, json.loads(reply), seconds)
        return answer

    def _sent(self, body: dict[str, Any]) -> Reply:
        """Send one request; return the reply, without the key.

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
                text = self._masked(content.decode(errors="replace"))
                status = response.status_code
                return Reply(_true_status(status, text), text, response.headers, status)
        except httpx.TransportError as error:
            if deadline.passed:
                raise httpx.ReadTimeout(f"no whole reply within {limit:g} s") from error
            raise
        finally:
            watch.cancel()

    def _masked(self, text: str) -> str:
        """Return what a server sent without the key, which it may repeat anywhere."""
        return text.replace(self.key, "***") if len(self.key) >= SHORTEST_KEY else text

    def _hint(self, reply: Reply) -> str:
        if reply.status in (401, 403):
            return (
                f"; the key is read from the environment variable {self.settings.api_key_variable}"
            )
        if reply.status in (301, 302, 303, 307, 308):
            place = self._masked(reply.headers.get("location", "nowhere")).removesuffix(PATH)
            return f"; it redirects to {place}: give that address"
        if reply.status in (404, 405):
            return _hint_at_v1(self.url)
        extra = [name for name in self.settings.extra if _names(reply.text, name)]
        if extra:
            return f"; {extra[0]} is one of your own fields of requests (openai.extra)"
        if reply.status in (400, 422) and self.sampling.pattern is not None:
            return f"; if it does not know structured_outputs, {UNSTRUCTURED}"
        return ""


def _hint_at_v1(url: str) -> str:
    """Say what addresses look like, if this one is not so."""
    base = url.removesuffix(PATH)
    if re.search(r"/v\d", urlsplit(base).path):
        return ""
    return f"; the address of a server of chat completions usually ends in /v1: try {base}/v1"


def _true_status(sent: int, text: str) -> int:
    """Return the status of a reply; of an error within a 200 the one that it names, or means."""
    error = _error_within(text) if sent == 200 else None
    if error is None:
        return sent
    for key in ("code", "status", "status_code"):
        with contextlib.suppress(LookupError, TypeError, ValueError):
            status = int(error[key])
            if 400 <= status < 600:
                return status
    return 429 if _BUSY.search(json.dumps(error)) else 400


def _error_within(text: str) -> Any:
    """Return the error that a reply consists of; None if there is none."""
    try:
        reply = json.loads(text)
        if not reply.get("choices"):
            return reply.get("error") or None
        return reply["choices"][0].get("error") or None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


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
    """Return the answer in a server's reply.

    Thoughts in a field of their own count only where there is no text: then they are the answer, as
    thoughts without an end (`parsing.without_thoughts`).
    """
    try:
        choice = json.loads(reply)["choices"][0]
        message, finish_reason = choice["message"], choice.get("finish_reason")
        text, withheld = message["content"], message.get("refusal")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        page = re.match(r"\s*<(?:!doctype|html|\?xml)", reply, re.IGNORECASE)
        what = "a web page" if page else _start(reply) if reply.strip() else "an empty reply"
        raise InputError(
            f"{url}: the reply is not a chat completion; expected choices[0].message.content, "
            f"found {what}{_hint_at_v1(url) if page or not reply.strip() else ASK_THE_SERVER}"
        ) from error
    if isinstance(text, list) and all(isinstance(part, dict) for part in text):
        text = "".join(str(part["text"]) for part in text if part.get("type") == "text")
    # Null if the server withheld the text, for example with finish_reason content_filter.
    if not isinstance(text, str | None) or not isinstance(finish_reason, str | None):
        raise InputError(
            f"{url}: the reply is not a chat completion; it has {_start(str(text))} as content and "
            f"{_start(str(finish_reason))} as finish_reason; expected texts"
        )
    if not text and isinstance(withheld, str):
        text = withheld
    if not (text or "").strip():
        thoughts = [message.get(name) for name in THOUGHTS]
        thoughts = next((each for each in thoughts if isinstance(each, str) and each), None)
        if thoughts is not None:
            text, pattern = f"<think>\n{thoughts}", None
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
