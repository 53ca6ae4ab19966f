"""Choose the k texts that a dictionary starts from.

python stages/initialize.py --dataset menagerie --init medoids
"""

from infopursuit.dictionary.initial import listed_texts, medoid_texts, random_texts
from infopursuit.dictionary.universe import load_universe
from infopursuit.params import Params
from infopursuit.stage import SCRATCH, Rows, run
from infopursuit.text_lists import read_text_list, write_text_list


def main(params: Params, dataset: str, init: str) -> Rows:
    universe = load_universe("artifacts/universe/embeddings.parquet", SCRATCH / "universe")
    settings, k = params.initialize, params.datasets[dataset].k
    if init == "llm":
        path = f"artifacts/dictionaries/{dataset}.txt"
        texts = listed_texts(universe, read_text_list(path), k, path)
    elif init == "random":
        texts = random_texts(universe, k, settings.seed)
    else:
        texts = medoid_texts(
            universe, k, settings.seed, settings.medoids_sample, settings.medoids_repeats
        )
    write_text_list(f"artifacts/initial/{dataset}-{init}.txt", texts)
    return Rows(read=len(universe.texts), written=len(texts))


if __name__ == "__main__":
    run(main)
