"""The k queries of a data set's K-LLM dictionary: asked of a language model, recorded, or a list.

    python stages/generate_dictionary.py --dataset menagerie

Writes artifacts/dictionaries/DATASET.txt, one query a line, and the class names they are for
(DATASET.classes.txt), which the universe may have to leave out.
"""

from pathlib import Path

from infopursuit.params import Params
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.text_lists import read_text_list, write_text_list
from infopursuit.texts.answer_pattern import answer_pattern
from infopursuit.texts.class_queries import (
    ask_dictionary,
    is_list,
    is_prompt,
    open_prompt,
    read_dictionary,
)
from infopursuit.texts.language_models import Sampling
from infopursuit.texts.language_models.vllm_environment import run_where_vllm_is

FOLDER = Path("artifacts/dictionaries")


def main(params: Params, dataset: str) -> Rows:
    settings = params.datasets[dataset]
    classes = read_text_list(settings.classes)
    if is_list(settings.dictionary):
        queries = read_dictionary(settings.dictionary, settings.k)
    else:
        queries = ask(params, settings.dictionary, classes, settings.k)
    write_text_list(FOLDER / f"{dataset}.txt", queries)
    write_text_list(FOLDER / f"{dataset}.classes.txt", classes)
    return Rows(read=len(classes), written=len(queries))


def ask(params: Params, path: str, classes: list[str], k: int) -> list[str]:
    language_model, compute = params.language_model, params.compute
    if is_prompt(path) and language_model.backend == "vllm":
        run_where_vllm_is(compute.vllm_python)
    model, template = open_prompt(path, language_model.model_dump(), compute.vllm_engine)
    pattern = answer_pattern(template.text, k) if language_model.structured_output else None
    sampling = Sampling(**language_model.sampling.model_dump(), pattern=pattern)
    return ask_dictionary(model, template, classes, k, sampling, SCRATCH / "answers")


if __name__ == "__main__":
    run(main)
