"""`infopursuit fit`: images, embeddings or a table to a saved model."""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from infopursuit.cli.language_model import language_model_of
from infopursuit.clip.weights import clip_source
from infopursuit.core.csv_tables import read_csv_table
from infopursuit.core.errors import InputError
from infopursuit.core.files import check_writable
from infopursuit.core.numbers import NUMBER, Proportion, counted, percent
from infopursuit.core.tables import EMBEDDING
from infopursuit.datasets.embedding_files import read_embedded_texts, read_embeddings
from infopursuit.datasets.packed_pictures import is_packed
from infopursuit.datasets.reading import ROWS as EMBEDDED
from infopursuit.datasets.reading import TABLES
from infopursuit.datasets.samples import Samples
from infopursuit.datasets.table_files import WHOLE, TableFile, read_table
from infopursuit.datasets.trained_on import remember
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.pictures import labelled_pictures
from infopursuit.estimators.plan import EmbeddedTexts, Embedding, Fitted, Plan, carry_out
from infopursuit.estimators.provenance import measured, words_run_out
from infopursuit.questions.columns import TableQuestions
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.text_table import read_texts

logger = logging.getLogger("infopursuit")

LISTED = 20
# No table of knowledge, which is the default.
NONE = Path("none")
# Classes that the summary of a fit names.
NAMED = 10
# Options that say nothing about a table, as argparse calls their values.
ABOUT_IMAGES = ("texts", "labels", "clip", "classes", "knowledge", "annotations",
                "llm", "llm_model")  # fmt: skip
# How a table is one of pictures.
AS_PICTURES = "a list of pictures has a column of their paths, such as train/0.png"
# Rows of a table are known again if at least this share of them differ from one another.
DISTINCT = 0.9
# The folder, in that of the model, where answers of a language model are kept.
ANSWERS = "answers"


def fit(chosen: argparse.Namespace) -> int:
    """Fit, save, and report how good the model is.

    Returns:
        The exit status: 1 if images could not be read, or a language model was of no use.
    """
    check_writable(chosen.out, "--out", folder=True)
    table = _table(chosen)
    settings: dict[str, Any] = {
        "n_queries": chosen.n_queries,
        "ban": chosen.ban,
        "keep": chosen.keep,
        "first_query": chosen.first,
        "random_state": chosen.random_state,
    }
    if chosen.knowledge == NONE:
        chosen.knowledge = None
    if chosen.knowledge is not None and chosen.llm is not None:
        raise InputError("--knowledge and --llm: both say what is true; expected one of them")
    if chosen.knowledge is not None:
        settings["knowledge"] = chosen.knowledge
    if chosen.annotations is not None:
        settings["annotations"] = read_annotations(chosen.annotations)
    if chosen.costs is not None:
        if table is None:
            raise InputError("--costs: of the columns of a table; expected it with --label")
        settings["texts"] = questions_with_costs(chosen.costs, table.not_asked(str(chosen.label)))
    language_model = language_model_of(chosen)
    if table is not None:
        fitted = Fitted(_fit_table(table, chosen, settings), None, None)
    else:
        train, test = _samples(chosen)
        texts, embedding = _texts_and_clip(chosen, train.rows is not None)
        answers_in = chosen.out / ANSWERS
        plan = Plan(settings, texts, embedding, language_model, answers_in)
        with warnings.catch_warnings():  # what was left out is listed at the end
            warnings.filterwarnings("ignore", ".* pictures cannot be read and are left out")
            fitted = carry_out(plan, train, test)
    model, test, said = fitted
    lines = summary(model)
    if said is not None:
        lines += _by_people(model, said)
    model.save(chosen.out)
    for line in lines:
        logger.info("%s", line)
    rejected = model.provenance_.get("rejected", {})
    logger.info("saved: %s", chosen.out)
    for name, reason in list(rejected.items())[:LISTED]:
        logger.error("left out: %s: %s", name, reason)
    if len(rejected) > LISTED:
        logger.error("left out: %d more, listed in %s", len(rejected) - LISTED, chosen.out)
    of_no_use = model.provenance_.get("language_model", {}).get("of_no_use")
    if of_no_use is not None:  # at the end, where it is read
        logger.error("the language model was of no use: %s", of_no_use)
    return 1 if rejected or of_no_use else 0


def _samples(chosen: argparse.Namespace) -> tuple[Samples, Samples | None]:
    if not is_packed(chosen.images) and chosen.images.suffix in EMBEDDED:
        if chosen.texts is None:
            raise InputError(
                "--texts is missing; expected the texts with their embeddings (.parquet, .npz), or "
                "a file of texts and --clip"
            )
        if chosen.classes is not None:
            raise InputError("--classes: expected it with a folder of images")
        return read_embeddings(chosen.images, chosen.labels)
    if chosen.labels is not None:
        raise InputError("--labels: expected it with an .npy file; a folder names its classes")
    return labelled_pictures(chosen.images, chosen.classes, chosen.test_fraction, chosen.label)


def _texts_and_clip(chosen: argparse.Namespace, embedded: bool) -> tuple[Any, Embedding | None]:
    name = chosen.clip or (None if embedded else "ViT-B-32")
    source = None if name is None else clip_source(name, chosen.pretrained)
    embedding = None if source is None else Embedding(source, chosen.device)
    if chosen.texts is None:
        return None, embedding
    if embedded and chosen.texts.suffix in (".parquet", ".npz"):
        return EmbeddedTexts(*read_embedded_texts(chosen.texts)), embedding
    texts = read_texts(chosen.texts)
    if embedding is None:
        raise InputError(
            f"{chosen.texts}: texts without embeddings; expected --clip, which embeds them"
        )
    return texts, embedding


