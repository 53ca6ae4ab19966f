"""`infopursuit fit`: images or embeddings to a saved model."""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from infopursuit.cli.explain import clip_of, language_model_of
from infopursuit.core.errors import InputError
from infopursuit.core.files import check_writable
from infopursuit.core.numbers import percent
from infopursuit.datasets.embedded_files import Embeddings, read_embedded_texts, read_embeddings
from infopursuit.estimators.class_knowledge import BY_WORDNET, DRAFTS, drafted_by
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier, check_before_work
from infopursuit.estimators.trained_on import remember
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.text_table import read_texts

logger = logging.getLogger("infopursuit")

# Suffixes of files that hold embeddings rather than images.
EMBEDDED = (".npz", ".npy", ".parquet")
LISTED = 20
# The folder, in that of the model, where answers of a language model are kept.
ANSWERS = "answers"
# The questions of an image that a judge's table measures.
FIRST = 10


def fit(chosen: argparse.Namespace) -> int:
    """Fit, save, and report how good the model is.

    Returns:
        The exit status: 1 if images could not be read, or a language model was of no use.
    """
    check_writable(chosen.out, "--out", folder=True)
    settings: dict[str, Any] = {
        "n_queries": chosen.n_queries,
        "ban": chosen.ban,
        "keep": chosen.keep,
        "first_query": chosen.first,
        "random_state": chosen.random_state,
    }
    if chosen.knowledge is not None and chosen.llm is not None:
        raise InputError("--knowledge and --llm: both say what is true; expected one of them")
    if chosen.knowledge is not None:
        words = {"none": None, **{each: each for each in DRAFTS}}
        settings["knowledge"] = words.get(str(chosen.knowledge), chosen.knowledge)
    if chosen.certified:
        settings["certified_by"] = "annotations"
    said = None
    if chosen.annotations is not None:
        said = settings["annotations"] = read_annotations(chosen.annotations)
    names: list[str] = []
    needed = {
        "--llm-model": chosen.llm_model,
        "--vllm": chosen.vllm_python,
        "--llm-option": chosen.llm_option,
    }
    language_model = language_model_of("--llm", chosen.llm, needed)
    if chosen.images.suffix in EMBEDDED:
        model, test = _fit_embedded(chosen, settings, language_model)
        names = [] if test is None else list(test.ids)
    else:
        if chosen.labels is not None:
            raise InputError("--labels: expected it with an .npy file; a folder names its classes")
        from infopursuit.estimators.pictures import fit as fit_pictures

        with warnings.catch_warnings():  # what was left out is listed at the end
            warnings.filterwarnings("ignore", ".* pictures cannot be read and are left out")
            model = fit_pictures(
                chosen.images,
                chosen.classes,
                None if chosen.texts is None else read_texts(chosen.texts),
                chosen.clip or "ViT-B-32",
                chosen.pretrained,
                device=chosen.device,
                test_fraction=chosen.test_fraction,
                language_model=language_model,
                answers_in=chosen.out / ANSWERS,
                **settings,
            )
        test = None
        if said is not None or model.judgement_ is not None:
            test, names = _test_images(model, chosen)
    lines = [*summary(model), *judged(model, test)]
    if said is not None:
        lines += _by_people(model, said, test, names)
    model.save(chosen.out)
    for line in lines:
        logger.info("%s", line)
    rejected = model.provenance_.get("rejected", {})
    logger.info("saved: %s", chosen.out)
    for name, reason in list(rejected.items())[:LISTED]:
        logger.error("left out: %s: %s", name, reason)
    if len(rejected) > LISTED:
        logger.error("left out: %d more, listed in %s", len(rejected) - LISTED, chosen.out)
    of_no_use = "of_no_use" in model.provenance_.get("language_model", {})
    return 1 if rejected or of_no_use else 0


def _test_images(
    model: InformationPursuitClassifier, chosen: argparse.Namespace
) -> tuple[Embeddings | None, list[str]]:
    """Return the readable test images of a folder, which the cache has, and their names."""
    from infopursuit.clip.embed import embed_readable_pictures
    from infopursuit.estimators.pictures import labelled_pictures

    _, test = labelled_pictures(chosen.images, chosen.classes, chosen.test_fraction)
    if test is None or not test.pictures:
        return None, []
    readable = embed_readable_pictures(clip_of(model), test.pictures, progress=False)
    kept = test.subset(readable.rows)
    rows = Embeddings(readable.embeddings, np.array(kept.labels))
    return rows, [str(each) for each in kept.pictures]


def summary(model: InformationPursuitClassifier) -> list[str]:
    """Return how large a model is, and how good."""
    facts = model.provenance_
    lines = [
        f"{facts['images']} images, {len(model.classes_)} classes, {len(model.queries_)} questions"
    ]
    for split, images in (("test", "test images"), ("held_out", "images held out")):
        if f"{split}_accuracy" in facts:
            share = percent(facts[f"{split}_accuracy"])
            lines.append(f"accuracy on {facts[f'{split}_images']} {images}: {share}")
            break
    drafted = drafted_by(facts.get("knowledge"))
    if drafted is not None and model.knowledge_ is not None:
        who = "WordNet" if drafted == BY_WORDNET else "CLIP"
        unknown = np.isnan(model.knowledge_.values).all(axis=1)
        but = f" but {', '.join(map(str, model.classes_[unknown]))}" if unknown.any() else ""
        lines.append(
            f"{who} drafted what is true of the classes{but}; `infopursuit knowledge` writes it "
            "as a table"
        )
    return lines


