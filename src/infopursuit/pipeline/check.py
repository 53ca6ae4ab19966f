"""All settings and all inputs, looked at before anything runs.

    infopursuit check

Every mistake is told, not the first alone, each with the key of params.yaml that leads to it. Files
below artifacts/ that are not there yet are made by stages, and nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.weights import find_clip_files, read_pinned_weights
from infopursuit.core.errors import CheckError, InputError
from infopursuit.core.text_lists import read_text_list
from infopursuit.datasets.class_names import read_class_names
from infopursuit.datasets.embedded_images import read_embedded_images
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.pinned_datasets import read_pinned_dataset
from infopursuit.datasets.settings import DatasetSettings
from infopursuit.meaning.judgements import read_judge, read_strict
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries import class_knowledge, knowledge_lists
from infopursuit.queries.captions import read_captions
from infopursuit.queries.class_queries import is_list, is_prompt, open_prompt, read_dictionary
from infopursuit.queries.corpora import given_corpus, has_captions
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.templates import load_template

ARTIFACTS = Path("artifacts")


def check(params_file: str | Path = "params.yaml") -> int:
    """Check settings and inputs; gives the number of inputs that were looked at.

    Raises:
        CheckError: there are mistakes; the message has a line for each.
    """
    params = load_params(params_file)
    mistakes = []
    checks = list(_checks(params))
    for key, look in checks:
        try:
            look()
        except InputError as error:
            mistakes.append(f"{params_file}: {key}: {error}")
    if mistakes:
        raise CheckError("\n".join(mistakes))
    return len(checks)


def _checks(params: Params) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The key of each input, and a function that looks at it."""
    if _there(params.clip):
        yield "clip", lambda: _clip_width(params.clip)
    yield "universe.control_words", lambda: read_text_list(params.universe.control_words)
    asks = [name for name, path in params.queries.corpora.items() if has_captions(path)]
    if asks:
        yield "queries.prompt", lambda: _prompt(params.queries.prompt)
    prompts = [path for path in params.queries.dictionaries.values() if is_prompt(path)]
    prompts += [each.knowledge for each in params.datasets.values() if is_prompt(each.knowledge)]
    if asks or prompts:
        yield "language_model", lambda: _language_model(params)
    for name, path in params.queries.corpora.items():
        if _there(path):
            yield f"queries.corpora.{name}", lambda path=path: _corpus(path)
    for name, path in params.queries.dictionaries.items():
        k = params.datasets[name].k
        yield f"queries.dictionaries.{name}", lambda path=path, k=k: _dictionary(path, k)
    for name, path in params.queries.lists.items():
        yield f"queries.lists.{name}", lambda path=path: read_text_list(path)
    for name, dataset in params.datasets.items():
        if _there(dataset.classes):
            yield from _dataset_checks(params, name, dataset)
    if "random_words" in params.run.inits and Path(params.clip).suffix == ".parquet":
        yield "run.inits", lambda: _no_new_words(params.clip)


def _dataset_checks(
    params: Params, name: str, dataset: DatasetSettings
) -> Iterator[tuple[str, Callable[[], Any]]]:
    key = f"datasets.{name}"
    yield f"{key}.classes", lambda: read_class_names(dataset.classes)
    if _there(dataset.knowledge):
        yield f"{key}.knowledge", lambda: _knowledge(dataset)
    if _there(dataset.judge):
        yield f"{key}.judge", lambda: read_judge(dataset.judge, read_class_names(dataset.classes))
    if _there(dataset.strict):
        yield (
            f"{key}.strict",
            lambda: read_strict(dataset.strict, read_class_names(dataset.classes)),
        )
    if _there(dataset.images):
        yield f"{key}.images", lambda: _images(params, dataset)


def _there(path: str) -> bool:
    """Whether to look at a path now: not where a stage is still to make it."""
    return Path(path).exists() or ARTIFACTS not in Path(path).parents


def _clip_width(path: str) -> tuple[int, str | None] | None:
    """Width and name of the CLIP where that is known without loading weights."""
    if Path(path).suffix == ".parquet":
        table = PrecomputedTexts(path)
        return table.width, table.name
    if not Path(path).exists() and ":" in path:
        raise InputError(
            f"{path} is a name, and a stage depends on files; expected a folder, a table of texts, "
            "or a YAML file that pins weights, such as params/clip/ViT-B-32-openai.yaml"
        )
    if Path(path).suffix in (".yaml", ".yml"):
        read_pinned_weights(Path(path))
    else:
        find_clip_files(path)
    return None


def _language_model(params: Params) -> None:
    settings = params.language_model
    if settings.backend == "recorded":
        RecordedAnswers(settings.recorded)
    elif settings.backend == "vllm":
        python = params.compute.vllm_python
        if python is not None and not Path(python).is_file():
            raise InputError(f"compute.vllm_python: {python}: no such file; run make vllm")
        if python is None and importlib.util.find_spec("vllm") is None:
            raise InputError("vllm is not installed; expected it here, or compute.vllm_python")


def _corpus(path: str) -> None:
    if has_captions(path):
        read_captions(path, None)
    else:
        given_corpus(path)


def _prompt(path: str) -> None:
    load_template(path, needed=["caption"], offered=["max_concepts"])


def _dictionary(path: str, k: int) -> None:
    if is_list(path):
        read_dictionary(path, k)
    elif is_prompt(path):
        load_template(path, needed=["classes", "k"])
    else:
        open_prompt(path, {})


def _knowledge(dataset: DatasetSettings) -> None:
    path = dataset.knowledge
    if knowledge_lists.is_prompt(path):
        load_template(path, class_knowledge.NEEDED, class_knowledge.OFFERED)
    else:
        known = knowledge_lists.open_knowledge(path)
        knowledge_lists.check_classes(path, known, read_class_names(dataset.classes))


def _said(read: Callable[[str, list[str]], Any], path: str, classes: str) -> None:
    read(path, read_class_names(classes))


def _images(params: Params, dataset: DatasetSettings) -> None:
    classes, path = read_class_names(dataset.classes), Path(dataset.images)
    if path.suffix in (".yaml", ".yml"):
        read_pinned_dataset(path)  # not opened, which may download
        return
    if not has_embeddings(path):
        open_image_source(path, classes)
        return
    known = _clip_width(params.clip) if _there(params.clip) else None
    if known is not None:
        for _ in read_embedded_images(path, classes, *known).blocks():
            pass  # each is checked


def _no_new_words(clip: str) -> None:
    raise InputError(
        f"random_words need a CLIP that embeds them, and {clip} is a table of texts; expected "
        "other entries of run.inits"
    )
