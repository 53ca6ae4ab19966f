"""The classifier that asks for the largest information gain, on embeddings or on any table.

from infopursuit import InformationPursuitClassifier

model = InformationPursuitClassifier(texts, text_embeddings, n_queries=128).fit(X, y)
model.explain(X[:1])[0]
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
    validate_data,
)
from torch import Tensor

from infopursuit.core.errors import InputError, one_such_as, writable
from infopursuit.core.executors import RayCluster
from infopursuit.core.files import settings_sha256
from infopursuit.core.names import composed
from infopursuit.datasets.labelled_images import EmbeddedShards, ImageShards
from infopursuit.datasets.matrix import Matrix, UnitMatrix, as_tensor
from infopursuit.datasets.table_columns import TableColumns, check_numbers
from infopursuit.estimators.annotated_texts import fit_annotations
from infopursuit.estimators.base import DecidingClassifier, column_names, other_labels
from infopursuit.estimators.class_knowledge import (
    BY_CLIP,
    ClassKnowledge,
    drafted_by,
    drafted_by_clip,
    impossible_texts,
)
from infopursuit.estimators.from_knowledge import KnowledgeModel, read_knowledge_model
from infopursuit.estimators.one_clip import MOST, warn_unless_one_clip
from infopursuit.estimators.trained_on import each_row, remember
from infopursuit.pursuit.answers.annotated import AnnotatedTexts, CrossFittedAnswers
from infopursuit.pursuit.answers.columns import (
    column_values,
    value_texts,
    value_words,
    values_named,
)
from infopursuit.pursuit.answers.directions import TextDirections, score_scatter
from infopursuit.pursuit.answers.rules import (
    LEVELS,
    AnswerRule,
    ColumnValues,
    MinMaxAnswers,
)
from infopursuit.pursuit.answers.table import Counts
from infopursuit.pursuit.answers.thresholds import THRESHOLD_IMAGES, ThresholdFit
from infopursuit.pursuit.familiarity import KEPT, Familiarity
from infopursuit.pursuit.naive_bayes.fit import (
    ASSUMED_TEMPERING,
    FEW_HELD_OUT,
    FEWEST_OF_A_CLASS,
    FITTED_ON,
    FOLDS,
    HELD_OUT,
    HeldOut,
    calibration_images,
    fit_rates,
    fit_table,
    fit_tempering,
    spread_by,
    tempering_of_one,
)
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes, RedundantQuestions
from infopursuit.pursuit.naive_bayes.selection import (
    CandidateTexts,
    candidate_rows,
    credit_of,
    informative_rows,
)
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, ShardedSet, TrainingSet
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
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

# Questions about columns are chosen on at most this many rows.
SELECTION_ROWS = 4096
# What is not known, as texts.
NOT_LABELS = ("nan", "inf", "-inf", "None", "NaT", "<NA>")
# The weight of a row that is not zero.
LIGHTEST, HEAVIEST = 1e-9, 1e9
# Seeds that numpy and torch both take.
LARGEST_SEED = 2**32 - 1
# Tempering looks at this many questions at most.
BUDGET = 128


@dataclass(eq=False, repr=False)
class InformationPursuitClassifier(DecidingClassifier, ClassifierMixin, BaseEstimator):
    """Information Pursuit with naive Bayes: asks the most informative question, adds up evidence.

    With `texts` the rows of X are CLIP embeddings of images, and the questions are k texts chosen
    by how much their answers tell of the class. Without, X is any table, and the questions are
    about its columns: `petal length? 4.9 to 5.1`, `colour? red`. A table may have gaps (NaN, None):
    a question about a gap is answered with not sure, which tells nothing.

    Args:
        texts: the u texts that may become questions; None for questions about columns.
        text_embeddings: (u, d) embeddings of the texts, of the CLIP that embeds the images.
        n_queries: k, the size of the dictionary; all questions if there are fewer.
        queries: the dictionary itself, some of `texts` (no selection); None to choose k.
        ban: texts or words that no question may contain.
        keep: questions that are in the dictionary whatever is chosen, some of `texts` or columns;
            no more than k.
        first_query: the question that every image is asked first; None for the best.
        answers: `five_valued`: no, probably not, not sure, probably or yes; `three_valued`: no,
            not sure or yes; `threshold`: no or yes. They depend on their own question and the image
            alone. `minmax`: the paper's rule.
        knowledge: (c, u) how true each text is of each class, in the order of `classes_` and
            `texts`: 1 true, 0.5 of some pictures, 0 not true, NaN not known; or a
            `KnowledgeTable` that names both, or its file (`.jsonl`, `.csv`, `.parquet`). Texts that
            are true of no class are asked less, and about as many images get a yes as the table
            says. Answers still come from images alone. `clip` to let the CLIP draft it, from the
            texts that the images of each class are closest to (at least 200 texts). None if
            nothing is known.
        leakage: with `knowledge`, what information counts that the words of a question do not
            explain, from 0 to 1. Less makes explanations easier to follow, for some accuracy.
        rates: `counted`: of each answer in each class, one question at a time; `fitted`: drawn from
            there to tell the classes apart (`pursuit.naive_bayes.fit`), on at most 32,768
            images. Takes seconds more, and may pay off if there are many images.
        annotations: what people say of single training images: of each text (n,) 1 yes, 0 no, NaN
            nothing, in the order of the rows of X. Cuts and directions of these texts follow the
            people (`pursuit.answers.annotated`); a text need not be among `texts`.
        certified_by: `annotations` to ask only texts whose answers people found right, in at least
            75 % of the images that got one; None to ask all.
        reference_embeddings: (v, d) of the texts that scores are relative to; None for
            `text_embeddings`.
        stop: when to ask no more, in `predict` and `explain`; None for
            `pursuit.stopping.DEFAULT_STOP`: at a probability of 0.95, or when 20 questions did not
            change the prediction.
        validation_fraction: share of the rows that probabilities are calibrated on, of a class at
            most 1,024. Equal rows stay together.
        class_weight: `balanced` so that all classes weigh the same, or a weight for each class as a
            dict; they multiply `sample_weight`. None for 1 each.
        random_state: seed of the samples that are taken of more than 4,096 images; a generator of
            numpy's, or None for another seed each time.

    Attributes:
        classes_: (c,) the class labels.
        queries_: the k questions.
        n_features_in_: d.
        feature_names_in_: of the columns, if X has names.
        pursuit_: the fitted tables.
        counts_: what `partial_fit` has counted; of a model `from_knowledge`.
        provenance_: how many images and texts there were, what tells them from others, and the
            accuracy on the rows that were held out (at most 4,096 of them).
    """

    texts: Sequence[str] | None = None
    text_embeddings: Any = None
    n_queries: int = 128
    _: KW_ONLY
    queries: Sequence[str] | None = None
    ban: Sequence[str] = ()
    keep: Sequence[str] = ()
    first_query: str | None = None
    answers: str = "five_valued"
    knowledge: Any = None
    leakage: float = 1.0
    rates: str = "counted"
    annotations: Mapping[str, Any] | None = None
    certified_by: str | None = None
    reference_embeddings: Any = None
    stop: StoppingRule | None = None
    validation_fraction: float = 0.1
    class_weight: Mapping[Any, float] | str | None = None
    random_state: Any = 0

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> InformationPursuitClassifier:
        """Choose the questions and learn how each class answers them.

        Args:
            X: (n, d) unit-norm embeddings of images, of any float type, perhaps mapped from
                disk; without `texts` any table of numbers, booleans and categories (texts), with
                gaps if need be: an array or a data frame of pandas or polars.
            y: (n,) class labels.
            sample_weight: (n,) weights of the rows; None for 1 each.
            validation: (X, y) of rows to calibrate on, instead of a share of these.

        Raises:
            InputError, ValueError: a setting or an input is malformed.
        """
        self.knowledge_ = self.judgement_ = None
        if self.texts is None:
            check_settings(self)
            self._rule(None)
            self._fit_table(X, y, sample_weight, validation)
        else:
            texts = self._texts_to_choose_from()
            rows = UnitMatrix(X, "X")
            data = training_set(rows, y, sample_weight, self.class_weight)
            check_width(texts, "X", data.rows.width)
            self._keep_column_names(X)
            texts, annotated = self._annotated(texts, rows, y, data)
            self._fit_texts(texts, data, validation, annotated)
            remember(self.provenance_, each_row(data.rows))
        self.clip_ = None
        vars(self).pop("counts_", None)
        return self

    def fit_shards(
        self,
        images: ImageShards | str | Path,
        validation: tuple[Any, Any] | None = None,
        left_out: Any = None,
        cluster: RayCluster | None = None,
    ) -> InformationPursuitClassifier:
        """Fit on images in shards, of which one is in memory at a time.

        Three passes read the shards: for their checksums; for samples and moments; and for the
        answers of all images. Of each class at most 1,024 images are held out. Texts are screened
        on 4,096 images (8 of a class, if that is more), thresholds are fitted on 32,768, of each
        class as many as of any other: those whose checksums come first. The model has the same
        bytes wherever the shards are read. It is the one of `fit` up to the rounding of sums, if
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
        if self.annotations:
            raise InputError("annotations: of rows in memory; expected `fit`, not `fit_shards`")
        if self.class_weight is not None:
            raise InputError("class_weight: of rows in memory; expected `fit`, not `fit_shards`")
        shards = EmbeddedShards(images) if isinstance(images, (str, Path)) else images
        check_width(texts, shards.where, shards.width)
        left_out = None if left_out is None else np.asarray(left_out, bool)
        self._keep_column_names(None)
        self._fit_texts(texts, ShardedSet(shards, left_out, cluster), validation)
        self.clip_ = shards.clip
        return self

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
            knowledge: a `KnowledgeTable`, or its file (`.jsonl`, `.parquet`).
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
        # Many answers in a row may tell nothing of the class in front: stability does not stop.
        model = cls(**{"stop": StoppingRule(0.95, stability=None), **settings})
        made = read_knowledge_model(
            knowledge, reliability, texts, text_embeddings, unlabelled, strength
        )
        return model._become(made)

    def _become(self, made: KnowledgeModel) -> InformationPursuitClassifier:
        """Become a model of given rates."""
        self._rule(None)
        self.pursuit_, self.columns_ = made.pursuit, made.columns
        self.counts_: Counts = made.counts
        self.queries_, self.classes_ = made.pursuit.queries, np.array(made.pursuit.class_names)
        self.n_features_in_, self.clip_, self.clip_source_ = made.width, None, None
        self.provenance_ = {"images": 0}
        if made.columns is not None:
            self.feature_names_in_ = np.array(made.columns.names, dtype=object)
        return self

    @available_if(lambda model: hasattr(model, "counts_"))
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Add labelled rows to a model `from_knowledge`; the questions stay the same.

        Of each class, what the table says counts for `strength` rows.

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
        querier = cast(InformationGain, self.pursuit_.querier)
        table = self.counts_.table(querier.table).to(self.pursuit_.device)
        self.pursuit_ = replace(
            self.pursuit_,
            querier=InformationGain(table, querier.query_weights, querier.redundant),
            classifier=NaiveBayes(table),
        )
        self.provenance_["images"] += len(data)
        remember(self.provenance_, each_row(data.rows))
        return self

    def select_queries(self, X: Any, y: Any, sample_weight: Any = None) -> list[str]:
        """Return the k texts that `fit` would choose, from all the rows given; nothing is fitted.

        Raises:
            InputError: a setting or an input is malformed, or there are no texts.
        """
        texts = self._texts_to_choose_from()
        rows = UnitMatrix(X, "X")
        data = training_set(rows, y, sample_weight)
        texts, annotated = self._annotated(texts, rows, y, data)
        chosen = TextQuestions(self, texts, data, annotated).chosen(seed_of(self.random_state))
        return [texts.texts[row] for row in chosen.tolist()]

    def candidates(self, X: Any, y: Any, count: int) -> list[str]:
        """Return at most `count` texts that may become questions: those that tell most alone.

        Texts that are given, kept or asked first come before all others.

        Raises:
            InputError: a setting or an input is malformed, or there are no texts.
        """
        texts = self._texts_to_choose_from()
        questions = TextQuestions(self, texts, training_set(UnitMatrix(X, "X"), y))
        rows = questions.candidates_for(count, seed_of(self.random_state))
        return [texts.texts[row] for row in rows.tolist()]

    # -- texts ------------------------------------------------------------------------------

    def _texts_to_choose_from(self) -> TextTable:
        check_settings(self)
        self._rule(None)
        if self.texts is None:
            raise InputError("texts is missing; expected texts to choose from")
        table = TextTable.from_arrays(self.texts, self.text_embeddings)
        warn_of_idle_bans(table.texts, self.ban)
        warn_of_equal_embeddings(table)
        return table

    def _annotated(
        self, texts: TextTable, rows: UnitMatrix, y: Any, data: InMemorySet
    ) -> tuple[TextTable, AnnotatedTexts | None]:
        """Return the universe with annotated texts that it lacks, and what people teach."""
        if not self.annotations:
            return texts, None
        reference = texts.unit_matrix
        if self.reference_embeddings is not None:
            reference = UnitMatrix(self.reference_embeddings, "reference_embeddings")
        within, labels = data.moments.discounted, np.asarray(y)
        seed = seed_of(self.random_state)
        return fit_annotations(self.annotations, texts, reference, rows, labels, within, seed)

    def _fit_texts(
        self,
        texts: TextTable,
        data: TrainingSet,
        validation: Any,
        annotated: AnnotatedTexts | None = None,
    ) -> None:
        """Choose the questions, count their answers, temper the table."""
        seed = seed_of(self.random_state)
        if validation is not None:
            validation = UnitMatrix(validation[0], "validation X"), validation[1]
        self.classes_, self.n_features_in_ = data.classes, texts.unit_matrix.width
        split = self._split(data, validation)
        warn_unless_one_clip(texts, split.train.sample(MOST, seed))

        known: ClassKnowledge | None = None

        def fitted(train: TrainingSet) -> FittedQuestions:
            nonlocal known
            questions = TextQuestions(self, texts, train, annotated, known)
            if questions.knowledge is not None and train is split.train:
                self.knowledge_ = questions.knowledge.table()
            if drafted_by(self.knowledge) != BY_CLIP:  # else it is of these images
                known = questions.knowledge
            return questions.fitted(seed)

        found = self._finish(split, fitted, seed, texts.unit_matrix)
        if found.auroc is not None:
            self.provenance_["auroc_by_knowledge"] = [
                None if math.isnan(share) else round(share, 4) for share in found.auroc.tolist()
            ]
        if annotated is not None:
            of_text = {texts.texts[row]: each.facts for row, each in annotated.fitted.items()}
            self.provenance_["annotated"] = {
                query: of_text[query] for query in self.queries_ if query in of_text
            }
        if drafted_by(self.knowledge) is not None:
            self.provenance_["knowledge"] = self.knowledge
        if self.knowledge is not None:
            self.pursuit_ = replace(self.pursuit_, wording=_wording(self.pursuit_))
        self.provenance_["texts"] = len(texts.texts)
        self.provenance_["texts_sha256"] = settings_sha256({"texts": list(texts.texts)})

    def _split(self, data: TrainingSet, validation: tuple[Matrix, Any] | None) -> Split:
        """Return what to learn from, and the rows given to calibrate on, or some held out."""
        fraction = 0.0 if validation else float(self.validation_fraction)
        train, held_out = data.split(fraction)
        if validation is not None:
            held_out = validation_set(*validation, data.classes)
        return Split(train, held_out, data.facts(held_out), fraction > 0)

    # -- columns of a table -----------------------------------------------------------------

    def _fit_table(self, X: Any, y: Any, sample_weight: Any, validation: Any) -> None:
        seed = seed_of(self.random_state)
        self.columns_ = TableColumns.of(X)
        rows, y = self._checked(X, y, reset=True)
        data = training_set(rows, y, sample_weight, self.class_weight)
        self.classes_ = data.classes
        if validation is not None:
            validation = self._table(validation[0]), validation[1]
        names = self._table_columns()
        warn_of_idle_bans([*names.names, *(f"{each}?" for each in names.names)], self.ban)

        def fitted(train: TrainingSet) -> FittedQuestions:
            assert isinstance(train, InMemorySet)
            return value_questions(self, train, names, seed)

        self._finish(self._split(data, validation), fitted, seed)
        remember(self.provenance_, each_row(data.rows))

    def _table(self, X: Any) -> Matrix:
        return self._checked(X, "no_validation", reset=False)[0]

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Matrix, Any]:
        """Return the rows of a table as numbers, and the labels, checked as scikit-learn does."""
        checked: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        refuse_complex("X", X)
        refuse_complex("y", y)
        if self.columns_ is not None or (not reset and column_names(X)):
            # Names of columns first: cells of a column that is not meant have no say.
            validate_data(self, X, reset=reset, skip_check_array=True)
            rows = check_array(self._table_columns().numbers(X), input_name="X", **checked)
            return Matrix(as_tensor(rows)), y
        given = X
        try:
            y_of_predict = isinstance(y, str)
            X = validate_data(self, X, y, reset=reset, **checked)
            X, y = (X, None) if y_of_predict else X
        except (TypeError, ValueError):
            check_numbers(given)  # says where the cell is
            if y is not None and not isinstance(y, str):
                refuse_missing(np.asarray(y))  # and the label
            raise
        return Matrix(as_tensor(np.asarray(X))), y

    def __sklearn_tags__(self) -> Any:
        """Say that tables may have gaps; embeddings may not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.texts is None
        return tags

    def _keep_column_names(self, X: Any) -> None:
        """Remember the names of a data frame's columns, as scikit-learn does."""
        names = column_names(X)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # -- both -------------------------------------------------------------------------------

    def _finish(
        self,
        split: Split,
        fit: Callable[[TrainingSet], FittedQuestions],
        seed: int,
        universe: UnitMatrix | None = None,
    ) -> FittedQuestions:
        """Choose and count the questions, temper them on held-out rows, set `pursuit_`."""
        train, held_out = split.train, split.held_out
        found, familiarity = fit(train), None
        if not found.queries:
            warnings.warn(
                "no column of X differs between rows: all are constant, or gaps (NaN); the model "
                "has no question to ask, and says the most frequent class of every row",
                stacklevel=4,
            )
        table, predicted = found.querier.table, list[HeldOut]()
        words = found.words
        if held_out is not None and found.queries:
            count = calibration_images(min(BUDGET, len(found.queries)), len(self.classes_))
            predicted.append(found.held_out(held_out.sample(count, seed)))
            kept = held_out.sample(KEPT, 0).rows.tensor()
            familiarity = Familiarity(table, found.rule.answers(kept))
        few = held_out is None or len(np.unique(held_out.keys)) < FEW_HELD_OUT
        if few and split.may_hold_out and isinstance(train, InMemorySet):
            for rest, others in train.folds(FOLDS, FEWEST_OF_A_CLASS):
                predicted.append(fit(rest).held_out(others))
            if not predicted and found.queries:
                what = "rows" if self.texts is None else "images"
                warnings.warn(
                    f"{len(np.unique(train.keys))} different {what} of {len(self.classes_)} "
                    "classes are too few to calibrate: the probabilities are a guess; give at "
                    f"least {FEWEST_OF_A_CLASS} different {what} of each class",
                    stacklevel=3,
                )
        predicted = [each for each in predicted if each.answers.shape[1]]
        spread = spread_by(train.total / len(self.classes_))
        tempering = ASSUMED_TEMPERING._replace(spread=spread)
        if universe is not None and split.facts["images"] == len(self.classes_):
            tempering = tempering_of_one(score_scatter(universe, train.moments.total))
        if predicted:
            tempering, _ = fit_tempering(predicted, BUDGET, spread)
        table = tempering.of(table)
        self.pursuit_ = Pursuit(
            tuple(found.queries),
            tuple(str(each) for each in self.classes_),
            found.rule.final if isinstance(found.rule, CrossFittedAnswers) else found.rule,
            InformationGain(table, found.querier.query_weights, found.querier.redundant),
            NaiveBayes(table),
            found.first,
            familiarity,
            other_labels(self.classes_),
            words,
        )
        self.queries_, self.clip_source_ = self.pursuit_.queries, None
        self.provenance_ = dict(split.facts)
        if held_out is not None:
            shown = held_out.sample(HELD_OUT, seed)
            ending = self.pursuit_.ask_until(
                found.rule.answers(shown.rows.tensor()), self._rule(None)
            )
            right = ending.posterior.argmax(dim=1) == shown.labels
            self.provenance_["held_out_accuracy"] = right.double().mean().item()
        return found


