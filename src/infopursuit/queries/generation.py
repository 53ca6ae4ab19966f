"""Prompts to answers, kept as they come, so that an interrupted run goes on where it was."""

from __future__ import annotations

import logging
from collections import Counter
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
from infopursuit.queries.language_models import (
    Answer,
    AnswersAsTheyCome,
    LanguageModel,
    Prompt,
    Sampling,
)
from infopursuit.queries.parsing import without_thoughts

logger = logging.getLogger(__name__)

RETRIES = 3
# Characters of an answer that a message shows.
QUOTED = 80
# What helps a model whose thoughts leave no room for an answer.
LET_IT_ANSWER = (
    "a model that thinks first must have that turned off (on most servers reasoning_effort=none) "
    "or more room (max_tokens=4000), by --llm-option or openai.extra"
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
            answer.finish_reason == "length" or not without_thoughts(answer.text)[1].strip()
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

    Chunks are kept whole and always cut alike: a run that was killed asks exactly the chunks that
    it still lacks of those that the uninterrupted run asks, here or on a cluster, and ends with the
    same answers. Of a chunk whose answers come one by one (`AnswersAsTheyCome`), those that came
    are kept, too.
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
    with (
        tqdm(total=len(missing), desc="answers", unit="prompt", disable=None) as progress,
        closing(
            run_shards(
                partial(partial, _answered_here, model, sampling, cache, progress.update)
                if workers is None
                else partial(_opened, workers.open, model.identity, sampling),
                enumerate(chunks),
                workers and workers.cluster,
            )
        ) as finished,
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
            if workers is not None:
                progress.update(len(chunk))
    return [answers[prompt] for prompt in prompts]


def _answered_here(
    model: LanguageModel,
    sampling: Sampling,
    cache: AnswerCache | None,
    count: Callable[[int], Any],
    chunk: list[Prompt],
) -> list[Answer]:
    """Answer a chunk in this process, and keep each answer as it comes if the model can."""
    if cache is None or not isinstance(model, AnswersAsTheyCome):
        given = model.answer(chunk, sampling)
        count(len(chunk))
        return given
    came: dict[int, Answer] = {}
    with cache.one_by_one(chunk) as keep:
        for place, answer in model.answer_one_by_one(chunk, sampling):
            keep(chunk[place], answer)
            came[place] = answer
            count(1)
    return [came[place] for place in sorted(came)]


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
