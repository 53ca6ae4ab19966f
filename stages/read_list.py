"""The questions of a person's own for a data set, each once: the init `list`.

    python stages/read_list.py --dataset birds

Writes artifacts/queries/lists/DATASET.txt, one a line.
"""

from infopursuit.core.stage import RowCounts, run

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list, write_text_list
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.generation.settings import QueriesSettings
from infopursuit.pipeline import paths
from infopursuit.texts.normalization import distinct


class Settings(Section):
    queries: QueriesSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    lists = settings.queries.lists
    if dataset not in lists:
        raise InputError(f"--dataset {dataset}: expected one of {', '.join(lists) or 'none'}")
    given = read_text_list(lists[dataset])
    questions = distinct(given)
    write_text_list(paths.QUERIES / "lists" / f"{dataset}.txt", questions)
    return RowCounts(read=len(given), written=len(questions))


if __name__ == "__main__":
    run(main)
