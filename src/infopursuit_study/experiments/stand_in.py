"""A stand-in for a vision-language model behind a server of OpenAI's chat completions.

    python -m infopursuit_study.experiments.stand_in TRUTH.json --errors 0.05   # prints its address

It looks at no picture: it knows it by the SHA-256 of its PNG, and answers from a table of what is
true of it, {digest: {question: true}}, or the opposite in a share of cases, which are drawn by
picture and question. Of what is not in the table it says "unclear". It shows that the client works
and what a model that is right so often would win; it says nothing of real models.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import PIPE, Popen
from sys import executable
from typing import Any


def answer_to(content: Any, truth: Mapping[str, Mapping[str, bool]], errors: float) -> str:
    """Return yes, no or unclear to the content of a message: a picture, then a question."""
    picture, text = content
    png = base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/png;base64,"))
    digest = hashlib.sha256(png).hexdigest()
    question = text["text"].splitlines()[-1].removeprefix("Question: ")
    true = truth.get(digest, {}).get(question)
    if true is None:
        return "unclear"
    draw = hashlib.sha256(f"{digest} {question}".encode()).digest()
    wrong = int.from_bytes(draw[:4], "big") < errors * 2**32
    return "yes" if true != wrong else "no"


@contextmanager
def standing_in(truth: Mapping[str, Mapping[str, bool]], folder: Path, errors: float) -> Iterator:
    """Run the server as a process of its own; gives its address."""
    path = folder / "truth.json"
    path.write_text(json.dumps(truth))
    command = [
        executable,
        "-m",
        "infopursuit_study.experiments.stand_in",
        str(path),
        "--errors",
        str(errors),
    ]
    with Popen(command, stdout=PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("truth", type=Path)
    parser.add_argument("--errors", type=float, default=0.05)
    chosen = parser.parse_args()
    truth = json.loads(chosen.truth.read_text())

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = answer_to(body["messages"][-1]["content"], truth, chosen.errors)
            first = {"content": [{"top_logprobs": [{"token": said, "logprob": -0.05}]}]}
            message = {"role": "assistant", "content": said}
            choice = {"message": message, "finish_reason": "stop", "logprobs": first}
            usage = {"prompt_tokens": 100, "completion_tokens": 1}
            data = json.dumps({"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Quiet."""

    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
