"""The paper's method: networks that ask and judge, trained in turn with the dictionary.

from infopursuit import VariationalInformationPursuit

model = VariationalInformationPursuit(texts, text_embeddings, n_queries=128).fit(X, y)
model.log_[-1], model.provenance_["evolution"]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.image_shards import EmbeddedShards, ShardedImages
from infopursuit.datasets.rows import UnitRows
from infopursuit.datasets.samples import even_sample, held_out_rows
from infopursuit.dictionary.initial import random_rows
from infopursuit.dictionary.medoids import k_medoids
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.dictionary import Texts
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.estimators.training_rows import TrainingRows
from infopursuit.estimators.variational_inputs import (
    answer_table,
    as_stored,
    settings_of,
    sharded_images,
)
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit.familiarity import KEPT, Familiarity
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.vip.checkpoints import Checkpoint
from infopursuit.vip.processes import ALONE, Execution, Processes
from infopursuit.vip.settings import VariationalSettings
from infopursuit.vip.training import InitialDictionary, Trained, Trainer, TrainingImages

# Weights are selected by the accuracy after 1 to at most so many questions.
BUDGET = 128


class VariationalInformationPursuit(PursuitClassifier):
    """Variational Information Pursuit with a learned dictionary (Kolek et al., ICCV 2025).

    A querier network chooses the next question and a classifier network judges the answers so far.
    The defaults train small networks within a minute on a few thousand images, as in the table of
    results; the paper's own settings are the defaults of `VariationalSettings`.

    On a GPU, call `infopursuit.core.repeatable.compute_repeatably` first for equal bits on repeat.

    Args:
        texts: the u texts that may become questions.
        text_embeddings: (u, d) embeddings of the texts, of the CLIP that embeds the images.
        n_queries: k, the size of the dictionary; all texts where there are fewer.
        queries: the texts that the dictionary starts from, some of `texts`; None for `init`.
        dictionary: `fixed` keeps these texts; `alternating` and `joint` learn others.
        init: where no `queries` are given: `medoids` of the texts, `random` ones, or
            `informative`, those that InformationPursuitClassifier would choose.
        answers: `minmax`, the paper's rule; `soft`, the same without a threshold; `threshold`, a
            threshold of each question's own (a fixed dictionary alone).
        quantize_queries: snap each query to its nearest text; False is an ablation, of which
            `queries_` are the nearest texts only.
        hidden: widths of the two hidden layers of both networks.
        random_updates: updates of the networks on random histories.
        biased_updates: updates of the networks on histories that the querier chose.
        network_updates: updates of the networks for each one of an alternating dictionary.
        batch_size: images per update.
        learning_rate: Adam's, of the networks.
        dictionary_learning_rate: Adam's, of the dictionary.
        schedule: `constant`; `cosine` decay to zero over each phase; or `plateau`, which trains
            until the held-out AUC has stopped rising: the updates above are limits then, set many.
        patience: updates without a better AUC that `plateau` waits for, before the rates fall and,
            at the third time, the phase ends.
        weight_decay: decoupled, of the networks.
        temperature: of the querier's softmax at the start and the end of each phase.
        max_history: histories in training have fewer questions than this.
        validate_every: updates between two measurements on held-out images.
        validation_fraction: share of the images, by class, held out to select the best weights.
        budget: the weights are selected by the mean accuracy after 1 to so many questions; None
            for min(128, k).
        reference_embeddings: texts that threshold answers are relative to; None for all `texts`.
        stop: when to ask no more, in `predict` and `explain`; None for the default of `predict`.
        device: `cpu`, `cuda`, or `auto`, a GPU where there is one. The fitted model is on the CPU.
        random_state: seed of weights, order of images, histories, held-out images and `init`.

    Attributes:
        pursuit_: the selected networks and dictionary.
        classes_: (c,) the class labels.
        queries_: the k questions; a learned dictionary may hold a text twice.
        n_features_in_: d.
        provenance_: `settings`, `selected` (phase, updates and AUC of the weights kept), and
            `evolution`, the texts of the dictionary: `initial`, `midway` and `final`.
        log_: a dictionary for each validation: phase, updates, loss, validation_auc, ...
    """

    log_: list[dict[str, Any]]

    def __init__(
        self,
        texts: Sequence[str] | None = None,
        text_embeddings: Any = None,
        n_queries: int = 128,
        *,
        queries: Sequence[str] | None = None,
        dictionary: str = "alternating",
        init: str = "medoids",
        answers: str = "minmax",
        quantize_queries: bool = True,
        hidden: Sequence[int] = (256, 128),
        random_updates: int = 500,
        biased_updates: int = 400,
        network_updates: int = 4,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        dictionary_learning_rate: float = 3e-3,
        schedule: str = "cosine",
        patience: int = 1000,
        weight_decay: float = 0.01,
        temperature: Sequence[float] = (1.0, 0.2),
        max_history: int = 128,
        validate_every: int = 100,
        validation_fraction: float = 0.1,
        budget: int | None = None,
        reference_embeddings: Any = None,
        stop: StoppingRule | None = None,
        device: str = "auto",
        random_state: int = 0,
    ) -> None:
        self.texts = texts
        self.text_embeddings = text_embeddings
        self.n_queries = n_queries
        self.queries = queries
        self.dictionary = dictionary
        self.init = init
        self.answers = answers
        self.quantize_queries = quantize_queries
        self.hidden = hidden
        self.random_updates = random_updates
        self.biased_updates = biased_updates
        self.network_updates = network_updates
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.dictionary_learning_rate = dictionary_learning_rate
        self.schedule = schedule
        self.patience = patience
        self.weight_decay = weight_decay
        self.temperature = temperature
        self.max_history = max_history
        self.validate_every = validate_every
        self.validation_fraction = validation_fraction
        self.budget = budget
        self.reference_embeddings = reference_embeddings
        self.stop = stop
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        validation: tuple[Any, Any] | None = None,
        checkpoint: Checkpoint | None = None,
        processes: Processes = ALONE,
    ) -> VariationalInformationPursuit:
        """Train the networks and, unless it is fixed, the dictionary.

        Args:
            X: (n, d) unit-norm embeddings of images, of any float type.
            y: (n,) class labels.
            validation: (X, y) of images to select the weights on, in the place of a share of
                these.
            checkpoint: a file from which a killed run goes on; its name must depend on all
                settings and inputs.
            processes: those that train this run together; each calls `fit` with the same inputs.

        Raises:
            InputError, ValueError: a setting or an input is malformed, or a class has fewer than
                two images to hold one out.
        """
        settings, texts = settings_of(self), self._texts()
        data = TrainingRows.checked(UnitRows(X, "X"), y)
        train, held_out = self._split(data, validation)
        for name, rows in (("X", data.rows), ("validation X", held_out.rows)):
            _check_width(texts, name, rows.width)
        self.classes_, self.n_features_in_, self.clip_ = data.classes, data.rows.width, None
        initial = self._initial(texts, train)
        images = _images(train), _images(held_out)
        return self._train(settings, texts, initial, images, checkpoint, processes)

    def fit_shards(
        self,
        images: EmbeddedShards | str | Path,
        validation: ShardedImages | None = None,
        checkpoint: Checkpoint | None = None,
        processes: Processes = ALONE,
    ) -> VariationalInformationPursuit:
        """The same from images in shards: each process reads the embeddings of its own share alone.

        Args:
            images: a table of embedded images, a Parquet file or a folder of shards, whose split
                `train` is read.
            validation: images to select the weights on; None for a share of these.
            checkpoint: as in `fit`.
            processes: as in `fit`.

        Raises:
            InputError: a setting or an input is malformed; or needs all images at once, as
                the init `informative` does.
        """
        settings, texts = settings_of(self), self._texts()
        shards = EmbeddedShards(images) if isinstance(images, (str, Path)) else images
        _check_width(texts, shards.where, shards.width)
        of_both = sharded_images(shards, validation, self.validation_fraction, self.random_state)
        self.classes_, self.n_features_in_ = np.array(shards.class_names), shards.width
        self.clip_ = shards.clip
        initial = self._initial(texts, None)
        return self._train(settings, texts, initial, of_both, checkpoint, processes)

    def _train(
        self,
        settings: VariationalSettings,
        texts: Texts,
        initial: Int[Tensor, " k"],
        images: tuple[TrainingImages, TrainingImages],
        checkpoint: Checkpoint | None,
        processes: Processes,
    ) -> VariationalInformationPursuit:
        """Train on images, and select on others, from the texts of these rows on."""
        train, held_out = images
        universe = as_stored(texts.embeddings)
        trainer = Trainer(
            train,
            held_out,
            InitialDictionary(universe, initial, self._reference(texts)),
            settings,
            self._budget(len(initial)),
            self.random_state,
            Execution(self._device(), processes),
        )
        self._keep(trainer.train(checkpoint), texts, trainer, train, held_out)
        self.provenance_["settings"] = {
            **asdict(settings),
            "budget": trainer.budget,
            "random_state": self.random_state,
        }
        self.provenance_["images"] = {"train": len(train.labels), "held_out": len(held_out.labels)}
        return self

    def _keep(
        self,
        trained: Trained,
        texts: Texts,
        trainer: Trainer,
        train: TrainingImages,
        held_out: TrainingImages,
    ) -> None:
        evolution = {
            moment: [texts.texts[row] for row in rows.tolist()]
            for moment, rows in trained.rows.items()
        }
        table = answer_table(trained.rule, trainer, train)
        generator = torch.Generator().manual_seed(0)
        sample = even_sample(held_out.labels, KEPT, generator).to(trainer.device)
        shown = trainer.held_out.take(sample).cpu()
        self.pursuit_ = Pursuit(
            tuple(evolution["final"]),
            tuple(str(each) for each in self.classes_),
            trained.rule,
            trained.querier,
            trained.classifier,
            familiarity=Familiarity(table, trained.rule.answers(shown)),
        )
        self.queries_ = self.pursuit_.queries
        self.log_ = trained.log
        self.provenance_ = {"selected": trained.selected, "evolution": evolution}

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

    def _texts(self) -> Texts:
        if self.texts is None:
            raise InputError("texts is missing; expected the texts that may become questions")
        return Texts(self.texts, self.text_embeddings)

    def _reference(self, texts: Texts) -> Tensor | None:
        if self.reference_embeddings is None:
            return None
        reference = UnitRows(self.reference_embeddings, "reference_embeddings")
        _check_width(texts, "reference_embeddings", reference.width)
        return as_stored(reference)

    def _split(self, data: TrainingRows, validation: Any) -> tuple[TrainingRows, TrainingRows]:
        if validation is not None:
            return data, data.like(validation, UnitRows(validation[0], "validation X"))
        names = [str(each) for each in data.classes]
        kept, held = held_out_rows(data.labels, names, self.validation_fraction, self.random_state)
        return data.subset(kept), data.subset(held)

    def _initial(self, texts: Texts, train: TrainingRows | None) -> Int[Tensor, " k"]:
        """Rows of the texts that the dictionary starts from."""
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
                texts.texts, texts.embeddings, k, random_state=self.random_state
            )
            return texts.rows(chooser.select_queries(train.rows, train.labels.numpy()))
        if self.init == "random":
            return torch.from_numpy(random_rows(len(texts.texts), k, self.random_state))
        universe = as_stored(texts.embeddings).numpy()
        return torch.from_numpy(k_medoids(universe, k, self.random_state, device=self._device()))


def _check_width(texts: Texts, name: str, width: int) -> None:
    if width != texts.embeddings.width:
        raise InputError(
            f"{name} has {width} columns and text_embeddings {texts.embeddings.width}; expected "
            "one CLIP for both"
        )


def _images(data: TrainingRows) -> TrainingImages:
    return TrainingImages(data.rows.tensor(), data.labels, len(data.classes))
