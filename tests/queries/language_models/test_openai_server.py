import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling, open_language_model
from infopursuit.queries.language_models.openai_server import OpenAIServer

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
            request = {
                "path": self.path,
                "body": body,
                "authorization": self.headers["Authorization"],
            }
            requests.append(request)
            status, content = reply(request)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def client(base_url: str, max_retries: int = 3, **settings: Any) -> OpenAIServer:
    defaults = {"api_key_variable": "NO_SUCH_KEY", "timeout_seconds": 10.0}
    return OpenAIServer(
        base_url, "some-model", max_retries=max_retries, first_pause_seconds=0.001,
        **{**defaults, **settings},
    )  # fmt: skip


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
        settings = {
            "base_url": url + "/",
            "model": "some-model",
            "api_key_variable": "SOME_KEY",
            "timeout_seconds": 10.0,
            "max_retries": 0,
        }
        model = open_language_model({"backend": "openai", "openai": settings})
        assert model.answer(["A dog."], SAMPLING) == [Answer("1. tail", "length")]
        assert client(url).answer(["A dog."], SAMPLING) == [Answer("1. tail", "length")]
    assert requests[0] == {
        "path": "/v1/chat/completions",
        "authorization": "Bearer secret",
        "body": {
            "model": "some-model",
            "messages": [{"role": "user", "content": "A dog."}],
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 30,
            "seed": SAMPLING.seed_for("A dog."),
        },
    }
    assert requests[1]["authorization"] is None


def test_a_pattern_is_sent_as_the_server_of_vllm_takes_it() -> None:
    with serving(lambda request: completion(" 1. tail\n")) as (url, requests):
        assert client(url).answer(["A dog."], LISTS) == [Answer(" 1. tail\n", "stop")]
    assert requests[0]["body"]["structured_outputs"] == {"regex": "1[.] [a-z]+"}
    assert requests[0]["body"].keys() - {"structured_outputs"} == {
        "model", "messages", "temperature", "top_p", "max_tokens", "seed"
    }  # fmt: skip


def test_a_server_that_ignores_the_pattern_is_found_out() -> None:
    with (
        serving(lambda request: completion("Sure! A tail.")) as (url, _),
        pytest.raises(InputError, match=r"found 'Sure! A tail\.': .*structured_output to false"),
    ):
        client(url).answer(["A dog."], LISTS)
    with serving(lambda request: completion("1. ta1", "length")) as (url, _):
        assert client(url).answer(["A dog."], LISTS) == [Answer("1. ta1", "length")]


def test_a_server_that_refuses_the_pattern() -> None:
    message = "status 400: 'unknown argument'; if it does not know structured_outputs, set"
    with (
        serving(lambda request: (400, b"unknown argument")) as (url, _),
        pytest.raises(InputError, match=message),
    ):
        client(url).answer(["A dog."], LISTS)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failures_that_pass_are_tried_again(status: int) -> None:
    left = iter([(status, b"busy"), (status, b"busy"), completion("1. tail")])
    with serving(lambda request: next(left)) as (url, requests):
        assert client(url).answer(["A dog."], SAMPLING) == [Answer("1. tail", "stop")]
    assert len(requests) == 3


def test_failures_that_stay_end_in_one_message() -> None:
    with serving(lambda request: (500, b"out of\nmemory")) as (url, requests):
        message = f"{url}/chat/completions gave no answer in 4 tries.*status 500: 'out of memory'"
        with pytest.raises(InputError, match=message):
            client(url).answer(["A dog."], SAMPLING)
    assert len(requests) == 4


def test_a_refused_request_is_not_tried_again() -> None:
    with serving(lambda request: (401, b"no key")) as (url, requests):
        with pytest.raises(InputError, match=r"status 401: 'no key'.*variable NO_SUCH_KEY"):
            client(url).answer(["A dog."], SAMPLING)
        assert len(requests) == 1
    with (
        serving(lambda request: (400, b"max_tokens")) as (url, _),
        pytest.raises(InputError, match="refused the request, status 400: 'max_tokens'"),
    ):
        client(url).answer(["A dog."], SAMPLING)


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

    with (
        serving(reply) as (url, _),
        pytest.raises(InputError, match="ReadTimeout"),
    ):
        client(url, max_retries=0, timeout_seconds=0.05).answer(["A dog."], SAMPLING)


@pytest.mark.parametrize(
    "content",
    [b"<html>", [], {"choices": []}, {"choices": [{"message": None}]}, {"error": "x"}],
)
def test_a_reply_that_is_no_completion(content: Any) -> None:
    with (
        serving(lambda request: (200, content)) as (url, requests),
        pytest.raises(InputError, match="the reply is no chat completion"),
    ):
        client(url).answer(["A dog."], SAMPLING)
    assert len(requests) == 1


def test_withheld_and_broken_texts() -> None:
    with serving(lambda request: completion(None, "content_filter")) as (url, _):
        assert client(url).answer(["x"], SAMPLING) == [Answer("", "content_filter")]
    with serving(lambda request: completion("half \ud83d", None)) as (url, _):
        assert client(url).answer(["x"], SAMPLING) == [Answer("half \ufffd", "unknown")]
    with (
        serving(lambda request: (200, {"choices": [{"message": {"content": 5}}]})) as (url, _),
        pytest.raises(InputError, match="no chat completion"),
    ):
        client(url).answer(["x"], SAMPLING)


def test_an_address_without_scheme() -> None:
    with pytest.raises(InputError, match=r"base_url: expected http://.*'localhost:8000/v1'"):
        client("localhost:8000/v1")


SECRET = "sk-0123456789abcdef"


@pytest.mark.parametrize("status", [401, 400, 500, 200])
def test_a_refusal_that_repeats_the_key_is_told_without_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    echo = f"Incorrect API key provided: {SECRET}.".encode()
    with serving(lambda request: (status, echo)) as (url, requests):
        with pytest.raises(InputError, match=r"key provided: \*\*\*") as raised:
            client(url, 1, api_key_variable="SOME_KEY").answer(["a"], SAMPLING)
        assert requests[0]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in f"{raised.value} {raised.value.__cause__} {caplog.text}"


@pytest.mark.parametrize("key", [f"{SECRET}\nX: y", f"{SECRET}\x00", f"{SECRET}é"])
def test_a_key_that_cannot_be_sent_is_not_told(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr(os, "environ", {"SOME_KEY": key})
    with pytest.raises(InputError, match="variable SOME_KEY: expected a key") as raised:
        client("http://127.0.0.1:9/v1", api_key_variable="SOME_KEY").answer(["a"], SAMPLING)
    assert SECRET not in str(raised.value)


def test_space_around_a_key_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", f" {SECRET}\n")
    with serving(lambda request: completion("yes")) as (url, requests):
        client(url, api_key_variable="SOME_KEY").answer(["a"], SAMPLING)
    assert requests[0]["authorization"] == f"Bearer {SECRET}"


def test_an_address_with_a_password_is_refused_and_not_told() -> None:
    with pytest.raises(InputError, match="without a name and a password") as raised:
        client(f"https://user:{SECRET}@there.example/v1")
    assert SECRET not in str(raised.value)
