"""Choose the k texts that a dictionary starts from.

python stages/initialize.py --dataset menagerie --init medoids --seed 0
"""

from infopursuit.core.stage import SCRATCH, RowCounts, code_key, run

import logging
from typing import Annotated

from pydantic import Field

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text_list
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.generation.settings import QuestionsSettings
from infopursuit.pipeline import paths, run_paths
from infopursuit.pursuit.dictionary.initial import random_texts, with_kept
from infopursuit.pursuit.dictionary.medoids import MedoidSearch, k_medoids
from infopursuit.pursuit.dictionary.settings import INITS, InitializeSettings
from infopursuit.texts.knowledge_files import is_prompt
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit.texts.normalization import normalize
from infopursuit.texts.text_table import TextTable

logger = logging.getLogger("infopursuit")

# Where the texts of the inits come from that are given; all others are chosen.
GIVEN = {"llm": "dictionary/{}", "list": "list/{}"}


class Settings(Section):
    datasets: Datasets
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    initialize: InitializeSettings
    questions: QuestionsSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, seed: int) -> RowCounts:
    k, kept = settings.datasets[dataset].k, settings.questions.kept
    if init not in GIVEN and settings.initialize.k is not None:
        k = settings.initialize.k
    universe = TextTable.from_parquet(
        paths.CONTROL if init == "random_words" else paths.UNIVERSE, SCRATCH / "universe"
    )
    if init != "list" and k > len(universe.texts):
        raise InputError(
            f"k is {k}; expected at most the {len(universe.texts)} texts of the universe"
        )
    if init in GIVEN:
        texts = universe.texts_from(GIVEN[init].format(dataset))
        k = max(k, len(texts)) if init == "list" else k
        if init == "llm" and len(texts) < k:
            logger.info("%d of k = %d queries; more are not in the universe", len(texts), k)
    elif init in ("random", "random_words"):
        texts = random_texts(universe, k, seed)
    elif init == "medoids":
        search = MedoidSearch(
            settings.initialize.medoids_distances, settings.initialize.medoids_reach
        )
        device = settings.compute.torch_device()
        state = SCRATCH / "medoids" / code_key(__file__)
        rows = k_medoids(universe.embeddings, k, seed, search, device, state)
        texts = [universe.texts[row] for row in rows.tolist()]
    elif init == "informative":
        texts = informative_texts(settings, universe, dataset, k, kept, seed)
    else:
        raise InputError(f"--init {init}: expected one of {', '.join(INITS)}")
    if init != "random_words":  # a control, of other texts
        texts = with_kept(universe, texts, kept, k)
    write_text_list(run_paths.initial(dataset, init, seed), texts)
    return RowCounts(read=len(universe.texts), written=len(texts))


def informative_texts(
    settings: Settings, universe: TextTable, dataset: str, k: int, kept: list[str], seed: int
) -> list[str]:
    """Chosen on training images, without those that runs of this seed hold out."""
    path = paths.images(dataset)
    check_same_space(paths.UNIVERSE, path)
    train, _ = load_training(path, settings.validation_fraction, seed, settings.max_images)
    known = read_knowledge(paths.knowledge(dataset))
    texts, embeddings, reference = universe.texts, universe.embeddings, None
    if is_prompt(settings.datasets[dataset].knowledge):
        # A text that the language model was not asked about would count as if it were true.
        asked = {normalize(each) for each in [*known.texts, *kept]}
        rows = [row for row, text in enumerate(texts) if normalize(text) in asked]
        texts = [texts[row] for row in rows]
        embeddings, reference = embeddings[rows], embeddings
    chooser = InformationPursuitClassifier(
        texts,
        embeddings,
        k,
        keep=kept,
        knowledge=known.for_classes_and_texts(train.class_names, texts),
        random_state=seed,
    )
    return chooser.select_queries(
        train.embeddings, train.labels.numpy(), reference_embeddings=reference
    )


if __name__ == "__main__":
    run(main)
