"""One question to a language model behind a server, before a run puts thousands to it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from importlib.resources import as_file, files
from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.tables import UNIVERSE, read_table
from infopursuit.datasets.image_folders import read_class_names
from infopursuit.pipeline import paths
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries import class_queries
from infopursuit.queries.class_knowledge import (
    NEEDED,
    OFFERED,
    TEXTS_PER_PROMPT,
    Unusable,
    knowledge_pattern,
    parse_knowledge,
    prompts_for,
)
from infopursuit.queries.corpora import has_captions, read_captions
from infopursuit.queries.generation import QUOTED, UnusableAnswersError
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.language_models.openai_server import OpenAIServer
from infopursuit.queries.parsing import without_thoughts
from infopursuit.queries.settings import LanguageModelSettings
from infopursuit.queries.templates import load_template
from infopursuit.texts.knowledge_files import is_prompt
from infopursuit.texts.vocabulary import visual_vocabulary

UNKNOWN = "not known yet"

logger = logging.getLogger("infopursuit")


def ask_servers(params_file: str | Path = "params.yaml", again: bool = True) -> None:
    """Ask the server one question; log what came back, how fast, and what the run will cost.

    Args:
        params_file: the settings.
        again: whether to count what was asked earlier, too; if all was, nothing is asked.

    Raises:
        InputError: the server gives no answer, or one of no use.
    """
    params = load_params(params_file)
    calls, server = text_calls(params, again), params.language_model.openai
    if params.language_model.backend != "openai" or not calls:
        return
    try:
        model = OpenAIServer(server.model_copy(update={"max_retries": 0}))
        started = time.perf_counter()
        said = _ask_text(params.language_model, model)
    except InputError as error:
        raise InputError(f"{params_file}: language_model: {error}") from error
    seconds, total = time.perf_counter() - started, calls.total()
    at_once = server.requests_at_once
    parts = ", ".join(f"{what} {calls[what] or UNKNOWN}" for what in calls)
    alone, together = _duration(total * seconds), _duration(total * seconds / at_once)
    costs = f"for {alone} one after the other, or {together} if it answers {at_once} at once"
    logger.info(
        "language_model: %s at %s answered in %.1f s: %r; a run asks it %s times (%s), %s; what "
        "was asked earlier is kept",
        *(server.model, server.base_url, seconds, said, f"{total:,}", parts, costs),
    )


def text_calls(params: Params, again: bool = True) -> Counter[str]:
    """Return how often a run asks the language model, if all its answers can be used.

    Of captions and classes that a stage is still to make it is 0.
    """
    calls: Counter[str] = Counter()
    queries, most = params.queries, params.language_model.candidates
    for name, path in queries.corpora.items():
        if has_captions(path) and (again or not (paths.QUERIES / f"{name}.parquet").exists()):
            captions = read_captions(path, queries.max_captions) if Path(path).exists() else []
            calls["captions"] += len(captions)
    for name, path in queries.dictionaries.items():
        made = paths.QUERIES / "dictionaries" / f"{name}.txt"
        if class_queries.is_prompt(path) and (again or not made.exists()):
            calls["dictionaries"] += 1
    for name, dataset in params.datasets.items():
        if is_prompt(dataset.knowledge) and (again or not paths.knowledge(name).exists()):
            texts = most or 0
            if paths.TEXTS.exists():
                texts = len(read_table(paths.TEXTS, UNIVERSE, ["text"]))
            texts = min(texts, most or texts)
            calls["knowledge"] += prompts_for(len(_classes(params, name)), texts)
    return calls


def _classes(params: Params, name: str) -> list[str]:
    """Return the classes of a data set; none if a stage is still to make them."""
    given = Path(params.datasets[name].classes), paths.classes(name)
    return next((read_class_names(path) for path in given if path.exists()), [])


def _ask_text(settings: LanguageModelSettings, model: OpenAIServer) -> str:
    """Ask what is true of a dog, in the form in which a run asks of its classes."""
    with as_file(files("infopursuit.queries") / "prompts" / "class_knowledge.jinja") as path:
        template = load_template(path, NEEDED, OFFERED)
    texts = visual_vocabulary()[:TEXTS_PER_PROMPT]
    prompt = template.render(class_name="dog", texts=texts, classes=["dog", "car"])
    pattern = knowledge_pattern() if settings.structured_output else None
    sampling = Sampling(**settings.sampling.model_dump(), pattern=pattern)
    [answer] = model.answer([prompt], sampling)
    known = parse_knowledge(answer, len(texts))
    if isinstance(known, Unusable):
        raise _of_no_use(model, answer, {known.value: 1})
    return " ".join(without_thoughts(answer.text)[1].split())[:QUOTED]


def _of_no_use(
    model: OpenAIServer, answer: Answer, reasons: dict[str, int]
) -> UnusableAnswersError:
    where = f"the answer of {model.settings.model} at {model.base_url} is of no use"
    return UnusableAnswersError(where, [answer], reasons)


def _duration(seconds: float) -> str:
    """Return a time as people say it."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
