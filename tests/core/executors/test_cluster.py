"""Shards on a real Ray cluster of two nodes: each result once, errors as they are, nodes lost."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from infopursuit import InformationPursuitClassifier
from infopursuit.core.executors import RayCluster, Workers, run_shards
from infopursuit.generation.answering import answer_prompts
from infopursuit.generation.language_models import Sampling
from infopursuit.generation.language_models.openai_server import OpenAIServer
from infopursuit.generation.settings import OpenAISettings
from infopursuit.pipeline.params import load_params
from infopursuit.pursuit.naive_bayes.sharded_set import ShardedSet
from tests.clip.conftest import write_params, write_universe
from tests.core.executors.conftest import TwoNodes
from tests.core.executors.work import SlowShards, Whereabouts
from tests.generation.language_models.test_openai_server import completion, prompt_of, serving
from tests.stage_scripts import stage

pytestmark = [
    pytest.mark.cluster,
    # Ray Data warns of its own settings when it makes them.
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\.data\."),
]


def test_two_workers_on_two_nodes_do_every_shard_once_in_the_folder_of_the_project(
    two_nodes: TwoNodes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    log.mkdir()
    shards = [(10 * number, str(number)) for number in range(12)]
    found = list(run_shards(Whereabouts(log, 0.05), shards, two_nodes.cluster()))
    assert sorted(index for index, _ in found) == [index for index, _ in shards]
    places = [place for _, place in found]
    assert len({node for node, _, _ in places}) == 2
    assert len({process for _, process, _ in places}) == 2
    assert {folder for _, _, folder in places} == {str(tmp_path)}
    # The terminal is for the progress bar and the log of the stage; Ray's C++ part has one line.
    written = capfd.readouterr()
    assert written.out == ""
    assert [line for line in written.err.splitlines() if "Set ray log level" not in line] == []


def set_params(folder: Path, **compute: object) -> None:
    """Other settings of `compute`, and texts dropped that are alike."""
    yaml = YAML()
    params = yaml.load(folder / "params.yaml")
    params["compute"].update(compute)
    params["universe"]["max_similarity"] = 0.9999
    yaml.dump(params, folder / "params.yaml")


def on_ray(two_nodes: TwoNodes) -> dict[str, Any]:
    return {"engine": "ray", "ray": asdict(two_nodes.cluster())}


def test_the_universe_has_the_same_bytes_with_either_engine(
    two_nodes: TwoNodes, tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"thing {number}" for number in range(60)] + ["Thing 3", "THING 4"]
    for name, compute in (("local", {}), ("ray", on_ray(two_nodes))):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        write_params(Path(), tiny_clip, tmp_path / "images.parquet")
        set_params(Path(), **compute)
        write_universe(texts, ["hence", "idea"])
        assert stage("embed_universe")(load_params()) == (64, 62)
    for name in ("universe", "control"):
        file = Path("artifacts/embeddings") / f"{name}.parquet"
        assert file.read_bytes() == (tmp_path / "local" / file).read_bytes(), name
    assert not any((tmp_path / "ray" / ".scratch" / "embed").iterdir())


def test_nothing_is_lost_or_doubled_when_a_node_is_killed(
    two_nodes: TwoNodes, tmp_path: Path
) -> None:
    chunks, size = 12, 64
    prompts = [f"prompt {number}" for number in range(chunks * size)]
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)
    asked: list[int] = []

    def reply(request: dict[str, Any]) -> tuple[int, Any]:
        prompt = prompt_of(request)
        asked.append(int(prompt.split()[1]) // size)
        time.sleep(0.05)
        return completion(f"{request['body']['seed']} to {prompt}")

    def kept() -> list[str]:
        files = (tmp_path / "ray").glob("*/*.jsonl")
        lines = [line for file in files for line in file.read_text().split("\n")[:-1]]
        return [json.loads(line)["prompt"] for line in lines]

    kept_at_the_kill: list[int] = []

    def kill() -> None:
        # Only while both workers are at it, and some of their work is done.
        deadline = time.monotonic() + 60
        while len(kept()) < 3 * size or len(set(asked[-32:])) < 2:
            assert time.monotonic() < deadline, (len(kept()), asked[-32:])
            time.sleep(0.01)
        two_nodes.kill_one()
        kept_at_the_kill.append(len(kept()))

    with serving(reply) as (url, _):
        settings = {"base_url": url, "model": "m", "api_key_variable": "NO_SUCH_KEY"}
        # A busy machine may refuse a connection; that is no part of what is tested here.
        settings |= {"timeout_seconds": 30.0, "max_retries": 3}
        open_model = partial(OpenAIServer, OpenAISettings(**settings))
        assert open_model().chunk == size
        alone = answer_prompts(open_model(), prompts, sampling, tmp_path / "local")
        asked.clear()
        killer = threading.Thread(target=kill)
        killer.start()
        workers = Workers(two_nodes.cluster(), open_model)
        together = answer_prompts(open_model(), prompts, sampling, tmp_path / "ray", workers)
        killer.join()
    assert kept_at_the_kill[0] < len(prompts)
    assert together == alone
    assert len(kept()) == len(set(kept())) == len(prompts)


def test_naive_bayes_has_the_same_bytes_from_a_cluster_that_loses_a_node(
    two_nodes: TwoNodes, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.mkdir()
    shards = SlowShards(1200, classes=5, width=16, rows=60, log=log, seconds=0.0)
    texts = [f"text {number}" for number in range(40)]
    embeddings = np.random.default_rng(5).normal(size=(40, 16))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)

    def saved(images: SlowShards, cluster: RayCluster | None, name: str) -> dict[str, bytes]:
        model = InformationPursuitClassifier(texts, embeddings, 8)
        model.fit(ShardedSet(images, cluster=cluster)).save(tmp_path / name)
        return {file.name: file.read_bytes() for file in sorted((tmp_path / name).iterdir())}

    alone = saved(shards, None, "alone")
    readings = 2 * len(shards.sizes)
    assert len(list(log.iterdir())) == readings
    cluster = two_nodes.cluster()
    killed_after: list[int] = []

    def kill() -> None:
        while len({file.name.split(".")[1] for file in log.iterdir()}) < 3:  # this one, and two
            time.sleep(0.01)
        two_nodes.kill_one()
        killed_after.append(len(list(log.iterdir())) - readings)

    killer = threading.Thread(target=kill)
    killer.start()
    together = saved(replace(shards, seconds=0.2), cluster, "together")
    killer.join()
    assert 0 < killed_after[0] < len(shards.sizes)  # in the first pass
    assert together == alone