def _wording(pursuit: Pursuit) -> tuple[str, ...]:
    """Return the questions in words that suit the classes; none if their queries say it all."""
    alike = comparable_texts(pursuit.class_names, pursuit.queries)
    return questions(pursuit.queries, alike) if alike else ()


class Split(NamedTuple):
    """Training images, and those that calibrate.

    Attributes:
        train: to learn from.
        held_out: that calibrate; None if there are none.
        facts: for the provenance.
        may_hold_out: whether images to learn from may calibrate, too.
    """

    train: TrainingSet
    held_out: InMemorySet | None
    facts: dict[str, Any]
    may_hold_out: bool


class FittedQuestions(NamedTuple):
    """Questions that were chosen, how images answer them, and how often each class says what.

    Attributes:
        queries: k questions.
        rule: how images answer.
        querier: with the untempered table.
        first: the place of the question that comes first; None for the best.
        auroc: (k,) how well scores rank images, by the knowledge; None without.
        words: of the answers to each question; none if they are yes and no.
    """

    queries: list[str]
    rule: AnswerRule
    querier: InformationGain
    first: int | None = None
    auroc: Float[Tensor, " k"] | None = None
    words: tuple[tuple[str, ...], ...] = ()

    def held_out(self, rows: InMemorySet) -> HeldOut:
        """Return rows that these questions were fitted without, with their answers."""
        answers = self.rule.answers(rows.rows.tensor())
        return HeldOut(self.querier, answers, rows.labels, rows.weights)


