"""Texts of a CLIP as questions: those whose answers tell most of the classes of training images."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.files import settings_sha256
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.directions import TextDirections, score_scatter
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.answers.thresholds import THRESHOLD_IMAGES, ThresholdFit
from infopursuit.pursuit.naive_bayes.model import InformationGain, RedundantQuestions
from infopursuit.pursuit.naive_bayes.selection import (
    CandidateTexts,
    MeasuredTexts,
    SupervisedConcepts,
    candidate_rows,
    informative_rows,
    measured_texts,
)
from infopursuit.pursuit.naive_bayes.training_set import (
    SCREENED_IMAGES,
    InMemorySet,
    TrainingSet,
)
from infopursuit.questions.annotations import fit_annotations
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.knowledge import (
    BY_CLIP,
    OBEYED,
    TRUE_OF_A_CLASS,
    Asked,
    ClassKnowledge,
    Knowledge,
    TextWeights,
)
from infopursuit.questions.one_clip import MOST, warn_unless_one_clip
from infopursuit.questions.source import SOURCES, Questions, QuestionSource
from infopursuit.texts.asking import questions
from infopursuit.texts.class_kinds import comparable_texts
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.text_table import (
    TextTable,
    check_among,
    check_room,
    fixed_rows,
    not_banned,
    refuse_banned,
    warn_of_equal_embeddings,
    warn_of_idle_bans,
)
from infopursuit.texts.wording import related_texts

logger = logging.getLogger(__name__)


class TextSource(QuestionSource):
    """The texts of a universe.

    Args:
        texts: with their embeddings, of the CLIP that embeds the images.
        knowledge: what is known of classes and texts; None if nothing is.
        reference: (v, d) of the texts that scores are relative to; None for `texts`.
        annotated: texts that follow the answers of people; None if there are none.
    """

    kind: ClassVar[str] = "texts"

    def __init__(
        self,
        texts: TextTable,
        knowledge: Knowledge | None = None,
        reference: UnitMatrix | None = None,
        annotated: SupervisedConcepts | None = None,
    ) -> None:
        self.texts, self.knowledge = texts, knowledge
        self.width = texts.unit_matrix.width
        self.relative_to = reference
        self.reference = texts.unit_matrix if reference is None else reference
        self.annotated = annotated
        self._known: ClassKnowledge | None = None
        self._draft: Any = None  # what it may change, once that is settled

    @classmethod
    def of(
        cls, texts: Any, embeddings: Any, knowledge: Any, reference: Any, ban: Sequence[str]
    ) -> TextSource:
        """Return the source of settings; warn of idle bans, and of texts with equal embeddings.

        Args:
            texts: (u,) the texts.
            embeddings: (u, d).
            knowledge: as the classifier takes it.
            reference: (v, d) of the texts that scores are relative to; None for `texts`.
            ban: texts or words that no question may contain.
        """
        if reference is not None:
            reference = UnitMatrix(reference, "reference_embeddings")
        source = cls(TextTable.from_arrays(texts, embeddings), Knowledge.of(knowledge), reference)
        warn_of_idle_bans(source.texts.texts, ban)
        warn_of_equal_embeddings(source.texts)
        return source

    @staticmethod
    def check_settings(
        texts: Sequence[str], knowledge: Any, labels: Any, constraints: QuestionConstraints
    ) -> None:
        """Check what needs no embeddings.

        Raises:
            InputError: a setting names no text, or knows nothing of these classes.
        """
        required_questions(TextTable.from_arrays(texts, np.ones((len(texts), 1))), constraints)
        warn_of_idle_bans(texts, constraints.ban)
        known = Knowledge.of(knowledge)
        if known is not None and not known.drafted:
            ClassKnowledge(known.given, np.unique(labels), texts)

    def taught(
        self, annotations: Mapping[str, Any], y: Any, data: InMemorySet, seed: int
    ) -> TextSource:
        """Return the same with what people say of single images, and the texts that they added."""
        if not annotations:
            return self
        rows, within = cast(UnitMatrix, data.rows), data.moments.discounted
        texts, annotated = fit_annotations(
            annotations, self.texts, self.reference, rows, np.asarray(y), within, seed
        )
        return TextSource(texts, self.knowledge, self.relative_to, annotated)

    def check_rows(self, data: TrainingSet, seed: int) -> None:
        """Warn if texts and images seem to be of two CLIPs."""
        warn_unless_one_clip(self.texts, data.sample(MOST, seed))

    def chosen(self, data: TrainingSet, constraints: QuestionConstraints, seed: int) -> list[str]:
        """Return the texts that `choose` chooses."""
        chooser = self.on(data, constraints, seed)
        return self.texts.named(chooser.rows(constraints, seed))

    def candidates(
        self, data: TrainingSet, constraints: QuestionConstraints, seed: int, count: int
    ) -> list[str]:
        """Return at most `count` texts that tell most alone, after those that are asked anyway."""
        chooser = TextsOnImages(self, data, self.known(data))
        return self.texts.named(chooser.candidate_rows(count, constraints, seed))

    def known(self, data: TrainingSet) -> ClassKnowledge | None:
        """Return what is known of the classes, read or drafted by the CLIP; None for nothing."""
        if self.knowledge is None or self._known is not None:
            return self._known
        table, weight = self.knowledge.given, self.knowledge.unexplained_weight
        if self.knowledge.drafted:  # a draft is of these images
            from infopursuit.questions.draft import drafted_knowledge

            texts = self.texts
            return drafted_knowledge(data, texts.texts, texts.unit_matrix, self.reference)
        if self.annotated is not None and not isinstance(table, KnowledgeTable | str | Path):
            table = np.asarray(table, dtype=np.float32)  # of a text that people added: nothing
            missing = max(len(self.texts.texts) - table.shape[-1], 0)
            table = np.pad(table, ((0, 0), (0, missing)), constant_values=np.nan)
        weights = OBEYED._replace(beyond=weight)
        self._known = ClassKnowledge(table, data.classes, self.texts.texts, weights)
        if self._known.coverage is not None:
            logger.info("%s", self._known.coverage)
        return self._known

    def on(self, data: TrainingSet, constraints: QuestionConstraints, seed: int) -> TextsOnImages:
        """Return the texts as these images answer them; a draft has to earn its place first."""
        known = self.known(data)
        texts = TextsOnImages(self, data, known)
        if known is None or not known.drafted:
            return texts
        from infopursuit.questions.draft import earned_on

        if self._draft is None:
            allowed = texts.measurable(constraints, seed)
            shown = data.to_screen().sample(SCREENED_IMAGES, seed)
            self._draft = earned_on(shown, partial(self._ways_to_ask, allowed, constraints, seed))
            logger.info("%s", self._draft)
        weights = self._draft.weights
        if weights is None:
            return TextsOnImages(self, data, None, drafted=known)
        return texts.weighted(weights)

    def _ways_to_ask(
        self,
        allowed: Bool[Tensor, " u"],
        constraints: QuestionConstraints,
        seed: int,
        ladder: Sequence[TextWeights],
        rest: InMemorySet,
    ) -> list[Callable[[InMemorySet], Asked]]:
        """Return what asks other images the questions that some choose.

        Without a draft and with it, by each of the weights.
        """
        drafted = TextsOnImages(self, rest, self.known(rest), allowed)
        texts = [TextsOnImages(self, rest, None, allowed), *map(drafted.weighted, ladder)]
        return [partial(each.asked_of, constraints, seed) for each in texts]

    def choose(self, data: TrainingSet, constraints: QuestionConstraints, seed: int) -> Questions:
        """Choose the texts, and fit how images answer them."""
        return self.on(data, constraints, seed).questions(constraints, seed)

    def wording(self, queries: Sequence[str], class_names: Sequence[str]) -> tuple[str, ...]:
        """Return the questions in words that suit the classes, if something is known of these."""
        alike = comparable_texts(class_names, queries) if self.knowledge is not None else None
        return questions(queries, alike) if alike else ()

    def facts(self, queries: Sequence[str]) -> dict[str, Any]:
        """Return how many texts there were, what tells them from others, and who was asked."""
        texts = self.texts.texts
        facts: dict[str, Any] = {
            "texts": len(texts),
            "texts_sha256": settings_sha256({"texts": list(texts)}),
        }
        if self.annotated is not None:
            of_text = {texts[row]: fitted for row, fitted in self.annotated.facts.items()}
            facts["annotated"] = {query: of_text[query] for query in queries if query in of_text}
        if self.knowledge is not None and self.knowledge.drafted:
            facts["knowledge"] = BY_CLIP
        if self._draft is not None:
            facts["draft"] = self._draft.facts()
        return facts

    def scatter(self, data: TrainingSet) -> float:
        """Return how much scores differ among images."""
        return score_scatter(self.texts.unit_matrix, data.moments.total)


SOURCES.register(TextSource)


def required_questions(
    texts: TextTable, constraints: QuestionConstraints
) -> tuple[Bool[Tensor, " u"], Int[Tensor, " m"], Int[Tensor, " k"] | None]:
    """Return which texts are not banned, the rows to keep, and those of the dictionary if given.

    Needs no embeddings.
    """
    allowed = not_banned(texts.texts, constraints.ban)
    fixed = fixed_rows(texts, constraints.first, constraints.keep, allowed)
    if constraints.queries is None:
        check_room(len(fixed), constraints.n_queries)
        return allowed, fixed, None
    rows = texts.rows(constraints.queries)
    refuse_banned([texts.texts[row] for row in rows.tolist()], allowed[rows])
    check_among(texts, fixed, rows)
    return allowed, fixed, rows


class TextsOnImages:
    """The texts of a source, measured on training images."""

    def __init__(
        self,
        source: TextSource,
        data: TrainingSet,
        known: ClassKnowledge | None,
        allowed: Bool[Tensor, " u"] | None = None,
        drafted: ClassKnowledge | None = None,
    ) -> None:
        """Set up what chooses texts.

        Args:
            source: of the texts.
            data: that they are measured on.
            known: of the classes; None for nothing.
            allowed: which texts may be chosen; None for all.
            drafted: a draft that changes nothing, and tells how far words go; None without one.
        """
        self.source, self.texts, self.data = source, source.texts, data
        self.known, self.allowed, self._said = known, allowed, known or drafted
        truth = shares = weights = None
        if known is not None:
            truth, shares = known.truth, known.true_shares(data.moments.prior)
            # Weights are tried on texts that are measured once: they are not screened by them.
            weights = None if known.drafted else known.query_weights
        thresholds = ThresholdFit(True, shares, known is not None and known.drafted)
        self.candidates = CandidateTexts(
            self.texts.unit_matrix,
            TextDirections(source.reference, data.moments.discounted, len(data.classes), truth),
            # Texts chosen by three answers tell more early (lab/findings.md, "Five answers").
            thresholds._replace(certain=False),
            weights,
            self.texts.shared(),
            source.annotated,
        )
        self.asked = replace(self.candidates, thresholds=thresholds)
        self._measured: dict[tuple[int, int, bytes], MeasuredTexts] = {}

    def weighted(self, weights: TextWeights) -> TextsOnImages:
        """Return the same, drafted, with other weights of information; measured once for all."""
        assert self.known is not None
        reweighted = copy(self)
        reweighted.known = copy(self.known)
        reweighted.known.weights = weights
        return reweighted

    def measurable(self, constraints: QuestionConstraints, seed: int) -> Bool[Tensor, " u"]:
        """Return which texts are measured: those that tell most alone, if there are very many."""
        count, allowed, _ = self._eligible(constraints)
        measured = torch.zeros_like(allowed)
        measured[self._informative(count, seed, allowed).rows] = True
        return measured

    def asked_of(self, constraints: QuestionConstraints, seed: int, others: InMemorySet) -> Asked:
        """Ask other images the questions that these choose."""
        chosen = self.rows(constraints, seed)
        rule, auroc = self._answered(chosen, seed)
        querier = self._querier(chosen, auroc, self.data.table(rule))
        answers = rule.answers(others.rows.tensor())
        fitting = torch.zeros(len(self.data.classes), len(chosen), dtype=torch.bool)
        if self.known is not None:
            fitting = self.known.values[:, chosen] >= TRUE_OF_A_CLASS
        return Asked(querier, answers, others.labels, fitting)

    def rows(self, constraints: QuestionConstraints, seed: int) -> Int[Tensor, " k"]:
        """Return the rows of the questions given, or of the most informative and those to keep."""
        rows = required_questions(self.texts, constraints)[2]
        if rows is not None:
            return self._distinct(rows, constraints)
        count, allowed, fixed = self._eligible(constraints)
        chosen = self._chosen(count, seed, allowed)
        others = chosen[~torch.isin(chosen, fixed)]
        if len(fixed) + len(others) > count:  # chosen again, without those that are kept anyway
            allowed[fixed] = False
            room = count - len(fixed)
            others = self._chosen(room, seed, allowed) if room else others[:0]
        return torch.cat([fixed, others]).sort().values

    def _eligible(
        self, constraints: QuestionConstraints
    ) -> tuple[int, Bool[Tensor, " u"], Int[Tensor, " m"]]:
        """Return how many texts to choose, which may be chosen, and the rows to keep."""
        allowed, fixed, _ = required_questions(self.texts, constraints)
        fixed = self._distinct(fixed, constraints)
        allowed &= self._first_of_equals(fixed)
        is_fixed = torch.isin(torch.arange(len(allowed)), fixed)
        if self.allowed is not None:
            allowed &= self.allowed | is_fixed
        return min(constraints.n_queries, int(allowed.sum())), allowed, fixed

    def _chosen(self, count: int, seed: int, allowed: Bool[Tensor, " u"]) -> Int[Tensor, " k"]:
        if self.known is None or not self.known.drafted:
            return informative_rows(self.candidates, self.data, count, seed, allowed)
        generator = torch.Generator().manual_seed(seed)
        measured = self._informative(count, seed, allowed)
        return measured.chosen(count, generator, self.known.query_weights)

    def _informative(self, count: int, seed: int, allowed: Bool[Tensor, " u"]) -> MeasuredTexts:
        key = count, seed, allowed.numpy().tobytes()
        if key not in self._measured:
            generator = torch.Generator().manual_seed(seed)
            self._measured[key] = measured_texts(
                self.candidates, self.data, count, generator, allowed
            )
        return self._measured[key]

    def _distinct(
        self, rows: Int[Tensor, " m"], constraints: QuestionConstraints
    ) -> Int[Tensor, " n"]:
        """Return rows less those with the embedding of another; the first question stays."""
        in_order = rows.tolist()
        if constraints.first is not None:
            in_order = [int(self.texts.rows([constraints.first])[0]), *in_order]
        of_embedding: dict[int, int] = {}
        for row in in_order:
            of_embedding.setdefault(int(self.texts.first_alike[row]), row)
        return rows[torch.isin(rows, torch.tensor(list(of_embedding.values()), dtype=torch.long))]

    def _first_of_equals(self, fixed: Int[Tensor, " m"]) -> Bool[Tensor, " u"]:
        """Return which texts have an embedding of their own, or are asked for all that share it."""
        first = self.texts.first_alike
        own = first == torch.arange(len(first))
        own[first[fixed]] = False
        own[fixed] = True
        return own

    def candidate_rows(
        self, count: int, constraints: QuestionConstraints, seed: int
    ) -> Int[Tensor, " m"]:
        """Return the rows of the most informative texts, and of those that are asked anyway."""
        texts = self.texts
        allowed = not_banned(texts.texts, constraints.ban)
        fixed = fixed_rows(texts, constraints.first, constraints.keep, allowed)
        if constraints.queries is not None:
            fixed = torch.cat([fixed, texts.rows(constraints.queries)])
        fixed = self._distinct(fixed, constraints)
        allowed &= self._first_of_equals(fixed)
        most = candidate_rows(
            self.candidates, self.data, count, constraints.n_queries, seed, allowed
        )
        others = most[~torch.isin(most, fixed)][: max(count - len(fixed), 0)]
        return torch.cat([fixed, others]).unique()

    def questions(self, constraints: QuestionConstraints, seed: int) -> Questions:
        """Choose the questions, and fit how images answer them."""
        chosen = self.rows(constraints, seed)
        rule, auroc = self._answered(chosen, seed)
        place, facts = None, {}
        if constraints.first is not None:
            place = chosen.tolist().index(int(self.texts.rows([constraints.first])[0]))
        if auroc is not None:
            shares = auroc.tolist()
            facts["auroc_by_knowledge"] = [
                None if np.isnan(share) else round(share, 4) for share in shares
            ]
        return Questions(
            [self.texts.texts[row] for row in chosen.tolist()],
            rule,
            place,
            querier=partial(self._querier, chosen, auroc),
            knowledge=None if self._said is None else self._said.table,
            facts=facts,
            explained=None if self._said is None else partial(self._said.explained, chosen),
        )

    def _answered(
        self, chosen: Int[Tensor, " k"], seed: int
    ) -> tuple[AnswerRule, Float[Tensor, " k"] | None]:
        sample = self.data.sample(THRESHOLD_IMAGES, seed)
        images = sample.rows.tensor()
        rule, auroc = self.asked.answer_rule(chosen, images, sample.labels, sample.weights)
        return rule, None if self.known is None else auroc

    def _querier(
        self, chosen: Int[Tensor, " k"], auroc: Float[Tensor, " k"] | None, table: AnswerTable
    ) -> InformationGain:
        known = self.known
        weights = None if known is None else known.query_weights(chosen, auroc, table)
        related = related_texts([self.texts.texts[row] for row in chosen.tolist()])
        pairs = torch.tensor(related).long().reshape(-1, 3)
        if known is not None:
            pairs = torch.cat([pairs, known.implied(chosen, table)]).unique(dim=0)
        redundant = RedundantQuestions(pairs, len(chosen)) if len(pairs) else None
        return InformationGain(table, weights, redundant)
