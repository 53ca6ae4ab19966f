"""Prompts to answers, kept as they come, so that an interrupted run goes on where it was."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.core.executors import Workers, run_shards
from infopursuit.generation.language_models import Answer, LanguageModel, Prompt, Sampling
from infopursuit.generation.language_models.answers import KeptAnswers
from infopursuit.generation.language_models.openai_server import OpenAIServer
from infopursuit.generation.parsing import without_thoughts

logger = logging.getLogger(__name__)

RETRIES = 3
# Characters of an answer that a message shows.
QUOTED = 80
# What helps a model whose thoughts leave no room for an answer.
LET_IT_ANSWER = (
    "a model that thinks first must have that turned off (on most servers reasoning_effort=none) "
    "or more room (max_tokens=4000), by --llm-option or openai.extra; or the server takes answers "
    "for thoughts (vLLM's --reasoning-parser)"
)
ASK_ANOTHER = "take another language model, or a larger one"


class UnusableAnswersError(InputError):
    """A language model gives answers, and they are of no use."""

    def __init__(self, what: str, answers: Sequence[Answer], reasons: Mapping[str, int]) -> None:
        """Say what came and what to set.

        Args:
            what: which answers these are.
            answers: those of no use.
            reasons: why, with how many of them or of their lines.
        """
        endings = dict(Counter(answer.finish_reason for answer in answers))
        text = " ".join(answers[0].text.split()) if answers else "missing"
        start = repr(text if len(text) <= QUOTED else f"{text[:QUOTED]}...")
        lost = any(
            re.search("length|token", answer.finish_reason, re.IGNORECASE)
            or not without_thoughts(answer.text)[1].strip()
            for answer in answers
        )
        super().__init__(
            f"{what}; {f'reasons: {dict(reasons)}, ' if reasons else ''}finish_reason: {endings}, "
            f"the first is {start}; {LET_IT_ANSWER if lost else ASK_ANOTHER}"
        )


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

    Chunks are always cut alike: a run that was killed asks exactly the chunks that it still lacks
    of those that the uninterrupted run asks, here or on a cluster, and ends with the same answers.
    A server's answers are kept one by one.
    """
    distinct = list(dict.fromkeys(prompts))
    answers: dict[Prompt, Answer] = {}
    cache = None
    if model.identity is not None:
        cache = KeptAnswers(kept_in, {"model": dict(model.identity), "sampling": asdict(sampling)})
        answers = cache.load(distinct)
        if answers:
            logger.info("%d of %d answers were kept earlier", len(answers), len(distinct))
    missing = [prompt for prompt in distinct if prompt not in answers]
    with (
        tqdm(total=len(missing), desc="answers", unit="prompt", disable=None) as progress,
        closing(_asked(model, missing, sampling, workers)) as asked,
    ):
        for some, given in asked:
            if len(given) != len(some):
                raise InputError(
                    f"the language model gave {len(given)} answers to {len(some)} prompts"
                )
            if cache is not None:
                cache.add(some, given)
            answers.update(zip(some, given, strict=True))
            progress.update(len(some))
    return [answers[prompt] for prompt in prompts]


def _asked(
    model: LanguageModel,
    prompts: list[Prompt],
    sampling: Sampling,
    workers: Workers[LanguageModel] | None,
) -> Generator[tuple[list[Prompt], list[Answer]]]:
    """Yield prompts with their answers: chunk by chunk, those of a server here one by one."""
    if workers is None and isinstance(model, OpenAIServer):
        with closing(model.answer_one_by_one(prompts, sampling)) as came:
            for place, answer in came:
                yield [prompts[place]], [answer]
        return
    chunks = [prompts[n : n + model.chunk] for n in range(0, len(prompts), model.chunk)]
    start = partial(partial, model.answer, sampling=sampling)
    if workers is not None:
        start = partial(_opened, workers.open, model.identity, sampling)
    with closing(run_shards(start, enumerate(chunks), workers and workers.cluster)) as finished:
        for index, given in finished:
            yield chunks[index], given


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
