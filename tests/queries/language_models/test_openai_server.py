import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.generation import answer_prompts
from infopursuit.queries.language_models import (
    Answer,
    Sampling,
    language_model_at,
    openai_server,
)
from infopursuit.queries.settings import OpenAISettings

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)
LISTS = replace(SAMPLING, pattern="1[.] [a-z]+")
# A status, the content, and perhaps headers.
Reply = tuple[int, Any] | tuple[int, Any, dict[str, str]]


def completion(text: str | None, finish_reason: str | None = "stop") -> Reply:
    message = {"role": "assistant", "content": text}
    return 200, {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def prompt_of(request: dict[str, Any]) -> str:
    return request["body"]["messages"][0]["content"]


@contextmanager
def serving(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A real HTTP server on this machine; gives its base address and the requests it got."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            authorization = self.headers["Authorization"]
            request = {"path": self.path, "body": body, "authorization": authorization}
            requests.append(request)
            status, content, *headers = reply(request)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in (headers[0] if headers else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # a short queue resets connections on a busy machine

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_server, "FIRST_PAUSE_SECONDS", 0.001)


def client(base_url: str, max_retries: int = 3, **settings: Any) -> openai_server.OpenAIServer:
    defaults = {"api_key_variable": "NO_SUCH_KEY", "timeout_seconds": 10.0}
    given = {"base_url": base_url, "model": "some-model", "max_retries": max_retries}
    return openai_server.OpenAIServer(OpenAISettings(**{**defaults, **given, **settings}))


def test_answers_come_in_the_order_of_the_prompts() -> None:
    def reply(request: dict[str, Any]) -> Reply:
        # The first prompts take longest.
        time.sleep(0.002 * (40 - int(prompt_of(request))))
        return completion(f"to {prompt_of(request)}")

    prompts = [str(number) for number in range(40)]
    with serving(reply) as (url, requests):
        answers = client(url).answer(prompts, SAMPLING)
    assert answers == [Answer(f"to {prompt}", "stop") for prompt in prompts]
    assert len(requests) == 40


def test_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "secret")
    with serving(lambda request: completion("1. tail", "length")) as (url, requests):
        model = client(f"{url}/", api_key_variable="SOME_KEY")
        assert model.answer(["A dog."], SAMPLING) == [Answer("1. tail", "length")]
        assert client(url).answer(["A dog."], SAMPLING) == [Answer("1. tail", "length")]
    body = requests[0].pop("body")
    assert requests[0] == {"path": "/v1/chat/completions", "authorization": "Bearer secret"}
    assert body == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "A dog."}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 30,
        "seed": SAMPLING.seed_for("A dog."),
    }
    assert requests[1]["authorization"] is None


def test_a_pattern_is_sent_as_vllm_takes_it_and_an_answer_cut_off_may_break_it() -> None:
    with serving(lambda request: completion("1. ta1", "length")) as (url, requests):
        assert client(url).answer(["A dog."], LISTS) == [Answer("1. ta1", "length")]
    assert requests[0]["body"]["structured_outputs"] == {"regex": "1[.] [a-z]+"}


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failures_that_pass_are_tried_again(status: int) -> None:
    left = iter([(status, b"busy"), (status, b"busy"), completion("1. tail")])
    with serving(lambda request: next(left)) as (url, requests):
        assert client(url).answer(["A dog."], SAMPLING) == [Answer("1. tail", "stop")]
    assert len(requests) == 3


@pytest.mark.parametrize(
    ("sampling", "status", "content", "message", "tries"),
    [
        (SAMPLING, 500, b"out of\nmemory", "gave no answer in 4 tries.*500: 'out of memory'", 4),
        (SAMPLING, 401, b"no key", "status 401: 'no key'.*variable NO_SUCH_KEY", 1),
        (SAMPLING, 400, b"max_tokens", "refused the request, status 400: 'max_tokens'", 1),
        (LISTS, 400, b"what?", "400: 'what[?]'; if it does not know structured_outputs, set", 1),
        (SAMPLING, 200, {"choices": [{"message": None}]}, "the reply is not a chat completion", 1),
        (
            SAMPLING,
            200,
            {"choices": [{"message": {"content": 5}}]},
            "not a chat completion.*'5'",
            1,
        ),
        (LISTS, *completion("Sure! A tail."), r"found 'Sure! A tail\.': .*output to false", 1),
    ],
)
def test_failures_end_in_one_message(
    sampling: Sampling, status: int, content: Any, message: str, tries: int
) -> None:
    with serving(lambda request: (status, content)) as (url, requests):
        with pytest.raises(InputError, match=f"{url}/chat/completions.*{message}"):
            client(url).answer(["A dog."], sampling)
        assert len(requests) == tries


