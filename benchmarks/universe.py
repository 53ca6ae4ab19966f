"""From answers to a clean universe: seconds and peak memory of each step, in its own process.

    python -m benchmarks.universe                  25,014 captions x 20 concepts
    python -m benchmarks.universe --copies 10      250,140 captions
    python -m benchmarks.universe --copies 10 --head 1e7 --class-names 1000

The answers are those of the seeded grammar. `queries` reads them and does what the stage
generate_queries does after the language model has answered; `universe` runs the stage
build_universe with a dictionary and the shipped control words. Seconds are those of the whole
process, its start and imports included; processor time, which another program on the machine
changes less, is given as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import in_own_process, peak_mb
from infopursuit.core.files import write_text_list
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, read_table, write_table
from infopursuit.pipeline.params import Params, load_params
from infopursuit.queries.corpora import Caption, described_corpus
from infopursuit.queries.language_models import Answer
from tests.texts import grammar

ROOT = Path(__file__).parents[1]
DICTIONARY_SIZE = 824
RAW_ANSWERS, ARTIFACTS = Path("answers.parquet"), Path("artifacts")
COUNTS = ARTIFACTS / "answers/coco.json"


def write_answers(count: int, head: float, class_names: int) -> None:
    """Write captions with answers, a dictionary and class names, in the working directory."""
    captions = grammar.captions(count)
    texts, reasons = zip(*grammar.answers(len(captions), head=head), strict=True)
    columns = {
        "caption": [caption.text for caption in captions],
        "caption_ids": [list(caption.ids) for caption in captions],
        "answer": texts,
        "finish_reason": reasons,
    }
    write_table(RAW_ANSWERS, ANSWERS, columns)
    dictionary = [grammar.concept(13 * rank) for rank in range(DICTIONARY_SIZE)]
    write_text_list(ARTIFACTS / "queries/dictionaries/menagerie.txt", dictionary)
    # Rare concepts: names of two to five words, like those of real classes.
    names = [grammar.concept(grammar.KINDS // 2 + 7919 * rank) for rank in range(class_names)]
    write_text_list(ARTIFACTS / "classes/menagerie.txt", names or ["no class"])


def queries(params: Params) -> None:
    """Do what generate_queries does with the answers."""
    table = read_table(RAW_ANSWERS, ANSWERS).to_pydict()
    ids = map(tuple, table["caption_ids"])
    captions = list(map(Caption, table["caption"], ids))
    answers = list(map(Answer, table["answer"], table["finish_reason"]))
    del table
    corpus = described_corpus(captions, answers, params.queries.concepts_per_caption)
    write_table(ARTIFACTS / "queries/coco.parquet", QUERIES, corpus.queries)
    write_table(ARTIFACTS / "answers/coco.parquet", ANSWERS, corpus.answers)
    write_table(ARTIFACTS / "answers/coco.rejected.parquet", REJECTED_LINES, corpus.rejected)
    COUNTS.write_text(json.dumps(corpus.counts), encoding="utf-8")


def universe(params: Params) -> None:
    """Run the stage build_universe."""
    runpy.run_path(str(ROOT / "stages/build_universe.py"))["main"](params)


STEPS: dict[str, Callable[[Params], None]] = {"queries": queries, "universe": universe}


def settings(drop_class_names: bool) -> Params:
    """Return the shipped parameters, for one corpus and one data set."""
    raw = load_params(ROOT / "params.yaml").model_dump(mode="json", by_alias=True)
    raw["queries"]["corpora"] = {"coco": "captions.json"}
    raw["datasets"] = {"menagerie": raw["datasets"]["menagerie"]}
    if drop_class_names:
        raw["universe"]["drop_class_names"] = "artifacts/classes"
    raw["universe"]["control_words"] = str(ROOT / "params/control_words.txt")
    return Params.model_validate(raw)


def processor_seconds() -> float:
    """Return the processor time of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--copies", type=int, default=1, help="times 25,014 captions")
    parser.add_argument("--head", type=float, default=grammar.HEAD, help="see tests.texts.grammar")
    parser.add_argument("--class-names", type=int, default=0, help="names that no text may have")
    parser.add_argument("--folder", type=Path, help="keep the files here; answers are written once")
    parser.add_argument("--step", choices=STEPS, help="run this in --folder and print its peak")
    given = parser.parse_args()
    if given.step:
        params = settings(given.class_names > 0)
        with contextlib.chdir(given.folder):
            STEPS[given.step](params)
        print(peak_mb())
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.chdir(folder):
            if not RAW_ANSWERS.exists():
                write_answers(grammar.COCO_COUNT * given.copies, given.head, given.class_names)
        total = 0.0
        options = ("--folder", folder, "--class-names", given.class_names)
        for step in STEPS:
            started, used = time.perf_counter(), processor_seconds()
            peak = in_own_process("universe", "--step", step, *options)
            seconds, used = time.perf_counter() - started, processor_seconds() - used
            total += seconds
            print(f"{step}: {seconds:.1f} s ({used:.1f} s of a core), {peak} MB", flush=True)
        print(f"in all: {total:.1f} s")
        for counts in (COUNTS, ARTIFACTS / "universe/counts.json"):
            print(json.dumps(json.loads((folder / counts).read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
