"""Prompts to answers, in chunks that are kept, so that an interrupted run goes on where it was."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from infopursuit.errors import InputError
from infopursuit.texts.answer_cache import AnswerCache
from infopursuit.texts.captions import Caption
from infopursuit.texts.language_models import Answer, LanguageModel, Sampling
from infopursuit.texts.templates import PromptTemplate

logger = logging.getLogger(__name__)


def answer_captions(
    model: LanguageModel,
    template: PromptTemplate,
    captions: Sequence[Caption],
    max_concepts: int,
    sampling: Sampling,
    kept_in: str | Path,
) -> list[Answer]:
    """One answer for each caption, in order; see `answer_prompts`.

    The template is filled with the variables `caption` and `max_concepts`.
    """
    prompts = [
        template.render(caption=caption.text, max_concepts=max_concepts) for caption in captions
    ]
    return answer_prompts(model, prompts, sampling, kept_in)


def answer_prompts(
    model: LanguageModel, prompts: Sequence[str], sampling: Sampling, kept_in: str | Path
) -> list[Answer]:
    """One answer for each prompt, in order; only what was never asked before goes to the model.

    Chunks are kept whole and always cut alike, so a run that was killed asks exactly the chunks
    that the uninterrupted run would have asked after that moment, and ends with the same answers.

    Args:
        model: the language model.
        prompts: any number of prompts; equal ones are asked once.
        sampling: how answers are drawn.
        kept_in: folder for the answers so far; not used by a model without an identity.

    Raises:
        InputError: the model cannot answer. Finished chunks are kept.
    """
    distinct = list(dict.fromkeys(prompts))
    cache = None
    answers: dict[str, Answer] = {}
    if model.identity is not None:
        cache = AnswerCache(kept_in, {"model": dict(model.identity), "sampling": asdict(sampling)})
        answers = cache.load(distinct)
        if answers:
            logger.info("%d of %d answers were kept earlier", len(answers), len(distinct))
    missing = [prompt for prompt in distinct if prompt not in answers]
    with tqdm(total=len(missing), desc="answers", unit="prompt", disable=None) as progress:
        for start in range(0, len(missing), model.chunk):
            chunk = missing[start : start + model.chunk]
            found = model.answer(chunk, sampling)
            if len(found) != len(chunk):
                raise InputError(
                    f"the language model gave {len(found)} answers to {len(chunk)} prompts"
                )
            if cache is not None:
                cache.add(chunk, found)
            answers.update(zip(chunk, found, strict=True))
            progress.update(len(chunk))
    return [answers[prompt] for prompt in prompts]
