import gzip
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.generation.answering import answer_prompts
from infopursuit.generation.language_models import (
    Answer,
    ImagePrompt,
    Sampling,
    language_model_at,
    openai_server,
)
from infopursuit.generation.settings import OpenAISettings

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)
LISTS = replace(SAMPLING, pattern="1[.] [a-z]+")
# A status, the content, and perhaps headers.
Reply = tuple[int, Any] | tuple[int, Any, dict[str, str]]


def completion(text: Any, finish_reason: Any = "stop", **message: Any) -> Reply:
    message = {"role": "assistant", "content": text, **message}
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
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)


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
        for address in (url, f"{url}/", f"{url}/chat/completions/"):
            model = client(address, api_key_variable="SOME_KEY")
            assert model.identity == client(url).identity
            assert model.answer(["A dog."], SAMPLING) == [Answer("1. tail", "length")]
        client(url).answer(["A dog."], LISTS)
    body = requests[0].pop("body")
    assert requests[0] == {"path": "/v1/chat/completions", "authorization": "Bearer secret"}
    assert [each["path"] for each in requests] == ["/v1/chat/completions"] * 4
    assert body == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "A dog."}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 30,
        "seed": SAMPLING.seed_for("A dog."),
        "stream": False,
    }
    assert requests[-1]["authorization"] is None
    assert requests[-1]["body"]["structured_outputs"] == {"regex": "1[.] [a-z]+"}


AGAIN = {"error": {"message": "Slow down. Please try again in 300ms."}}
UPSTREAM = {"choices": [{"message": {"content": ""}, "error": {"code": 502, "message": "up"}}]}
FINE = completion("1. tail")
ELSEWHERE = {"Location": "https://a.b/v1/chat/completions"}
# What a server sends, the last again and again; what comes out; and after how many requests.
BEHAVIOURS = {
    "a busy server": ([(429, b"busy"), (503, b"busy"), FINE], "1. tail", 3),
    "a failing server": ([(500, b"oh"), FINE], "1. tail", 2),
    "an error within a 200": ([(200, AGAIN), FINE], "1. tail", 2),
    "an error within a choice": ([(200, UPSTREAM), FINE], "1. tail", 2),
    "a server that is down": ([(500, b"out of\nmemory")], "in 4 tries.*500: 'out of memory'", 4),
    "a server without credits": ([(200, {"error": "no credits"})], "refused.*400: .*no cred", 1),
    "an account used up": (
        [(429, {"error": {"code": "insufficient_funds"}})],
        "status 402.*is used up",
        1,
    ),
    "a value that is too large": (
        [(400, b"max_tokens or max_completion_tokens must be at most 9, the context has 20")],
        "refused.*at most 30 tokens: give fewer.*--llm-option",
        1,
    ),
    "a long context": ([(422, b"prompt exceeds the context window")], "or the server a longer", 1),
    "no such model": ([(404, b"some-model?")], "/v1/models lists the models", 1),
    "a stream": ([(200, b"id: 1\ndata: {}\n\n")], "streams its reply.*turn streaming off", 1),
    "streams alone": ([(400, b"Streaming is required")], "turn streaming off", 1),
    "an odd code": ([(200, {"error": {"code": 1e999}}), FINE], "refused.*status 400", 1),
    "no key": ([(401, b"no key")], "status 401: 'no key'.*variable NO_SUCH_KEY", 1),
    "a value refused": ([(400, b"max_tokens")], "refused the request, status 400: 'max_tok", 1),
    "a form refused": ([(400, b"what?")], "400: 'what[?]'; if .* structured_outputs, set", 1),
    "a form ignored": ([completion("Sure! A tail.")], "found 'Sure! A tail.'.*output to false", 1),
    "a form cut off": ([completion("1. ta1", "length")], "1. ta1", 1),
    "another address": ([(308, b"", ELSEWHERE)], "redirects to https://a.b/v1: give that", 1),
    "no model": ([(404, b"no such model")], "404: 'no such model'$", 1),
    "a web page": ([(200, b"<html>")], "found a web page$", 1),
    "no choice": ([(200, {"choices": []})], r"found '{\"choices\": ?\[\]}'; the log .* name of", 1),
    "no message": ([(200, {"choices": [{"message": None}]})], "not a chat completion", 1),
    "a number": ([completion(5)], "not a chat completion.*'5'", 1),
    "an odd ending": ([completion("1. a", ["x"])], "as finish_reason; expected texts", 1),
    "thoughts alone": ([completion("", reasoning="Hm.")], "<think>\nHm.", 1),
    "other thoughts": ([completion(None, reasoning_content="Hm.")], "<think>\nHm.", 1),
    "thoughts beside": ([completion("1. tail", reasoning="Hm.")], "1. tail", 1),
    "parts": ([completion([{"type": "thinking"}, {"type": "text", "text": "1. a"}])], "1. a", 1),
    "other parts": ([completion([{"type": "output_text", "text": "1. b"}])], "1. b", 1),
    "a part without text": ([completion([{"type": "text"}], "length")], "", 1),
    "a refusal": ([completion(None, "x", refusal="I'm sorry")], "I'm sorry", 1),
    "a withheld text": ([completion(None, "content_filter")], "", 1),
    "half a character": ([completion("half \ud83d", None)], "half \ufffd", 1),
    "compression": (
        [(200, gzip.compress(json.dumps(FINE[1]).encode()), {"Content-Encoding": "gzip"})],
        "1. tail",
        1,
    ),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_what_a_server_does_and_what_comes_out(name: str) -> None:
    replies, outcome, count = BEHAVIOURS[name]
    left = iter(replies)
    with serving(lambda request: next(left, replies[-1])) as (url, requests):
        try:
            [answer] = client(url).answer(["A dog."], LISTS)
        except InputError as error:
            assert re.search(f"{url}/chat/completions.*{outcome}", str(error)), error
        else:
            reason = replies[-1][1]["choices"][0]["finish_reason"] if name[:4] != "comp" else "stop"
            assert answer == Answer(outcome, reason or "unknown")
        assert len(requests) == count


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((404, b"404 page not found"), "usually ends in /v1: try http://[^ ]*/v1$"),
        ((200, b"<!DOCTYPE html><p>Hi"), "found a web page; the address .* ends in /v1"),
        ((200, b" "), "found an empty reply; the address .* ends in /v1"),
    ],
)
def test_an_address_without_v1_is_said_in_one_line(reply: Reply, message: str) -> None:
    with serving(lambda request: reply) as (url, requests):
        with pytest.raises(InputError, match=message):
            client(url.removesuffix("/v1")).answer(["a"], SAMPLING)
        assert len(requests) == 1


