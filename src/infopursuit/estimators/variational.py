"""The paper's method: networks that ask and classify, trained in turn with the dictionary.

from infopursuit import VariationalInformationPursuit

model = VariationalInformationPursuit(texts, text_embeddings, n_queries=128).fit(X, y)
model.log_[-1], model.provenance_["evolution"]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor

from infopursuit.core.defaults import own_defaults
from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import (
    EmbeddedShards,
    ShardedImages,
    held_out_by_seed,
    spread_sample,
)
from infopursuit.datasets.matrix import BLOCK, Matrix, UnitMatrix
from infopursuit.datasets.trained_on import each_row, remember
from infopursuit.estimators.inputs import Inputs
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.answers.table import AnswerTable, count_yes
from infopursuit.pursuit.conformity import KEPT, Conformity
from infopursuit.pursuit.dictionary.initial import random_rows
from infopursuit.pursuit.dictionary.medoids import k_medoids
from infopursuit.pursuit.naive_bayes.fit import at_least, table_of_counts
from infopursuit.pursuit.naive_bayes.model import InformationGain
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from infopursuit.pursuit.pursuit import Pursuit, other_labels
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.distributed import ALONE, Execution, Processes
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.training import InitialDictionary, Trainer, TrainingImages
from infopursuit.questions.constraints import QuestionConstraints, check_whole, check_words
from infopursuit.questions.labels import LARGEST_SEED, check_width, training_set, validation_set
from infopursuit.questions.one_clip import MOST, warn_unless_one_clip
from infopursuit.questions.source import QuestionSource
from infopursuit.texts.text_table import TextTable

# Weights are selected by the accuracy after 1 to at most this many questions.
BUDGET = 128
INITS = ("medoids", "random", "informative")
# Texts whose norms are as close to 1 are searched as they are stored, float16 or mapped from disk.
STORED = 1e-3


class Start(NamedTuple):
    """What training starts from: the texts that may become questions, and the first of them.

    Attributes:
        texts: u of them.
        dictionary: their embeddings, and which come first.
        words: of the answers to each question; none if they are yes and no.
        note: below each explanation; None for none.
    """

    texts: Sequence[str]
    dictionary: InitialDictionary
    words: tuple[tuple[str, ...], ...] = ()
    note: str | None = None


@own_defaults
@dataclass(eq=False, repr=False)
class VariationalInformationPursuit(Inputs, ClassifierMixin, BaseEstimator):
    """Variational Information Pursuit with a learned dictionary (Kolek et al., ICCV 2025).

    A querier network chooses the next question and a classifier network predicts from the answers.
    The defaults train small networks within a minute on a few thousand images, as in the table of
    results; params/paper.yaml has the paper's own settings.

    The other arguments, `dictionary` to `validate_every`, are settings of the training:
    `VariationalSettings` describes them. Threshold answers need a fixed dictionary; if queries are
    not quantized, `queries_` are their nearest texts only.

    On a GPU, call `infopursuit.core.repeatable.compute_repeatably` first for equal bits on repeat.

    Args:
        texts: the u texts that may become questions; None for questions about the columns of a
            table, or a source of questions of your own: of these the dictionary is `fixed`.
        text_embeddings: (u, d) embeddings of the texts, of the CLIP that embeds the images.
        n_queries: k, the size of the dictionary; all texts if there are fewer.
        queries: the texts that the dictionary starts from, some of `texts`; None for `init`.
        init: if no `queries` are given: `medoids` of the texts, `random` ones, or `informative`,
            those that InformationPursuitClassifier would choose.
        validation_fraction: share of the images, by class, held out to select the best weights.
        budget: the weights are selected by the mean accuracy after 1 to `budget` questions; None
            for min(128, k).
        stop: when to ask no more, in `predict` and `explain`; None for the default of `predict`.
        device: `cpu`, `cuda`, or `auto`, a GPU if there is one. The fitted model is on the CPU.
        random_state: seed of weights, order of images, histories, held-out images and `init`.

    Attributes:
        pursuit_: the selected networks and dictionary.
        classes_: (c,) the class labels.
        queries_: the k questions; a learned dictionary may hold a text twice.
        n_features_in_: d.
        provenance_: `settings`, `selected` (phase, updates, accuracy of the weights), and
            `evolution`, the texts of the dictionary: `initial`, `midway` and `final`.
        log_: a dictionary for each validation: phase, updates, loss, validation_auc, ...
    """

    texts: Sequence[str] | QuestionSource | None = None
    text_embeddings: Any = None
    n_queries: int = 128
    _: KW_ONLY
    queries: Sequence[str] | None = None
    dictionary: str = "alternating"
    init: str = "medoids"
    answers: str = "minmax"
    quantize_queries: bool = True
    hidden: Sequence[int] = (256, 128)
    random_updates: int = 500
    biased_updates: int = 400
    network_updates: int = 4
    batch_size: int = 256
    learning_rate: float = 1e-3
    dictionary_learning_rate: float = 3e-3
    schedule: str = "cosine"
    patience: int = 1000
    weight_decay: float = 0.01
    temperature: Sequence[float] = (1.0, 0.2)
    max_history: int | None = None
    validate_every: int = 100
    validation_fraction: float = 0.1
    budget: int | None = None
    stop: StoppingRule | None = None
    device: str = "auto"
    random_state: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        validation: Any = None,
        checkpoint: Checkpoint | None = None,
        processes: Processes = ALONE,
        *,
        reference_embeddings: Any = None,
    ) -> VariationalInformationPursuit:
        """Train the networks and, unless it is fixed, the dictionary.

        Args:
            X: (n, d) unit-norm embeddings of images, of any float type; without texts a table, as
                InformationPursuitClassifier takes it. Or embedded images in shards, a Parquet file
                or a folder of them, whose split `train` is read: each process reads only its share.
            y: (n,) class labels; None for shards, which have their own.
            validation: (X, y) of images to select the weights on, or `ShardedImages`; None for a
                share of these.
            checkpoint: a file from which a killed run goes on; its name must depend on all
                settings and inputs.
            processes: those that train this run together; each calls `fit` with the same inputs.
            reference_embeddings: (v, d) of the texts that threshold answers are relative to; None
                for all `texts`.

        Raises:
            InputError, ValueError: a setting or an input is malformed, or a class has fewer than
                two images to hold one out; or shards come with the init `informative`, which needs
                all images at once.
        """
        settings = settings_of(self)
        self.columns_ = self.knowledge_ = None
        shards = EmbeddedShards(X) if isinstance(X, str | Path) else X
        if isinstance(shards, EmbeddedShards):
            if y is not None:
                raise InputError("y: shards have their own labels; expected None")
            texts = self._texts()
            check_width(shards.where, shards.width, texts.unit_matrix.width)
            share, seed = self.validation_fraction, self.random_state
            images = sharded_images(shards, validation, share, seed)
            self.classes_, self.n_features_in_ = np.array(shards.class_names), shards.width
            start = self._start(texts, self._initial(texts, None), reference_embeddings)
            self._train(settings, start, images, checkpoint, processes)
            self.clip_ = shards.clip
            return self
        if self._of_tables() or self._own_source() is not None:
            data, start, images = self._on_questions(X, y, validation)
        else:
            texts, data = self._texts(), training_set(UnitMatrix(X, "X"), y)
            train, held_out = self._split(data, validation)
            for name, rows in (("X", data.rows), ("validation X", held_out.rows)):
                check_width(name, rows.width, texts.unit_matrix.width)
            self.n_features_in_ = data.rows.width
            warn_unless_one_clip(texts, data.sample(MOST, self.random_state))
            start = self._start(texts, self._initial(texts, train), reference_embeddings)
            images = _images(train), _images(held_out)
        self.classes_, self.clip_ = data.classes, None
        self._train(settings, start, images, checkpoint, processes)
        remember(self.provenance_, each_row(data.rows))
        return self

    def _on_questions(
        self, X: Any, y: Any, validation: Any
    ) -> tuple[InMemorySet, Start, tuple[TrainingImages, TrainingImages]]:
        if self.dictionary != "fixed":
            raise InputError(
                f"dictionary is {self.dictionary!r}, and only texts can be learned; expected "
                "texts, or 'fixed' for other questions"
            )
        constraints = QuestionConstraints(self.n_queries, self.queries).checked()
        if self._of_tables():
            rows, y, source = self._table_to_fit(X, y, constraints)
            read = self._table
        else:
            source, rows = self._own_source(), UnitMatrix(X, "X")
            self.n_features_in_, read = rows.width, lambda X: UnitMatrix(X, "validation X")
        assert source is not None
        data = training_set(rows, y)
        train, held_out = self._split(data, validation, read)
        chosen = source.choose(train, constraints, self.random_state)
        if chosen.querier is not InformationGain:
            raise InputError(
                "texts: questions with costs, or a querier of their own; a network asks what it "
                "learned to ask, so expected neither"
            )
        k = len(chosen.queries)
        if not k:
            raise InputError("no column of X differs between rows; expected one to ask about")
        dictionary = InitialDictionary(torch.eye(k), torch.arange(k), rule=chosen.rule)
        start = Start(chosen.queries, dictionary, chosen.words, source.note)
        return data, start, (_images(train), _images(held_out))

    def _start(self, texts: TextTable, initial: Int[Tensor, " k"], reference: Any) -> Start:
        relative_to = None
        if reference is not None:
            rows = UnitMatrix(reference, "reference_embeddings")
            check_width("reference_embeddings", rows.width, texts.unit_matrix.width)
            relative_to = as_stored(rows)
        universe = as_stored(texts.unit_matrix)
        return Start(texts.texts, InitialDictionary(universe, initial, relative_to))

    def _train(
        self,
        settings: VariationalSettings,
        start: Start,
        images: tuple[TrainingImages, TrainingImages],
        checkpoint: Checkpoint | None,
        processes: Processes,
    ) -> None:
        train, held_out = images
        trainer = Trainer(
            train,
            held_out,
            start.dictionary,
            settings,
            self._budget(len(start.dictionary.rows)),
            self.random_state,
            Execution(self._device(), processes),
        )
        trained = trainer.train(checkpoint)
        texts: list[str] = list(start.texts)
        evolution = {
            moment: [texts[row] for row in rows.tolist()] for moment, rows in trained.rows.items()
        }
        sample = spread_sample(held_out.labels, KEPT).to(trainer.device)
        answers = trained.rule.answers(trainer.held_out.take(sample).cpu())
        self.pursuit_ = Pursuit(
            tuple(evolution["final"]),
            tuple(str(each) for each in self.classes_),
            trained.rule,
            trained.querier,
            trained.classifier,
            conformity=Conformity(answer_table(trained.rule, trainer, train), answers),
            labels=other_labels(self.classes_),
            words=start.words,
            note=start.note,
        )
        self.queries_ = self.pursuit_.queries
        self.log_: list[dict[str, Any]] = trained.log
        self.provenance_ = {
            **({} if start.note is None else {"note": start.note}),
            "selected": trained.selected,
            "evolution": evolution,
            "settings": {
                **asdict(settings),
                "budget": trainer.budget,
                "random_state": self.random_state,
            },
            "images": {"train": len(train.labels), "held_out": len(held_out.labels)},
        }

    # -- settings ---------------------------------------------------------------------------

    def _budget(self, k: int) -> int:
        budget = min(BUDGET, k) if self.budget is None else self.budget
        if not 1 <= budget <= k:
            raise InputError(f"budget is {budget}; expected 1 to {k}, the size of the dictionary")
        return budget

    def _device(self) -> str:
        here = "cuda" if torch.cuda.is_available() else "cpu"
        return here if self.device == "auto" else self.device

    # -- inputs -----------------------------------------------------------------------------

    def _texts(self) -> TextTable:
        if self.texts is None:
            raise InputError("texts is missing; expected the texts that may become questions")
        return TextTable.from_arrays(self.texts, self.text_embeddings)

    def _split(
        self, data: InMemorySet, validation: Any, read: Callable[[Any], Matrix] | None = None
    ) -> tuple[InMemorySet, InMemorySet]:
        """Return rows to learn from, and those to select on; `read` takes the rows given."""
        if validation is not None:
            X = validation[0]
            rows = UnitMatrix(X, "validation X") if read is None else read(X)
            return data, validation_set(rows, validation[1], data.classes)
        names = [str(each) for each in data.classes]
        share, seed = self.validation_fraction, self.random_state
        train, held_out = held_out_by_seed(data.labels, names, share, seed)
        return data.subset(train), data.subset(held_out)

    def _initial(self, texts: TextTable, train: InMemorySet | None) -> Int[Tensor, " k"]:
        if self.queries is not None:
            if not len(self.queries):
                raise InputError("queries is empty; expected at least one text")
            return texts.rows(self.queries)
        k = min(self.n_queries, len(texts.texts))
        if self.init == "informative":
            if train is None:
                raise InputError(
                    "init: `informative` looks at all images at once, and these come in shards"
                )
            chooser = InformationPursuitClassifier(
                texts.texts, texts.unit_matrix, k, random_state=self.random_state
            )
            return texts.rows(chooser.select_queries(train.rows, train.labels.numpy()))
        if self.init == "random":
            return torch.from_numpy(random_rows(len(texts.texts), k, self.random_state))
        universe = as_stored(texts.unit_matrix).numpy()
        return torch.from_numpy(k_medoids(universe, k, self.random_state, device=self._device()))


def _images(data: InMemorySet) -> TrainingImages:
    return TrainingImages(data.rows.tensor(), data.labels, len(data.classes))


def settings_of(model: VariationalInformationPursuit) -> VariationalSettings:
    """Return the checked settings of a model."""
    check_whole("n_queries", model.n_queries, 1)
    check_whole("random_state", model.random_state, 0, LARGEST_SEED)
    check_words("init", model.init, INITS)
    if model.stop is not None:
        StoppingRule(*model.stop).checked()
    settings = model.get_params(deep=False)
    for name in ("hidden", "temperature"):
        if isinstance(settings[name], str) or len(settings[name]) != 2:
            raise InputError(f"{name} is {settings[name]!r}; expected two numbers")
        settings[name] = tuple(settings[name])
    names = [field.name for field in fields(VariationalSettings) if field.name in settings]
    return VariationalSettings(**{name: settings[name] for name in names})


def sharded_images(
    shards: EmbeddedShards, validation: ShardedImages | None, share: float, seed: int
) -> tuple[TrainingImages, TrainingImages]:
    """Return images to learn from and to select on, of which each process reads its own."""
    labels = torch.from_numpy(shards.labels())
    if validation is None:
        train, held_out = held_out_by_seed(labels, shards.class_names, share, seed)
        validation = ShardedImages(shards, held_out.numpy())
    else:
        train = torch.arange(len(labels))
    same = validation.shards is shards
    of_held = labels if same else torch.from_numpy(validation.shards.labels())
    classes = len(shards.class_names)
    return (
        TrainingImages(ShardedImages(shards, train.numpy()), labels[train], classes),
        TrainingImages(validation, of_held[torch.from_numpy(validation.rows)], classes),
    )


def answer_table(rule: AnswerRule, trainer: Trainer, train: TrainingImages) -> AnswerTable:
    """Return how probable each answer is in each class; each process counts its own images."""
    share = trainer.images
    labels = train.labels[share.place]
    answers = at_least(rule, Matrix(share.own.cpu()).blocks())
    counts = count_yes(answers, labels, classes=train.classes)
    # Where the images are, the processes talk.
    sums = [share.processes.sum(each.to(share.own.device)).cpu() for each in counts]
    return table_of_counts(rule, sums[0], sums[1])


def as_stored(rows: UnitMatrix) -> Tensor:
    """Return the embeddings as stored if their norms are near 1, else float32 of unit norm."""
    stored = rows.values
    norms = (block.float().norm(dim=1) for block in stored.split(BLOCK))
    searchable = stored.dtype in (torch.float16, torch.float32)
    near_one = searchable and all(bool(((each - 1).abs() <= STORED).all()) for each in norms)
    return stored if near_one else rows.tensor()
