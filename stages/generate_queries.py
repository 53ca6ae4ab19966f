"""Texts of one corpus: the visual concepts a language model names for captions, or a given list.

    python stages/generate_queries.py --corpus menagerie

Writes to artifacts/queries/corpora/CORPUS the texts (texts.parquet), the answers they come from
(answers.parquet), every rejected line with its reason (rejected.parquet) and the counts of both
(counts.json). Answers are kept in .scratch/answers as they come, so that a stopped
run goes on where it was.
"""

from infopursuit.core.stage import SCRATCH, RowCounts, run

import json
from functools import partial

from infopursuit.core.executors import choose_workers
from infopursuit.core.files import write_text
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, write_table
from infopursuit.generation.answering import answer_prompts
from infopursuit.generation.corpora import (
    Corpus,
    described_corpus,
    given_corpus,
    has_captions,
    read_captions,
)
from infopursuit.generation.language_models import Sampling, open_language_model
from infopursuit.generation.parsing import answer_pattern
from infopursuit.generation.settings import LanguageModelSettings, QueriesSettings
from infopursuit.generation.templates import load_template
from infopursuit.pipeline import paths


class Settings(Section):
    queries: QueriesSettings
    language_model: LanguageModelSettings
    compute: ComputeSettings


def main(settings: Settings, corpus: str) -> RowCounts:
    path = settings.queries.corpora[corpus]
    if has_captions(path):
        texts, read = describe(settings, path)
    else:
        texts = given_corpus(path)
        read = texts.counts["rows"]
    folder = paths.QUERIES / "corpora" / corpus
    write_table(folder / "texts.parquet", QUERIES, texts.queries)
    write_table(folder / "answers.parquet", ANSWERS, texts.answers)
    write_table(folder / "rejected.parquet", REJECTED_LINES, texts.rejected)
    counts = json.dumps(texts.counts, sort_keys=True, indent=2) + "\n"
    write_text(folder / "counts.json", counts)
    return RowCounts(read=read, written=texts.counts["rows"])


def describe(settings: Settings, path: str) -> tuple[Corpus, int]:
    queries, language_model, compute = settings.queries, settings.language_model, settings.compute
    captions = read_captions(path, queries.max_captions)
    template = load_template(queries.prompt, needed=["caption"], offered=["max_concepts"])
    limit = queries.concepts_per_caption
    pattern = answer_pattern(template.text, limit) if language_model.structured_output else None
    vllm = compute.vllm_engine, compute.vllm_python
    open_model = partial(open_language_model, language_model, *vllm)
    prompts = [template.render(caption=each.text, max_concepts=limit) for each in captions]
    sampling = Sampling(**language_model.sampling.model_dump(), pattern=pattern)
    model, kept_in = open_model(), SCRATCH / "answers"
    workers = choose_workers(compute, open_model)
    if model.identity is not None and workers is None and len(prompts) > model.chunk:
        # If the first answers are of no use, this ends here.
        first = answer_prompts(model, prompts[: model.chunk], sampling, kept_in)
        described_corpus(captions[: model.chunk], first, limit)
    answers = answer_prompts(model, prompts, sampling, kept_in, workers)
    corpus = described_corpus(captions, answers, limit)
    return corpus, corpus.counts["captions"]


if __name__ == "__main__":
    run(main)