def refuse_complex(name: str, values: Any) -> None:
    """Raise InputError for complex numbers, of which only the real part would count."""
    of_columns = hasattr(values, "columns") and hasattr(values, "dtypes")
    columns = list(values.columns) if of_columns else []
    dtypes = list(values.dtypes) if of_columns else [getattr(values, "dtype", None)]
    for column, dtype in enumerate(dtypes):
        if getattr(dtype, "kind", "") == "c":
            where = f" in column {columns[column]!r}" if columns else ""
            raise InputError(f"{name}: Complex data not supported{where}; expected real numbers")


def refuse_missing(labels: np.ndarray) -> None:
    """Raise InputError for a label that is no label: NaN, infinity, None."""
    for row, label in enumerate(labels if labels.dtype.kind in "fO" else ()):
        if not isinstance(label, str) and str(label) in NOT_LABELS:
            raise InputError(f"y: row {row} is {label}; expected the label of a class")


def encoded_labels(y: Any) -> tuple[np.ndarray, Int[Tensor, " n"]]:
    """Return the distinct labels in order (c,), and the number of each row's label (n,).

    Texts of a fixed width become as wide as the longest label, and StringDType such texts.

    Raises:
        InputError: there is one class; or a label is neither text nor number, or not text that
            UTF-8 can hold.
    """
    try:
        given = np.asarray(y)
        labels = given.astype(np.str_) if given.dtype.kind == "T" else y
        labels = column_or_1d(labels, warn=True)
        refuse_missing(labels)
        objects = labels if labels.dtype.kind == "O" else ()
        kinds = {"str" if isinstance(each, str) else type(each).__name__ for each in objects}
        if len(kinds) > 1:
            raise InputError(
                f"y has labels of the types {', '.join(sorted(kinds))}; expected one type"
            )
        with warnings.catch_warnings():  # one image of each class is no sign of a regression
            warnings.filterwarnings("ignore", "The number of unique classes")
            check_classification_targets(labels)
        classes, numbers = np.unique(labels, return_inverse=True)
    except InputError:
        raise
    except (TypeError, ValueError) as error:  # of numpy and scikit-learn, too
        raise InputError(f"y: {error}") from error
    kind = classes.dtype
    texts = kind.kind in "UO" and all(isinstance(each, str) for each in classes)
    if not texts and (kind.kind not in "iufb" or kind == np.longdouble):
        raise InputError(f"y: Unknown label type: {kind}; expected texts, or whole numbers")
    if texts:
        forms: dict[str, str] = {}
        for each in classes:
            if writable(each) != each:
                raise InputError(f"y: the label {str(each)!r}; expected text that UTF-8 can hold")
            if (other := forms.setdefault(composed(each), each)) != each:
                raise InputError(
                    f"y: the labels {str(other)!a} and {str(each)!a} are one name in two "
                    "forms; expected one of them"
                )
        classes = classes if kind.kind == "O" else np.array(classes.tolist())
    if len(classes) < 2:
        found = f"{classes.tolist()[0]!r} in all {len(labels)} rows"
        raise InputError(f"y has one class, {found}; expected two or more classes")
    return classes, torch.from_numpy(numbers.astype(np.int64))


