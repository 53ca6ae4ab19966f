import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling, openai_server
from infopursuit.queries.settings import OpenAISettings

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)
LISTS = replace(SAMPLING, pattern="1[.] [a-z]+")
Reply = tuple[int, Any]


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
            status, content = reply(request)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
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
        (SAMPLING, 200, {"choices": [{"message": {"content": 5}}]}, "not a chat completion", 1),
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
