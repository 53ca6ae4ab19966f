"""The knowledge table of a data set: which texts are true of which class, by what everybody knows.

    python stages/generate_knowledge.py --dataset menagerie

Asked of a language model, about `language_model.candidates` texts at most, or taken from a file
that a person wrote. Writes to artifacts/datasets/DATASET knowledge.parquet (class, text, value;
what is unknown has no row), the answers that could not be used with their reasons
(knowledge.rejected.parquet) and counts (knowledge.json). Answers are kept in .scratch/answers as
they come, so that a stopped run goes on where it was.
"""

from infopursuit.core.stage import SCRATCH, RowCounts, run

import json
import logging
from functools import partial
from typing import Any

from infopursuit.core.executors import choose_workers
from infopursuit.core.files import read_text_list, write_text
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.core.tables import REJECTED_KNOWLEDGE, UNIVERSE, read_table, write_table
from infopursuit.datasets.settings import Datasets
from infopursuit.generation.class_knowledge import (
    NEEDED,
    OFFERED,
    AskedKnowledge,
    ask_knowledge,
    knowledge_pattern,
    most_prompts_for,
    prompts_for,
)
from infopursuit.generation.language_models import RecordedAnswers, Sampling, open_language_model
from infopursuit.generation.settings import LanguageModelSettings
from infopursuit.generation.templates import load_template
from infopursuit.pipeline import paths
from infopursuit.pipeline.candidates import candidate_texts
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import is_prompt, knowledge_of_classes
from infopursuit.texts.knowledge_tables import write_knowledge
from infopursuit.texts.normalization import distinct

logger = logging.getLogger("infopursuit")


class Settings(Section):
    datasets: Datasets
    language_model: LanguageModelSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    chosen = settings.datasets[dataset]
    classes = read_text_list(paths.classes(dataset))
    texts = distinct(read_table(paths.TEXTS, UNIVERSE, ["text"]).column("text").to_pylist())
    counts: dict[str, Any] = {"classes": len(classes), "texts": len(texts)}
    rejected: dict[str, list[Any]] = {field.name: [] for field in REJECTED_KNOWLEDGE.columns}
    if is_prompt(chosen.knowledge):
        knowledge, rejected, asked = ask(settings, dataset, classes, texts)
        counts |= asked
    else:
        told = knowledge_of_classes(chosen.knowledge, classes)
        values = told.for_classes_and_texts(classes, texts)
        knowledge = KnowledgeTable(tuple(classes), tuple(texts), values)
    counts["values"] = knowledge.counts()
    write_knowledge(paths.knowledge(dataset), knowledge)
    write_table(paths.knowledge(dataset, ".rejected.parquet"), REJECTED_KNOWLEDGE, rejected)
    lines = json.dumps(counts, sort_keys=True, indent=2) + "\n"
    write_text(paths.knowledge(dataset, ".json"), lines)
    known = sum(counts["values"].values()) - counts["values"]["unknown"]
    return RowCounts(read=len(classes) * len(texts), written=known)


def ask(settings: Settings, dataset: str, classes: list[str], texts: list[str]) -> AskedKnowledge:
    language_model, compute = settings.language_model, settings.compute
    chosen = settings.datasets[dataset]
    template = load_template(chosen.knowledge, needed=NEEDED, offered=OFFERED)
    pattern = knowledge_pattern() if language_model.structured_output else None
    vllm = compute.vllm_engine, compute.vllm_python
    open_model = partial(open_language_model, language_model, *vllm)
    model, most = open_model(), language_model.candidates
    if not isinstance(model, RecordedAnswers):  # what is recorded costs nothing to ask
        if most is not None and len(texts) > most:
            scratch = SCRATCH / "universe"
            texts = candidate_texts(dataset, chosen.k, most, settings.max_images, scratch)
        size = len(classes), len(texts)
        logger.info(
            "the language model is asked about %d classes and %d texts: at most %d times, %d times "
            "if all its answers can be used",
            *size,
            most_prompts_for(*size),
            prompts_for(*size),
        )
    return ask_knowledge(
        model,
        template,
        classes,
        texts,
        Sampling(**language_model.sampling.model_dump(), pattern=pattern),
        SCRATCH / "answers",
        choose_workers(compute, open_model),
    )


if __name__ == "__main__":
    run(main)
