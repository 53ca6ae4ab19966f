"""A small world in its own repository, where tests run the real pipeline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from infopursuit.core.tables import IMAGES, write_table
from menagerie.pictures import unpacked

ROOT = Path(__file__).parents[2]
KEY = tuple[str | int, ...]
# That of the repository; a world has its own.
LOCK = "dvc.lock"


class World:
    """A copy of the repository's files without the lock, with its own artifacts and cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, ""
        listed = _output(ROOT, "git", "ls-files", "-co", "--exclude-standard").splitlines()
        for name in listed:
            if (ROOT / name).is_file() and name != LOCK:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        _output(folder, "git", "init", "--quiet")
        self.commit("the repository as it is")

    @classmethod
    def at(cls, folder: Path) -> World:
        """Return the world that is already in a folder."""
        world = object.__new__(cls)
        world.folder, world.log = folder, ""
        return world

    def commit(self, message: str) -> None:
        _output(self.folder, "git", "add", "--all")
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        _output(self.folder, "git", *who, "commit", "--quiet", "--message", message)

    def edit(self, changes: dict[KEY, Any], file: str = "params.yaml") -> None:
        """Set values in a YAML file, each by the path of its key."""
        yaml = YAML()
        path = self.folder / file
        content = yaml.load(path.read_text(encoding="utf-8"))
        for keys, value in changes.items():
            section = content
            for key in keys[:-1]:
                section = section[key]
            assert keys[-1] in section, f"{file} has no {keys}"
            section[keys[-1]] = value
        with path.open("w", encoding="utf-8") as stream:
            yaml.dump(content, stream)

    def shrink(self) -> None:
        """Set few small pictures and few updates: everything real is run, only smaller."""
        columns = unpacked(ROOT / "stages/menagerie")
        rows = [*range(6 * 16), *range(2400, 2400 + 3 * 16)]  # of training, of test
        few = {name: [values[row] for row in rows] for name, values in columns.items()}
        write_table(self.folder / "few.parquet", IMAGES, few)
        networks = {"hidden": [24, 16], "random_updates": 40, "biased_updates": 40,
                    "validate_every": 20, "batch_size": 32}  # fmt: skip
        self.edit(
            {
                ("run", "inits"): ["llm"],
                ("datasets", "menagerie", "images"): "few.parquet",
                **{
                    ("methods", method, key): value
                    for method in ("fixed", "alternating")
                    for key, value in networks.items()
                },
                ("evaluate", "bootstrap_resamples"): 100,
                ("explain", "images"): 1,
                ("explain", "max_queries"): 5,
                ("compute", "threads"): 1,
            }
        )

    def environment(self) -> dict[str, str]:
        """Return an environment with this Python first, this copy's library and no network."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": str(self.folder / "src"),
            "HF_HUB_OFFLINE": "1",
        }

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command here, with its output as text and further options of Popen."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command here; return its exit status and output."""
        process = self.start(*command)
        output, _ = process.communicate()
        return process.returncode, output

    def do(self, *command: str) -> str:
        """Run a command that must succeed; return its output."""
        status, output = self.run(*command)
        assert status == 0, output
        return output.strip()

    def repro(self, *arguments: str) -> list[str]:
        """Run `dvc repro`, which must succeed; return the names of the stages that ran, in order.

        `check` is left out: it runs whenever params.yaml has changed. The output stays in `log`.
        """
        self.log = self.do("dvc", "repro", *arguments)
        ran = re.findall(r"Running stage '(.*)'", self.log)
        return [name for name in ran if name != "check"]

    def artifacts(self) -> dict[str, bytes]:
        """Return the bytes of every file that the stages wrote and DVC keeps."""
        home = self.folder / "artifacts"
        return {
            str(path.relative_to(home)): path.read_bytes()
            for path in sorted(home.rglob("*"))
            if path.is_file()
        }


def _output(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