def training_set(
    rows: Matrix, y: Any, sample_weight: Any = None, class_weight: Any = None
) -> InMemorySet:
    """Return rows with labels and weights as people give them, less rows of weight zero."""
    if not len(rows):
        raise InputError("X has no rows; expected at least one")
    check_consistent_length(np.empty(len(rows)), y)
    if sample_weight is None and class_weight is None:
        classes, labels = encoded_labels(y)
        return InMemorySet(rows, labels, None, classes)
    try:
        weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight: {error}; expected numbers") from error
    weights = np.full(len(rows), weights) if not weights.ndim else weights
    if weights.shape != (len(rows),):
        raise InputError(f"sample_weight has the shape {weights.shape}; expected ({len(rows)},)")
    if not (weights >= 0).all():
        raise InputError(f"sample_weight: {weights.min()}; expected no NaN and no negative weights")
    if not weights.any():
        raise InputError("sample_weight is zero everywhere; expected a positive weight")
    kept = np.flatnonzero(weights > 0)
    classes, labels = encoded_labels(np.asarray(y)[kept])
    weights = weights[kept] * _class_weights(class_weight, classes, labels)
    least, most = weights.min(), weights.max()
    # Sums of float32 would be infinite, or nothing.
    if not (least >= LIGHTEST and most <= HEAVIEST):
        name = "sample_weight" if class_weight is None else "class_weight times sample_weight"
        raise InputError(
            f"{name} is from {least:g} to {most:g}; expected {LIGHTEST:g} to {HEAVIEST:g}, "
            "as a row of weight two counts like two rows"
        )
    rows = rows if len(kept) == len(rows) else rows.subset(torch.from_numpy(kept))
    return InMemorySet(rows, labels, torch.from_numpy(weights), classes)


