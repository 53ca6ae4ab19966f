"""Explain chosen test images of one run: questions, answers and posteriors, as figures and data.

python stages/explain.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

import shutil
from pathlib import Path

from infopursuit.evaluation.measurement import check_classes
from infopursuit.params import Params
from infopursuit.presentation.chosen_images import choose_rows, figure_names, load_pictures
from infopursuit.presentation.explanation_figure import explanation_png
from infopursuit.presentation.trajectories import Stop, trajectories, write_trajectories
from infopursuit.pursuit.images import load_images
from infopursuit.pursuit.model import TrainedModel
from infopursuit.stage import Rows, run


def main(params: Params, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    settings = params.explain
    model = TrainedModel.load(Path("artifacts/models") / name, params.compute.torch_device())
    images = load_images(f"artifacts/images/{dataset}.parquet", "test")
    check_classes(model.class_names, images.class_names)
    stop = Stop(settings.stop_at_probability, min(settings.max_queries, len(model.queries)))

    rows = choose_rows(model, images, stop, settings.images, settings.ids.get(dataset, []))
    ids = [images.ids[row] for row in rows]
    chosen = images.embeddings[rows].to(model.embeddings.device)
    told = trajectories(
        model.roll_out(chosen, stop.max_queries),
        model.queries,
        model.class_names,
        ids,
        [images.class_names[int(images.labels[row])] for row in rows],
        stop,
    )
    pictures = load_pictures(params.datasets[dataset].images, images.class_names, ids)

    folder = Path("artifacts/explanations") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    figures = figure_names(ids)
    for trajectory, figure in zip(told, figures, strict=True):
        picture = pictures.get(trajectory.image)
        (folder / figure).write_bytes(explanation_png(trajectory, settings.classes_shown, picture))
    write_trajectories(folder / "trajectories.json", stop, list(zip(told, figures, strict=True)))
    return Rows(read=len(images.ids), written=len(told))


if __name__ == "__main__":
    run(main)
