"""What every Information Pursuit classifier does once it is fitted: predict, explain, save.

Nothing here imports scikit-learn, which takes as long as torch: `load_fitted` gives a model that
predicts and explains, and `infopursuit.load` the same model as an estimator of scikit-learn.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from infopursuit.core.defaults import own_defaults
from infopursuit.core.errors import InputError, one_such_as
from infopursuit.core.renderers import renderer
from infopursuit.datasets.matrix import Matrix, UnitMatrix, as_tensor
from infopursuit.datasets.samples import is_pictures, names_of
from infopursuit.datasets.table_columns import TableColumns, column_names
from infopursuit.datasets.trained_on import each_row, seen
from infopursuit.estimators import persistence
from infopursuit.estimators.persistence import SavedModel
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.pursuit import Pursuit, other_labels
from infopursuit.pursuit.rollout import RollOut, images_at_once
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule
from infopursuit.texts.knowledge import KnowledgeTable

if TYPE_CHECKING:
    from infopursuit.core.renderers import FramedPage

# Settings that are data, and are not saved: the chosen questions are.
DATA = ("texts", "text_embeddings", "queries", "knowledge")

# Columns that a message names.
NAMED = 3
REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")

Model = TypeVar("Model", bound="PursuitClassifier")


@own_defaults
class PursuitClassifier:
    """The part that does not depend on how a model is fitted.

    Attributes:
        pursuit_: the fitted questions, answer rule, querier and classifier.
        classes_: (c,) the class labels.
        queries_: the k questions.
        n_features_in_: d, the width of the embeddings, or the number of columns.
        clip_: the CLIP that the embeddings come from, by name; None if it is not known.
        clip_source_: where that CLIP is: what `load_clip` takes, paths absolute; None if that is
            not known.
        clip_device_: where it computes: `auto`, `cpu` or `cuda`.
        columns_: what is in the columns of a table; None if all are numbers.
        provenance_: settings, selection and hashes of inputs, as plain values.
        knowledge_: the knowledge table that the model was fitted with; None without one.
    """

    stop: StoppingRule | None
    pursuit_: Pursuit
    classes_: np.ndarray
    queries_: tuple[str, ...]
    n_features_in_: int
    feature_names_in_: np.ndarray
    clip_: str | None
    clip_source_: str | None = None
    clip_device_: str = "auto"
    columns_: TableColumns | None = None
    is_view_: bool = False  # whether it is `given` something
    provenance_: dict[str, Any]
    knowledge_: KnowledgeTable | None = None

    # -- predictions ------------------------------------------------------------------------

    def predict(self, X: Any, stop: StoppingRule | None = None) -> np.ndarray:
        """Predict the class of each row; (n,), of the type of the labels.

        Args:
            X: (n, d) embeddings, or pictures if the model knows its CLIP.
            stop: when to ask no more; None for the model's own rule.
        """
        rows = [each.argmax(dim=1).cpu().numpy() for each in self._endings(X, stop)]
        return self.classes_[np.concatenate(rows)]

    def predict_proba(self, X: Any, stop: StoppingRule | None = None) -> np.ndarray:
        """Return the posterior at the point where each row's questions end; (n, c) float64."""
        posteriors = [each.double().cpu().numpy() for each in self._endings(X, stop)]
        posterior = np.concatenate(posteriors)
        return posterior / posterior.sum(axis=1, keepdims=True)

    def answer(self, X: Any) -> np.ndarray:
        """Return the answers of each row to all k questions: (n, k) float32 in [0, 1].

        0.5 is not sure, less is a no and more a yes; 0 and 1 are the firmest answers there are.
        """
        return self._answers(X).cpu().numpy().astype(np.float32)

    def roll_out(self, X: Any, budget: int | None = None) -> RollOut:
        """Ask `budget` questions (default k) of each row; the whole course, as tensors."""
        rows = self._rows(X).tensor().to(self.pursuit_.device)
        return self.pursuit_.roll_out(rows, len(self.queries_) if budget is None else budget)

    def accuracy_by_budget(self, X: Any, y: Any, budget: int | None = None) -> np.ndarray:
        """Return the accuracy after exactly t = 0..T questions; (T + 1,) float64.

        Args:
            X: (n, d) embeddings, or pictures if the model knows its CLIP.
            y: (n,) labels.
            budget: T, at most k; None for k. What is known counts as no question; a row that has
                no question left keeps its prediction.
        """
        rows = self._rows(X).tensor().to(self.pursuit_.device)
        labels = np.asarray(y)
        if len(labels) != len(rows):
            raise InputError(f"y has {len(labels)} labels for {len(rows)} rows; expected one each")
        budget = len(self.queries_) if budget is None else budget
        correct = np.zeros(budget + 1)
        size = images_at_once(budget, len(self.classes_))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            posteriors = self.pursuit_.roll_out(rows[block], budget).posteriors
            predicted = self.classes_[posteriors.argmax(dim=2).cpu().numpy()]
            correct += (predicted == labels[block, None]).sum(axis=0)
        return correct / len(rows)

    # -- explanations -----------------------------------------------------------------------

    def explain(
        self,
        X: Any,
        stop: StoppingRule | None = None,
        overrides: Mapping[str, str | float] | None = None,
        names: Sequence[str] | None = None,
        where: bool = False,
    ) -> list[Explanation]:
        """Explain each row: the questions asked, the answers, and the posterior after each.

        Args:
            X: (n, d) embeddings, or pictures if the model knows its CLIP.
            stop: when to ask no more; None for the model's own rule.
            overrides: answers that replace those of the images, by question: `yes`,
                `probably`, `not sure`, `probably not`, `no`, or a number in [0, 1]. The questions
                after them are chosen again.
            names: of the rows; None for paths, the index of a data frame, or `image 0`, ...
            where: whether each answer yes gets its place in the picture (`Step.where`), which its
                figure and its HTML show; for pictures only.

        Raises:
            InputError: the model has no such question, an answer is not one of these, or there are
                no places (see `where`).
        """
        if where:
            from infopursuit.estimators.places import located, mapped

            rows, maps = mapped(self, X)
            names = names_of(X, len(rows)) if names is None else names
            explained = self.explain(rows, stop, overrides, names)
            return located(self, explained, maps, X)
        answers, shown, replaced = self._given(X, overrides, names)
        return self.pursuit_.explain(answers, self._rule(stop), shown, overrides=replaced)

    def where(self, X: Any, question: str | Sequence[str]) -> np.ndarray:
        """Map where in each picture something speaks for a question; (n, h, w) float32.

        A map has a number for each patch, in rows from the top left corner of the picture as the
        model sees it (resized, and cropped to a square by most CLIPs): the embedding of the patch,
        of unit norm, along the direction that gives the score of the question. Compare numbers of
        one map: absence, counts and relations have no place (docs/explorer.md).

        Args:
            X: pictures.
            question: one of `queries_`; of a list the maps are (n, q, h, w), in one pass of the
                CLIP.

        Raises:
            InputError: the model has no such question, X are embeddings, the model does not know
                its CLIP, or this CLIP has no embeddings of patches.
        """
        from infopursuit.estimators.places import mapped

        self._check_fitted()
        asked = [question] if isinstance(question, str) else list(question)
        maps = mapped(self, X, asked)[1]
        return maps[:, 0] if isinstance(question, str) else maps

    def dialogue(
        self, X: Any = None, person_cost: float | None = None, sure: float = 1.0
    ) -> Dialogue:
        """Ask one image, or a person, step by step; answers may be changed at any time.

        Args:
            X: one row; None if a person answers.
            person_cost: what asking a person costs, in questions to the image: a person answers
                what the image is not sure of; None if the image answers all.
            sure: how certain an answer of the image has to be: yes and no are 1, probably and
                probably not 0.75, not sure 0.5.
        """
        self._check_fitted()
        rule = self._rule(None)
        if X is None:
            return Dialogue(self.pursuit_, stop=rule)
        answers = self._answers(X)
        if len(answers) != 1:
            raise InputError(f"a dialogue is about one {self.pursuit_.noun}; found {len(answers)}")
        (name,) = names_of(X, 1, self.pursuit_.noun)
        (answers,), _ = self.pursuit_.evidence(answers)
        return Dialogue(self.pursuit_, answers, name, rule, person_cost, sure)

    def questions_for(self, label: Any, count: int = 5) -> dict[str, list[tuple[str, float]]]:
        """Return the questions that speak most for and against a class, each on its own.

        Args:
            label: one of `classes_`.
            count: how many of each.

        Returns:
            `for` and `against`: questions with what a yes (of a column: a value) adds to the
            log-probability of the class, in nats, before anything else is asked. It says how images
            answer, not what is true of the class: if images of pizzas alone get a yes to "giraffe",
            that adds much. Those `for` come in the order of what the answers of images of the class
            tell on average, a no of some of them included. If the model has a knowledge table,
            these are the questions that it supports (true of the class, at least of some pictures,
            or not true of it), and `other` has those that it does not. `not sure`, if images may
            answer so and that tells something: questions with what not sure adds, the largest
            changes first.
        """
        from infopursuit.pursuit.class_questions import questions_for

        self._check_fitted()
        matching = [row for row, each in enumerate(self.classes_) if each == label]
        if not matching:
            expected = one_such_as(label, self.classes_.tolist())
            raise InputError(f"no class {label!r}; expected {expected}")
        return questions_for(self.pursuit_, matching[0], count, self.knowledge_)

    def explore(
        self,
        X: Any = None,
        y: Any = None,
        *,
        pictures: Any = None,
        train: tuple[Any, Any] | None = None,
        title: str = "Explorer",
        height: int = 900,
    ) -> FramedPage:
        """Make a page to explore the model; a notebook shows it inline.

        Args:
            X: (n, d) embeddings, or pictures if the model knows its CLIP; None for no images. The
                page says how many of them, or of equal ones, the model was fitted on.
            y: (n,) labels, as `fit` took them; None if they are not known.
            pictures: of the rows, if X are embeddings.
            train: (X, y) of the training split, to look for images with the same answers.
            title: of the page.
            height: of its frame, in pixels.

        Raises:
            InputError: labels or pictures are not as many as rows, or the model is too large for a
                page.
        """
        self._check_whole()
        from infopursuit.datasets.decoding import picture_list
        from infopursuit.estimators.places import mapper

        shows_pictures = pictures is not None or (X is not None and is_pictures(X))
        answered = renderer("answered")

        def images(X: Any, y: Any, pictures: Any) -> Any:
            rows = self._rows(X)
            answers = self._answers(rows)
            shown = X if pictures is None and is_pictures(X) else pictures
            given = None if shown is None else picture_list(shown)
            names = names_of(X, len(answers), self.pursuit_.noun)
            fitted = seen(self.provenance_, each_row(rows))
            if given is not None:
                fitted |= seen(self.provenance_, given)
            return answered(names, answers, y, self.classes_.tolist(), given, int(fitted.sum()))

        return renderer("explored")(
            self.pursuit_,
            self._rule(None),
            self.provenance_,
            None if X is None else images(X, y, pictures),
            None if train is None else images(*train, None),
            title,
            height,
            mapper(self) if shows_pictures else None,
        )

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Show the questions of a fitted model, the settings of any other."""
        if not hasattr(self, "pursuit_"):
            return cast(Any, super())._repr_mimebundle_(**options)
        return {"text/plain": repr(self), "text/html": renderer("model_html")(self)}

    def conformity(self, X: Any) -> np.ndarray:
        """Return whether each row looks like any of the classes: p-values (n,) in (0, 1].

        They are conformal: of images of these classes a share p has a value of at most p. A value
        near zero says that the image shows none of them.

        Raises:
            InputError: no images were held out to compare with.
        """
        answers = self._answers(X)
        if self.pursuit_.conformity is None:
            raise InputError("no rows were held out to compare with; expected validation_fraction")
        return self.pursuit_.conformity.p_values(answers).double().cpu().numpy()

    def given(self: Model, known: Mapping[str, Any] | None = None, classes: Any = None) -> Model:
        """Return the model for rows of which something is known before the first question.

        It predicts and explains as the whole model does, and cannot be saved.

        Args:
            known: answers by question, as `explain` takes overrides. They are evidence: they cost
                nothing, are never asked, and explanations show them first.
            classes: the only ones there are, of `classes_`; None for all. Questions of naive Bayes
                are chosen to tell these apart.

        Raises:
            InputError: the model has no such question or class, or an answer is none.
        """
        self._check_fitted()
        view = copy.copy(self)
        view.pursuit_ = self.pursuit_.given(known, classes)
        names = self.pursuit_.class_names
        view.classes_ = self.classes_[[names.index(each) for each in view.pursuit_.class_names]]
        view.is_view_ = True
        vars(view).pop("counts_", None)
        return view

    def without(self: Model, *questions: str) -> Model:
        """Return the model without some of its questions; nothing is fitted again.

        Raises:
            InputError: the model has no such question, none would be left, or its networks were
                trained on the whole dictionary.
        """
        fewer, dropped = copy.copy(self), [self.pursuit_.number(each) for each in questions]
        fewer.pursuit_ = self.pursuit_.without(dropped)
        fewer.queries_ = fewer.pursuit_.queries
        if hasattr(self, "counts_"):
            fewer.counts_ = self.counts_.without(dropped)
        return fewer

    def with_class_names(self: Model, names: Sequence[str]) -> Model:
        """Return the model with other names for its classes, in the order of `classes_`.

        Raises:
            InputError: there are not as many names as classes, one occurs twice, or is no text.
        """
        texts = {name for name in names if isinstance(name, str)}
        if not len(names) == len(texts) == len(self.classes_):
            raise InputError(
                f"{len(texts)} distinct texts for {len(self.classes_)} classes; expected one each"
            )
        renamed = copy.copy(self)
        renamed.classes_ = np.array(names)
        renamed.pursuit_ = replace(self.pursuit_, class_names=tuple(names), labels=None)
        new = dict(zip(self.pursuit_.class_names, names, strict=True))
        if (known := self.knowledge_) is not None:
            classes = tuple(new.get(name, name) for name in known.classes)
            renamed.knowledge_ = replace(known, classes=classes)
        return renamed

    # -- a model as a folder ----------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder; `infopursuit.load` reads it. Equal models, equal bytes."""
        persistence.save(self.as_saved(), folder)

    def to_hub(self, repository: str, **options: Any) -> str:
        """Upload the model with a model card to the Hugging Face hub; returns its address.

        Args:
            repository: `user/name`; it is made if it does not exist.
            options: `private`, `token`, `branch`, `commit_message` or `create_pr`, as
                `huggingface_hub` takes them.

        Raises:
            InputError: the hub cannot be reached, or refuses the model.
        """
        return renderer("push")(self.as_saved(), repository, **options)

    def as_saved(self) -> SavedModel:
        """Return what is saved of a fitted model."""
        self._check_whole()
        settings = {
            name: value._asdict() if isinstance(value, StoppingRule) else value
            for name, value in cast(Any, self).get_params(deep=False).items()
            if name not in DATA
        }
        return SavedModel(
            type(self).__name__,
            settings,
            self.pursuit_,
            self.classes_,
            self.n_features_in_,
            list(getattr(self, "feature_names_in_", [])),
            self.clip_,
            self.clip_source_,
            self.provenance_,
            self.columns_,
            self.knowledge_,
            getattr(self, "counts_", None),
        )

    def restore(self, saved: SavedModel) -> None:
        """Become the fitted model that was saved."""
        self.pursuit_ = replace(saved.pursuit, labels=other_labels(saved.classes))
        self.queries_ = saved.pursuit.queries
        self.classes_, self.n_features_in_ = saved.classes, saved.width
        self.clip_, self.clip_source_ = saved.clip, saved.clip_source
        self.provenance_, self.columns_ = saved.provenance, saved.table
        self.knowledge_ = saved.knowledge
        if saved.counts is not None:
            self.counts_ = saved.counts
        if saved.columns:
            self.feature_names_in_ = np.array(saved.columns, dtype=object)

    # -- inputs -----------------------------------------------------------------------------

    def _check_whole(self) -> None:
        self._check_fitted()
        if self.is_view_:
            raise InputError("the model is given answers or classes; expected it as it was fitted")

    def _check_fitted(self) -> None:
        if not hasattr(self, "pursuit_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "pursuit_")

    def _rows(self, X: Any) -> Matrix:
        self._check_fitted()
        if self.pursuit_.rule.of_tables:
            return self.pursuit_.checked(self._table(X))
        if is_pictures(X):
            from infopursuit.clip.embed import embed_pictures
            from infopursuit.clip.towers import model_clip

            clip = model_clip(self.clip_source_, self.clip_, self.clip_device_)
            X = embed_pictures(clip, [X] if isinstance(X, (Path, bytes)) else X)
        self._check_column_names(X)
        rows = UnitMatrix(X, "X")
        if rows.width != self.n_features_in_:
            raise InputError(
                f"X has {rows.width} columns; the model was fitted on embeddings of width "
                f"{self.n_features_in_}: expected the same CLIP for both"
            )
        return rows

    def _table(self, X: Any) -> Matrix:
        """Return rows of a table; an estimator of scikit-learn checks them more closely."""
        self._check_column_names(X)
        return Matrix(as_tensor(self._table_columns().numbers(X)))

    def _table_columns(self) -> TableColumns:
        if self.columns_ is not None:
            return self.columns_
        default = [f"column {i}" for i in range(self.n_features_in_)]
        names = getattr(self, "feature_names_in_", default)
        return TableColumns.numbers_only([str(name) for name in names])

    def _check_column_names(self, X: Any) -> None:
        """Raise InputError if a data frame has other columns than in `fit`, or another order."""
        names = column_names(X)
        expected = list(getattr(self, "feature_names_in_", names))
        if names and names != expected:
            lacking = [name for name in expected if name not in names]
            added = [name for name in names if name not in expected]
            found = [
                f"{what}: {', '.join(map(repr, which[:NAMED]))}"
                for what, which in (("missing", lacking), ("not there in fit", added))
                if which
            ]
            raise InputError(
                "X: the feature names should match those of fit, in the same order; "
                + ("; ".join(found) or f"{names[0]!r} comes first, expected {expected[0]!r}")
            )

    def _answers(self, X: Any) -> Tensor:
        return torch.cat(list(self._answer_blocks(X)))

    def _given(
        self, X: Any, overrides: Mapping[str, str | float] | None, names: Sequence[str] | None
    ) -> tuple[Tensor, list[str], dict[int, float]]:
        """Return answers (n, k), names, and the answers that replace them, by query."""
        answers = self._answers(X)
        noun = self.pursuit_.noun
        shown = names_of(X, len(answers), noun) if names is None else list(names)
        if len(shown) != len(answers):
            raise InputError(f"{len(shown)} names for {len(answers)} {noun}s; expected one each")
        overrides = {} if overrides is None else overrides
        if not isinstance(overrides, Mapping):
            raise InputError(f"overrides is {overrides!r}; expected answers by question, as a dict")
        replaced: dict[int, float] = {}
        for question, answer in overrides.items():
            query = self.pursuit_.number(question)
            value = self.pursuit_.answer_value(query, answer)
            if query in self.pursuit_.known:
                raise InputError(f"overrides: {question!r} is known; expected another question")
            if replaced.setdefault(query, value) != value:
                raise InputError(f"overrides: {question!r} is there twice, with two answers")
        return answers, shown, replaced

    def _answer_blocks(self, X: Any) -> Iterator[Tensor]:
        """Yield the answers of all rows, a block of rows at a time: X may be mapped from disk."""
        rows, device = X if isinstance(X, Matrix) else self._rows(X), self.pursuit_.device
        if not len(rows):
            yield self.pursuit_.answers(rows.tensor().to(device))
        for _, block in rows.blocks():
            yield self.pursuit_.answers(block.to(device))

    def _endings(self, X: Any, stop: StoppingRule | None) -> Iterator[Tensor]:
        """Yield the posteriors (m, c) after the last questions, a block of rows at a time."""
        rule = self._rule(stop)
        for block in self._answer_blocks(X):
            yield self.pursuit_.ask_until(block, rule).posterior

    def _rule(self, stop: StoppingRule | None) -> StoppingRule:
        chosen = stop or self.stop or DEFAULT_STOP
        if not isinstance(chosen, StoppingRule):
            raise InputError(f"stop is {chosen!r}; expected a StoppingRule")
        return chosen.checked()


def load_fitted(
    folder_or_repository: str | Path,
    clip: str | Path | None = None,
    device: torch.device | str = "auto",
    estimators: Mapping[str, Callable[..., PursuitClassifier]] | None = None,
) -> PursuitClassifier:
    """Load a saved model to predict and explain; it cannot be fitted or saved again.

    Args:
        folder_or_repository: the model's folder, or `user/name` on the Hugging Face hub.
        clip: where its CLIP is, if it has moved since, as `infopursuit.load` takes it.
        device: where the model and its CLIP compute.
        estimators: what makes a model of its settings, by the name of its class; None for a model
            that only predicts and explains.

    Raises:
        InputError: there is no such model, it is malformed, or the hub cannot be reached.
    """
    from infopursuit.clip.towers import choose_device

    folder, name = Path(folder_or_repository), str(folder_or_repository)
    if not folder.exists():
        if not REPOSITORY.fullmatch(name):
            raise InputError(
                f"{folder}: no such folder; expected one with {persistence.DESCRIPTION}, or "
                "user/name on the Hugging Face hub"
            )
        folder = renderer("fetched")(name)
    saved = persistence.load(folder, choose_device(device) if isinstance(device, str) else device)
    if estimators is None:
        model = PursuitClassifier()
        model.stop = saved.settings["stop"]
    else:
        with persistence.one_line_errors(folder):
            model = estimators[saved.estimator](**saved.settings)
    model.restore(saved)
    model.clip_device_ = str(device)
    if clip is not None:
        from infopursuit.clip.weights import clip_source

        model.clip_source_ = clip_source(clip)
    return model


def rows_of(model: PursuitClassifier, X: Any) -> Matrix:
    """Return the rows that a fitted model is asked about, as its answer rule wants them.

    Raises:
        InputError, ValueError: the rows are malformed, of another width or with columns of other
            names, or they are pictures and the model does not know its CLIP.
    """
    return model._rows(X)
