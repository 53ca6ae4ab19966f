"""Draw the explanations of chosen test images of one run: questions, answers and posteriors.

python stages/explain.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from infopursuit.core.files import atomic_folder
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.datasets.settings import Datasets
from infopursuit.evaluation.chosen_images import load_pictures
from infopursuit.evaluation.settings import ExplainSettings
from infopursuit.pursuit.explanation import read_explanations, write_explanations
from infopursuit.report.figures import explanation_png


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    explain: ExplainSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name = RunName(dataset, init, method, seed)
    stop, explained = read_explanations(f"artifacts/evaluation/{name}/explanations.json")
    ids = [each.explanation.image for each in explained]
    class_names = explained[0].explanation.class_names
    pictures = load_pictures(settings.datasets[dataset].images, class_names, ids)
    with atomic_folder(f"artifacts/explanations/{name}") as folder:
        for explanation, figure, _ in explained:
            picture = pictures.get(explanation.image)
            drawn = explanation_png(explanation, settings.explain.classes_shown, picture, stop)
            (folder / figure).write_bytes(drawn)
        write_explanations(folder / "explanations.json", stop, explained)
    return RowCounts(read=len(explained), written=len(explained))


if __name__ == "__main__":
    run(main)