@pytest.mark.parametrize(
    ("path", "better"),
    [
        ("/v1/responses", "/v1"),
        ("/v1beta/openai/models/a", "/v1beta/openai"),
        ("/openai/deployments/some/completions", "/openai/v1"),
        ("/api/v1/generate", "/api/v1"),
    ],
)
def test_a_longer_address_is_shortened(path: str, better: str) -> None:
    with serving(lambda request: (404, b"")) as (url, _):
        host = url.removesuffix("/v1")
        with pytest.raises(InputError, match=f"try {host}{better}$"):
            client(host + path).answer(["a"], SAMPLING)


def test_a_server_is_left_alone_for_as_long_as_it_says() -> None:
    left, times = iter([(429, b"", {"Retry-After": "0.3"})]), []

    def reply(request: dict[str, Any]) -> Reply:
        times.append(time.monotonic())
        return next(left, completion("fine"))

    with serving(reply) as (url, _):
        assert client(url).answer(["a"], SAMPLING) == [Answer("fine", "stop")]
    assert len(times) == 2
    assert times[1] - times[0] >= 0.3


def test_a_failure_stops_the_prompts_that_wait_and_answers_on_their_way_are_kept(
    tmp_path: Path,
) -> None:
    broken = True

    def reply(request: dict[str, Any]) -> Reply:
        if broken and prompt_of(request) == "5":
            time.sleep(0.1)
            return 400, b"bad"
        time.sleep(0.0 if prompt_of(request) == "0" else 0.3)
        return completion("fine")

    prompts = [str(number) for number in range(100)]
    with serving(reply) as (url, requests):
        with pytest.raises(InputError, match="status 400"):
            answer_prompts(client(url), prompts, SAMPLING, tmp_path)
        assert len(requests) < 40
        broken = False
        answers = answer_prompts(client(url), prompts, SAMPLING, tmp_path)
        assert len(requests) == 1 + len(prompts)
    assert answers == [Answer("fine", "stop")] * len(prompts)


def test_no_server_and_a_slow_one() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InputError, match=rf"127\.0\.0\.1:{port}/v1.*in 3 tries.*ConnectError"):
        client(f"http://127.0.0.1:{port}/v1", max_retries=2).answer(["A dog."] * 30, SAMPLING)

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


