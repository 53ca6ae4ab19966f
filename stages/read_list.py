"""The questions of a person's own for a data set, each once: the init `list`.

    python stages/read_list.py --dataset birds

Writes artifacts/queries/lists/DATASET.txt, one a line.
"""

from infopursuit.core.stage import Rows, run

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section
from infopursuit.core.text_lists import read_text_list, write_text_list
from infopursuit.queries.normalization import distinct
from infopursuit.queries.settings import QueriesSettings


class Settings(Section):
    """What this stage reads of params.yaml."""

    queries: QueriesSettings


def main(settings: Settings, dataset: str) -> Rows:
    lists = settings.queries.lists
    if dataset not in lists:
        raise InputError(f"--dataset {dataset}: expected one of {', '.join(lists) or 'none'}")
    given = read_text_list(lists[dataset])
    questions = distinct(given)
    write_text_list(f"artifacts/queries/lists/{dataset}.txt", questions)
    return Rows(read=len(given), written=len(questions))


if __name__ == "__main__":
    run(main)