def summary(model: PursuitClassifier) -> list[str]:
    """Return how large a model is, and how good."""
    facts, noun = model.provenance_, model.pursuit_.noun
    named = list(map(str, model.classes_[:NAMED]))
    more = f" and {len(model.classes_) - NAMED} more" if len(model.classes_) > NAMED else ""
    lines = [
        f"classes: {', '.join(named)}{more}",
        f"{counted(facts['images'], noun)}, {counted(len(model.classes_), 'class')}, "
        f"{counted(len(model.queries_), 'question')}",
    ]
    for known in islice(measured(facts), 1):
        on = counted(known.images, f"{known.split} {noun}")
        line = f"accuracy on {on}: {percent(known.accuracy)}"
        sure = known.confidence
        lines.append(line if sure is None else f"{line}; mean confidence {percent(sure)}")
    if facts.get("rates") == "subclasses":
        lines.append("each class is several kinds: what an answer says depends on those before it")
    if (words := facts.get("words")) is not None:
        fits = "" if words["fits"] is None else f"; {percent(words['fits'])} of these fit the table"
        lines.append(f"yes to {words['yes']:.1f} of the first ten questions to an image{fits}")
    if (said := words_run_out(facts)) is not None:
        lines.append(said)
    return lines


def _by_people(model: PursuitClassifier, said: Annotations) -> list[str]:
    """Return how far annotators agree, and how often answers are right by them.

    Of training images that the answers were not fitted on.
    """
    annotated = model.provenance_.get("annotated", {})
    lines = [
        f"annotations: {len(said.rows)} of {len(said.texts)} texts; {len(annotated)} questions "
        "are fitted on them"
    ]
    pairs, same = said.agreement()
    if pairs:
        lines.append(f"annotators agree in {percent(same / pairs)} of {pairs} pairs of answers")
    for query, facts in annotated.items():
        yes, no = (Proportion(facts[f"{word}_right"], facts[word]) for word in ("yes", "no"))
        lines.append(f"  {query}: yes right {yes}, no {no}")
    return lines


def _table(chosen: argparse.Namespace) -> TableFile | None:
    """Return the table to fit on; None for images and embeddings.

    Raises:
        InputError: --label is missing, or comes with options about images.
    """
    path = chosen.images
    if is_packed(path):
        return None
    about_tables = path.suffix.lower() in TABLES
    if chosen.label is None:
        if not about_tables or (path.suffix == ".parquet" and chosen.texts is not None):
            return None
        table = read_table(path)
        if EMBEDDING in table.names:
            return None
        raise InputError(
            f"{path}: --label is missing; expected the column of the classes, one of "
            f"{', '.join(table.names[:10])}"
        )
    if not about_tables:
        raise InputError(f"--label: expected it with a table ({', '.join(TABLES)}); found {path}")
    for name in ABOUT_IMAGES:
        if getattr(chosen, name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: about images; {path} is a table: {AS_PICTURES}")
    return read_table(path)


def questions_with_costs(path: Path, left_out: Collection[str]) -> TableQuestions:
    """Return questions about columns that cost what a CSV table says, but for those left out.

    Raises:
        InputError: a cost is no number above 0, or a column is there twice.
    """
    table = read_csv_table(path, ("column", "cost"), "expected a table of columns and their costs")
    costs: dict[str, float] = {}
    rows = zip(table.column("column"), table.column("cost"), strict=True)
    for row, (column, cost) in enumerate(rows):
        number = cost.replace(",", ".") if table.decimal_comma else cost
        if not NUMBER.fullmatch(number) or not float(number) > 0:
            raise InputError(f"{table.where(row, 'cost')}: {cost!r}; expected a number above 0")
        if column in costs:
            raise InputError(f"{table.where(row)}: expected another column, found {column!r} again")
        costs[column] = float(number)
    return TableQuestions(
        costs={column: cost for column, cost in costs.items() if column not in left_out}
    )


def _fit_table(
    table: TableFile, chosen: argparse.Namespace, settings: dict[str, Any]
) -> InformationPursuitClassifier:
    """Fit on the columns of a table that questions can be about; say which cannot, and why."""
    label = table.place(chosen.label)
    classes = table.texts(label)
    labelled = [row for row, each in enumerate(classes) if each is not None]
    if len(labelled) < len(classes):
        without = counted(len(classes) - len(labelled), "row")
        logger.info("left out: %s without %s", without, label)
        table, classes = table.rows(labelled), [classes[row] for row in labelled]
    numbers = pa.types.is_floating(table.values.schema.field(label).type)
    odd = next((each for each in classes if not WHOLE.fullmatch(str(each))), None)
    if len(set(classes)) == len(classes) or (numbers and odd is not None):
        values = f"{odd}, a number" if numbers and odd is not None else "another value in each row"
        raise InputError(f"--label {label}: found {values}; expected classes of several rows each")
    not_asked = table.not_asked(label)
    if not_asked:
        listed = "; ".join(f"{name} ({reason})" for name, reason in not_asked.items())
        logger.info("left out, as no question can be about it: %s", listed)
    columns = [name for name in table.names if name != label and name not in not_asked]
    if not columns:
        raise InputError(
            f"{table.path}: no column to ask about besides {label}; expected some; {AS_PICTURES}"
        )
    rows = table.values.select(columns)
    model = InformationPursuitClassifier().set_params(**settings).fit(rows, np.array(classes))
    model.provenance_["label"] = label
    model.provenance_["named_by"] = next(filter(table.names_rows, not_asked), None)
    marks = table.marks(label)
    if len(set(marks)) >= DISTINCT * len(marks):
        remember(model.provenance_, marks)
    return model
