"""What make installs is checked against the hashes of the lock."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = re.sub(r"\\\n\s*", "", (ROOT / "Makefile").read_text(encoding="utf-8"))
INSTALL = re.search(r"\$\(UV\) (pip sync .*--require-hashes) requirements\.lock", MAKEFILE)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "wheels" / "tiny-1.0-py3-none-any.whl"
    path.parent.mkdir()
    told = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("tiny.py", "")
        file.writestr(f"{told}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(f"{told}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{told}/RECORD", "")
    return path


def installed(lock: str, wheel: Path, folder: Path) -> subprocess.CompletedProcess:
    """Install a lock as make does, into a folder and from the folder of the wheel alone."""
    assert INSTALL is not None
    (folder / "requirements.lock").write_text(lock, encoding="utf-8")
    options = INSTALL[1].replace("$(VENV)/bin/python", sys.executable).split()
    return subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), *options, "requirements.lock"),
            *("--no-index", "--find-links", wheel.parent, "--no-config", "--no-cache"),
            *("--target", "into"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_file_of_the_lock_is_installed(wheel: Path, tmp_path: Path) -> None:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    done = installed(f"tiny==1.0 --hash=sha256:{digest}\n", wheel, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "into" / "tiny.py").is_file()


@pytest.mark.parametrize("pin", [f"tiny==1.0 --hash=sha256:{'0' * 64}", "tiny==1.0"])
def test_another_file_is_refused(wheel: Path, tmp_path: Path, pin: str) -> None:
    done = installed(pin + "\n", wheel, tmp_path)
    assert done.returncode != 0
    assert "hash" in done.stderr.lower()
    assert not (tmp_path / "into" / "tiny.py").exists()
