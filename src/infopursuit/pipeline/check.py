"""All settings and all inputs, checked before anything runs.

    infopursuit check

Every mistake is reported, not only the first, each with the key of params.yaml that leads to it.
Stages make the files below artifacts/ that do not exist yet, and nothing is downloaded. Images,
class lists and captions may be missing where what stages made of them is there: who pulled a
colleague's results goes on without the raw data (dvc repro --allow-missing).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.weights import ON_HUB, HubWeights, clip_source, find_clip_files
from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.core.settings import ComputeSettings, read_settings
from infopursuit.datasets.embedded_files import read_embedded_images
from infopursuit.datasets.image_folders import read_class_names
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.pinned_datasets import read_pinned_dataset
from infopursuit.generation import class_knowledge
from infopursuit.generation.class_queries import (
    is_list,
    is_prompt,
    open_recorded_prompt,
    read_dictionary,
)
from infopursuit.generation.corpora import given_corpus, has_captions, read_captions
from infopursuit.generation.language_models import (
    LanguageModel,
    RecordedAnswers,
    open_language_model,
    where_vllm_is,
)
from infopursuit.generation.language_models.openai_server import OpenAIServer
from infopursuit.generation.settings import LanguageModelSettings
from infopursuit.generation.templates import load_template
from infopursuit.pipeline.params import load_params
from infopursuit.pipeline.paths import ARTIFACTS
from infopursuit.texts import knowledge_files
from infopursuit.texts.annotations import read_annotations
from infopursuit.texts.knowledge_files import knowledge_of_classes

logger = logging.getLogger("infopursuit")

YAML = (".yaml", ".yml")


def check(params_file: str | Path = "params.yaml", ask_server: bool = True) -> int:
    """Check settings and inputs; return how many inputs were read.

    With `ask_server` a language model behind a server is asked one question, if the run needs it.
    """
    params = load_params(params_file)
    queries, datasets = params.queries, params.datasets
    keys: list[str] = []
    mistakes: list[str] = []

    def look(key: str, read: Callable[..., Any], *arguments: Any, made: str = "") -> Any:
        """Read an input; it may be missing here if the file `made` of it is there."""
        keys.append(key)
        try:
            if made and (ARTIFACTS / made).exists() and not _place(arguments[0]).exists():
                logger.info("%s: %s: not here; artifacts/%s is", key, _place(arguments[0]), made)
                return None
            return read(*arguments)
        except InputError as error:
            mistakes.append(f"{params_file}: {key}: {error}")
            return None

    if params.compute.device == "cuda":  # torch takes seconds
        from infopursuit.clip.towers import choose_device

        look("compute.device", choose_device, "cuda")
    if _given(params.clip):
        look("clip", _clip_width, params.clip)
    look("universe.control_words", read_text_list, params.universe.control_words)
    captions = any(has_captions(path) for path in queries.corpora.values())
    files = [*queries.dictionaries.values(), *(each.knowledge for each in datasets.values())]
    if captions:
        look("queries.prompt", load_template, queries.prompt, ["caption"], ["max_concepts"])
    model = None
    if captions or any(is_prompt(path) for path in files):
        model = look("language_model", _language_model, params.language_model, params.compute)
    record = model if isinstance(model, RecordedAnswers) else None
    if ask_server and isinstance(model, OpenAIServer):
        answer = look("language_model", class_knowledge.try_server, params.language_model)
        if answer is not None:
            logger.info("language_model: %s answered: %r", model.base_url, answer)
    for name, path in queries.corpora.items():
        if _given(path) or (record is not None and has_captions(path)):
            made = f"queries/corpora/{name}"
            key = f"queries.corpora.{name}"
            look(key, _corpus, path, queries.max_captions, record, made=made)
    for name, path in queries.dictionaries.items():
        classes = datasets[name].classes
        look(f"queries.dictionaries.{name}", _dictionary, path, datasets[name].k, classes, record)
    for name, path in queries.lists.items():
        look(f"queries.lists.{name}", read_text_list, path)
    for name, dataset in datasets.items():
        if _given(dataset.annotations):
            look(f"datasets.{name}.annotations", read_annotations, dataset.annotations)
        if not _given(dataset.classes):
            if record is not None and knowledge_files.is_prompt(dataset.knowledge):
                look(f"datasets.{name}.knowledge", record.recorded, class_knowledge.NEEDED[0])
            continue
        known, before = f"classes/{name}.txt", len(mistakes)
        look(f"datasets.{name}.classes", read_class_names, dataset.classes, made=known)
        if len(mistakes) > before:  # nothing below can be read without them
            continue
        # The list that a stage made of them, where the classes themselves are not here.
        of = dataset.classes if Path(dataset.classes).exists() else str(ARTIFACTS / known)
        for key, read, made in (
            ("knowledge", partial(_knowledge, record), ""),
            ("question_reference", knowledge_of_classes, ""),
            ("answer_reference", knowledge_of_classes, ""),
            ("images", partial(_images, params.clip), f"datasets/{name}/images.parquet"),
        ):
            path = getattr(dataset, key)
            if _given(path):
                look(f"datasets.{name}.{key}", partial(_of_classes, read, of), path, made=made)
    if "random_words" in params.run.inits and Path(params.clip).suffix == ".parquet":
        look("run.inits", _no_new_words, params.clip)
    if mistakes:
        raise InputError(*mistakes)
    return len(keys)


def _given(path: str) -> bool:
    return Path(path).exists() or ARTIFACTS not in Path(path).parents


def _place(given: str) -> Path:
    """Return where the files of an input are: of a YAML file with a local data set, its folder."""
    path = Path(given)
    if path.suffix not in YAML or not path.exists():
        return path
    pinned = read_pinned_dataset(path)
    return path if pinned.local is None else Path(getattr(pinned, pinned.local))


def _of_classes(read: Callable[[str, list[str]], Any], classes: str, path: str) -> None:
    read(path, read_class_names(classes))


def _clip_width(path: str) -> tuple[int, str | None] | None:
    """Return width and name of the CLIP if they are known without loading weights."""
    if Path(path).suffix == ".parquet":
        table = PrecomputedTexts(path)
        return table.width, table.name
    if path.startswith(ON_HUB):
        name, _, commit = clip_source(path).removeprefix(ON_HUB).partition("@")
        raise InputError(
            f"{path} is a name, and a stage depends on files; expected a YAML file that pins it, "
            f"with the two lines hub: {name} and revision: {commit}"
        )
    if not Path(path).exists() and ":" in path:
        raise InputError(
            f"{path} is a name, and a stage depends on files; expected a folder, a table of texts, "
            "or a YAML file that pins weights, such as params/clip/ViT-B-32-openai.yaml"
        )
    if Path(path).suffix in YAML:
        read_settings(path, HubWeights)
    else:
        find_clip_files(path)
    return None


def _language_model(
    settings: LanguageModelSettings, compute: ComputeSettings
) -> LanguageModel | None:
    if settings.backend != "vllm":
        return open_language_model(settings)
    where_vllm_is(compute.vllm_python)
    return None


def _corpus(path: str, limit: int | None, record: RecordedAnswers | None) -> None:
    if not has_captions(path):
        given_corpus(path)
        return
    captions = read_captions(path, limit) if _given(path) else []
    if record is not None:
        record.recorded("caption", [caption.text for caption in captions])


def _dictionary(path: str, k: int, classes: str, record: RecordedAnswers | None) -> None:
    if is_list(path):
        read_dictionary(path, k)
        return
    if is_prompt(path):
        load_template(path, needed=["classes", "k"])
    else:
        record = open_recorded_prompt(path)[0]
    if record is not None:
        record.recorded("classes", read_class_names(classes) if Path(classes).exists() else [])


def _knowledge(record: RecordedAnswers | None, path: str, classes: list[str]) -> None:
    if knowledge_files.is_prompt(path):
        load_template(path, class_knowledge.NEEDED, class_knowledge.OFFERED)
        if record is not None:
            record.recorded(class_knowledge.NEEDED[0], classes)
    else:
        knowledge_of_classes(path, classes)


def _images(clip: str, source: str, classes: list[str]) -> None:
    path = Path(source)
    if path.suffix in YAML and read_pinned_dataset(path).local is None:
        return  # not opened, which may download
    if not has_embeddings(path):
        open_image_source(path, classes)
    elif _given(clip) and (known := _clip_width(clip)) is not None:
        for _ in read_embedded_images(path, classes, *known).blocks():
            pass  # each is checked


def _no_new_words(clip: str) -> None:
    raise InputError(
        f"random_words need a CLIP that embeds them, and {clip} is a table of texts; expected "
        "other entries of run.inits"
    )
