"""A second opinion: a vision-language model looks at the picture where CLIP's answer matters.

    opinion = SecondOpinion(("http://localhost:8000/v1", "qwen3-vl"))
    model.explain(["new.png"], second_opinion=opinion)[0]

CLIP answers every question and a pursuit is planned. Of the questions on the way the model is
asked about one: a yes first, then an answer that decides, or that CLIP is not sure of. What it says
takes the place of CLIP's answer, with rates of its own, and the pursuit is planned again, until no
such answer is left or `most` questions were put. A third of these are kept for answers of yes that
a changed plan brings. All pictures go on together, one question of each at a time.
It needs `pip install 'infopursuit[pipeline]'`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from infopursuit.clip.embed import cache_folder
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import picture_list
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.answers.table import LEAST_OF_MANY, PSEUDO_IMAGES
from infopursuit.pursuit.explanation import Explanation, question
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.queries.generation import UnusableAnswersError, answer_prompts
from infopursuit.queries.language_models import (
    Answer,
    Cost,
    ImagePrompt,
    LanguageModel,
    Sampling,
    encoded,
    language_model_at,
)
from infopursuit.queries.language_models.vllm_engine import VllmEngine
from infopursuit.queries.parsing import without_thoughts
from infopursuit.queries.templates import load_template
from infopursuit.questions.knowledge import BY_CLIP
from infopursuit.texts.knowledge import KnowledgeTable

logger = logging.getLogger("infopursuit")

MOST, PER_CLASS = 6, 30
# One question in this many is kept for answers of yes.
KEPT_FOR_YES = 3
# An answer other than yes or not sure is worth a question if it moved the probability of the
# class that is predicted by at least this much.
DECIDES = 0.1
# What the model may answer, as answers of a pursuit.
CHOICES = {"no": 0.0, "unclear": NOT_SURE, "yes": 1.0}
# Rates from a knowledge table: how often the model says so of what is true, and cannot say.
RIGHT, UNCLEAR = 0.9, 0.05
# The likeliest answer; one word, with room for a full stop.
SAMPLING = Sampling(temperature=0.0, top_p=1.0, max_tokens=5, seed=0)


class Opinion(NamedTuple):
    """An answer about a picture: in [0, 1], how probable it was, and what it cost."""

    answer: float
    probability: float | None
    cost: Cost | None


class SecondOpinion:
    """A vision-language model, its rates, and the folder where its answers are kept.

    Args:
        model: what `language_model_at` takes (an address; a pair of the address of a server of
            OpenAI's chat completions and the name of a model, or these with more fields of its
            requests), or a `LanguageModel`.
        most: questions put about a picture.
        alone: whether it answers every question, and CLIP none; `most` does not count then.
        images: (pictures, labels) that the rates are estimated from, such as training images; None
            for rates from the knowledge table of the classifier, of the texts that it knows.
        per_class: the most pictures of a class that rates are estimated from.
        kept_in: a folder; None for one in the cache folder.
    """

    def __init__(
        self,
        model: Any,
        most: int = MOST,
        alone: bool = False,
        images: tuple[Any, Any] | None = None,
        per_class: int = PER_CLASS,
        kept_in: str | Path | None = None,
    ) -> None:
        if isinstance(model, str):
            model = language_model_at(model)
        elif isinstance(model, tuple):
            model = language_model_at(*model)
        if isinstance(model, VllmEngine):
            raise InputError(
                "a second opinion: vLLM in this process takes no pictures; expected the address of "
                "a server, such as that of `vllm serve`"
            )
        for name, value in (("most", most), ("per_class", per_class)):
            if isinstance(value, bool) or value != int(value) or value < 1:
                raise InputError(f"{name} is {value!r}; expected a whole number from 1 on")
        self.model: LanguageModel = model
        self.most, self.alone, self.per_class = int(most), alone, int(per_class)
        self.images = None if images is None else (picture_list(images[0]), np.asarray(images[1]))
        self.kept_in = Path(kept_in) if kept_in is not None else cache_folder() / "answers"
        with as_file(files("infopursuit.answerers") / "picture_question.jinja") as path:
            self.template = load_template(path, ["question"])
        self._rates: WeakKeyDictionary[Any, dict[int, Tensor]] = WeakKeyDictionary()
        self._encoded: list[bytes] | None = None

    @property
    def name(self) -> str:
        """What explanations call it."""
        return str((self.model.identity or {}).get("model", "second opinion"))

    def ask(self, asked: Sequence[tuple[bytes, str]]) -> list[Opinion]:
        """Put questions about pictures.

        Args:
            asked: encoded pictures (`encoded`) with queries of a model, or questions.

        Raises:
            InputError: the model cannot be asked, or says neither yes, no nor unclear.
        """
        choices = tuple(CHOICES)
        prompts = [
            ImagePrompt(picture, self.template.render(question=question(query)), choices)
            for picture, query in asked
        ]
        return [_opinion(each) for each in answer_prompts(
            self.model, prompts, SAMPLING, self.kept_in
        )]  # fmt: skip

    # -- explanations -----------------------------------------------------------------------

    def explain(
        self,
        model: Any,
        answers: Float[Tensor, "n k"],
        pictures: Any,
        stop: StoppingRule,
        names: Sequence[str],
        overridden: Sequence[int] = (),
        known: Bool[Tensor, "n k"] | None = None,
    ) -> list[Explanation]:
        """Explain n pictures; a step says if the second opinion answered it (`Step.by`).

        Args:
            model: a fitted PursuitClassifier.
            answers: of CLIP, and of a person to the queries `overridden`.
            pictures: of any kind that `infopursuit.datasets.decoding.to_rgb` takes.
            stop: when to ask no more.
            names: of the pictures.
            overridden: queries whose answers a person gave.
            known: which answers are known before the first question: no one else is asked.
        """
        pursuit: Pursuit = model.pursuit_
        shown = [encoded(each) for each in picture_list(pictures)]
        if len(shown) != len(answers):
            raise InputError(f"{len(shown)} pictures for {len(answers)} rows; expected one each")
        askable = self._askable(model)
        answers, said = answers.clone(), [dict[int, Opinion]() for _ in shown]
        plans = self._plan(model, answers, said, stop, names, overridden, range(len(shown)), known)
        while True:
            wanted = {
                row: query
                for row, plan in plans.items()
                if (query := self._next(pursuit, plan, said[row], askable)) is not None
            }
            if not wanted:
                break
            asked = [(shown[row], pursuit.question(query)) for row, query in wanted.items()]
            for (row, query), opinion in zip(wanted.items(), self.ask(asked), strict=True):
                said[row][query] = opinion
                if opinion.answer != NOT_SURE or pursuit.classifier.table is not None:
                    answers[row, query] = opinion.answer
            plans |= self._plan(model, answers, said, stop, names, overridden, list(wanted), known)
        return [self._signed(pursuit, plans[row], opinions) for row, opinions in enumerate(said)]

    def _askable(self, model: Any) -> Collection[int]:
        """Return the queries that it has rates for.

        Raises:
            InputError: there are none, or some are missing although it is to answer alone.
        """
        everything = range(len(model.queries_))
        if self.images is not None or model.pursuit_.classifier.table is None:
            return everything
        found = {
            query
            for query, known in enumerate(_truths(model, everything).isfinite().any(dim=1).tolist())
            if known
        }
        if not found or (self.alone and len(found) < len(everything)):
            raise InputError(
                f"second_opinion: a knowledge table says something of {len(found)} of the model's "
                f"{len(everything)} questions; expected a model with a table that CLIP did not "
                "draft, or labelled pictures (images; second_opinion.per_class in params.yaml), to "
                "estimate how often the second opinion says yes in each class"
            )
        return found

    def _next(
        self,
        pursuit: Pursuit,
        plan: Explanation,
        said: Mapping[int, Opinion],
        askable: Collection[int],
    ) -> int | None:
        """Return the query to put next; None if no answer on the way is worth a question."""
        if len(said) >= self.most and not self.alone:
            return None
        others = self.alone or len(said) < self.most - self.most // KEPT_FOR_YES
        winner, before = plan.top_classes(1)[0], plan.prior
        worth: dict[int, float] = {}
        for step in plan.steps:
            query = pursuit.number(step.query)
            moved = abs(step.posterior[winner] - before[winner])
            before = step.posterior
            if query in said or step.overridden or query not in askable:
                continue
            if self.alone:
                return query
            if step.yes or (others and (step.answer == NOT_SURE or moved >= DECIDES)):
                # A false yes misleads a reader most; then comes what decides.
                worth[query] = moved + step.yes
        return max(worth, key=worth.__getitem__) if worth else None

    def _plan(
        self,
        model: Any,
        answers: Tensor,
        said: Sequence[Mapping[int, Opinion]],
        stop: StoppingRule,
        names: Sequence[str],
        overridden: Sequence[int],
        rows: Sequence[int],
        known: Tensor | None,
    ) -> dict[int, Explanation]:
        """Explain some rows, those together of which the same queries have a second opinion."""
        groups: dict[frozenset[int], list[int]] = {}
        for row in rows:
            everything = frozenset(range(answers.shape[1])) if self.alone else frozenset(said[row])
            given = () if known is None else known[row].nonzero().squeeze(1).tolist()
            groups.setdefault(everything.difference(overridden, given), []).append(row)
        plans = {}
        for queries, members in groups.items():
            pursuit = self._with_rates(model, sorted(queries))
            explained = pursuit.explain(
                answers[members],
                stop,
                [names[row] for row in members],
                overridden=overridden,
                known=None if known is None else known[members],
            )
            plans |= dict(zip(members, explained, strict=True))
        return plans

    def _signed(
        self, pursuit: Pursuit, plan: Explanation, said: Mapping[int, Opinion]
    ) -> Explanation:
        """Return an explanation that says who answered, and what it cost."""
        queries = [pursuit.number(step.query) for step in plan.steps]
        steps = tuple(
            replace(step, by=self.name) if query in said else step
            for step, query in zip(plan.steps, queries, strict=True)
        )
        costs = [each.cost for each in said.values() if each.cost is not None]
        seconds = [each.seconds for each in costs if each.seconds is not None]
        return replace(
            plan,
            steps=steps,
            second_opinion={
                "model": self.name,
                "questions": len(said),
                "calls": len(seconds),
                "tokens": sum(each.tokens_read + each.tokens_written for each in costs),
                "seconds": round(sum(seconds), 3),
            },
        )

    # -- rates ------------------------------------------------------------------------------

    def _with_rates(self, model: Any, queries: Sequence[int]) -> Pursuit:
        """Return the pursuit in which this model answers some queries, with rates of its own."""
        pursuit: Pursuit = model.pursuit_
        classifier, querier = pursuit.classifier, pursuit.querier
        if not queries or classifier.table is None:
            return pursuit
        table = classifier.table
        rates = self.rates(model, queries).to(table.log_prior)
        levels = torch.full_like(table.log_likelihood[:, queries], LEAST_OF_MANY)
        levels[0], levels[-1] = rates[0], rates[2]
        if table.levels % 2:
            levels[table.levels // 2] = rates[1]
        changed = table.log_likelihood.clone()
        changed[:, queries] = (levels / levels.sum(dim=0)).log()
        table = replace(table, log_likelihood=changed)
        if isinstance(querier, InformationGain):
            querier = querier.on(table)
        return replace(pursuit, classifier=NaiveBayes(table), querier=querier)

    def rates(self, model: Any, queries: Sequence[int]) -> Float[Tensor, "3 m c"]:
        """Return how probable no, unclear and yes are in each class, for m queries."""
        kept = self._rates.setdefault(model, {})
        missing = [query for query in queries if query not in kept]
        if missing:
            make = _rates_of_table if self.images is None else self._rates_of_images
            found = make(model, missing)
            kept |= {query: found[:, place] for place, query in enumerate(missing)}
        return torch.stack([kept[query] for query in queries], dim=1)

    def _rates_of_images(self, model: Any, queries: Sequence[int]) -> Float[Tensor, "3 m c"]:
        """Ask about up to `per_class` images of each class."""
        assert self.images is not None
        pictures, labels = self.images
        rows = []
        for label in model.classes_:
            of_class = np.flatnonzero(labels == label)[: self.per_class]
            if not len(of_class):
                raise InputError(f"no image of the class {label!r} to estimate rates from")
            rows.append(of_class)
        if self._encoded is None:
            self._encoded = [b""] * len(pictures)
            for row in np.concatenate(rows):
                self._encoded[row] = encoded(pictures[row])
        texts = [model.pursuit_.question(query) for query in queries]
        asked = [(self._encoded[row], text) for text in texts for row in np.concatenate(rows)]
        values = torch.tensor([each.answer for each in self.ask(asked)]).view(len(texts), -1)
        counts = torch.stack([
            torch.stack([(part == value).sum(dim=1) for value in CHOICES.values()])
            for part in values.split([len(each) for each in rows], dim=1)
        ], dim=2).double()  # fmt: skip
        overall = (counts.sum(dim=2, keepdim=True) + 1) / (counts.sum(dim=(0, 2)) + 3)[:, None]
        smooth = counts + PSEUDO_IMAGES * overall
        return smooth / smooth.sum(dim=0)


def _truths(model: Any, queries: Sequence[int]) -> Float[Tensor, "m c"]:
    """Return what the knowledge table of the classifier says; NaN if it says nothing.

    A table that the CLIP drafted says what the CLIP sees, not what another model will say.
    """
    known: KnowledgeTable | None = model.knowledge_
    if known is None or model.provenance_.get("knowledge") == BY_CLIP:
        return torch.full((len(queries), len(model.classes_)), torch.nan)
    texts = [model.queries_[query] for query in queries]
    return torch.from_numpy(
        known.for_classes_and_texts(list(model.pursuit_.class_names), texts)
    ).T.double()


def _rates_of_table(model: Any, queries: Sequence[int]) -> Float[Tensor, "3 m c"]:
    """Return rates from what is known; a class of which it is not gets the mean of the others."""
    true = _truths(model, queries)
    share = torch.where(true.isnan(), true.nanmean(dim=1, keepdim=True), true)
    wrong = 1 - RIGHT - UNCLEAR
    yes = wrong + (RIGHT - wrong) * share
    return torch.stack([1 - yes - UNCLEAR, torch.full_like(yes, UNCLEAR), yes])


def _opinion(answer: Answer) -> Opinion:
    words = without_thoughts(answer.text)[1].strip().strip(".!*\"'").lower().split()
    word = words[0].strip(".,;:!*\"'") if words else ""
    if word not in CHOICES:
        raise UnusableAnswersError(
            f"the second opinion was {answer.text[:80]!r}; expected {', '.join(CHOICES)}",
            [answer],
            {},
        )
    return Opinion(CHOICES[word], answer.probability, answer.cost)