def test_a_failure_stops_the_prompts_that_wait() -> None:
    def reply(request: dict[str, Any]) -> Reply:
        if prompt_of(request) == "0":
            return 400, b"bad"
        time.sleep(0.05)
        return completion("fine")

    with serving(reply) as (url, requests):
        with pytest.raises(InputError, match="status 400"):
            client(url).answer([str(number) for number in range(200)], SAMPLING)
        assert len(requests) < 100


def test_a_server_that_is_down(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = client(f"http://127.0.0.1:{port}/v1", max_retries=2)
    with pytest.raises(InputError, match=rf"127\.0\.0\.1:{port}/v1.*in 3 tries.*ConnectError"):
        model.answer(["A dog."] * 30, SAMPLING)
    assert len(caplog.records) <= 4


def test_a_server_that_is_too_slow() -> None:
    def reply(request: dict[str, Any]) -> Reply:
        time.sleep(0.3)
        return completion("late")

    with serving(reply) as (url, _), pytest.raises(InputError, match="ReadTimeout"):
        client(url, max_retries=0, timeout_seconds=0.05).answer(["A dog."], SAMPLING)


def refusing(*names: str, param: bool = True) -> Callable[[dict[str, Any]], Reply]:
    """A server that does not take some fields."""

    def reply(request: dict[str, Any]) -> Reply:
        for name in names:
            if name in request["body"]:
                error: dict[str, Any] = {"message": f"Unsupported parameter: '{name}', not seed."}
                return 400, {"error": error | ({"param": name} if param else {})}
        return completion("fine")

    return reply


@pytest.mark.parametrize("param", [True, False])
def test_a_field_that_a_server_refuses_is_given_up_for_good(
    param: bool, caplog: pytest.LogCaptureFixture
) -> None:
    names = ["max_tokens", "temperature", "top_p"] if param else ["max_tokens", "seed"]
    with serving(refusing(*names, param=param)) as (url, requests):
        model = client(url)
        answers = model.answer([str(number) for number in range(40)], SAMPLING)
        assert answers == [Answer("fine", "stop")] * 40
        assert len(requests) == 40 + len(names) == 40 + len(caplog.records)
        assert model.answer(["more"], SAMPLING) == answers[:1]
    sent = requests[-1]["body"]
    assert sent["max_completion_tokens"] == SAMPLING.max_tokens
    assert not set(names) & set(sent)


def test_fields_of_ones_own() -> None:
    extra = {"max_tokens": 900, "seed": None, "reasoning_effort": "none"}
    with serving(refusing("max_tokens")) as (url, requests):
        model = client(url, extra=extra)
        assert model.identity["extra"] == extra
        assert model.answer(["x"], SAMPLING) == [Answer("fine", "stop")]
    sent = requests[-1]["body"]
    assert (sent["max_completion_tokens"], sent["reasoning_effort"]) == (900, "none")
    assert "seed" not in sent
    with serving(refusing("reasoning_effort")) as (url, requests):
        with pytest.raises(InputError, match="reasoning_effort is one of your own fields"):
            client(url, extra=extra).answer(["x"], SAMPLING)
        assert len(requests) == 1
    with pytest.raises(InputError, match=r"openai\.extra: stream is set by infopursuit"):
        client(url, extra={"stream": True})


BUSY = {"error": {"message": "Rate limit reached.", "code": "rate_limit_exceeded"}}
AGAIN = {"error": {"message": "Slow down. Please try again in 300ms."}}


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        ((429, b"", {"Retry-After": "0.3"}), 0.3),
        ((503, b"", {"retry-after-ms": "300"}), 0.3),
        ((429, b"", {"Retry-After": "300ms"}), 0.3),
        ((429, AGAIN), 0.3),
        ((200, AGAIN), 0.3),
        ((429, b'{"retryDelay": "0.3s"}'), 0.3),
        ((503, b"", {"Date": formatdate(1e9), "Retry-After": formatdate(1e9 - 5)}), 1.0),
        ((200, BUSY), 0.0),
        ((200, {"choices": [{"error": {"code": 502, "message": "upstream"}}]}), 0.0),
    ],
)
def test_a_server_is_left_alone_for_as_long_as_it_says(refusal: Any, seconds: float) -> None:
    left, times = iter([completion("first"), refusal]), []

    def reply(request: dict[str, Any]) -> Reply:
        times.append(time.monotonic())
        return next(left, completion("fine"))

    with serving(reply) as (url, _):
        model = client(url)
        model.answer(["a"], SAMPLING)
        assert model.answer(["b"], SAMPLING) == [Answer("fine", "stop")]
    assert len(times) == 3
    assert times[2] - times[1] >= seconds


def test_a_server_that_wants_an_hour_is_not_waited_for() -> None:
    with serving(lambda request: (429, b"", {"Retry-After": "3600"})) as (url, requests):
        with pytest.raises(InputError, match=r"wants no request for 3600 s.*are kept"):
            client(url).answer(["a"], SAMPLING)
        assert len(requests) == 1


