"""A campaign fails if the promise that it tries is broken in the code: a table of mutations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repro.world import World

BAD, FINDINGS = "campaigns/test_bad_inputs.py", "campaigns/test_findings.py"
MODELS = "tests/estimators/test_saved.py"
SERVER = "tests/queries/language_models/test_openai_server.py"

# The campaign or test that tries a promise (and -k), the module, its line, and what breaks it.
MUTATIONS: dict[str, tuple[str, str, str, str, str]] = {
    "a file is written in place": (
        "tests/core/test_files.py", "", "core/files.py",
        'partial = path.with_name(f"{path.name}.{uuid4().hex[:8]}{PARTIAL}")', "partial = path",
    ),
    "a mixture of two models is loaded": (
        MODELS, "mixture", "estimators/persistence.py", "if not other:", "if True:",
    ),
    "a label type is written as it is": (
        MODELS, "what_fit_takes", "estimators/naive_bayes.py",
        'classes = classes if kind.kind == "O" else np.array(classes.tolist())', "pass",
    ),
    "a description is not checked": (
        BAD, "sources", "estimators/persistence.py",
        "sources: dict[str, str]", "sources: object",
    ),
    "an array may be a pickle": (
        FINDINGS, "pickle", "core/arrays.py",
        "np.load(path", "np.load(path, allow_pickle=True",
    ),
    "a reader waits": (
        BAD, "captions", "core/files.py", "        text = read_bytes(",
        "        __import__('time').sleep(25)\n        text = read_bytes(",
    ),
    "a reader opens another file": (
        BAD, "captions", "core/files.py", "        text = read_bytes(",
        "        __import__('tempfile').NamedTemporaryFile().close()\n"
        "        text = read_bytes(",
    ),
    "a file has no largest size": (
        BAD, "description and 300", "core/files.py", "if found.st_size > most:", "if False:",
    ),
    "a JPEG has any number of scans": (
        BAD, "scans", "datasets/decoding.py", "return scans > most", "return False",
    ),
    "the key is not masked": (
        SERVER, "key", "queries/language_models/openai_server.py",
        'return text.replace(self.key, "***") if', "return text if",
    ),
    "a reply has no deadline": (
        SERVER, "bounded", "queries/language_models/openai_server.py", "watch.start()",
        "threading.Timer(20, deadline.pass_).start()",
    ),
    "any address is asked": (
        "tests/clip/test_weights.py", "stranger", "clip/weights.py",
        "if parts.scheme not in schemes:", "if False:",
    ),
    "a reader starts a program": (
        BAD, "captions", "core/files.py", "        text = read_bytes(",
        "        __import__('os').system('true')\n        text = read_bytes(",
    ),
    "a terminal gets what it cannot show": (
        BAD, "processes and ASCII", "cli/command_line.py",
        'stream.reconfigure(errors="backslashreplace")', "pass",
    ),
    "a terminal gets a name as it is": (
        FINDINGS, "names", "pursuit/explanation.py",
        "asked, said = one_line(changed_little(explanation, run))",
        "asked, said = changed_little(explanation, run)",
    ),
    "few may connect": (
        FINDINGS, "honest", "explorer/server.py",
        "limit_concurrency=CONNECTIONS", "limit_concurrency=20",
    ),
    "a line for each client who leaves": (
        "tests/explorer/test_server.py", "clients_who_leave", "explorer/server.py",
        'logging.getLogger("asyncio").setLevel(logging.ERROR)', "pass",
    ),
    "work for clients who left": (
        "tests/explorer/test_server.py", "left_before_their_turn", "explorer/server.py",
        "if await request.is_disconnected():", "if False:",
    ),
    "a fit keeps its shards": (
        "campaigns/test_capacity.py", "", "pursuit/naive_bayes/training_set.py",
        "        answers = at_least(self.rule, train.rows.blocks())",
        "        globals().setdefault('kept', []).append(list(train.rows.blocks()))\n"
        "        answers = at_least(self.rule, train.rows.blocks())",
    ),
    "two runs of one stage differ": (
        "campaigns/test_kills.py", "two_at_once", "evaluation/bootstrap.py",
        "draw = np.random.default_rng(seed)", "draw = np.random.default_rng()",
    ),
    "one-hot labels are made": (
        FINDINGS, "selection", "pursuit/dictionary/forward_selection.py",
        "    # One-hot labels, each", "    torch.eye(classes)\n    # One-hot labels, each",
    ),
    "a setting may change meanwhile": (
        "tests/core/test_stage.py", "meanwhile", "core/stage.py",
        "if _setting(old, key) != _setting(new, key):", "if False:",
    ),
    "a reader gives another type": (
        "campaigns/test_fuzz.py", "wording", "texts/wording.py", "def question(",
        "def question(*_): return 1\ndef _question(",
    ),
    "what is not taken is not counted": (
        "tests/explorer/test_server.py", "not_taken", "explorer/server.py",
        "self.held += own", "pass",
    ),
}  # fmt: skip


@pytest.mark.timeout(900)
@pytest.mark.parametrize("promise", MUTATIONS)
def test_a_broken_promise_is_seen(promise: str, tmp_path: Path) -> None:
    tests, chosen, module, line, instead = MUTATIONS[promise]
    path = World(tmp_path).folder / "src" / "infopursuit" / module
    source = path.read_text(encoding="utf-8")
    assert line in source, f"{module} has no line {line!r}: name another in the table"
    path.write_text(source.replace(line, instead), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
    command += ["--timeout", "200", *(["-k", chosen] if chosen else [])]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "JAXTYPING_DISABLE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, f"not seen: {done.stdout[-2000:]}"
    assert "failed" in done.stdout
