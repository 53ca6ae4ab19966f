"""The k queries of a data set's K-LLM dictionary: given as a list, or asked of a language model.

The suffix of an entry of `queries.dictionaries` says which: a list (.txt) is taken as it is; a
prompt (.jinja) is put to the language model of the settings; recorded answers (.jsonl, the format
of `language_models.answers`) hold a prompt and what was answered to it: the file is enough to have
the dictionary of these classes, whatever language model there is. A smaller k takes the first ones.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list, suffix_of
from infopursuit.generation.answering import UnusableAnswersError, answer_prompts, attempts
from infopursuit.generation.language_models import (
    Answer,
    LanguageModel,
    RecordedAnswers,
    Sampling,
    open_language_model,
)
from infopursuit.generation.parsing import parse_answer
from infopursuit.generation.settings import LanguageModelSettings
from infopursuit.generation.templates import PromptTemplate, load_template
from infopursuit.texts.normalization import normalize

logger = logging.getLogger(__name__)

LIST_SUFFIX, PROMPT_SUFFIX = ".txt", ".jinja"
KINDS = {LIST_SUFFIX: "a list", PROMPT_SUFFIX: "a prompt", ".jsonl": "recorded answers"}
VARIABLES = ("classes", "k")
RECORDED_TEMPLATE = "class_queries"

# A line of a list, its number included, rarely takes more.
TOKENS_PER_QUERY = 16


def is_list(path: str | Path) -> bool:
    """Return whether a dictionary is a list to take as it is, not a prompt, by its suffix."""
    return suffix_of(path, "dictionary", KINDS) == LIST_SUFFIX


def is_prompt(path: str | Path) -> bool:
    """Return whether a dictionary is a prompt that the language model of the settings answers."""
    return Path(path).suffix == PROMPT_SUFFIX


def read_dictionary(path: str | Path, k: int) -> list[str]:
    """Read a dictionary given as a list of exactly k texts."""
    texts = read_text_list(path)
    first: dict[str, str] = {}
    for text in texts:
        if first.setdefault(normalize(text), text) != text:
            raise InputError(f"{path}: {first[normalize(text)]!r} and {text!r} are one query")
    if len(texts) != k:
        raise InputError(f"{path}: expected k = {k} queries, one a line, found {len(texts)}")
    return texts


def open_prompt(
    path: str | Path,
    settings: LanguageModelSettings,
    vllm_engine: Mapping[str, Any] | None = None,
    vllm_python: str | None = None,
) -> tuple[LanguageModel, PromptTemplate]:
    """Return the language model of a dictionary, and the prompt to put to it.

    A prompt (.jinja) is put to the language model of the settings; recorded answers bring prompt
    and model themselves (`open_recorded_prompt`).
    """
    if is_prompt(path):
        model = open_language_model(settings, vllm_engine, vllm_python)
        return model, load_template(path, needed=VARIABLES)
    return open_recorded_prompt(path)


def open_recorded_prompt(path: str | Path) -> tuple[RecordedAnswers, PromptTemplate]:
    """Return recorded answers and the prompt that they answer."""
    model = RecordedAnswers(path)
    return model, model.template(RECORDED_TEMPLATE)


def ask_dictionary(
    model: LanguageModel,
    template: PromptTemplate,
    classes: Sequence[str],
    k: int,
    sampling: Sampling,
    kept_in: str | Path,
    least: int | None = None,
) -> list[str]:
    """Return k distinct queries for classes, normalised, none the name of a class.

    If an answer has too few, the model is asked again (see `attempts`), and its new queries join
    those before. In the end fewer than `least` (None for k; of recorded answers one is enough) are
    an `UnusableAnswersError`.
    """
    prompt = template.render(classes=list(classes), k=k)
    names = {normalize(name) for name in classes}
    tries = list(attempts(model, sampling, k * TOKENS_PER_QUERY))
    queries: dict[str, None] = {}
    reasons: Counter[str] = Counter()
    answers: list[Answer] = []
    for drawn in tries:
        [answer] = answer_prompts(model, [prompt], drawn, kept_in)
        answers.append(answer)
        reasons["empty"] += not answer.text.strip()
        concepts, rejected = parse_answer(answer, limit=k)
        reasons.update(line.reason.value for line in rejected)
        reasons["class name"] += sum(concept in names for concept in concepts)
        queries.update(dict.fromkeys(concept for concept in concepts if concept not in names))
        if len(queries) >= k:
            logger.info("%d queries; lines rejected by reason: %s", k, dict(+reasons) or "none")
            return list(queries)[:k]
    if isinstance(model, RecordedAnswers):
        least = 1
    if least is not None and len(queries) >= least:
        rejected = dict(+reasons) or "none"
        logger.info(
            "only %d of k = %d queries; lines rejected by reason: %s", len(queries), k, rejected
        )
        return list(queries)
    raise UnusableAnswersError(
        f"{template.name}: expected k = {k} distinct queries for {len(classes)} classes, found "
        f"{len(queries)} in {len(tries)} answer{'s' * (len(tries) > 1)}",
        answers,
        +reasons,
    )
