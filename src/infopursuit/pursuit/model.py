"""The trained model as a folder: weights in safetensors, everything else as readable JSON.

models/RUN/weights.safetensors   querier.*, classifier.*, queries (k, d); with the threshold rule
                                 rule.directions (k, d), rule.thresholds (k,)
models/RUN/model.json            the k questions, class names, settings, hashes, evolution
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from infopursuit.errors import InputError
from infopursuit.pursuit.answers import AnswerRule
from infopursuit.pursuit.evidence_networks import EvidenceClassifier, InformationGain, selected
from infopursuit.pursuit.growing_histories import Classifier, Querier
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.pursuit.rollout import RollOut, roll_out

WEIGHTS, DESCRIPTION = "weights.safetensors", "model.json"
CLIP_CARD = "clip.yaml"  # beside them where the CLIP is a card
FORMAT = 3


@dataclass(frozen=True)
class TrainedModel:
    """Information Pursuit on embedded images, ready to ask.

    Attributes:
        querier: g.
        classifier: f.
        embeddings: (k, d) unit-norm embeddings of the queries.
        queries: the k questions in plain words.
        class_names: the c classes.
        budget: T that the model was selected for.
        settings: data set, init, method, seed, recipe, CLIP, hashes of the inputs, selection.
        evolution: the k texts of the dictionary at `initial`, `midway` and `final`.
        directions: what images are multiplied with, where that is not `embeddings`.
        thresholds: of the queries, for the threshold rule.
    """

    querier: Querier
    classifier: Classifier
    embeddings: Float[Tensor, "k d"]
    queries: tuple[str, ...]
    class_names: tuple[str, ...]
    budget: int
    settings: Mapping[str, Any]
    evolution: Mapping[str, list[str]]
    directions: Float[Tensor, "k d"] | None = None
    thresholds: Float[Tensor, " k"] | None = None

    @property
    def rule(self) -> AnswerRule:
        """How images answer the queries."""
        directions = self.embeddings if self.directions is None else self.directions
        return AnswerRule(self.settings["recipe"]["answers"], directions, self.thresholds)

    def answers(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Answers of unit-norm image embeddings to all k queries, 1 for yes and 0 for no.

        Raises:
            InputError: the images' embeddings have another width than the queries'.
        """
        if images.shape[1] != self.embeddings.shape[1]:
            raise InputError(
                f"the images have embeddings of width {images.shape[1]}; the model's queries "
                f"have {self.embeddings.shape[1]}: expected the same CLIP for both"
            )
        return self.rule.answers(self.rule.scores(images))

    @torch.no_grad()
    def roll_out(self, images: Float[Tensor, "n d"], budget: int | None = None) -> RollOut:
        """Ask `budget` (default T, at most k) queries of every image, one after another."""
        budget = self.budget if budget is None else budget
        if not 0 <= budget <= len(self.queries):
            raise InputError(
                f"a budget of {budget} queries; expected 0 to {len(self.queries)}, the size of "
                "the dictionary"
            )
        return roll_out(self.querier, self.classifier, self.answers(images), budget)

    def without(self, *queries: str) -> TrainedModel:
        """The model without some of its queries, which it then never asks; nothing is trained.

        Raises:
            InputError: the model has no such query, none would be left, or its networks were
                trained on histories of the whole dictionary (`networks: mlp`).
        """
        if not isinstance(self.querier, InformationGain) or not isinstance(
            self.classifier, EvidenceClassifier
        ):
            raise InputError(
                "the networks of this model were trained on its whole dictionary; expected a model "
                "with networks: evidence, whose queries can be left out"
            )
        if unknown := [query for query in queries if query not in self.queries]:
            raise InputError(f"the model has no query {unknown[0]!r}")
        kept = [column for column, query in enumerate(self.queries) if query not in queries]
        if not kept:
            raise InputError("no query would be left; expected at least one")
        columns = torch.tensor(kept, device=self.embeddings.device)
        rule = self.rule.select(columns)
        return replace(
            self,
            querier=selected(self.querier, columns),
            classifier=selected(self.classifier, columns),
            embeddings=self.embeddings[columns],
            queries=tuple(self.queries[column] for column in kept),
            budget=min(self.budget, len(kept)),
            directions=rule.directions,
            thresholds=rule.thresholds,
        )

    def save(self, folder: str | Path) -> None:
        """Write the folder; equal models are equal bytes."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        weights = {"queries": self.embeddings.contiguous()}
        for name, network in (("querier", self.querier), ("classifier", self.classifier)):
            for key, value in network.state_dict().items():
                weights[f"{name}.{key}"] = value.contiguous()
        if self.directions is not None and self.thresholds is not None:
            weights["rule.directions"] = self.directions.contiguous()
            weights["rule.thresholds"] = self.thresholds.contiguous()
        save_file(weights, folder / WEIGHTS)
        description = {
            "format": FORMAT,
            "queries": list(self.queries),
            "class_names": list(self.class_names),
            "budget": self.budget,
            "settings": dict(self.settings),
            "evolution": dict(self.evolution),
        }
        text = json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | str = "cpu") -> TrainedModel:
        """Read a folder that `save` wrote.

        Raises:
            InputError: a file is missing or unreadable, or its format is of another version.
        """
        folder = Path(folder)
        try:
            description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
            weights = load_file(folder / WEIGHTS, device=str(device))
        except FileNotFoundError as error:
            raise InputError(
                f"{folder}: no trained model; expected {DESCRIPTION} and {WEIGHTS} in it"
            ) from error
        except (json.JSONDecodeError, SafetensorError, UnicodeDecodeError) as error:
            raise InputError(f"{folder}: not a readable trained model ({error})") from error
        if description.get("format") != FORMAT:
            raise InputError(
                f"{folder / DESCRIPTION}: format {description.get('format')!r}; expected {FORMAT}"
            )
        k, c = len(description["queries"]), len(description["class_names"])
        querier, classifier = _networks(description["settings"]["recipe"], k, c)
        for name, network in (("querier", querier), ("classifier", classifier)):
            prefix = f"{name}."
            network.to(device).eval().load_state_dict(
                {
                    key.removeprefix(prefix): value
                    for key, value in weights.items()
                    if key.startswith(prefix)
                }
            )
        return cls(
            querier,
            classifier,
            weights["queries"],
            tuple(description["queries"]),
            tuple(description["class_names"]),
            description["budget"],
            description["settings"],
            description["evolution"],
            weights.get("rule.directions"),
            weights.get("rule.thresholds"),
        )


def _networks(recipe: Mapping[str, Any], k: int, c: int) -> tuple[Querier, Classifier]:
    """Networks of the right shapes, for weights to be loaded into."""
    if recipe.get("networks") == "evidence":
        rates, prior = torch.full((c, k), 0.5), torch.full((c,), 1 / c)
        return InformationGain(rates, prior), EvidenceClassifier(rates, prior)
    hidden = tuple(recipe["hidden"])
    return HistoryNetwork(k, k, hidden), HistoryNetwork(k, c, hidden)
