"""Any server that speaks OpenAI's chat completions: vLLM serve, Ollama, OpenAI itself.

The client `openai` sends requests, waits and tries again. Servers differ: what one refuses of a
request is left out, or called by its other name, from then on; an error within a reply of status
200 has the status that it names; thoughts come in fields of their own. Replies have a bounded
length and time, and the key is masked in them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import threading
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from infopursuit.core.errors import InputError
from infopursuit.generation.language_models.model import (
    Answer,
    ImagePrompt,
    Prompt,
    Sampling,
    message_content,
)
from infopursuit.generation.settings import OpenAISettings

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)

# An error without a number that means 429.
_BUSY = re.compile(r"rate.?limit|too many requests|overloaded|quota|try again", re.IGNORECASE)
# Fields of a request that a server may do without, in the order in which they are given up if it
# names several; and the other name of one.
DISPENSABLE = ("top_p", "seed", "temperature")
OTHER_NAMES = {"max_tokens": "max_completion_tokens"}
# An error about the name of such a field; and one about its value, which no other name mends.
_UNKNOWN = re.compile(
    r"max_completion_tokens|support|unknown|unrecogni|unexpected|permitted|extra|deprecat",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"context|too (?:large|long|high|big|many)|exceed|at most|(?:less|greater|larger|more) than"
    r"|between|maximum (?:value|allowed)|must be|range|limit (?:of|is)",
    re.IGNORECASE,
)
# A request that no further try mends, though its status says so.
_PAID_OUT = re.compile(r"insufficient[_ ](?:quota|credits|funds|balance)", re.IGNORECASE)
_STREAMED = re.compile(r"\s*(?::|(?:event|id|data):)")
# The field of what may be answered, of vLLM's server.
FORM = "structured_outputs"
# Fields that only this module sets.
TAKEN = ("model", "messages", "stream", "n")
# Bytes of one reply: an answer has some thousand.
MOST_BYTES = 2**24
# A shorter key could be a word of an answer.
SHORTEST_KEY = 4
PAYMENT_REQUIRED = 402
PATH = "/chat/completions"
# Fields of a message in which servers put the thoughts of a model.
THOUGHTS = ("reasoning_content", "reasoning", "thinking")
# Types of a part of a message that is text.
TEXTS = ("text", "output_text")
NO_STREAMS = "infopursuit asks for a whole reply: turn streaming off there, or take another model"
ASK_THE_SERVER = "; the log of the server may say why: does it know the name of the model?"
UNSTRUCTURED = "set language_model.structured_output to false, or use vLLM's server"


class NoAnswerError(InputError):
    """A server refuses a request, or its reply is no answer."""


class OpenAIServer:
    """The backend that asks a server over HTTP, several prompts at a time."""

    def __init__(self, settings: OpenAISettings) -> None:
        parts = urlsplit(settings.base_url)
        # A password or a key in it would be written into caches and files.
        if parts.scheme not in ("http", "https") or "@" in parts.netloc or parts.query:
            shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
            raise InputError(
                "openai.base_url: expected http://HOST/... or https://HOST/... without a name and "
                f"a password and without `?`, found {shown.geturl()!r}; a key comes from the "
                f"environment variable {settings.api_key_variable}"
            )
        for name in (name for name in TAKEN if name in settings.extra):
            raise InputError(
                f"openai.extra: {name} is set by infopursuit; expected other fields of requests"
            )
        self.settings = settings
        self.base_url = settings.base_url.rstrip("/").removesuffix(PATH).rstrip("/")
        self.url = f"{self.base_url}{PATH}"
        self.chunk = 4 * settings.requests_at_once
        self._refused: dict[str, str | None] = {}  # with the other name that the server takes
        self._lock = threading.Lock()
        self._answered = False

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
    ) -> Generator[tuple[int, Answer]]:
        """Put each prompt to the server as one user message, a picture first.

        The first prompt that fails for good stops those that wait; answers on their way are still
        taken. A pattern is sent as vLLM's server takes it (`structured_outputs`), and an answer
        that came to its end without matching it shows that this server does not. With a picture go
        the words that may answer it, until the server refuses them.
        """
        failure: BaseException | None = None
        at_once = self.settings.requests_at_once
        with self._client() as client, ThreadPoolExecutor(at_once) as pool:
            # The first request goes alone, so that only one meets what the server refuses.
            alone = 0 if self._answered else 1
            for place, prompt in enumerate(prompts[:alone]):
                yield place, self._ask(client, prompt, sampling)
            futures = {
                pool.submit(self._ask, client, prompt, sampling): place
                for place, prompt in enumerate(prompts)
                if place >= alone
            }
            try:
                for future in as_completed(futures):
                    if future.cancelled():
                        continue
                    error = future.exception()
                    if error is None:
                        yield futures[future], future.result()
                        continue
                    failure = failure or error
                    for each in futures:
                        each.cancel()
            finally:  # nobody may want more answers
                for each in futures:
                    each.cancel()
        if failure is not None:
            raise failure

    def _client(self) -> openai.OpenAI:
        import openai  # takes a second

        settings = self.settings
        key = self._key()
        if not (key.isascii() and key.isprintable()):  # the client would repeat it in its error
            raise InputError(
                f"the environment variable {settings.api_key_variable}: expected a key of "
                "printable ASCII characters on one line"
            )
        try:
            http = openai.DefaultHttpxClient(
                follow_redirects=False, event_hooks={"response": [self._check_reply]}
            )
        except Exception as error:  # of many types, each about how a variable is written
            raise InputError(
                f"{self.url}: the proxy variables (such as ALL_PROXY or NO_PROXY), or those of "
                f"certificates (SSL_CERT_FILE, SSL_CERT_DIR), cannot be used: {error}"
            ) from error
        return openai.OpenAI(
            base_url=self.base_url,
            api_key=key or "none",
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
            http_client=http,
        )

    def _check_reply(self, response: Any) -> None:
        """Read a reply within bounds; give it the status of the error that it consists of."""
        started, content = time.monotonic(), bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MOST_BYTES:
                raise NoAnswerError(
                    f"{self.url}: the reply has more than {MOST_BYTES / 1e6:.0f} MB"
                )
            if time.monotonic() - started > self.settings.timeout_seconds:
                raise NoAnswerError(
                    f"{self.url}: no whole reply within {self.settings.timeout_seconds:g} s"
                )
        response._content = bytes(content)  # so that the client has it, too
        response.encoding = "utf-8"  # whatever the server says
        if response.status_code == 200:
            response.status_code = _true_status(response.text)
        if response.status_code == 429 and _PAID_OUT.search(response.text):
            response.status_code = PAYMENT_REQUIRED

    def _ask(self, client: openai.OpenAI, prompt: Prompt, sampling: Sampling) -> Answer:
        """Return the answer to one prompt, in the form of request that the server takes."""
        import openai

        fields: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed_for(prompt),
            "stream": False,  # some servers stream unless told
        }
        if isinstance(prompt, ImagePrompt):
            fields[FORM] = {"choice": list(prompt.choices)}
        elif sampling.pattern is not None:
            fields[FORM] = {"regex": sampling.pattern}
        while True:
            body = self._taken(fields)
            try:
                reply = client.chat.completions.with_raw_response.create(
                    model=self.settings.model,
                    messages=[{"role": "user", "content": message_content(prompt)}],
                    extra_headers=None if self._key() else {"Authorization": openai.Omit()},
                    extra_body=body,
                )
            except openai.APIStatusError as error:
                status, text = error.status_code, self._masked(error.response.text)
                if status in (400, 422) and self._learn(text, body, prompt):
                    continue
                failure = f"status {status}: {_start(text)}"
                if status not in (408, 409, 429) and status < 500:
                    place = error.response.headers.get("location", "nowhere")
                    hint = self._hint(status, text, self._masked(place), sampling)
                    refusal = f"{self.url} refused the request, {failure}{hint}"
                    raise NoAnswerError(refusal) from None
            except openai.APIConnectionError as error:
                cause = error.__cause__ or error
                proxy = _proxy_to(self.url)
                failure = self._masked(f"{type(cause).__name__}: {cause}{proxy}")
            else:
                self._answered = True
                text = reply.http_response.text
                answer = read_completion(self._masked(text), self.url, sampling.pattern)
                # JSON may have spelled the key in escapes.
                return Answer(*map(self._masked, answer))
            tries = self.settings.max_retries + 1
            raise NoAnswerError(
                f"{self.url} gave no answer in {tries} {'try' if tries == 1 else 'tries'}, the "
                f"last ended in {failure}; check that the server runs, then run this again"
                + ": answers so far are kept"
                * self._answered
            )

    def _taken(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that the server takes, and those that a person wants besides."""
        extra = self.settings.extra
        body = {name: each for name, each in fields.items() if OTHER_NAMES.get(name) not in extra}
        body |= extra
        for name, other in self._refused.items():
            if name in body:
                value = body.pop(name)
                if other is not None:
                    body[other] = value
        return {name: value for name, value in body.items() if value is not None}

    def _learn(self, reply: str, sent: Mapping[str, Any], prompt: Prompt) -> bool:
        """Take what a refusal says of a request; return whether another form is worth a try."""
        extra = self.settings.extra

        def refused(name: str) -> bool:
            if name in OTHER_NAMES:
                of_name = _UNKNOWN.search(reply) and not _TOO_MUCH.search(reply)
                return name in sent and _names(reply, name) and bool(of_name)
            return name in sent and name not in extra and _names(reply, name)

        with self._lock:
            if any(name in sent for name in self._refused):
                return True  # meanwhile another request has learnt
            name = next((name for name in (*OTHER_NAMES, *DISPENSABLE) if refused(name)), None)
            if name is None and isinstance(prompt, ImagePrompt) and FORM in set(sent) - set(extra):
                name = FORM
            if name is None:
                return False
            other = self._refused[name] = OTHER_NAMES.get(name)
        instead = f"sends {other} instead" if other else "goes without it"
        logger.warning("%s does not take %s: infopursuit %s", self.url, name, instead)
        return True

    def _key(self) -> str:
        return os.environ.get(self.settings.api_key_variable, "").strip()

    def _masked(self, text: str) -> str:
        """Return what a server sent without the key, which it may repeat anywhere."""
        key = self._key()
        return text.replace(key, "***") if len(key) >= SHORTEST_KEY else text

    def _hint(self, status: int, reply: str, place: str, sampling: Sampling) -> str:
        if status in (401, 403):
            return (
                f"; the key is read from the environment variable {self.settings.api_key_variable}"
            )
        if 300 <= status < 400:
            return f"; it redirects to {place.removesuffix(PATH)}: give that address"
        if status == PAYMENT_REQUIRED:
            return "; the account there is used up: pay, or take another server"
        if status in (404, 405):
            named = self.settings.model in reply
            models = f"; {self.base_url}/models lists the models that it has"
            return models if named else _hint_at_v1(self.url)
        if "stream" in reply.lower():
            return f"; {NO_STREAMS}"
        extra = [name for name in self.settings.extra if _names(reply, name)]
        if extra:
            return f"; {extra[0]} is one of your own fields of requests (openai.extra)"
        if _TOO_MUCH.search(reply) and re.search("token|context", reply):
            return (
                f"; it was asked for answers of at most {sampling.max_tokens} tokens: give fewer "
                "(max_tokens=200, by --llm-option or openai.extra), or the server a longer context"
            )
        if status in (400, 422) and sampling.pattern is not None:
            return f"; if it does not know structured_outputs, {UNSTRUCTURED}"
        return ""