def judged(model: InformationPursuitClassifier, test: Embeddings | None) -> list[str]:
    """Return what the judge says of the questions, and of the first ten asked of test images."""
    if model.judgement_ is None:
        return []
    from infopursuit.estimators.language_model import judged as judged_questions
    from infopursuit.meaning.measures import hard_answers, sense_measures

    names = [str(each) for each in model.classes_]
    lines = [judged_questions(model.judgement_, model.queries_, names)]
    if test is not None and len(test.labels):
        table = model.judgement_.for_classes_and_texts(names, model.queries_)
        asked = hard_answers(model.roll_out(test.rows, min(FIRST, len(model.queries_))))
        labels = np.searchsorted(model.classes_, test.labels)
        sense = sense_measures(asked, table, labels, [np.arange(len(names))])
        model.provenance_["sense"] = {
            name: sense[name] for name in ("questions", "plausible", "supported_yes", "reader")
        }
        supported = sense["supported_yes"]
        lines.append(
            f"judge: of the first {asked.order.shape[1]} questions of each test image "
            f"{'no' if supported is None else percent(supported)} yes fit the class predicted; "
            f"a reader of the words alone is right in {percent(sense['reader'])} of the images"
        )
    return lines


def _by_people(
    model: InformationPursuitClassifier,
    said: Annotations,
    test: Embeddings | None,
    names: Sequence[str],
) -> list[str]:
    """Return how far annotators agree, and how true answers to test images are by them."""
    from infopursuit.meaning.annotations import in_figures, in_lines, truth_by_people

    lines = [
        f"annotations: {len(said.rows)} of {len(said.texts)} texts; "
        f"{len(model.provenance_.get('annotated', ()))} questions follow them"
    ]
    pairs, same = said.agreement()
    if pairs:
        lines.append(f"annotators agree in {percent(same / pairs)} of {pairs} pairs of answers")
    if test is not None:
        of_test = said.of_images(names)
        measured = truth_by_people(model, test.rows, test.labels, of_test)
        model.provenance_["judged_by_people"] = in_figures(measured)
        lines += in_lines(measured)
    return lines


def _fit_embedded(
    chosen: argparse.Namespace, settings: dict[str, Any], language_model: Any
) -> tuple[InformationPursuitClassifier, Embeddings | None]:
    if chosen.texts is None:
        raise InputError(
            "--texts is missing; expected the texts with their embeddings (.parquet, .npz), or a "
            "file of texts and --clip"
        )
    if chosen.classes is not None:
        raise InputError("--classes: expected it with a folder of images")
    from infopursuit.clip.weights import clip_source

    source = None if chosen.clip is None else clip_source(chosen.clip, chosen.pretrained)
    train, test = read_embeddings(chosen.images, chosen.labels)
    said = settings.pop("annotations", None)
    if said is not None:
        known = [*train.ids, *(() if test is None else test.ids)]
        if not said.about(known):
            wanted = (
                known[0] if known else "a folder of images, or a .parquet file with a column id"
            )
            raise InputError(
                f"--annotations {said.where}: about none of the images; expected names as {wanted}"
            )
        # Of test images alone they measure, and teach nothing.
        settings["annotations"] = said.of_images(train.ids) if said.about(train.ids) else None
    if chosen.texts.suffix in (".parquet", ".npz"):
        texts, embeddings, name = read_embedded_texts(chosen.texts)
    else:
        from infopursuit.clip.embed import embed_texts
        from infopursuit.clip.towers import load_clip

        read = read_texts(chosen.texts)
        texts = list(read)
        if source is None:
            raise InputError(
                f"{chosen.texts}: texts without embeddings; expected --clip, which embeds them"
            )
        model = InformationPursuitClassifier(texts).set_params(**settings)
        check_before_work(model, texts, train.labels)
        clip = load_clip(source, chosen.device)
        embeddings, name = embed_texts(clip, read.values()), clip.name
    model = InformationPursuitClassifier(texts, embeddings).set_params(**settings)
    if language_model is None:
        model.fit(train.rows, train.labels)
    else:
        from infopursuit.estimators.language_model import LanguageModelHelp

        helper = LanguageModelHelp(language_model, chosen.out / ANSWERS)
        names = sorted({str(each) for each in train.labels})
        logger.info("%s", helper.announce(names, model.n_queries, len(texts), False))
        helper.fit(model, train.rows, train.labels)
    model.clip_, model.clip_source_ = name, source
    remember(model.provenance_, train.rows)
    if test is not None:
        right = model.predict(test.rows) == test.labels
        model.provenance_["test_images"] = len(test.labels)
        model.provenance_["test_accuracy"] = float(np.mean(right))
    return model, test
