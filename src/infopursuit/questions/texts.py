"""Texts of a CLIP as questions: those whose scores tell the classes of training images apart."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.files import settings_sha256
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.annotated import Annotated
from infopursuit.pursuit.answers.directions import fit_score_map
from infopursuit.pursuit.gaussian.dictionary import forward_selection
from infopursuit.pursuit.gaussian.fit import (
    ABOVE_LEVEL,
    ABOVE_YES,
    MOST_ABOVE,
    NO_SHARE,
    ScoreMoments,
    level_answers,
)
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.gaussian.statistics import shrunk
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.questions.annotations import fit_annotations
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.knowledge import ClassKnowledge
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

# Texts that are looked at closely, those with the largest ratio alone.
CANDIDATES = 32_768
# Images and texts that say where the level is.
LEVELLED, LEVELLED_TEXTS = 512, 2048

logger = logging.getLogger(__name__)


class TextSource(QuestionSource):
    """The texts of a universe.

    Args:
        texts: with their embeddings, of the CLIP that embeds the images.
        knowledge: what is known of classes and texts, as the classifier takes it.
        reference: (v, d) of the texts that scores are relative to; None for `texts`.
        annotated: texts that follow the answers of people, by their rows; None for none.
    """

    kind: ClassVar[str] = "texts"
    pursuit: ClassVar[str] = "gaussian"

    def __init__(
        self,
        texts: TextTable,
        knowledge: Any = None,
        reference: UnitMatrix | None = None,
        annotated: Mapping[int, Annotated] | None = None,
    ) -> None:
        self.texts, self.knowledge = texts, knowledge
        self.width = texts.unit_matrix.width
        self.relative_to = reference
        self.reference = texts.unit_matrix if reference is None else reference
        self.annotated = annotated or {}

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
        source = cls(TextTable.from_arrays(texts, embeddings), knowledge, reference)
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
        if knowledge is not None:
            ClassKnowledge(knowledge, np.unique(labels), texts)

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
        return self.texts.named(TextScores(self, data).rows(constraints))

    def candidates(
        self, data: TrainingSet, constraints: QuestionConstraints, count: int
    ) -> list[str]:
        """Return at most `count` texts that tell most alone, after those that are asked anyway."""
        return self.texts.named(TextScores(self, data).candidate_rows(count, constraints))

    def known(self, classes: np.ndarray) -> ClassKnowledge | None:
        """Return what is known of the classes; None for nothing."""
        table = self.knowledge
        if table is None:
            return None
        if self.annotated and not isinstance(table, KnowledgeTable | str | Path):
            table = np.asarray(table, dtype=np.float32)  # of a text that people added: nothing
            missing = max(len(self.texts.texts) - table.shape[-1], 0)
            table = np.pad(table, ((0, 0), (0, missing)), constant_values=np.nan)
        known = ClassKnowledge(table, classes, self.texts.texts)
        if known.coverage is not None:
            logger.info("%s", known.coverage)
        return known

    def choose(self, data: TrainingSet, constraints: QuestionConstraints, seed: int) -> Questions:
        """Choose the texts, and fit how images answer them."""
        scores = TextScores(self, data)
        rows = scores.rows(constraints)
        rule = scores.rule(rows, scores.levels(seed), data.sample(LEVELLED, seed))
        queries, told = self.texts.named(rows), scores.known
        first = scores.place(rows, constraints.first)
        return Questions(queries, rule, first, knowledge=None if told is None else told.table)

    def wording(self, queries: Sequence[str], class_names: Sequence[str]) -> tuple[str, ...]:
        """Return the questions in words that suit the classes."""
        alike = comparable_texts(class_names, queries)
        return questions(queries, alike) if alike else ()

    def facts(self, queries: Sequence[str]) -> dict[str, Any]:
        """Return how many texts there were, what tells them from others, and who was asked."""
        texts = self.texts.texts
        facts: dict[str, Any] = {
            "texts": len(texts),
            "texts_sha256": settings_sha256({"texts": list(texts)}),
        }
        if self.annotated:
            of_text = {texts[row]: each.facts for row, each in self.annotated.items()}
            facts["annotated"] = {query: of_text[query] for query in queries if query in of_text}
        return facts


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


class Levels(NamedTuple):
    """The scores of a no, of the level and of a firm yes, one for all texts."""

    no: float
    level: float
    yes: float


class TextScores:
    """The scores of the texts of a source on training images.

    Attributes:
        known: what is known of the classes; None for nothing.
        moments: of the scores of any text.
    """

    def __init__(self, source: TextSource, data: TrainingSet) -> None:
        self.texts, self.data, self.annotated = source.texts, data, source.annotated
        self.known = source.known(data.classes)
        self.moments = ScoreMoments.of(data.moments, data.prior)
        self._map = fit_score_map(source.reference, data.moments.discounted, len(data.classes))

    def directions(self, rows: Int[Tensor, " m"]) -> Float[Tensor, "m d"]:
        """Return the directions of some texts, float32; people may have taught them."""
        directions = self._map.directions(self.texts.unit_matrix.take(rows))
        for place, row in enumerate(rows.tolist()):
            if row in self.annotated:
                directions[place] = torch.from_numpy(self.annotated[row].direction)
        return directions

    def levels(self, seed: int) -> Levels:
        """Return the levels that as many texts exceed as `ABOVE_LEVEL` says."""
        generator, count = torch.Generator().manual_seed(seed), len(self.texts.texts)
        some = torch.randperm(count, generator=generator)[:LEVELLED_TEXTS].sort().values
        images = self.data.sample(LEVELLED, seed)
        scores, order = (images.rows.tensor() @ self.directions(some).T).flatten().sort()
        below = self.data.weighed(images).repeat_interleave(len(some))[order].cumsum(dim=0)
        most = min(ABOVE_LEVEL, MOST_ABOVE * count) / count
        above = torch.tensor([NO_SHARE, most, most * ABOVE_YES / ABOVE_LEVEL]).double()
        places = torch.searchsorted(below, (1 - above) * below[-1])
        return Levels(*scores[places.clamp_max(len(scores) - 1)].tolist())

    def rule(self, rows: Int[Tensor, " k"], levels: Levels, images: InMemorySet) -> LevelAnswers:
        """Return how images answer some of the texts."""
        directions, shares = self.directions(rows), None
        if self.known is not None:
            shares = self.known.true_shares(self.data.prior.float())[rows]
        of_texts = torch.tensor(levels).repeat(len(rows), 1)
        for place, row in enumerate(rows.tolist()):
            if row in self.annotated:  # their cuts are where people say no and yes
                of_texts[place] = torch.tensor(self.annotated[row].cuts)
        scores = images.rows.tensor() @ directions.T
        return level_answers(directions, scores, of_texts, self.data.weighed(images), shares)

    def place(self, rows: Int[Tensor, " k"], text: str | None) -> int | None:
        """Return which of some texts the given one is."""
        if text is None:
            return None
        return int((rows == self.texts.rows([text])).nonzero()[0])

    def rows(self, constraints: QuestionConstraints) -> Int[Tensor, " k"]:
        """Return the rows of the questions given, or of the most telling and those to keep."""
        allowed, fixed, rows = required_questions(self.texts, constraints)
        if rows is not None:
            return self._distinct(rows, constraints)
        fixed = self._distinct(fixed, constraints)
        allowed &= self._first_of_equals(fixed)
        count = min(constraints.n_queries, int(allowed.sum()))
        chosen = self._chosen(count, allowed)
        others = chosen[~torch.isin(chosen, fixed)]
        if len(fixed) + len(others) > count:  # chosen again, without those that are kept anyway
            allowed[fixed] = False
            room = count - len(fixed)
            others = self._chosen(room, allowed) if room else others[:0]
        return torch.cat([fixed, others]).sort().values

    def candidate_rows(self, count: int, constraints: QuestionConstraints) -> Int[Tensor, " m"]:
        """Return the rows of the texts that tell most alone, and of those that are asked anyway."""
        texts = self.texts
        allowed = not_banned(texts.texts, constraints.ban)
        fixed = fixed_rows(texts, constraints.first, constraints.keep, allowed)
        if constraints.queries is not None:
            fixed = torch.cat([fixed, texts.rows(constraints.queries)])
        fixed = self._distinct(fixed, constraints)
        allowed &= self._first_of_equals(fixed)
        allowed[fixed] = False
        rows = allowed.nonzero().squeeze(1)
        best = self._ratios(rows).topk(min(max(count - len(fixed), 0), len(rows))).indices
        return torch.cat([fixed, rows[best]]).unique()

    def _ratios(self, rows: Int[Tensor, " m"]) -> Float[Tensor, " m"]:
        """Return the spread of class means for the variance within, weighted, in float32."""
        own, names = self.moments, ("classes", "means", "within", "prior")
        moments = own._replace(**{name: getattr(own, name).float() for name in names})
        return torch.cat([self._measured(some, moments)[1] for some in rows.split(CANDIDATES)])

    def _measured(self, rows: Tensor, moments: ScoreMoments) -> tuple[Tensor, ...]:
        """Return directions, ratios, weights of the ratios, and trust of some texts."""
        directions = self.directions(rows).to(moments.within.dtype)
        trust = moments.trust(directions)
        weights = torch.ones_like(trust)
        if self.known is not None:
            weights = self.known.query_weights(rows).to(weights)
        along = (directions @ moments.between).mul_(directions).sum(dim=1)
        ratio = weights * trust.square() * along / moments.variance(directions)
        return directions, ratio, weights, trust

    def _chosen(self, count: int, allowed: Bool[Tensor, " u"]) -> Int[Tensor, " k"]:
        rows = allowed.nonzero().squeeze(1)
        if len(rows) > CANDIDATES:
            rows = rows[self._ratios(rows).topk(CANDIDATES).indices.sort().values]
        directions, ratio, weights, trust = self._measured(rows, self.moments)
        within, between = self.moments.within, self.moments.between
        best = directions[ratio.topk(count).indices]
        _, own = shrunk(best @ within @ best.T, self.moments.freedom)
        return rows[forward_selection(directions, within, between, trust, own, weights, count)]

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