def _class_weights(class_weight: Any, classes: np.ndarray, labels: Tensor) -> Any:
    """Return the weight of each row's class, as scikit-learn counts it."""
    if class_weight is None:
        return 1.0
    places = labels.numpy()
    known = classes.tolist()
    if isinstance(class_weight, Mapping) and not all(each in class_weight for each in known):
        for label in class_weight:
            if label not in known:  # scikit-learn would name the classes that have no weight
                expected = one_such_as(label, known)
                raise InputError(f"class_weight: no class {label!r}; expected {expected}")
    try:
        each = compute_class_weight(class_weight, classes=classes, y=classes[places])
    except (TypeError, ValueError) as error:
        raise InputError(f"class_weight: {error}") from error
    return each[places]


def validation_set(
    rows: Matrix, y: Any, classes: np.ndarray, name: str = "validation"
) -> InMemorySet:
    """Return rows to validate on, whose labels are among the training classes (c,)."""
    labels = np.asarray(y)
    check_consistent_length(np.empty(len(rows)), labels)
    order = np.argsort(classes)  # those of shards have the order of their labels
    places = order[np.searchsorted(classes, labels, sorter=order).clip(max=len(order) - 1)]
    unknown = classes[places] != labels
    if unknown.any():
        first = labels[unknown].tolist()[0]
        raise InputError(
            f"{name}: the label {first!r} is not among the training labels; expected "
            f"{one_such_as(first, classes.tolist())}"
        )
    return InMemorySet(rows, torch.from_numpy(places.astype(np.int64)), None, classes)


