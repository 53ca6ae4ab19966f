"""Files that appear under their names when they are complete, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4


def write_whole(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder; where one cannot be written, all are as they were before.

    Args:
        files: content by name.
        folder: it exists.

    Raises:
        OSError: the folder is read-only, the disk is full, or a name is that of a folder.
    """
    mark = f".{uuid4().hex[:8]}.partial"
    partial = {folder / name: folder / (name + mark) for name in files}
    try:
        for (path, beside), content in zip(partial.items(), files.values(), strict=True):
            if path.is_dir():
                raise IsADirectoryError(f"{path} is a folder; expected a file or nothing")
            beside.write_bytes(content)
        for path, beside in partial.items():
            beside.replace(path)
    finally:
        for beside in partial.values():
            beside.unlink(missing_ok=True)
