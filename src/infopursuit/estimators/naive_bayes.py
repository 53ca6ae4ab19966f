"""The classifier that asks for what tells most of the class, about embeddings or any table.

from infopursuit import InformationPursuitClassifier

model = InformationPursuitClassifier(texts, text_embeddings, n_queries=128).fit(X, y)
model.explain(X[:1])[0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import partial
from typing import Any, cast, get_args

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from infopursuit.core.defaults import own_defaults
from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.datasets.trained_on import each_row, remember
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.inputs import Inputs
from infopursuit.estimators.persistence import SavedModel
from infopursuit.pursuit.answers.rules import ColumnValues
from infopursuit.pursuit.naive_bayes.training_set import TrainingSet
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.questions.columns import TableQuestions
from infopursuit.questions.constraints import QuestionConstraints, Rates, check_share, check_words
from infopursuit.questions.labels import check_width, seed_of, training_set, validation_set
from infopursuit.questions.pursuits import PURSUITS, Fitted, PursuitMethod, Split, pursuit_method
from infopursuit.questions.source import SOURCES, QuestionSource


@own_defaults
@dataclass(eq=False, repr=False)
class InformationPursuitClassifier(Inputs, PursuitClassifier, ClassifierMixin, BaseEstimator):
    """Information Pursuit: asks the most informative question, adds up evidence.

    With `texts` the rows of X are CLIP embeddings of images, and the questions are k texts. Their
    scores are jointly normal in each class (`pursuit.gaussian`). Without, X is any table, and the
    questions are about its columns: `petal length? 4.9 to 5.1`, `colour? red`. Their answers are
    counted (`pursuit.naive_bayes`). A table may have gaps (NaN, None): a question about a gap is
    answered with not sure, which tells nothing.

    Args:
        texts: the u texts that may become questions; None for questions about columns; or a source
            of questions of your own (`questions.source.QuestionSource`).
        text_embeddings: (u, d) embeddings of the texts, of the CLIP that embeds the images.
        n_queries: k, the size of the dictionary; all questions if there are fewer.
        queries: the dictionary itself, some of `texts` (no selection); None to choose k.
        ban: texts or words that no question may contain.
        keep: questions that are in the dictionary whatever is chosen, some of `texts` or columns;
            no more than k.
        first_query: the question that every image is asked first; None for the best.
        knowledge: (c, u) how true each text is of each class, in the order of `classes_` and
            `texts`: 1 true, 0.5 of some pictures, 0 not true, NaN not known; or a
            `KnowledgeTable` that names both, or its file (`.csv`, `.parquet`). Texts that
            are true of no class are asked less, and about as many images get a yes as the table
            says. Answers still come from images alone. None if nothing is known.
        rates: of the answers about a table. `counted`: of each answer in each class, one question
            at a time; `subclasses`: of up to 16 subclasses of each class, fitted to tell the
            classes apart after any number of answers (`pursuit.naive_bayes.subclasses`), on at most
            32,768 rows, which takes seconds more. `auto`: with at least 1,000 different rows those
            with the least log-loss on rows that a fit on others predicts, which fits and asks three
            times: some ten seconds for 3,000 rows and 57 columns of numbers.
        pursuit: how the pursuit is fitted on the questions: the word of a method that is there
            (`questions.pursuits`), the method itself, or its settings with its `kind`. `auto` is
            `gaussian` of texts and `naive_bayes` of columns.
        stop: when to ask no more, in `predict` and `explain`; None for
            `pursuit.stopping.DEFAULT_STOP`: at a probability of 0.95, or when 20 questions did not
            change the prediction.
        validation_fraction: share of the rows that probabilities are calibrated on, of a class at
            most 1,024. Equal rows stay together. With texts they are learned from, too, at the end.
        random_state: seed of the samples that are taken of more than 4,096 images; a generator of
            numpy's, or None for another seed each time.

    Attributes:
        classes_: (c,) the class labels.
        queries_: the k questions.
        n_features_in_: d.
        feature_names_in_: of the columns, if X has names.
        pursuit_: the fitted tables.
        counts_: what `partial_fit` adds to; of a model of texts, or `from_knowledge`.
        provenance_: how many images and texts there were, what tells them from others, and the
            accuracy on the rows that were held out (at most 1,024 of them).
    """

    texts: Sequence[str] | QuestionSource | None = None
    text_embeddings: Any = None
    n_queries: int = 128
    _: KW_ONLY
    queries: Sequence[str] | None = None
    ban: Sequence[str] = ()
    keep: Sequence[str] = ()
    first_query: str | None = None
    knowledge: Any = None
    rates: str = "auto"
    pursuit: str | PursuitMethod | dict[str, Any] = "auto"
    stop: StoppingRule | None = None
    validation_fraction: float = 0.1
    random_state: Any = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        *,
        annotations: Mapping[str, Any] | None = None,
        reference_embeddings: Any = None,
    ) -> InformationPursuitClassifier:
        """Choose the questions and learn how each class answers them.

        Of images in shards one shard is in memory at a time, read in two passes: for checksums; and
        for samples and moments. Of each class at most 1,024 images are held out. What words mean is
        read off 4,096 images, of each class as many as of any other: those whose checksums come
        first; the level is read off 512. The model has the same bytes wherever the shards are read,
        and is that of rows in memory up to the rounding of sums, if there are no more than 512.

        Args:
            X: (n, d) unit-norm embeddings of images, of any float type, perhaps mapped from
                disk; without `texts` any table of numbers, booleans and categories (texts), with
                gaps if need be: an array or a data frame of pandas or polars. Or embedded images in
                shards: a Parquet file or a folder of them, whose split `train` is read; shards of
                your own, of unit norm; or a `ShardedSet`, which can leave images out, and read
                shards on workers of a cluster.
            y: (n,) class labels; None for shards, which have their own.
            sample_weight: (n,) weights of the rows; `balanced` so that all classes weigh the same,
                or a weight for each class as a dict; None for 1 each.
            validation: (X, y) of rows to calibrate on, instead of a share of these.
            annotations: what people say of single training images: of each text (n,) 1 yes, 0 no,
                NaN nothing, in the order of the rows of X. Cuts and directions of these texts
                follow the people (`pursuit.answers.annotated`); a text need not be among `texts`.
            reference_embeddings: (v, d) of the texts that scores are relative to; None for
                `text_embeddings`.

        Raises:
            InputError, ValueError: a setting or an input is malformed.
        """
        constraints, seed = self._checked_settings(), seed_of(self.random_state)
        shards = TrainingSet.in_shards(X)
        self._check_teaching(annotations, reference_embeddings)
        self.columns_ = memory = None
        if shards is not None:
            given = {"y": y, "sample_weight": sample_weight, "annotations": annotations}
            for name, value in given.items():
                if value is not None:
                    raise InputError(f"{name}: of rows in memory; expected None for shards")
            source = self._own_source() or self._texts_to_ask(constraints, reference_embeddings)
            self._set_width(source, shards.shards.where, shards.shards.width)
            self._keep_column_names(None)
        elif self._of_tables():
            rows, y, source = self._table_to_fit(X, y, constraints)
            memory = training_set(rows, y, sample_weight)
        else:
            source = self._own_source() or self._texts_to_ask(constraints, reference_embeddings)
            rows = UnitMatrix(X, "X")
            memory = training_set(rows, y, sample_weight)
            self._set_width(source, "X", rows.width)
            self._keep_column_names(X)
            source = source.taught(annotations or {}, y, memory, seed)
        data = shards or memory
        assert data is not None
        self.classes_, held_out = data.classes, None
        if validation is not None:
            X_given, y_given = validation
            read = self._table if self._of_tables() else partial(UnitMatrix, where="validation X")
            held_out = validation_set(read(X_given), y_given, data.classes)
        split = Split.of(data, float(self.validation_fraction), held_out)
        source.check_rows(split.train, seed)
        method = pursuit_method(self.pursuit, self.rates, source.pursuit)
        fitted = method.fit(source, constraints, split, seed, self._rule(None))
        rule = fitted.pursuit.rule
        if memory is not None and isinstance(rule, ColumnValues):
            rule = rule.having_seen(memory.rows.tensor())
            fitted = replace(fitted, pursuit=replace(fitted.pursuit, rule=rule))
        self._take(fitted)
        self.clip_ = None if shards is None else shards.shards.clip
        if memory is not None:
            remember(self.provenance_, each_row(memory.rows))
        return self

    def as_saved(self) -> SavedModel:
        """Return what is saved of a fitted model, and of its questions for another fit."""
        own, saved, method = self._own_source(), super().as_saved(), self.pursuit
        if isinstance(method, PursuitMethod):
            saved.settings["pursuit"] = {"kind": PURSUITS.word(method), **asdict(method)}
        return replace(saved, questions=None if own is None else own.settings())

    def restore(self, saved: SavedModel) -> None:
        """Become the fitted model that was saved."""
        super().restore(saved)
        if saved.questions is not None:
            self.texts = TableQuestions(**saved.questions)

    def _take(self, fitted: Fitted) -> None:
        self.pursuit_, self.queries_ = fitted.pursuit, fitted.pursuit.queries
        self.provenance_, self.knowledge_ = fitted.facts, fitted.knowledge
        self.clip_source_ = None
        vars(self).pop("counts_", None)
        if fitted.counts is not None:
            self.counts_ = fitted.counts

    @classmethod
    def from_knowledge(
        cls,
        knowledge: Any,
        reliability: float | None = None,
        *,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        unlabelled: Any = None,
        strength: float = 10.0,
        **settings: Any,
    ) -> InformationPursuitClassifier:
        """Return a model of what is known of the classes: no image with a label, no fit.

        A person answers it (`dialogue()`, or `predict` on a table with a column for each question).
        With embedded texts and unlabelled images CLIP answers: zero-shot classification that
        explains itself. Labels that come later go to `partial_fit`.

        Args:
            knowledge: a `KnowledgeTable`, or its file (`.csv`, `.parquet`).
            reliability: how often an answer is right, between 0.5 and 1; None for 0.9 of a person.
                Of CLIP, how often it says yes of what is true; None for 0.6.
            texts: that may become questions; None for those of the table.
            text_embeddings: (u, d) of `texts`, if CLIP answers.
            unlabelled: (n, d) embeddings of images of all classes, if CLIP answers.
            strength: how many images of each class the table counts for in `partial_fit`.
            settings: `stop`, as the classifier takes it.

        Raises:
            InputError: a setting is malformed, or the table tells no classes apart.
        """
        from infopursuit.estimators.from_knowledge import read_knowledge_model

        # Many answers in a row may tell nothing of the class in front: stability does not stop.
        model = cls(**{"stop": StoppingRule(0.95, stability=None), **settings})
        made = read_knowledge_model(
            knowledge, reliability, texts, text_embeddings, unlabelled, strength
        )
        model._rule(None)
        model.pursuit_, model.columns_ = made.pursuit, made.columns
        model.counts_ = made.counts
        model.queries_, model.classes_ = made.pursuit.queries, np.array(made.pursuit.class_names)
        model.n_features_in_, model.clip_, model.clip_source_ = made.width, None, None
        model.provenance_ = {"images": 0}
        if made.columns is not None:
            model.feature_names_in_ = np.array(made.columns.names, dtype=object)
        return model

    @available_if(lambda model: hasattr(model, "counts_"))
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Add labelled rows to a fitted model of texts, or to one `from_knowledge`.

        The questions stay the same, and so do what words mean and how evidence is tempered. Of a
        model `from_knowledge` what the table says counts for `strength` rows of each class.

        Args:
            X: (n, d) embeddings, or a table of answers.
            y: (n,) labels, among `classes_`.
            sample_weight: (n,) weights of the rows; None for 1 each.

        Raises:
            InputError: a label is not a class of the model.
        """
        data = validation_set(self._rows(X), y, self.classes_, "y")
        weights = np.ones(len(data)) if sample_weight is None else np.asarray(sample_weight)
        if weights.shape != (len(data),) or not (weights >= 0).all():
            raise InputError(f"sample_weight: expected {len(data)} weights of 0 or more")
        answers = self.pursuit_.answers(data.rows.tensor().to(self.pursuit_.device)).cpu()
        self.counts_ = self.counts_.plus(answers, data.labels, torch.from_numpy(weights).double())
        self.pursuit_ = self.counts_.refit(self.pursuit_)
        images = self.provenance_["images"] + len(data)
        self.provenance_ = {**self.provenance_, "images": images}  # a copy keeps its own
        remember(self.provenance_, each_row(data.rows))
        return self

    def select_queries(
        self, X: Any, y: Any, sample_weight: Any = None, *, reference_embeddings: Any = None
    ) -> list[str]:
        """Return the k texts that `fit` would choose, from all the rows given; nothing is fitted.

        Raises:
            InputError: a setting or an input is malformed, or there are no texts.
        """
        constraints, seed = self._checked_settings(), seed_of(self.random_state)
        source, rows = self._texts_to_ask(constraints, reference_embeddings), UnitMatrix(X, "X")
        data = training_set(rows, y, sample_weight)
        return source.chosen(data, constraints, seed)

    def candidates(self, X: Any, y: Any, count: int) -> list[str]:
        """Return at most `count` texts that may become questions: those that tell most alone.

        Texts that are given, kept or asked first come before all others.

        Raises:
            InputError: a setting or an input is malformed, or there are no texts.
        """
        constraints = self._checked_settings()
        source, data = self._texts_to_ask(constraints), training_set(UnitMatrix(X, "X"), y)
        return source.candidates(data, constraints, count)

    def check_before_fit(self, labels: Sequence[Any] | np.ndarray) -> None:
        """Check all settings that need no embeddings: before hours of embedding.

        Raises:
            InputError: one is malformed, names no text, or knows nothing of these classes.
        """
        constraints, texts = self._checked_settings(), list(cast(Any, self.texts) or ())
        SOURCES.of("texts").check_settings(texts, self.knowledge, labels, constraints)

    # -- settings and sources ---------------------------------------------------------------

    def _checked_settings(self) -> QuestionConstraints:
        constraints = QuestionConstraints(
            self.n_queries, self.queries, self.ban, self.keep, self.first_query
        )
        constraints.checked()
        check_words("rates", self.rates, get_args(Rates))
        own = self._own_source()
        usual = SOURCES.of("texts") if self.texts is not None and own is None else own
        pursuit_method(self.pursuit, self.rates, (usual or QuestionSource).pursuit)
        check_share("validation_fraction", self.validation_fraction, whole=False)
        no_texts = self.texts is None or own is not None
        if no_texts and self.text_embeddings is not None:
            raise InputError("text_embeddings come without texts; expected both or neither")
        if no_texts and self.knowledge is not None:
            raise InputError("knowledge is about texts; expected None if there are no texts")
        self._rule(None)
        return constraints

    def _check_teaching(self, annotations: Any, reference: Any) -> None:
        """Raise InputError for what people teach of texts, if there are none."""
        given = {"annotations": annotations or None, "reference_embeddings": reference}
        no_texts = self.texts is None or self._own_source() is not None
        for name, value in given.items():
            if value is not None and no_texts:
                raise InputError(f"{name} are about texts; expected None if there are no texts")

    def _set_width(self, source: QuestionSource, name: str, width: int) -> None:
        """Remember d; InputError if rows are not as wide as the embeddings of the texts."""
        if source.width is not None:
            check_width(name, width, source.width)
        self.n_features_in_ = width

    def _texts_to_ask(self, constraints: QuestionConstraints, reference: Any = None) -> Any:
        if self.texts is None or self._own_source() is not None:
            raise InputError("texts is missing; expected texts to choose from")
        settings = self.texts, self.text_embeddings, self.knowledge
        return SOURCES.of("texts").of(*settings, reference, constraints.ban)