def test_a_picture_goes_with_the_words_that_may_answer_until_they_are_refused() -> None:
    prompt = ImagePrompt(b"png", "Grey?", ("no", "yes"))
    with serving(refusing("structured_outputs")) as (url, requests):
        assert client(url).answer([prompt] * 2, SAMPLING) == [Answer("fine", "stop")] * 2
    first, *others = (request["body"] for request in requests)
    assert first["structured_outputs"] == {"choice": ["no", "yes"]}
    assert [part["type"] for part in prompt_of(requests[0])] == ["image_url", "text"]
    assert len(others) == 2
    assert not any("structured_outputs" in body for body in others)


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


SECRET = "sk-0123456789abcdef"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in SECRET)


@contextmanager
def sending(*pieces: bytes) -> Iterator[str]:
    """A server that sends any bytes, the last again and again; gives its address."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            with suppress(OSError):
                for piece in pieces[:-1]:
                    self.request.sendall(piece)
                while pieces[-1]:
                    time.sleep(0.05)
                    self.request.sendall(pieces[-1])
                self.request.shutdown(socket.SHUT_WR)
                while self.request.recv(1 << 16):
                    pass

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def whole(body: bytes, head: bytes = HEAD) -> list[bytes]:
    return [head, b"Content-Length: %d\r\n\r\n" % len(body), body, b""]


def refused(status: int) -> list[bytes]:
    return whole(f"Incorrect API key: {SECRET}.".encode(), HEAD.replace(b"200", b"%d" % status))


def choice(content: object, reason: object = "stop") -> bytes:
    return json.dumps(completion(content, reason)[1]).encode()


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([HEAD, b"Content-Length: 9999\r\n\r\n", b" "], "no whole reply within 0.3 s"),
        ([HEAD, b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"], "no whole reply within"),
        (whole(bytes(2**20)), "the reply has more than 1 MB"),
        (whole(gzip.compress(bytes(10**6)), HEAD + b"Content-Encoding: gzip\r\n"), "than 1 MB"),
        (whole(b"x", HEAD.replace(b"json", b"json; charset=hex")), "not a chat completion"),
        (whole(choice([SECRET])), "as content and"),
        (whole(choice("x", [SECRET])), "as finish_reason; expected texts"),
        (whole(choice(f"no list, {SECRET}")), r"found 'no list, \*\*\*'"),
        (whole(b"", b"HTTP/1.1 " + SECRET.encode() + b"\r\n"), "RemoteProtocolError"),
        (whole(b"", HEAD + SECRET.encode() + b"\r\n"), "RemoteProtocolError"),
        *((refused(status), r"API key: \*\*\*") for status in (200, 400, 401, 500)),
    ],
)
def test_what_a_server_sends_is_bounded_and_never_shows_the_key(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    pieces: list[bytes],
    message: str,
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    monkeypatch.setattr(openai_server, "MOST_BYTES", 2**19)
    started, limit = time.monotonic(), 0.3 if pieces[-1] else 20.0
    with sending(*pieces) as url, pytest.raises(InputError, match=message) as raised:
        client(url, 0, api_key_variable="SOME_KEY", timeout_seconds=limit).answer(["a"], LISTS)
    assert time.monotonic() - started < 5
    assert SECRET not in f"{raised.value} {raised.value.__cause__} {caplog.text}"


@pytest.mark.parametrize("written", [SECRET, ESCAPED])
def test_an_answer_that_repeats_the_key_is_kept_without_it(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    body = choice("1. KEY", "stop").replace(b"KEY", written.encode())
    with sending(*whole(body)) as url:
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


@pytest.mark.parametrize(
    ("variable", "proxy", "word"),
    [
        ("ALL_PROXY", "socks://127.0.0.1:7890/", r"proxy variables \(such as ALL_PROXY"),
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE"),
        ("all_proxy", "socks4a://127.0.0.1:7890", r"proxy variables \(such as ALL_PROXY"),
        ("HTTP_PROXY", "http://name:secret@127.0.0.1:9", "the proxy 127.0.0.1:9 of .*NO_PROXY="),
        ("http_proxy", "http://127.0.0.1:9", "the proxy 127.0.0.1:9 of .*NO_PROXY="),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, word: str
) -> None:
    monkeypatch.setenv(variable, proxy)
    with pytest.raises(InputError, match=word) as raised:
        client("http://127.0.0.1:9/v1", 0).answer(["a"], SAMPLING)
    assert "secret" not in str(raised.value)
