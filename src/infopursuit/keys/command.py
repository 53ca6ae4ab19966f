"""`infopursuit key`: an identification key from a table, a knowledge table or a fitted model.

key.html  a page that asks a person     key.json  Clavis 1.0
key.md    a printed key                 key.csv   a table of classes by characters
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np
import torch

from infopursuit.cli.explain import write_out
from infopursuit.core.errors import InputError
from infopursuit.core.numbers import counted
from infopursuit.estimators.base import load_fitted
from infopursuit.explorer.contents import AnsweredImages, Chosen, Facts, contents
from infopursuit.explorer.page import page, room
from infopursuit.keys.clavis import read_clavis, write_clavis
from infopursuit.keys.key import (
    Key,
    check_pictures,
    checked,
    read_csv,
    write_csv,
)
from infopursuit.keys.models import fitted_key, key_model, knowledge_key
from infopursuit.keys.printed import printed_key
from infopursuit.keys.sdd import read_sdd
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.knowledge_files import open_knowledge

logger = logging.getLogger("infopursuit")

PAGE, PRINTED, CLAVIS, TABLE = ".html", ".md", ".json", ".csv"
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
READ = ".csv, .json (Clavis), .xml (SDD), .jsonl or .parquet (knowledge), or the folder of a model"
# Whoever reads a printed key cannot take an answer back: the key trusts it.
RELIABILITY_IN_PRINT = 0.999
# Bytes of a page, pictures included.
LARGEST = 20_000_000
# A class is named when it is this probable; a person may go on.
SURE = StoppingRule(0.95, stability=None)


def key(chosen: argparse.Namespace) -> None:
    """Write the key."""
    out: Path = chosen.out
    if out.suffix not in (PAGE, PRINTED, CLAVIS, TABLE):
        raise InputError(f"{out}: expected a name that ends in .html, .md, .json or .csv")
    if out.exists() and out.resolve() == chosen.table.resolve():
        raise InputError(f"{out}: is the table that is read; expected another name for the key")
    if out.suffix == CLAVIS and not (chosen.creator and "://" in (chosen.license or "")):
        raise InputError(
            f"{out}: a Clavis file says who made it and under which license; expected --creator "
            "NAME and --license ADDRESS, such as https://creativecommons.org/licenses/by/4.0/"
        )
    read, pursuit = open_key(chosen.table, chosen.title)
    if out.suffix == CLAVIS:
        write_clavis(read, out, chosen.creator, chosen.license)
    elif out.suffix == TABLE:
        write_csv(read, out)
    elif out.suffix == PRINTED:
        printed = pursuit or key_model(read, RELIABILITY_IN_PRINT)
        text = printed_key(printed, read.title, chosen.error)
        write_out({out.name: text.encode()}, out.parent, "FILE", out)
    else:
        write_page(pursuit or key_model(read, chosen.reliability), read, out)
    logger.info(
        "%s: %s, %s, %s",
        out,
        counted(len(read.classes), "class"),
        counted(len(read.characters), "question"),
        counted(len(read.pictures), "picture"),
    )


def open_key(path: Path, title: str | None = None) -> tuple[Key, Pursuit | None]:
    """Return what a file or a folder holds as a key; with its model, if it is one."""
    name = title or path.stem
    if path.is_dir():
        pursuit = load_fitted(path).pursuit_
        return fitted_key(pursuit, name), pursuit
    if path.suffix in (".jsonl", ".parquet"):
        return checked(knowledge_key(open_knowledge(path), name), path), None
    readers = {TABLE: read_csv, CLAVIS: read_clavis, ".xml": read_sdd}
    if path.suffix.casefold() in SPREADSHEETS:
        raise InputError(f"{path}: a spreadsheet; save it as CSV (UTF-8), and give that file")
    if path.suffix not in readers:
        raise InputError(f"{path}: expected {READ}")
    read = readers[path.suffix](path)
    return Key(title or read.title, read.classes, read.characters, read.pictures), None


def write_page(pursuit: Pursuit, read: Key, out: Path) -> None:
    """Write the page of a key; pictures stay out if there is no room."""
    check_pictures(read)
    names = [name for name in read.classes if name in read.pictures]
    truth = torch.from_numpy(np.nan_to_num(read.truth(), nan=0.0) > 0.5)
    rows = [read.classes.index(name) for name in names]
    pictures = AnsweredImages(
        names, np.array(rows, np.int64), truth[rows].float(), [read.pictures[n] for n in names]
    )
    content = contents(
        (pursuit, Facts(read.title, SURE)),
        pictures,
        title=read.title,
        chosen=Chosen(test=len(names), limit=room(read.title, LARGEST)),
        key=True,
    )
    write_out({out.name: page(content).encode()}, out.parent, "PAGE", out)
