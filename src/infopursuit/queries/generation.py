"""Prompts to answers, in chunks that are kept, so that an interrupted run goes on where it was."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.core.executors import Workers, run_shards
from infopursuit.queries.answer_cache import AnswerCache
from infopursuit.queries.language_models import Answer, LanguageModel, Prompt, Sampling

logger = logging.getLogger(__name__)

RETRIES = 3


def attempts(model: LanguageModel, sampling: Sampling, longest: int) -> Iterator[Sampling]:
    """Yield how to draw the answers of each attempt: the same with the next seed.

    A recorded model always answers alike and is asked once. Answers may have `longest` tokens if
    that is more than the sampling has.
    """
    most = max(sampling.max_tokens, longest)
    for attempt in range(1 if model.identity is None else 1 + RETRIES):
        yield replace(sampling, max_tokens=most, seed=sampling.seed + attempt)


def answer_prompts(
    model: LanguageModel,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    kept_in: str | Path,
    workers: Workers[LanguageModel] | None = None,
) -> list[Answer]:
    """Return one answer for each prompt; only what was never asked before goes to the model.

    Chunks are kept whole, as they come, and always cut alike: a run that was killed asks exactly
    the chunks that it still lacks of those that the uninterrupted run asks, here or on a cluster,
    and ends with the same answers.
    """
    distinct = list(dict.fromkeys(prompts))
    cache = None
    answers: dict[Prompt, Answer] = {}
    if model.identity is not None:
        cache = AnswerCache(kept_in, {"model": dict(model.identity), "sampling": asdict(sampling)})
        answers = cache.load(distinct)
        if answers:
            logger.info("%d of %d answers were kept earlier", len(answers), len(distinct))
    missing = [prompt for prompt in distinct if prompt not in answers]
    chunks = [missing[start : start + model.chunk] for start in range(0, len(missing), model.chunk)]
    start = partial(partial, model.answer, sampling=sampling)
    if workers is not None:
        start = partial(_opened, workers.open, model.identity, sampling)
    with (
        tqdm(total=len(missing), desc="answers", unit="prompt", disable=None) as progress,
        closing(run_shards(start, enumerate(chunks), workers and workers.cluster)) as finished,
    ):
        for index, given in finished:
            chunk = chunks[index]
            if len(given) != len(chunk):
                raise InputError(
                    f"the language model gave {len(given)} answers to {len(chunk)} prompts"
                )
            if cache is not None:
                cache.add(chunk, given)
            answers.update(zip(chunk, given, strict=True))
            progress.update(len(chunk))
    return [answers[prompt] for prompt in prompts]


def _opened(
    open_worker: Callable[[], LanguageModel],
    identity: Mapping[str, Any] | None,
    sampling: Sampling,
) -> Callable[[list[Prompt]], list[Answer]]:
    """Open the language model in a worker, and return what answers a chunk of prompts there."""
    model = open_worker()
    if model.identity != identity:
        raise InputError(
            f"compute.ray: a worker has the language model {model.identity}, the process of "
            f"the stage has {identity}; expected the same files on all machines"
        )
    return partial(model.answer, sampling=sampling)
