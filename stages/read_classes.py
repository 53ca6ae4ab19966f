"""The class names of a data set, from a list or from the names of folders.

    python stages/read_classes.py --dataset menagerie

Writes artifacts/classes/DATASET.txt, one name a line, in the order of the labels.
"""

from infopursuit.core.stage import Rows, run

from infopursuit.core.settings import Section
from infopursuit.core.text_lists import write_text_list
from infopursuit.datasets.class_names import read_class_names
from infopursuit.datasets.settings import Datasets


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets


def main(settings: Settings, dataset: str) -> Rows:
    classes = read_class_names(settings.datasets[dataset].classes)
    write_text_list(f"artifacts/classes/{dataset}.txt", classes)
    return Rows(read=len(classes), written=len(classes))


if __name__ == "__main__":
    run(main)
