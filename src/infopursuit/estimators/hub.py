"""Models on the Hugging Face hub: the folder that `save` writes, with a model card.

model.to_hub("user/name", private=True)
infopursuit.load("user/name")
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from huggingface_hub import HfApi, snapshot_download

from infopursuit.core.errors import InputError, hub_reason, printable
from infopursuit.core.numbers import counted, percent
from infopursuit.datasets.trained_on import KEY
from infopursuit.estimators.persistence import FILES, SavedModel, pins_weights, save
from infopursuit.estimators.provenance import measured

# What Markdown, or HTML in it, could read as markup.
MARKUP = re.compile(r"([\\`*_\[\]<>|&]|(?<=:)//|(?<=www)\.)")
LEADING = re.compile(r"^(\d*)([#+\-=~.)])")
ACCURACIES = {"test": "test {}s", "held-out": "{0}s held out of the training {0}s"}


def push(
    model: SavedModel,
    repository: str,
    *,
    private: bool | None = None,
    token: str | None = None,
    branch: str | None = None,
    commit_message: str = "Push model using huggingface_hub.",
    create_pr: bool = False,
) -> str:
    """Upload a fitted model with its card; returns the address of the commit."""
    source = model.clip_source
    if source is not None and Path(source).is_absolute() and not pins_weights(source):
        model = replace(model, clip_source=None)  # a path of this machine says nothing elsewhere
    with TemporaryDirectory() as folder:
        save(model, folder)
        Path(folder, "README.md").write_text(model_card(model, repository), encoding="utf-8")
        try:
            api = HfApi(token=token)
            name = api.create_repo(repository, private=private, exist_ok=True).repo_id
            if branch is not None:
                api.create_branch(name, branch=branch, exist_ok=True)
            commit = api.upload_folder(
                repo_id=name,
                folder_path=folder,
                commit_message=commit_message,
                revision=branch,
                create_pr=create_pr,
            )
        except Exception as error:  # the hub's client raises errors of several libraries
            raise InputError(
                f"{repository}: the Hugging Face hub did not take the model "
                f"({hub_reason(error)}); expected a network, and a token that may write there "
                "(hf auth login)"
            ) from error
    return commit.commit_url


def fetched(repository: str) -> Path:
    """Return the folder of a model of the hub, downloaded unless it is in the cache."""
    try:
        return Path(snapshot_download(repository, allow_patterns=list(FILES)))
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"{repository}: no such folder here, and no such model on the Hugging Face hub that "
            f"can be fetched ({hub_reason(error)})"
        ) from error


def model_card(model: SavedModel, repository: str | None = None) -> str:
    """Return the card of a model in Markdown: its questions, accuracy, origin and use.

    Equal models have equal cards.
    """
    table = model.pursuit.rule.of_tables
    public = {key: value for key, value in model.provenance.items() if key != KEY}
    name = repository or "user/name"
    task = "tabular-classification" if table else "image-classification"
    card = files("infopursuit.estimators").joinpath("model_card.md").read_text(encoding="utf-8")
    return card.format(
        task=task,
        name=name,
        title=name.rpartition("/")[2],
        estimator=model.estimator,
        counts=f"{counted(len(model.pursuit.queries), 'question')} and "
        f"{counted(len(model.classes), 'class')}",
        use=_use(model, table),
        inputs=_inputs(model, table),
        weights=_weights(model),
        accuracy=_accuracy(model),
        classes=_listed([str(each) for each in model.classes]),
        questions=_listed(list(model.pursuit.queries)),
        origin=json.dumps(public, indent=2, sort_keys=True, ensure_ascii=False, default=str),
    )


def _use(model: SavedModel, table: bool) -> str:
    if table:
        return "print(model.explain(X[:1])[0])  # X: a table with these columns"
    if model.clip_source is not None:
        return 'print(model.explain(["photo.png"])[0])'
    return "print(model.explain(X[:1])[0])  # X: (n, d) image embeddings"


def _inputs(model: SavedModel, table: bool) -> str:
    if table:
        names = ", ".join(plain(str(each)) for each in model.columns)
        return f"It takes rows of {model.width} columns{f': {names}' if names else ''}."
    named = f" of the CLIP {plain(model.clip)}" if model.clip else ""
    return f"It takes image embeddings of width {model.width}{named}."


def _weights(model: SavedModel) -> str:
    from infopursuit.clip.weights import licence  # it is not needed to load a model

    if model.clip_source is None:
        return ""
    name = licence(model.clip_source)
    terms = f"under {name}" if name else "not known to the library; see where they come from"
    return f"\n\nThe licence of CLIP's weights, which are not in this model: {terms}."


def _accuracy(model: SavedModel) -> str:
    lines = [
        f"- Accuracy {percent(each.accuracy)} on {each.images or '?'} "
        f"{ACCURACIES[each.split].format(model.pursuit.noun)}, with the model's own stopping rule."
        for each in measured(model.provenance)
    ]
    return "\n".join(lines) or "Not measured."


def _listed(lines: list[str]) -> str:
    return "".join(f"- {plain(line)}\n" for line in lines)


def plain(text: str) -> str:
    """Return any text as one line that Markdown shows as it is."""
    words = printable(" ".join(text.split()))
    return LEADING.sub(r"\1\\\2", MARKUP.sub(r"\\\1", words))