def test_no_more_requests_run_at_once_than_are_wanted() -> None:
    most, running = [0], [0]

    def reply(request: dict[str, Any]) -> Reply:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.02)
        running[0] -= 1
        return completion("fine")

    with serving(reply) as (url, requests):
        own = {"requests_at_once": 2, "timeout_seconds": 5, "reasoning_effort": "none"}
        model = language_model_at(url, "some", own)
        assert len(model.answer([str(number) for number in range(9)], SAMPLING)) == 9
    assert most[0] == 2
    assert requests[0]["body"]["reasoning_effort"] == "none"
    assert not {"requests_at_once", "timeout_seconds"} & requests[0]["body"].keys()
    assert (model.identity or {})["extra"] == {"reasoning_effort": "none"}


def test_a_server_with_few_slots_answers_everything() -> None:
    """Time-outs do not count while other answers come, and fewer requests run at once."""
    slots, most, running = threading.Semaphore(2), [0], [0]

    def reply(request: dict[str, Any]) -> Reply:
        running[0] += 1
        most[0] = max(most[0], running[0])
        with slots:
            time.sleep(0.1)
        running[0] -= 1
        return completion("fine")

    with serving(reply) as (url, _):
        model = client(url, max_retries=1, timeout_seconds=0.6)
        assert len(model.answer([str(number) for number in range(30)], SAMPLING)) == 30
    assert most[0] > 8


def test_answers_on_their_way_are_kept_when_another_fails(tmp_path: Path) -> None:
    broken = True

    def reply(request: dict[str, Any]) -> Reply:
        if broken and prompt_of(request) == "5":
            time.sleep(0.1)
            return 400, b"bad"
        time.sleep(0.0 if prompt_of(request) == "0" else 0.3)
        return completion("fine")

    prompts = [str(number) for number in range(200)]
    with serving(reply) as (url, requests):
        with pytest.raises(InputError, match="status 400"):
            answer_prompts(client(url), prompts, SAMPLING, tmp_path)
        given = len(requests) - 1
        assert given < 40
        broken = False
        answers = answer_prompts(client(url), prompts, SAMPLING, tmp_path)
        assert len(requests) == 1 + len(prompts)
    assert answers == [Answer("fine", "stop")] * len(prompts)
    assert not list(tmp_path.rglob("*.open")) or given


@pytest.mark.parametrize("tail", ["/", "/chat/completions", "/chat/completions/"])
def test_an_address_is_taken_as_people_write_it(tail: str) -> None:
    with serving(lambda request: completion("fine")) as (url, requests):
        model = client(f"{url}{tail}")
        assert model.answer(["a"], SAMPLING) == [Answer("fine", "stop")]
        assert model.identity == client(url).identity
    assert requests[0]["path"] == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("path", "reply", "message"),
    [
        ("", (404, b"404 page not found"), "usually ends in /v1: try http://[^ ]*/v1$"),
        ("", (200, b"<!DOCTYPE html><p>Hi"), "found a web page; the address .* ends in /v1"),
        ("", (200, b" "), "found an empty reply; the address .* ends in /v1"),
        ("/v1", (404, b"no such model"), "404: 'no such model'$"),
        ("/v1", (200, b"<html>"), "found a web page$"),
        ("/v1", (200, {"choices": []}), r"found '{\"choices\": \[\]}'; the log .* name of"),
        ("/v1", (200, {"error": "out of credits"}), "400 in a reply of status 200: .*out of cred"),
        ("/v1", (308, b"", {"Location": "https://a.b/v1/chat/completions"}),
         "redirects to https://a.b/v1: give that"),
    ],
)  # fmt: skip
def test_what_a_wrong_address_gives_is_said_in_one_line(
    path: str, reply: Reply, message: str
) -> None:
    with serving(lambda request: reply) as (url, requests):
        with pytest.raises(InputError, match=message):
            client(url.removesuffix("/v1") + path).answer(["a"], SAMPLING)
        assert len(requests) == 1


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "", "reasoning": "Hm."}, "<think>\nHm."),
        ({"content": None, "reasoning_content": "Hm."}, "<think>\nHm."),
        ({"content": "1. tail", "reasoning": "Hm."}, "1. tail"),
        ({"content": [{"type": "thinking"}, {"type": "text", "text": "1. tail"}]}, "1. tail"),
        ({"content": None, "refusal": "I'm sorry"}, "I'm sorry"),
    ],
)
def test_thoughts_beside_the_text_are_no_answer(message: dict[str, Any], text: str) -> None:
    with serving(lambda request: (200, {"choices": [{"message": message}]})) as (url, _):
        assert client(url).answer(["x"], SAMPLING) == [Answer(text, "unknown")]


