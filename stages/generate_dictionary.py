"""The k queries of a data set's K-LLM dictionary: asked of a language model, recorded, or a list.

    python stages/generate_dictionary.py --dataset menagerie

Writes artifacts/queries/dictionaries/DATASET.txt, one query a line.
"""

from infopursuit.core.stage import SCRATCH, RowCounts, run

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list, write_text_list
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.datasets.settings import Datasets
from infopursuit.generation.class_queries import (
    ask_dictionary,
    is_list,
    open_prompt,
    read_dictionary,
)
from infopursuit.generation.language_models import Sampling
from infopursuit.generation.parsing import answer_pattern
from infopursuit.generation.settings import LanguageModelSettings, QueriesSettings
from infopursuit.pipeline import paths


class Settings(Section):
    datasets: Datasets
    queries: QueriesSettings
    language_model: LanguageModelSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    k, dictionaries = settings.datasets[dataset].k, settings.queries.dictionaries
    if dataset not in dictionaries:
        raise InputError(
            f"--dataset {dataset}: expected one of {', '.join(dictionaries) or 'none'}"
        )
    path = dictionaries[dataset]
    classes = read_text_list(paths.classes(dataset))
    queries = read_dictionary(path, k) if is_list(path) else ask(settings, path, classes, k)
    write_text_list(paths.QUERIES / "dictionaries" / f"{dataset}.txt", queries)
    return RowCounts(read=len(classes), written=len(queries))


def ask(settings: Settings, path: str, classes: list[str], k: int) -> list[str]:
    language_model, compute = settings.language_model, settings.compute
    vllm = compute.vllm_engine, compute.vllm_python
    model, template = open_prompt(path, language_model, *vllm)
    pattern = answer_pattern(template.text, k) if language_model.structured_output else None
    sampling = Sampling(**language_model.sampling.model_dump(), pattern=pattern)
    return ask_dictionary(model, template, classes, k, sampling, SCRATCH / "answers")


if __name__ == "__main__":
    run(main)
