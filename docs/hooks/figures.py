"""Figures on pages come from docs/records: a mark after a number says which, a mark before a table.

    85.8<!-- caltech101-vitb32 ours accuracy_at_10 -->     a mean over seeds, in percent
    12.0<!-- measured chosen_words_gain -->                a row of docs/records/measured.csv

The number is as exact as it is written. Between `<!-- tables NAME -->` and `<!-- end -->` stands
the table of that name. `python -m tests.docs.refresh` writes both into the pages, the build fills
them again, and a test compares. `records/peers.csv` of the site has every figure of a peer.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pyarrow.parquet as pq
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

RECORDS = Path(__file__).parents[1] / "records"
MARK = re.compile(
    r"(?P<number>[+-]?\d[\d,]*(?:\.\d+)?)<!-- (?P<record>[\w-]+)(?P<key>(?: [\w-]+)+) -->"
)
TABLE = re.compile(r"(<!-- tables (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHARES = re.compile(r"accuracy|auc|claims_(true|supported|plausible)|random_words|held_out")
NOTHING = "–"
TASKS = {
    "caltech101-vitb32": "Caltech-101, ViT-B/32",
    "caltech101-rn50": "Caltech-101, RN50",
    "food10-vitb32": "Food-10",
    "oxford-pets-vitb32": "Oxford Pets",
    "menagerie": "embedded world",
}
# Records also hold peers that were measured at 9f1593a4, the last commit with their code.
BLACK_BOXES = {"probe": "*linear probe*", "gda": "*Gaussian discriminant analysis*"}
HEADS = {
    "sparse_logistic": "sparse logistic regression",
    "label_free": "Label-free CBM",
    "labo_knowing": "LaBo, with a knowledge table",
}
CODES = {"ip_omp": "IP-OMP", "splice": "SpLiCE"}
ASKERS = {
    "tree": "decision tree",
    "generative_ip": "generative IP",
    "gdfs": "GDFS",
    "vip_fixed": "paper, fixed dictionary",
    "vip_alternating": "paper, learned dictionary",
    "vip_joint": "paper, learned jointly",
    "ours": "**ours**",
}
UNITS = {
    "weights a class": HEADS,
    "texts of an image": CODES,
    "questions": ASKERS,
}
EXPLAINED = {**HEADS, **CODES, **ASKERS}
ADDING = {key: ASKERS[key] for key in list(ASKERS)[1:]}
# Names of tables: what the rows are, and the metric of each cell.
TABLES: dict[str, tuple[dict[str, str], str]] = {
    "at-10": (EXPLAINED, "accuracy_at_10"),
    "all": ({**BLACK_BOXES, **EXPLAINED}, "accuracy"),
    "auc": (ADDING, "auc"),
    "claims-at-one": (
        {key: name for key, name in EXPLAINED.items() if key != "splice" and "vip" not in key},
        "claims_true_at_1",
    ),
}


@cache
def peers(record: str) -> dict[str, dict[str, float]]:
    """Return the means over seeds of all that a record holds, by peer; shares in percent."""
    seeds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    columns = ["peer", "metrics", "timings"]
    for row in pq.read_table(RECORDS / f"{record}.parquet", columns=columns).to_pylist():
        for name, value in {**json.loads(row["metrics"]), **json.loads(row["timings"])}.items():
            if isinstance(value, int | float):
                seeds[row["peer"]][name].append(value * (100 if SHARES.match(name) else 1))
    return {
        peer: {name: mean(values) for name, values in found.items()}
        for peer, found in seeds.items()
    }


@cache
def rows_of(record: str) -> dict[tuple[str, ...], float]:
    """Return the values of a CSV record by its columns before `value`."""
    found = {}
    with (RECORDS / f"{record}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            names = list(row)
            found[tuple(row[name] for name in names[: names.index("value")])] = float(row["value"])
    return found


def value_of(record: str, key: tuple[str, ...]) -> float:
    """Return a recorded figure; KeyError names the one that no record has."""
    try:
        if (RECORDS / f"{record}.csv").exists():
            return rows_of(record)[key]
        peer, metric = key
        return peers(record)[peer][metric]
    except (KeyError, ValueError, FileNotFoundError):
        raise KeyError(f"docs/records has no figure {' '.join([record, *key])!r}") from None


def filled(page: str) -> str:
    """Return the page with the recorded figures behind all its marks."""
    page = TABLE.sub(lambda found: f"{found[1]}\n{table(found['name'])}\n{found[3]}", page)
    return MARK.sub(_number, page)


def _number(found: re.Match[str]) -> str:
    value = value_of(found["record"], tuple(found["key"].split()))
    decimals = len(found["number"].partition(".")[2])
    sign = "+" if found["number"].startswith("+") else ""
    written = f"{value:{sign}{',' if ',' in found['number'] else ''}.{decimals}f}"
    return written + found[0][len(found["number"]) :]


def table(name: str) -> str:
    """Return a table with a row for each method, a column for each task, one figure a cell."""
    rows, metric = TABLES[name]
    units = {row: unit for unit, of_unit in UNITS.items() for row in of_unit}
    between = ["a text is"] if name == "at-10" else []
    lines = [
        ["", *between, *TASKS.values()],
        ["---", *["---"] * len(between), *["---:"] * len(TASKS)],
    ]
    for row, title in rows.items():
        unit = [units[row]] if between else []
        lines.append([title, *unit, *(_cell(task, row, metric) for task in TASKS)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(task: str, row: str, metric: str) -> str:
    found = peers(task).get(row, {}).get(metric)
    return NOTHING if found is None else f"{found:.1f}"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill the figures of a page."""
    return filled(markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a table of all that the records of peers hold."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["task", "peer", "metric", "mean"])
    for task in TASKS:
        for peer, found in peers(task).items():
            writer.writerows([task, peer, name, f"{value:.6g}"] for name, value in found.items())
    files.append(File.generated(config, "records/peers.csv", content=stream.getvalue()))
    return files