def _names(reply: str, field_name: str) -> bool:
    """Return whether an error is about a field: by the parameter that it names, or in its words."""
    try:
        named = json.loads(reply)["error"]["param"].rpartition(".")[2]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        named = None
    return named == field_name if named else re.search(rf"\b{field_name}\b", reply) is not None


def _hint_at_v1(url: str) -> str:
    """Say what addresses look like, if this one is not so."""
    base = url.removesuffix(PATH)
    to_version = re.match(r"(.*/v\d\w*)(/openai)?", urlsplit(base).path)
    if to_version and to_version[0] == urlsplit(base).path:
        return ""
    better = base[: base.index(to_version[0])] + to_version[0] if to_version else f"{base}/v1"
    better = re.sub(r"/openai/deployments/.*", "/openai/v1", better)  # of Azure
    return f"; the address of a server of chat completions usually ends in /v1: try {better}"


def _proxy_to(url: str) -> str:
    """Return what to say of the proxy that requests go through; nothing without one."""
    parts, proxies = urlsplit(url), urllib.request.getproxies()
    proxy = proxies.get(parts.scheme, proxies.get("all"))
    if proxy is None or urllib.request.proxy_bypass(parts.hostname or ""):
        return ""
    shown = urlsplit(proxy).netloc.rpartition("@")[2]
    return (
        f", through the proxy {shown} of the variables HTTP_PROXY, HTTPS_PROXY or ALL_PROXY "
        f"(NO_PROXY={parts.hostname} goes without it)"
    )