def test_withheld_and_broken_texts() -> None:
    with serving(lambda request: completion(None, "content_filter")) as (url, _):
        assert client(url).answer(["x"], SAMPLING) == [Answer("", "content_filter")]
    with serving(lambda request: completion("half \ud83d", None)) as (url, _):
        assert client(url).answer(["x"], SAMPLING) == [Answer("half \ufffd", "unknown")]


SECRET = "sk-0123456789abcdef"


@pytest.mark.parametrize("status", [401, 400, 500, 200])
def test_a_refusal_that_repeats_the_key_is_reported_without_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    echo = f"Incorrect API key provided: {SECRET}.".encode()
    with serving(lambda request: (status, echo)) as (url, requests):
        with pytest.raises(InputError, match=r"key provided: \*\*\*") as raised:
            client(url, 1, api_key_variable="SOME_KEY").answer(["a"], SAMPLING)
        assert requests[0]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in f"{raised.value} {raised.value.__cause__} {caplog.text}"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LATE = "no whole reply within 0.5 s"
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in SECRET)


@contextmanager
def sending(pieces: Callable[[], Iterator[bytes]]) -> Iterator[str]:
    """A server that sends any bytes; gives its address."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            with suppress(OSError):
                for piece in pieces():
                    self.request.sendall(piece)
                self.request.shutdown(socket.SHUT_WR)
                while self.request.recv(1 << 16):
                    pass

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def dripped(start: bytes, piece: bytes) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(0.1)
            yield piece

    return pieces


def whole(body: bytes, head: bytes = HEAD) -> Callable[[], Iterator[bytes]]:
    return lambda: iter([head, b"Content-Length: %d\r\n\r\n" % len(body), body])


def choice(content: object, reason: object = "stop") -> bytes:
    return json.dumps(completion(content, reason)[1]).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (dripped(b"", b"H"), LATE),
        (dripped(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), LATE),
        (dripped(HEAD, b"X: y\r\n"), LATE),
        (dripped(HEAD + b"Content-Length: 9999\r\n\r\n", b" "), LATE),
        (dripped(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"), LATE),
        (whole(bytes(2**20)), "the reply has more than 1 MB"),
        (whole(gzip.compress(bytes(10**6)), HEAD + b"Content-Encoding: gzip\r\n"), "is compressed"),
        (whole(b"x", HEAD + b"Content-Encoding: odd\r\n"), "is compressed"),
        (whole(b"x", HEAD.replace(b"json", b"json; charset=hex")), "not a chat completion"),
        (whole(choice([SECRET])), "as content and"),
        (whole(choice("x", [SECRET])), "as finish_reason; expected texts"),
        (whole(choice(f"no list, {SECRET}")), r"found 'no list, \*\*\*'"),
        (whole(b"", b"HTTP/1.1 " + SECRET.encode() + b"\r\n"), "RemoteProtocolError"),
        (whole(b"", HEAD + SECRET.encode() + b"\r\n"), "RemoteProtocolError"),
    ],
)
def test_what_a_server_sends_is_bounded_and_never_shows_the_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, pieces: Any, message: str
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    monkeypatch.setattr(openai_server, "MOST_BYTES", 2**19)
    started = time.monotonic()
    with sending(pieces) as url, pytest.raises(InputError, match=message) as raised:
        client(url, 0, api_key_variable="SOME_KEY", timeout_seconds=0.5).answer(["a"], LISTS)
    assert time.monotonic() - started < 5
    assert SECRET not in f"{raised.value} {raised.value.__cause__} {caplog.text}"


@pytest.mark.parametrize("written", [SECRET, ESCAPED])
def test_an_answer_that_repeats_the_key_is_kept_without_it(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    body = choice("1. KEY", "stop").replace(b"KEY", written.encode())
    with sending(whole(body)) as url:
        server = client(url, 0, api_key_variable="SOME_KEY")
        assert server.answer(["a"], SAMPLING) == [Answer("1. ***", "stop")]


@pytest.mark.parametrize("key", [f"{SECRET}\nX: y", f"{SECRET}\x00", f"{SECRET}é"])
def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr(os, "environ", {"SOME_KEY": key})
    with pytest.raises(InputError, match="variable SOME_KEY: expected a key") as raised:
        client("http://127.0.0.1:9/v1", api_key_variable="SOME_KEY").answer(["a"], SAMPLING)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("localhost:8000/v1", r"base_url: expected http://.*'localhost:8000/v1'"),
        (f"https://user:{SECRET}@there.example/v1", "without a name and a password"),
        (f"https://there.example/v1?key={SECRET}", r"and without `\?`"),
    ],
)
def test_a_bad_address_is_refused_without_its_password(address: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        client(address)
    assert SECRET not in str(raised.value)
