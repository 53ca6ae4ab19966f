"""What a language model adds to a fit: questions for the classes, and what is true of them.

It is asked two things, and never sees an image:

1. questions that tell these classes apart, which join the texts that are there;
2. the knowledge table, of those texts alone that the images make candidates.

Answers are kept, so that a stopped fit goes on where it was and nothing is asked twice. If they are
of no use, or none comes, the rest is not asked, and the fit goes on as it would without a language
model.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.generation.answering import ASK_ANOTHER, RETRIES, UnusableAnswersError
from infopursuit.generation.class_knowledge import (
    NEEDED,
    OFFERED,
    TEXTS_PER_PROMPT,
    ask_knowledge,
    knowledge_pattern,
    most_prompts_for,
    prompts_for,
    tells_classes_apart,
)
from infopursuit.generation.class_queries import TOKENS_PER_QUERY, VARIABLES, ask_dictionary
from infopursuit.generation.language_models import (
    LanguageModel,
    NotRecordedError,
    Sampling,
    language_model_at,
)
from infopursuit.generation.language_models.openai_server import NoAnswerError
from infopursuit.generation.language_models.vllm_engine import VllmEngine
from infopursuit.generation.parsing import answer_pattern
from infopursuit.generation.templates import PromptTemplate, load_template
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.normalization import distinct
from infopursuit.texts.vocabulary import visual_vocabulary

logger = logging.getLogger("infopursuit")

# Texts of which the knowledge table is asked. With 1,000 of 1,612 texts three data sets
# lose nothing against a table of all (docs/your-data/truth.md).
CANDIDATES = 1000
# How answers are drawn, as in params.yaml.
TEMPERATURE, TOP_P, MAX_TOKENS, SEED = 0.7, 0.95, 400, 0
# Fields of a request that limit the tokens of an answer.
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
# English text has about this many characters a token.
CHARACTERS_PER_TOKEN = 4


class LanguageModelHelp:
    """A language model with its three prompts, and the folder where answers are kept.

    Args:
        model: a `LanguageModel`; or what `language_model_at` takes: an address, or a pair of the
            address of a server and the name of a model, or these with more fields of its requests.
        kept_in: a folder.

    Attributes:
        of_no_use: why the language model is asked no more; None if its answers can be used.
    """

    def __init__(self, model: Any, kept_in: str | Path) -> None:
        if isinstance(model, str):
            model = language_model_at(model)
        elif isinstance(model, tuple):
            model = language_model_at(*model)
        self.model: LanguageModel = model
        self.kept_in = Path(kept_in)
        self.of_no_use: str | None = None
        self.class_queries = _prompt("class_queries", VARIABLES)
        self.class_knowledge = _prompt("class_knowledge", NEEDED, OFFERED)

    def announce(self, classes: Sequence[str], k: int, texts: int, questions: bool = True) -> str:
        """Return how many calls and tokens a fit takes at most.

        Args:
            classes: the names.
            k: the size of the dictionary.
            texts: how many there are to choose from.
            questions: whether the model is asked for questions, too.
        """
        table = len(classes), min(CANDIDATES, texts)
        knowledge = most_prompts_for(*table)
        question_calls = int(questions) * (1 + RETRIES)
        useful = int(questions) + prompts_for(*table)
        batch = visual_vocabulary()[:TEXTS_PER_PROMPT]
        rendered = (
            (question_calls, self.class_queries.render(classes=list(classes), k=k)),
            (knowledge, self.class_knowledge.render(
                class_name=classes[0], texts=batch, classes=list(classes))),
        )  # fmt: skip
        read = sum(calls * len(prompt) for calls, prompt in rendered) // CHARACTERS_PER_TOKEN
        extra = (self.model.identity or {}).get("extra", {})
        own = next((extra[each] for each in TOKEN_LIMITS if isinstance(extra.get(each), int)), 0)
        written = question_calls * (own or max(k * TOKENS_PER_QUERY, MAX_TOKENS))
        written += knowledge * (own or MAX_TOKENS)
        parts = f"{f'questions {question_calls}, ' * questions}knowledge {knowledge:,}"
        return (
            f"the language model is asked at most {question_calls + knowledge:,} times "
            f"({parts}), {useful:,} times if all its answers can be used: it reads about {read:,} "
            f"tokens at most and writes at most {written:,}; requests that a server refuses or "
            f"does not answer are sent again; answers are kept in {self.kept_in}"
        )

    def questions(self, classes: Sequence[str], k: int) -> list[str]:
        """Return up to k questions for these classes; none if its answers are of no use."""
        sampling = self._sampling(answer_pattern(self.class_queries.text, k))
        arguments = (classes, k, sampling, self.kept_in)
        try:
            return ask_dictionary(self.model, self.class_queries, *arguments, least=1)
        except NotRecordedError as error:  # what is true of the texts may be recorded
            logger.warning("%s", error)
            return []
        except (UnusableAnswersError, NoAnswerError) as error:
            self.of_no_use = str(error)
            return []

    def knowledge(self, classes: Sequence[str], texts: Sequence[str]) -> KnowledgeTable:
        """Return the knowledge table of these classes and texts."""
        sampling = self._sampling(knowledge_pattern())
        arguments = (classes, distinct(texts), sampling, self.kept_in)
        return ask_knowledge(self.model, self.class_knowledge, *arguments).knowledge

    def _sampling(self, pattern: str) -> Sampling:
        """Return how answers are drawn; only vLLM is known to keep to a pattern."""
        form = pattern if isinstance(self.model, VllmEngine) else None
        return Sampling(TEMPERATURE, TOP_P, MAX_TOKENS, SEED, form)

    def fit(self, model: Any, X: Any, y: Any, **teaching: Any) -> None:
        """Ask for the knowledge of the candidates among a model's texts; fit.

        If answers are of no use, or none comes, an error is logged, and the model is fitted without
        it; `provenance_["language_model"]` says why.

        Args:
            model: a classifier that is not fitted, with texts and without knowledge. Its texts
                become the candidates, whose scores stay relative to all texts that it had.
            X: (n, d) embeddings.
            y: (n,) labels.
            teaching: `annotations`, as `fit` takes them.
        """
        try:
            if self.of_no_use is None:
                self._fit(model, X, y, teaching)
        except (UnusableAnswersError, NoAnswerError, NotRecordedError) as error:
            self.of_no_use = str(error)
        identity = dict(self.model.identity or {})
        if self.of_no_use is not None:
            identity["of_no_use"] = self.of_no_use
            model.fit(X, y, **teaching)
            logger.error(
                "the language model is asked no more, the model is fitted as without it: %s",
                self.of_no_use,
            )
        model.provenance_["language_model"] = identity

    def _fit(self, model: Any, X: Any, y: Any, teaching: Mapping[str, Any]) -> None:
        classes = [str(each) for each in np.unique(np.asarray(y))]
        candidates = model.candidates(X, y, CANDIDATES)
        known = self.knowledge(classes, candidates)
        if not tells_classes_apart(known.values):
            logger.warning(
                "the language model says the same of all classes: the model is fitted without its "
                "table; %s",
                ASK_ANOTHER,
            )
            model.fit(X, y, **teaching)
            return
        rows = {text: row for row, text in enumerate(model.texts)}
        everything = np.asarray(model.text_embeddings)
        teaching = {"reference_embeddings": everything, **teaching}
        model.texts = candidates
        model.text_embeddings = everything[[rows[text] for text in candidates]]
        model.knowledge = known.for_classes_and_texts(classes, candidates)
        model.fit(X, y, **teaching)


def _prompt(name: str, needed: Sequence[str], offered: Sequence[str] = ()) -> PromptTemplate:
    with as_file(files("infopursuit.generation") / "prompts" / f"{name}.jinja") as path:
        return load_template(path, needed, offered)