def _true_status(text: str) -> int:
    """Return the status of a reply of status 200; of an error the one that it names, or means."""
    try:
        reply = json.loads(text)
        error = (reply["choices"][0] if reply.get("choices") else reply).get("error")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return 200
    if not error:
        return 200
    for key in ("code", "status", "status_code"):
        with contextlib.suppress(LookupError, TypeError, ValueError, OverflowError):
            status = int(error[key])
            if 400 <= status < 600:
                return status
    return 429 if _BUSY.search(json.dumps(error)) else 400


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
        if _STREAMED.match(reply):
            raise NoAnswerError(f"{url}: the server streams its reply; {NO_STREAMS}") from error
        page = re.match(r"\s*<(?:!doctype|html|\?xml)", reply, re.IGNORECASE)
        what = "a web page" if page else _start(reply) if reply.strip() else "an empty reply"
        raise NoAnswerError(
            f"{url}: the reply is not a chat completion; expected choices[0].message.content, "
            f"found {what}{_hint_at_v1(url) if page or not reply.strip() else ASK_THE_SERVER}"
        ) from error
    if isinstance(text, list) and all(isinstance(part, dict) for part in text):
        texts = [part.get("text") for part in text if part.get("type") in TEXTS]
        text = "".join(each for each in texts if isinstance(each, str))
    # Null if the server withheld the text, for example with finish_reason content_filter.
    if not isinstance(text, str | None) or not isinstance(finish_reason, str | None):
        raise NoAnswerError(
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
        raise NoAnswerError(
            f"{url}: expected answers of the form asked for by structured_outputs, found "
            f"{_start(text)}: the server seems to ignore it; {UNSTRUCTURED}"
        )
    return Answer(text, finish_reason or "unknown")


def _start(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 200 else text[:200] + "...")
