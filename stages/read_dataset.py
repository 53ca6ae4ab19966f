"""What is given with a data set: its class names, and what people say of the classes, checked.

    python stages/read_dataset.py --dataset food10

Writes artifacts/classes/DATASET.txt, one name a line in the order of the labels, and the
reference labels: question.parquet and answer.parquet in artifacts/reference_labels/DATASET; and
what people say of single images: artifacts/datasets/DATASET/annotations.csv.
"""

from infopursuit.core.stage import RowCounts, run

import logging

from infopursuit.core.files import write_text_list
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.datasets.image_folders import read_class_names
from infopursuit.datasets.settings import Datasets
from infopursuit.pipeline import paths
from infopursuit.texts.annotations import read_annotations, write_annotations
from infopursuit.texts.knowledge_files import knowledge_of_classes
from infopursuit.texts.knowledge_tables import write_knowledge

logger = logging.getLogger("infopursuit")


class Settings(Section):
    datasets: Datasets
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    chosen = settings.datasets[dataset]
    classes = read_class_names(chosen.classes)
    write_text_list(paths.classes(dataset), classes)
    rows = len(classes)
    for of, path in (("question", chosen.question_reference), ("answer", chosen.answer_reference)):
        table = knowledge_of_classes(path, classes)
        if not table.texts:
            logger.info("no %s_reference for %s: the knowledge table takes its place", of, dataset)
        write_knowledge(paths.reference_labels(dataset, of), table)
        rows += len(table.texts)
    said = read_annotations(chosen.annotations)
    write_annotations(paths.people(dataset), said)
    rows += len(said.rows)
    return RowCounts(read=rows, written=rows)


if __name__ == "__main__":
    run(main)
