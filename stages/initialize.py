"""Choose the k texts that a dictionary starts from.

python stages/initialize.py --dataset menagerie --init medoids --seed 0
"""

import torch

from infopursuit.dictionary.initial import listed_texts, medoid_texts, random_texts
from infopursuit.dictionary.medoids import MedoidSearch
from infopursuit.dictionary.universe import Universe, load_universe
from infopursuit.errors import InputError
from infopursuit.evidence.informative import informative_rows
from infopursuit.params import Params
from infopursuit.pursuit.images import hold_out, load_images
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.tables import check_same_space
from infopursuit.text_lists import read_text_list, write_text_list

UNIVERSE = "artifacts/universe/embeddings.parquet"
CONTROL = "artifacts/universe/control_embeddings.parquet"


def main(params: Params, dataset: str, init: str, seed: int) -> Rows:
    k = params.datasets[dataset].k
    universe = load_universe(CONTROL if init == "words" else UNIVERSE, SCRATCH / "universe")
    if init == "llm":
        path = f"artifacts/dictionaries/{dataset}.txt"
        texts = listed_texts(universe, read_text_list(path), k, path)
    elif init in ("random", "words"):
        if init == "words" and k > len(universe.texts):
            raise InputError(
                f"{CONTROL}: {len(universe.texts)} control words; expected at least k = {k} (a "
                "CLIP that is a table of texts has no embeddings of new words)"
            )
        texts = random_texts(universe, k, seed)
    elif init == "medoids":
        settings = params.initialize
        search = MedoidSearch(settings.medoids_distances, settings.medoids_reach)
        device = params.compute.torch_device()
        texts = medoid_texts(universe, k, seed, search, device, SCRATCH / "medoids")
    else:
        texts = informative_texts(params, universe, dataset, k, seed)
    write_text_list(f"artifacts/initial/{dataset}-{init}-{seed}.txt", texts)
    return Rows(read=len(universe.texts), written=len(texts))


def informative_texts(
    params: Params, universe: Universe, dataset: str, k: int, seed: int
) -> list[str]:
    """Chosen on training images, without those that runs of this seed hold out."""
    path = f"artifacts/images/{dataset}.parquet"
    check_same_space(UNIVERSE, path)
    if k > len(universe.texts):
        raise InputError(
            f"k is {k}; expected at most {len(universe.texts)}, the size of the universe"
        )
    train, _ = hold_out(load_images(path, "train"), params.initialize.held_out, seed)
    rows = informative_rows(
        torch.from_numpy(universe.embeddings), train.embeddings, train.labels, k, seed
    )
    return [universe.texts[row] for row in rows.tolist()]


if __name__ == "__main__":
    run(main)
