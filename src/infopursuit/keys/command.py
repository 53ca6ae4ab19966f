"""`infopursuit key`: a page that asks a person, or Clavis 1.0, from a table of classes."""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from infopursuit.cli.explain import write_out
from infopursuit.core.errors import InputError
from infopursuit.core.numbers import counted
from infopursuit.explorer.contents import AnsweredImages, Chosen, Facts, contents
from infopursuit.explorer.page import page, room
from infopursuit.keys.clavis import read_clavis, write_clavis
from infopursuit.keys.key import Key, check_pictures, read_csv
from infopursuit.keys.models import key_model
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule

logger = logging.getLogger("infopursuit")

PAGE, CLAVIS = ".html", ".json"
READERS = {".csv": read_csv, CLAVIS: read_clavis}
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
# Bytes of a page, pictures included.
LARGEST = 20_000_000
# A class is named when it is this probable; a person may go on.
SURE = StoppingRule(0.95, stability=None)


def key(chosen: argparse.Namespace) -> None:
    """Write the key."""
    out: Path = chosen.out
    if out.suffix not in (PAGE, CLAVIS):
        raise InputError(f"{out}: expected a name that ends in .html or .json")
    if out.exists() and out.resolve() == chosen.table.resolve():
        raise InputError(f"{out}: is the table that is read; expected another name for the key")
    if out.suffix == CLAVIS and not (chosen.creator and "://" in (chosen.license or "")):
        raise InputError(
            f"{out}: a Clavis file says who made it and under which license; expected --creator "
            "NAME and --license ADDRESS, such as https://creativecommons.org/licenses/by/4.0/"
        )
    read = open_key(chosen.table, chosen.title)
    if out.suffix == CLAVIS:
        write_clavis(read, out, chosen.creator, chosen.license)
    else:
        write_page(key_model(read, chosen.reliability), read, out)
    logger.info(
        "%s: %s, %s, %s",
        out,
        counted(len(read.classes), "class"),
        counted(len(read.characters), "question"),
        counted(len(read.pictures), "picture"),
    )


def open_key(path: Path, title: str | None = None) -> Key:
    """Return the key of a file, under another title if one is given."""
    if path.suffix.casefold() in SPREADSHEETS:
        raise InputError(f"{path}: a spreadsheet; save it as CSV (UTF-8), and give that file")
    if path.suffix not in READERS:
        raise InputError(f"{path}: expected .csv or .json (Clavis)")
    read = READERS[path.suffix](path)
    return replace(read, title=title or read.title)


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
