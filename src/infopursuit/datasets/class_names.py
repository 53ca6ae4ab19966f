"""The class names of a data set: a list, one a line, or the folders of its images."""

from __future__ import annotations

from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.text_lists import read_text_list
from infopursuit.datasets.image_folders import class_folders


def read_class_names(path: str | Path) -> list[str]:
    """The class names in the order of the labels.

    Args:
        path: a list, one name a line; or a folder CLASS/IMAGE, or train/CLASS/IMAGE and
            test/CLASS/IMAGE, whose classes are taken in alphabetical order.

    Raises:
        InputError: there is no such list or folder, it is malformed, or has fewer than two classes.
    """
    classes = class_folders(Path(path)) if Path(path).is_dir() else read_text_list(path)
    if len(classes) < 2:
        raise InputError(f"{path}: {len(classes)} class; expected at least two")
    return classes
