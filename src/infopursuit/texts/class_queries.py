"""The k queries of a data set's K-LLM dictionary: asked of a language model, or given as a list."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from infopursuit.errors import InputError
from infopursuit.text_lists import read_text_list
from infopursuit.texts.generation import answer_prompts
from infopursuit.texts.language_models import LanguageModel, Sampling
from infopursuit.texts.normalization import normalize
from infopursuit.texts.parsing import parse_answer
from infopursuit.texts.templates import PromptTemplate

logger = logging.getLogger(__name__)

RETRIES = 3
# A line of a list, its number included, rarely takes more.
TOKENS_PER_QUERY = 16


def read_dictionary(path: str | Path, k: int) -> list[str]:
    """A dictionary given as a list of exactly k texts.

    Raises:
        InputError: the list cannot be read, or has another number of texts.
    """
    texts = read_text_list(path)
    if len(texts) != k:
        raise InputError(f"{path}: expected k = {k} queries, one a line, found {len(texts)}")
    return texts


def ask_dictionary(
    model: LanguageModel,
    template: PromptTemplate,
    classes: Sequence[str],
    k: int,
    sampling: Sampling,
    kept_in: str | Path,
) -> list[str]:
    """Exactly k distinct queries for classes, normalised, none of them the name of a class.

    Where an answer has too few, the model is asked again with the next seed, up to three times,
    and its new queries join those before. A recorded model always answers alike and is asked once.

    Args:
        model: the language model.
        template: a prompt with the variables `classes` and `k`.
        classes: names of the classes.
        k: the number of queries.
        sampling: how answers are drawn; answers may be longer than its `max_tokens` where k
            queries need that.
        kept_in: folder for the answers so far.

    Raises:
        InputError: the model cannot answer, or gives fewer than k queries.
    """
    prompt = template.render(classes=list(classes), k=k)
    names = {normalize(name) for name in classes}
    longest = max(sampling.max_tokens, k * TOKENS_PER_QUERY)
    tries = 1 if model.identity is None else 1 + RETRIES
    queries: dict[str, None] = {}
    reasons: Counter[str] = Counter()
    for attempt in range(tries):
        drawn = replace(sampling, max_tokens=longest, seed=sampling.seed + attempt)
        [answer] = answer_prompts(model, [prompt], drawn, kept_in)
        concepts, rejected = parse_answer(answer, limit=k)
        reasons.update(line.reason.value for line in rejected)
        reasons["class name"] += sum(concept in names for concept in concepts)
        queries.update(dict.fromkeys(concept for concept in concepts if concept not in names))
        if len(queries) >= k:
            logger.info("%d queries; lines rejected by reason: %s", k, dict(+reasons) or "none")
            return list(queries)[:k]
    raise InputError(
        f"{template.name}: expected k = {k} distinct queries for {len(classes)} classes, found "
        f"{len(queries)} in {tries} answer{'s' * (tries > 1)}; lines rejected by reason: "
        f"{dict(+reasons) or 'none'}"
    )