# The settings that are one of a few words, and those that are numbers in a range.
WORDS = {
    "answers": (*LEVELS, "minmax"),
    "certified_by": (None, "annotations"),
    "rates": ("counted", "fitted"),
}
SHARES = {
    "validation_fraction": (lambda share: 0 <= share < 1, "0 or more and less than 1"),
    "leakage": (lambda share: 0 <= share <= 1, "a number from 0 to 1"),
}


def check_settings(model: InformationPursuitClassifier) -> None:
    """Raise InputError for a malformed setting of the classifier, or for two that do not fit.

    Its stopping rule is checked where it is used.
    """
    check_whole("n_queries", model.n_queries, 1)
    for name, words in WORDS.items():
        check_words(name, getattr(model, name), words)
    for name, (fits, expected) in SHARES.items():
        share = getattr(model, name)
        if not isinstance(share, int | float | np.integer | np.floating) or not fits(share):
            raise InputError(f"{name} is {share!r}; expected {expected}")
    if isinstance(model.ban, str):
        raise InputError(f"ban is the string {model.ban!r}; expected a list of texts or words")
    if isinstance(model.keep, str):
        raise InputError(f"keep is the string {model.keep!r}; expected a list of questions")
    if isinstance(model.queries, str) or (model.queries is not None and not len(model.queries)):
        raise InputError(f"queries is {model.queries!r}; expected a list of queries, or None")
    if model.texts is None and model.text_embeddings is not None:
        raise InputError("text_embeddings come without texts; expected both or neither")
    if model.certified_by is not None and not model.annotations:
        raise InputError("certified_by: there are no annotations; expected some, or None")
    if model.texts is None and model.annotations:
        raise InputError("annotations are about texts; expected None if there are no texts")
    if model.texts is None and model.knowledge is not None:
        raise InputError("knowledge is about texts; expected None if there are no texts")


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise InputError for a setting that is not a whole number, too small or too large."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        until = "on" if most is None else f"to {most}"
        raise InputError(f"{name} is {value!r}; expected a whole number from {least} {until}")


def check_words(name: str, value: Any, words: Sequence[str | None]) -> None:
    """Raise InputError for a setting that is none of these words."""
    if value not in words:
        expected = f"{', '.join(map(repr, words[:-1]))} or {words[-1]!r}"
        raise InputError(f"{name} is {value!r}; expected {expected}")


def check_width(texts: TextTable, name: str, width: int) -> None:
    """Raise InputError if rows are not as wide as the embeddings of the texts."""
    if width != texts.unit_matrix.width:
        raise InputError(
            f"{name} has {width} columns and text_embeddings {texts.unit_matrix.width}; expected "
            "one CLIP for both"
        )


def required_questions(
    model: InformationPursuitClassifier, texts: TextTable
) -> tuple[Bool[Tensor, " u"], Int[Tensor, " m"], Int[Tensor, " k"] | None]:
    """Return which texts are not banned, the rows to keep, and those of the dictionary if given.

    Needs no embeddings.
    """
    allowed = not_banned(texts.texts, model.ban)
    fixed = fixed_rows(texts, model.first_query, model.keep, allowed)
    if model.queries is None:
        check_room(len(fixed), model.n_queries)
        return allowed, fixed, None
    rows = texts.rows(model.queries)
    refuse_banned([texts.texts[row] for row in rows.tolist()], allowed[rows])
    check_among(texts, fixed, rows)
    return allowed, fixed, rows


