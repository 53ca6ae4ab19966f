"""What every Information Pursuit classifier does once it is fitted."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import picture_list
from infopursuit.datasets.rows import Rows
from infopursuit.estimators.inputs import is_pictures, names_of, rows_of
from infopursuit.explanation.explanation import Explanation, answer_value
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut, images_at_once

if TYPE_CHECKING:
    from infopursuit.explanation.frame import FramedPage

# Sure enough for predictions within about a point of those from all answers (docs: Results).
DEFAULT_STOP = StoppingRule(probability=0.95, max_queries=None)


Model = TypeVar("Model", bound="PursuitClassifier")


class PursuitClassifier(ClassifierMixin, BaseEstimator):
    """The part that does not depend on how a model is fitted.

    Attributes:
        pursuit_: the fitted questions, answer rule, querier and classifier.
        classes_: (c,) the class labels.
        queries_: the k questions.
        n_features_in_: d, the width of the embeddings, or the number of columns.
        clip_: the CLIP that the embeddings come from, by name; None where that is not known.
        clip_source_: where that CLIP is: what `load_clip` takes, paths absolute; None likewise.
        clip_device_: where it computes: `auto`, `cpu` or `cuda`.
        provenance_: settings, selection and hashes of inputs, as plain values.
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
    provenance_: dict[str, Any]

    # -- predictions ------------------------------------------------------------------------

    def predict(self, X: Any, stop: StoppingRule | None = None) -> np.ndarray:
        """The class of each row; (n,), of the type of the labels.

        Args:
            X: (n, d) embeddings, or pictures where the model knows its CLIP.
            stop: when to ask no more; None for the model's own rule.
        """
        places = [each.argmax(dim=1).cpu().numpy() for each in self._endings(X, stop)]
        return self.classes_[np.concatenate(places)]

    def predict_proba(self, X: Any, stop: StoppingRule | None = None) -> np.ndarray:
        """The posterior where each row's questions end; (n, c) float64."""
        posteriors = [each.double().cpu().numpy() for each in self._endings(X, stop)]
        posterior = np.concatenate(posteriors)
        return posterior / posterior.sum(axis=1, keepdims=True)

    def answer(self, X: Any) -> np.ndarray:
        """The answers of each row to all k questions: (n, k) int8, -1 no, 0 not sure, 1 yes.

        Soft answers of the paper's ablation are (n, k) float32 in [0, 1].
        """
        answers = self._answers(X).cpu().numpy()
        coded = np.round(2 * answers - 1)
        if not np.isin(answers, (0.0, 0.5, 1.0)).all():
            return answers.astype(np.float32)
        return coded.astype(np.int8)

    def roll_out(self, X: Any, budget: int | None = None) -> RollOut:
        """The whole course of `budget` questions (default k) to each row, as tensors."""
        rows = self._rows(X).tensor().to(self.pursuit_.device)
        budget = len(self.queries_) if budget is None else budget
        return self.pursuit_.roll_out(rows, budget)

    def accuracy_by_budget(self, X: Any, y: Any, budget: int | None = None) -> np.ndarray:
        """Accuracy after exactly t = 0..T questions; (T + 1,) float64.

        Args:
            X: (n, d) embeddings, or pictures where the model knows its CLIP.
            y: (n,) labels.
            budget: T, at most k; None for k.
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
    ) -> list[Explanation]:
        """The questions asked of each row, the answers, and the posterior after each.

        Args:
            X: (n, d) embeddings, or pictures where the model knows its CLIP.
            stop: when to ask no more; None for the model's own rule.
            overrides: answers that replace those of the images, by question: `yes`, `no`,
                `not sure`, or a number in [0, 1]. What comes after is planned anew.
            names: of the rows; None for paths, or `image 0`, ...

        Raises:
            InputError: the model has no such question, or the answer is none.
        """
        answers, shown, replaced = self._given(X, overrides, names)
        return self.pursuit_.explain(answers, self._rule(stop), shown, overridden=replaced)

    def dialogue(self, X: Any = None) -> Dialogue:
        """One image, or a person, asked step by step; answers may be changed at any time.

        Args:
            X: one row; None where a person answers.
        """
        check_is_fitted(self, "pursuit_")
        answers = None if X is None else self._answers(X)
        if answers is not None and len(answers) != 1:
            raise InputError(f"a dialogue is about one image; found {len(answers)}")
        rule = self._rule(None)
        if answers is None:
            return Dialogue(self.pursuit_, stop=rule)
        return Dialogue(self.pursuit_, answers[0], names_of(X, 1)[0], rule)

    def questions_for(self, label: Any, count: int = 5) -> dict[str, list[tuple[str, float]]]:
        """The questions that speak most for and against a class, alone.

        Args:
            label: one of `classes_`.
            count: how many of each.

        Returns:
            `for` and `against`: questions with what a yes adds to the log-probability of the
            class, in nats, before anything else is asked.
        """
        check_is_fitted(self, "pursuit_")
        found = [place for place, each in enumerate(self.classes_) if each == label]
        if not found:
            raise InputError(f"no class {label!r}; expected one of {list(self.classes_)[:10]}")
        k = len(self.queries_)
        with torch.no_grad():
            one_each = torch.eye(k, device=self.pursuit_.device)
            nothing = torch.zeros_like(one_each[:1])
            after = self.pursuit_.classifier(one_each, one_each).log_softmax(dim=1)
            before = self.pursuit_.classifier(nothing, nothing)
        change = (after - before.log_softmax(dim=1))[:, found[0]].tolist()
        order = sorted(range(k), key=lambda query: -change[query])
        told = [(self.queries_[query], change[query]) for query in order]
        return {
            "for": [each for each in told[:count] if each[1] > 0],
            "against": [each for each in told[::-1][:count] if each[1] < 0],
        }

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
        """A page to explore the model; a notebook shows it inline.

        Args:
            X: (n, d) embeddings, or pictures where the model knows its CLIP; None for no images.
            y: (n,) labels, as `fit` took them; None where they are not known.
            pictures: of the rows, where X are embeddings.
            train: (X, y) of the training split, to look for images that answer likewise.
            title: of the page.
            height: of its frame, in pixels.

        Raises:
            InputError: labels or pictures are not as many as rows, or the model is too large for a
                page.
        """
        check_is_fitted(self, "pursuit_")
        # By name: the stages that train do not depend on the explorer.
        notebook = import_module("infopursuit.explorer.notebook")

        def answered(X: Any, y: Any, pictures: Any) -> Any:
            answers = self._answers(X)
            shown = X if pictures is None and is_pictures(X) else pictures
            given = None if shown is None else picture_list(shown)
            names = names_of(X, len(answers))
            return notebook.answered(names, answers, y, self.classes_.tolist(), given)

        return notebook.explored(
            self.pursuit_,
            self._rule(None),
            self.provenance_,
            None if X is None else answered(X, y, pictures),
            None if train is None else answered(*train, None),
            title,
            height,
        )

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """A fitted model shows its questions; one that is not, its settings."""
        if not hasattr(self, "pursuit_"):
            return super()._repr_mimebundle_(**options)
        from infopursuit.estimators.shown import model_html

        return {"text/plain": repr(self), "text/html": model_html(self)}

    def familiarity(self, X: Any) -> np.ndarray:
        """Whether each row looks like any of the classes: conformal p-values (n,) in (0, 1].

        Of images of these classes a share p has a value of at most p. A value near zero says that
        the image shows none of them.

        Raises:
            InputError: no images were held out to compare with.
        """
        answers = self._answers(X)
        if self.pursuit_.familiarity is None:
            raise InputError("no rows were held out to compare with; expected validation_fraction")
        return self.pursuit_.familiarity.of(answers).double().cpu().numpy()

    def without(self: Model, *questions: str) -> Model:
        """The model without some of its questions; nothing is fitted anew.

        Raises:
            InputError: the model has no such question, none would be left, or its networks were
                trained on the whole dictionary.
        """
        fewer = copy.copy(self)
        fewer.pursuit_ = self.pursuit_.without([self.pursuit_.number(each) for each in questions])
        fewer.queries_ = fewer.pursuit_.queries
        return fewer

    def with_class_names(self: Model, names: Sequence[str]) -> Model:
        """The model with other names for its classes, in the order of `classes_`.

        Raises:
            InputError: there are not as many names as classes, or one stands twice.
        """
        if len(names) != len(self.classes_) or len(set(names)) < len(names):
            raise InputError(
                f"{len(set(names))} distinct names for {len(self.classes_)} classes; expected one "
                "each"
            )
        renamed = copy.copy(self)
        renamed.classes_ = np.array(names)
        renamed.pursuit_ = replace(self.pursuit_, class_names=tuple(names))
        return renamed

    # -- a model as a folder ----------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder; `infopursuit.load` reads it. Equal models, equal bytes."""
        from infopursuit.estimators.saved import save

        check_is_fitted(self, "pursuit_")
        save(self, folder)

    def to_hub(self, repository: str, **options: Any) -> str:
        """Upload the model with a model card to the Hugging Face hub; gives its address.

        Args:
            repository: `user/name`.
            options: of `huggingface_hub.ModelHubMixin.push_to_hub`, such as `private=True`.
        """
        from infopursuit.estimators.hub import push

        check_is_fitted(self, "pursuit_")
        return push(self, repository, **options)

    # -- inputs -----------------------------------------------------------------------------

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self, "pursuit_")
        return rows_of(self, X)

    def _answers(self, X: Any) -> Tensor:
        """(n, k) in [0, 1]."""
        return torch.cat(list(self._answer_blocks(X)))

    def _given(
        self,
        X: Any,
        overrides: Mapping[str, str | float] | None,
        names: Sequence[str] | None,
    ) -> tuple[Tensor, list[str], list[int]]:
        """Answers (n, k) with those that replace them, names, and the queries that are replaced."""
        answers = self._answers(X)
        shown = names_of(X, len(answers)) if names is None else list(names)
        if len(shown) != len(answers):
            raise InputError(f"{len(shown)} names for {len(answers)} images; expected one each")
        replaced = []
        for question, answer in (overrides or {}).items():
            replaced.append(self.pursuit_.number(question))
            answers[:, replaced[-1]] = answer_value(answer)
        return answers, shown, replaced

    def _answer_blocks(self, X: Any) -> Iterator[Tensor]:
        """The answers of all rows, a block of rows at a time: X may be mapped from disk."""
        rows, device = self._rows(X), self.pursuit_.device
        if not len(rows):
            yield self.pursuit_.answers(rows.tensor().to(device))
        for _, block in rows.blocks():
            yield self.pursuit_.answers(block.to(device))

    def _endings(self, X: Any, stop: StoppingRule | None) -> Iterator[Tensor]:
        """The posteriors (m, c) where the questions end, a block of rows at a time."""
        rule = self._rule(stop)
        for answers in self._answer_blocks(X):
            yield self.pursuit_.ask_until(answers, rule).posterior

    def _rule(self, stop: StoppingRule | None) -> StoppingRule:
        chosen = stop or self.stop or DEFAULT_STOP
        if not isinstance(chosen, StoppingRule):
            raise InputError(f"stop is {chosen!r}; expected a StoppingRule")
        return chosen.checked()
