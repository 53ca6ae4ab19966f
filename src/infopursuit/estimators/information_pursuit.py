"""The classifier that asks for the largest information gain, on embeddings or on any table.

from infopursuit import InformationPursuitClassifier

model = InformationPursuitClassifier(texts, text_embeddings, n_queries=128).fit(X, y)
model.explain(X[:1])[0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data
from torch import Tensor

from infopursuit.answers.columns import (
    column_texts,
    with_question,
)
from infopursuit.answers.rules import AnswerRule
from infopursuit.core.errors import InputError
from infopursuit.core.hashing import settings_sha256
from infopursuit.datasets.image_shards import EmbeddedShards, ImageShards
from infopursuit.datasets.rows import Rows, UnitRows, as_tensor
from infopursuit.estimators.checked_settings import check_settings
from infopursuit.estimators.class_knowledge import ClassKnowledge
from infopursuit.estimators.deciding import DecidingClassifier
from infopursuit.estimators.dictionary import Texts
from infopursuit.estimators.fitted_rates import with_fitted_rates
from infopursuit.estimators.inputs import check_column_names, seed_of
from infopursuit.estimators.sharded_rows import ShardedRows
from infopursuit.estimators.table_questions import table_questions
from infopursuit.estimators.text_questions import TextQuestions
from infopursuit.estimators.training_rows import TrainingRows
from infopursuit.executors import RayCluster
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.naive_bayes.fit import (
    ASSUMED,
    HELD_OUT,
    calibration_images,
    fit_independence,
    fit_table,
)
from infopursuit.naive_bayes.image_passes import Passes
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.naive_bayes.screening import text_source
from infopursuit.pursuit.familiarity import KEPT, Familiarity
from infopursuit.pursuit.pursuit import Pursuit

# Tempering looks at so many questions at most.
BUDGET = 128


class InformationPursuitClassifier(DecidingClassifier):
    """Information Pursuit with naive Bayes: asks the most informative question, adds up evidence.

    With `texts` the rows of X are CLIP embeddings of images, and the questions are k texts chosen
    by how much their answers tell of the class. Without, X is any table, and the questions are
    about its columns: `petal length > 2.45?`.

    Args:
        texts: the u texts that may become questions; None for questions about columns.
        text_embeddings: (u, d) embeddings of the texts, of the CLIP that embeds the images.
        n_queries: k, the size of the dictionary; all questions where there are fewer.
        queries: the dictionary itself, some of `texts` (no selection); None to choose k.
        ban: texts or words that no question may contain.
        keep: questions that are in the dictionary whatever is chosen, some of `texts`, or of the
            form `column > number`; no more than k.
        first_query: the question that every image is asked first; None for the best.
        answers: `three_valued`: no, not sure or yes; `threshold`: no or yes. Both depend on their
            own question and the image alone. `minmax`: the paper's rule. Questions about columns
            are answered with no or yes.
        knowledge: (c, u) how true each text is of each class, in the order of `classes_` and
            `texts`: 1 true, 0.5 of some pictures, 0 not true, NaN not known; or a
            `KnowledgeTable` that names both. Texts that are true of no class are asked less, and
            yes is said of about as many images as the table says. Answers still come from images
            alone. None where nothing is known.
        leakage: with `knowledge`, what information counts that the words of a question do not
            explain, from 0 to 1. Less makes explanations easier to follow, for some accuracy.
        rates: `counted`: of each answer in each class, one question at a time; `fitted`: drawn from
            there to tell the classes apart (`infopursuit.naive_bayes.fitted`), on at most 32,768
            images. Takes seconds more, and may pay off where images are many.
        reference_embeddings: (v, d) of the texts that scores are relative to; None for
            `text_embeddings`.
        stop: when to ask no more, in `predict` and `explain`; None to stop at a probability of
            0.95, or when all questions have been asked.
        validation_fraction: share of the rows that probabilities are calibrated on, of a class at
            most 1,024. Equal rows stay together.
        random_state: seed of the samples that are taken of more than 4,096 images; a generator of
            numpy's, or None for another seed each time.

    Attributes:
        classes_: (c,) the class labels.
        queries_: the k questions.
        n_features_in_: d.
        feature_names_in_: of the columns, where X has names.
        pursuit_: the fitted tables.
        provenance_: how many images and texts there were, what tells them from others, and the
            accuracy on the rows that were held out (at most 4,096 of them).
    """

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        n_queries: int = 128,
        *,
        queries: Sequence[str] | None = None,
        ban: Sequence[str] = (),
        keep: Sequence[str] = (),
        first_query: str | None = None,
        answers: str = "three_valued",
        knowledge: Any = None,
        leakage: float = 1.0,
        rates: str = "counted",
        reference_embeddings: Any = None,
        stop: StoppingRule | None = None,
        validation_fraction: float = 0.1,
        random_state: Any = 0,
    ) -> None:
        self.texts, self.text_embeddings = texts, text_embeddings
        self.n_queries, self.queries = n_queries, queries
        self.ban, self.keep, self.first_query = ban, keep, first_query
        self.answers, self.rates = answers, rates
        self.knowledge, self.leakage = knowledge, leakage
        self.reference_embeddings = reference_embeddings
        self.stop, self.validation_fraction = stop, validation_fraction
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> InformationPursuitClassifier:
        """Choose the questions and learn how each class answers them.

        Args:
            X: (n, d) unit-norm embeddings of images, of any float type, mapped from disk where
                they are many; without `texts` any table of numbers.
            y: (n,) class labels.
            sample_weight: (n,) weights of the rows; None for 1 each.
            validation: (X, y) of rows to calibrate on, in the place of a share of these.

        Raises:
            InputError, ValueError: a setting or an input is malformed.
        """
        check_settings(self)
        self._rule(None)
        seed = seed_of(self.random_state)
        fitted = self._fit_table if self.texts is None else self._fit_texts
        fitted(X, y, sample_weight, validation, seed)
        self.queries_ = self.pursuit_.queries
        self.clip_ = self.clip_source_ = None
        return self

    def fit_shards(
        self,
        images: ImageShards | str | Path,
        validation: tuple[Any, Any] | None = None,
        left_out: Any = None,
        cluster: RayCluster | None = None,
    ) -> InformationPursuitClassifier:
        """The same from images in shards, of which one is in memory at a time.

        Three passes read the shards: for their checksums; for samples and moments; and for the
        answers of all images. Of each class at most 1,024 images are held out. Texts are screened
        on 4,096 images (8 of a class, where that is more), thresholds are fitted on 32,768, of each
        class as many as of any other: those whose checksums come first. The model has the same
        bytes wherever the shards are read. It is the one of `fit` up to the rounding of sums, where
        there are no more images than these.

        Args:
            images: a table of embedded images, a Parquet file or a folder of shards, whose split
                `train` is read; or shards of your own, of unit norm.
            validation: (X, y) of rows to calibrate on, y class names; None to hold out a share.
            left_out: (n,) whether each image is passed over; None for none.
            cluster: whose workers read the shards and screen the texts; None for this process.

        Raises:
            InputError: a setting or an input is malformed, or there are no texts.
        """
        texts = self._texts_to_choose_from()
        shards = EmbeddedShards(images) if isinstance(images, (str, Path)) else images
        if shards.width != texts.embeddings.width:
            raise InputError(
                f"{shards.where} has embeddings of width {shards.width} and text_embeddings "
                f"{texts.embeddings.width}; expected one CLIP for both"
            )
        passes = Passes(shards, None if left_out is None else np.asarray(left_out, bool), cluster)
        train = ShardedRows(passes, 0.0 if validation else float(self.validation_fraction))
        held_out, facts = train.held_out, train.facts
        if validation is not None:
            held_out = train.to_screen().like(validation, UnitRows(validation[0], "validation X"))
            facts = {**facts, "held_out_images": len(held_out.labels)}
        check_column_names(self, np.empty((0, shards.width)), reset=True)
        self.classes_, self.n_features_in_ = train.classes, shards.width
        self._fit_questions(texts, train, held_out, facts, seed_of(self.random_state))
        self.queries_ = self.pursuit_.queries
        self.clip_, self.clip_source_ = shards.clip, None
        return self

    def select_queries(self, X: Any, y: Any, sample_weight: Any = None) -> list[str]:
        """The k texts that `fit` would choose, from all the rows given; nothing is fitted.

        Raises:
            InputError: a setting or an input is malformed, or there are no texts.
        """
        texts = self._texts_to_choose_from()
        data = TrainingRows.checked(UnitRows(X, "X"), y, sample_weight)
        chosen = self._chosen(self._questions(texts, data), seed_of(self.random_state))
        return [texts.texts[row] for row in chosen.tolist()]

    # -- texts ------------------------------------------------------------------------------

    def _texts_to_choose_from(self) -> Texts:
        check_settings(self)
        self._rule(None)
        if self.texts is None:
            raise InputError("texts is missing; expected texts to choose from")
        return Texts(self.texts, self.text_embeddings)

    def _fit_texts(self, X: Any, y: Any, sample_weight: Any, validation: Any, seed: int) -> None:
        texts = Texts(self.texts, self.text_embeddings)
        check_column_names(self, X, reset=True)
        data = TrainingRows.checked(UnitRows(X, "X"), y, sample_weight)
        if data.rows.width != texts.embeddings.width:
            raise InputError(
                f"X has {data.rows.width} columns and text_embeddings {texts.embeddings.width}; "
                "expected one CLIP for both"
            )
        self.classes_, self.n_features_in_ = data.classes, data.rows.width
        if validation is None:
            train, held_out = data.split(float(self.validation_fraction))
        else:
            train, held_out = data, data.like(validation, UnitRows(validation[0], "validation X"))
        self._fit_questions(texts, train, held_out, data.facts(held_out), seed)

    def _fit_questions(
        self,
        texts: Texts,
        train: TrainingRows | ShardedRows,
        held_out: TrainingRows | None,
        facts: dict[str, Any],
        seed: int,
    ) -> None:
        """Choose the questions, count their answers, temper the table."""
        questions = self._questions(texts, train)
        chosen = self._chosen(questions, seed)
        rule, auroc = questions.answered(chosen, seed)
        first = None if self.first_query is None else int(texts.rows([self.first_query])[0])
        forced = None if first is None else chosen.tolist().index(first)
        querier = questions.querier(rule, chosen, auroc, self.rates, seed)
        queries = [texts.texts[row] for row in chosen.tolist()]
        self._finish(rule, querier, queries, facts, held_out, forced, seed)
        if auroc is not None:
            self.provenance_["auroc_by_knowledge"] = [
                None if math.isnan(share) else round(share, 4) for share in auroc.tolist()
            ]
        self.provenance_["texts"] = len(texts.texts)
        self.provenance_["texts_sha256"] = settings_sha256({"texts": list(texts.texts)})

    def _questions(self, texts: Texts, data: TrainingRows | ShardedRows) -> TextQuestions:
        given = self.reference_embeddings
        reference = texts.embeddings if given is None else UnitRows(given, "reference_embeddings")
        known = None
        if self.knowledge is not None:
            known = ClassKnowledge(self.knowledge, data.classes, texts.texts, self.leakage)
        cluster = data.cluster if isinstance(data, ShardedRows) else None
        source = text_source(self.text_embeddings, texts.embeddings)
        return TextQuestions(texts, reference, data, known, self.answers, source, cluster)

    def _chosen(self, questions: TextQuestions, seed: int) -> Tensor:
        return questions.chosen(
            self.queries, self.ban, self.first_query, self.keep, self.n_queries, seed
        )

    # -- columns of a table -----------------------------------------------------------------

    def _fit_table(self, X: Any, y: Any, sample_weight: Any, validation: Any, seed: int) -> None:
        X, y = validate_data(self, X, y, dtype=np.float64)
        data = TrainingRows.checked(_table(X), y, sample_weight)
        self.classes_ = data.classes
        if validation is None:
            train, held_out = data.split(float(self.validation_fraction))
        else:
            rows = _table(validate_data(self, validation[0], reset=False, dtype=np.float64))
            train, held_out = data, data.like(validation, rows)
        default = [f"column {i}" for i in range(X.shape[1])]
        names = [str(name) for name in getattr(self, "feature_names_in_", default)]
        questions = table_questions(
            train, names, self.queries, self.ban, self.keep, self.n_queries, seed
        )
        forced = None
        if self.first_query is not None:
            questions, forced = with_question(questions, self.first_query, names)
        texts = column_texts(questions, names)
        table = fit_table(questions, train.rows.blocks(), train.labels, train.weights)
        querier, facts = InformationGain(table), data.facts(held_out)
        if self.rates == "fitted":
            querier = with_fitted_rates(querier, questions, train, seed)
        self._finish(questions, querier, texts, facts, held_out, forced, seed)

    # -- both -------------------------------------------------------------------------------

    def _finish(
        self,
        rule: AnswerRule,
        querier: InformationGain,
        questions: list[str],
        facts: dict[str, Any],
        held_out: TrainingRows | None,
        first: int | None,
        seed: int,
    ) -> None:
        """Temper the table on held-out rows and put the pursuit together."""
        table, independent, familiarity = querier.table, ASSUMED, None
        if held_out is not None and questions:
            budget = min(BUDGET, len(questions))
            shown = held_out.sample(calibration_images(budget, len(self.classes_)), seed)
            answers = rule.answers(shown.rows.tensor())
            independent, _ = fit_independence(querier, answers, shown.labels, budget, shown.weights)
            familiarity = Familiarity(table, rule.answers(held_out.sample(KEPT, 0).rows.tensor()))
        table = replace(table, independent_answers=independent)
        self.pursuit_ = Pursuit(
            tuple(questions),
            tuple(str(each) for each in self.classes_),
            rule,
            InformationGain(table, querier.worth, querier.put_off),
            NaiveBayes(table),
            first,
            familiarity,
        )
        self.provenance_ = dict(facts)
        if held_out is not None:
            shown = held_out.sample(HELD_OUT, seed)
            ending = self.pursuit_.ask_until(rule.answers(shown.rows.tensor()), self._rule(None))
            right = ending.posterior.argmax(dim=1) == shown.labels
            self.provenance_["held_out_accuracy"] = right.double().mean().item()


def _table(X: Any) -> Rows:
    return Rows(as_tensor(np.asarray(X)))