def check_before_work(
    model: InformationPursuitClassifier, texts: Sequence[str], labels: Sequence[Any] | np.ndarray
) -> None:
    """Check all settings of a classifier that need no embeddings: before hours of embedding.

    Raises:
        InputError: one is malformed, names no text, or knows nothing of these classes.
    """
    check_settings(model)
    required_questions(model, TextTable.from_arrays(texts, np.ones((len(texts), 1))))
    warn_of_idle_bans(texts, model.ban)
    if model.knowledge is not None and drafted_by(model.knowledge) != BY_CLIP:
        ClassKnowledge(model.knowledge, np.unique(labels), texts, model.leakage)


class TextQuestions:
    """The texts of a universe, measured on training images by the settings of a classifier."""

    def __init__(
        self,
        model: InformationPursuitClassifier,
        texts: TextTable,
        data: TrainingSet,
        annotated: AnnotatedTexts | None = None,
        known: ClassKnowledge | None = None,
    ) -> None:
        """Set up what chooses texts; `known` is `model.knowledge` if it has been read before."""
        self.model, self.texts, self.data, self.annotated = model, texts, data, annotated
        reference = texts.unit_matrix
        if model.reference_embeddings is not None:
            reference = UnitMatrix(model.reference_embeddings, "reference_embeddings")
        self.knowledge = truth = shares = weights = None
        if model.knowledge is not None:
            known = known or self._known(reference)
            truth, shares = known.truth, known.true_shares(data.moments.prior)
            self.knowledge, weights = known, known.query_weights
        thresholds = ThresholdFit(LEVELS.get(model.answers, 3), shares)
        self.candidates = CandidateTexts(
            texts.unit_matrix,
            TextDirections(reference, data.moments.discounted, truth),
            # Texts chosen by three answers tell more early (lab/findings.md, "Five answers").
            thresholds._replace(levels=min(thresholds.levels, 3)),
            weights,
            texts.shared(),
            annotated,
        )
        self.asked = replace(self.candidates, thresholds=thresholds)

    def _known(self, reference: UnitMatrix) -> ClassKnowledge:
        """Read what is known of the classes, or let the CLIP draft it."""
        model, data, texts = self.model, self.data, self.texts
        given, drafted = model.knowledge, drafted_by(model.knowledge) == BY_CLIP
        other = None
        if drafted:
            names = tuple(str(each) for each in data.classes)
            other = impossible_texts(names, texts.texts, texts.unit_matrix, reference)
            given = drafted_by_clip(data.moments.means, texts.unit_matrix, reference, names, other)
        elif self.annotated is not None and not isinstance(given, KnowledgeTable | str | Path):
            given = np.asarray(given, dtype=np.float32)  # of a text that people added: nothing
            missing = max(len(texts.texts) - given.shape[-1], 0)
            given = np.pad(given, ((0, 0), (0, missing)), constant_values=np.nan)
        known = ClassKnowledge(given, data.classes, texts.texts, model.leakage, drafted, other)
        if known.coverage is not None:
            logger.info("%s", known.coverage)
        return known

    def chosen(self, seed: int) -> Int[Tensor, " k"]:
        """Return the rows of the questions given, or of the most informative and those to keep."""
        model = self.model
        allowed, fixed, given = required_questions(model, self.texts)
        if given is not None:
            return self._distinct(given)
        fixed = self._distinct(fixed)
        allowed &= self._first_of_equals(fixed)
        if self.annotated is not None and model.certified_by is not None:
            certified = self.annotated.certified(len(self.texts.texts))
            allowed &= certified | torch.isin(torch.arange(len(allowed)), fixed)
            if not allowed.any():
                raise InputError(
                    "certified_by: people found no text right often enough; expected None, or "
                    "more annotations"
                )
        count = min(model.n_queries, int(allowed.sum()))
        chosen = informative_rows(self.candidates, self.data, count, seed, allowed)
        others = chosen[~torch.isin(chosen, fixed)]
        if len(fixed) + len(others) > count:  # chosen again, without those that are kept anyway
            allowed[fixed] = False
            room = count - len(fixed)
            others = others[:0]
            if room:
                others = informative_rows(self.candidates, self.data, room, seed, allowed)
        return torch.cat([fixed, others]).sort().values

    def _distinct(self, rows: Int[Tensor, " m"]) -> Int[Tensor, " n"]:
        """Return rows less those with the embedding of another; the first question stays."""
        asked = rows.tolist()
        if self.model.first_query is not None:
            asked = [int(self.texts.rows([self.model.first_query])[0]), *asked]
        kept: dict[int, int] = {}
        for row in asked:
            kept.setdefault(int(self.texts.first_alike[row]), row)
        return rows[torch.isin(rows, torch.tensor(list(kept.values()), dtype=torch.long))]

    def _first_of_equals(self, fixed: Int[Tensor, " m"]) -> Bool[Tensor, " u"]:
        """Return which texts have an embedding of their own, or are asked for all that share it."""
        first = self.texts.first_alike
        own = first == torch.arange(len(first))
        own[first[fixed]] = False
        own[fixed] = True
        return own

    def candidates_for(self, count: int, seed: int) -> Int[Tensor, " m"]:
        """Return the rows of the most informative texts, and of those that are asked anyway."""
        texts, model = self.texts, self.model
        allowed = not_banned(texts.texts, model.ban)
        fixed = fixed_rows(texts, model.first_query, model.keep, allowed)
        if model.queries is not None:
            fixed = torch.cat([fixed, texts.rows(model.queries)])
        fixed = self._distinct(fixed)
        allowed &= self._first_of_equals(fixed)
        most = candidate_rows(self.candidates, self.data, count, model.n_queries, seed, allowed)
        others = most[~torch.isin(most, fixed)][: max(count - len(fixed), 0)]
        return torch.cat([fixed, others]).unique()

    def fitted(self, seed: int) -> FittedQuestions:
        """Choose the questions, fit how images answer them and count the answers."""
        chosen = self.chosen(seed)
        rule, auroc = self.answered(chosen, seed)
        querier = self.querier(rule, chosen, auroc, seed)
        queries = [self.texts.texts[row] for row in chosen.tolist()]
        place = None
        if self.model.first_query is not None:
            first = int(self.texts.rows([self.model.first_query])[0])
            place = chosen.tolist().index(first)
        return FittedQuestions(queries, rule, querier, place, auroc)

    def answered(
        self, chosen: Int[Tensor, " k"], seed: int
    ) -> tuple[AnswerRule, Float[Tensor, " k"] | None]:
        """Return how images answer the chosen texts, and how well the texts' scores rank images."""
        if self.model.answers == "minmax":
            return MinMaxAnswers(self.texts.unit_matrix.take(chosen)), None
        sample = self.data.sample(THRESHOLD_IMAGES, seed)
        images = sample.rows.tensor()
        rule, auroc = self.asked.answer_rule(chosen, images, sample.labels, sample.weights)
        return rule, None if self.knowledge is None else auroc

    def querier(
        self,
        rule: AnswerRule,
        chosen: Int[Tensor, " k"],
        auroc: Float[Tensor, " k"] | None,
        seed: int,
    ) -> InformationGain:
        """Return the querier of the chosen texts, with the table of their answers."""
        table, known = self.data.table(rule), self.knowledge
        weights = None if known is None else known.query_weights(chosen, auroc, table)
        related = related_texts([self.texts.texts[row] for row in chosen.tolist()])
        pairs = torch.tensor(related).long().reshape(-1, 3)
        if known is not None:
            pairs = torch.cat([pairs, known.implied(chosen, table)]).unique(dim=0)
        redundant = RedundantQuestions(pairs, len(chosen)) if len(pairs) else None
        counted = InformationGain(table, weights, redundant)
        if self.model.rates == "counted":
            return counted
        return with_fitted_rates(counted, rule, self.data, seed)


