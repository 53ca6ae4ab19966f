"""The k queries of a data set's K-LLM dictionary: asked of a language model, recorded, or a list.

    python stages/generate_dictionary.py --dataset menagerie

Writes artifacts/dictionaries/DATASET.txt, one query a line, and the class names they are for
(DATASET.classes.txt), which the universe may have to leave out.
"""

from pathlib import Path

from infopursuit.params import Params
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.text_lists import read_text_list, write_text_list
from infopursuit.texts.class_queries import ask_dictionary, is_list, open_prompt, read_dictionary
from infopursuit.texts.language_models import Sampling

FOLDER = Path("artifacts/dictionaries")


def main(params: Params, dataset: str) -> Rows:
    settings = params.datasets[dataset]
    classes = read_text_list(settings.classes)
    if is_list(settings.dictionary):
        queries = read_dictionary(settings.dictionary, settings.k)
    else:
        model, template = open_prompt(settings.dictionary, params.language_model.model_dump())
        queries = ask_dictionary(
            model,
            template,
            classes,
            settings.k,
            Sampling(**params.language_model.sampling.model_dump()),
            SCRATCH / "answers",
        )
    write_text_list(FOLDER / f"{dataset}.txt", queries)
    write_text_list(FOLDER / f"{dataset}.classes.txt", classes)
    return Rows(read=len(classes), written=len(queries))


if __name__ == "__main__":
    run(main)