def value_questions(
    model: InformationPursuitClassifier, data: InMemorySet, names: TableColumns, seed: int
) -> FittedQuestions:
    """Return questions for the values of the columns given, or of those that tell most."""
    rule = column_values(data.rows.tensor(), names, data.weights)
    texts = value_texts(rule, names)
    first = [] if model.first_query is None else [model.first_query]
    kept = sorted(set(values_named([*first, *model.keep], rule, names)))
    allowed = not_banned(texts, model.ban)
    refuse_banned([texts[row] for row in kept], allowed[kept], "keep or first_query")
    if model.queries is None:
        check_room(len(kept), model.n_queries)
        rows = allowed.nonzero().squeeze(1)
        if len(rows) > model.n_queries:
            sample = data.sample(SELECTION_ROWS, seed)
            table = fit_table(rule, data.rows.blocks(), data.labels, data.weights)
            answers = rule.answers(sample.rows.tensor()).double()
            weights = torch.ones(len(sample)) if sample.weights is None else sample.weights
            credit = credit_of(table, answers, weights).masked_fill(~allowed, -torch.inf)
            credit[kept] = torch.inf
            order = credit.argsort(descending=True, stable=True)
            rows = order[: model.n_queries].sort().values
    else:
        rows = torch.tensor(values_named(model.queries, rule, names))
        refuse_banned([texts[row] for row in rows], allowed[rows])
        lacking = [texts[row] for row in kept if row not in rows]
        if lacking or len(set(rows.tolist())) < len(rows):
            what = f"{lacking[0]!r} is to be kept" if lacking else "one is there twice"
            raise InputError(f"queries: {what}; expected distinct queries, and these among them")
    place = None
    if first:
        place = rows.tolist().index(values_named(first, rule, names)[0])
    rule = rule.select(rows)
    table = fit_table(rule, data.rows.blocks(), data.labels, data.weights)
    querier = InformationGain(table)
    if model.rates != "counted":
        querier = with_fitted_rates(querier, rule, data, seed)
    words = value_words(rule, names)
    return FittedQuestions([texts[row] for row in rows], rule, querier, place, words=words)


def with_fitted_rates(
    counted: InformationGain, rule: AnswerRule, data: TrainingSet, seed: int
) -> InformationGain:
    """Return the querier with rates that are fitted on at most FITTED_ON rows."""
    shown = data.sample(FITTED_ON, seed)
    answers = rule.answers(shown.rows.tensor())
    table = fit_rates(counted, answers, shown.labels, shown.weights, seed)
    if isinstance(rule, ColumnValues):  # a gap tells nothing, whatever was fitted
        fitted, gap = table.log_likelihood.exp(), rule.levels // 2
        gaps = counted.table.log_likelihood[gap].exp()
        fitted[gap] = 0
        fitted *= (1 - gaps) / fitted.sum(dim=0)
        fitted[gap] = gaps
        table = replace(table, log_likelihood=fitted.log())
    return InformationGain(table, counted.query_weights, counted.redundant)


def seed_of(random_state: Any) -> int:
    """Return one seed for a fit, by scikit-learn's convention."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        check_whole("random_state", random_state, 0, LARGEST_SEED)
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise InputError(f"random_state: {error}") from error
