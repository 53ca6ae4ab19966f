"""Which code a script runs, as a file that a stage depends on.

    used = CodeUsed(Path())
    used.listing(Path("stages/train.py"))  # a line for each file: its path and its hash

A file counts if the script imports it, anywhere and through others, or by the full name in a text,
or names it as data of a package. The hash is of the syntax tree without docstrings, or of what TOML
and JSON say, and so the same after a change of comments, docstrings or line breaks, and on every
version of Python.

What a script imports by a name made at run time, no listing has: `unlisted` tells at its end.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text, write_text

HINT = "the stage check writes it"
# What of a syntax tree is no code, or not the same on every version of Python.
_LEFT_OUT = ("ctx", "kind", "type_comment")
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# The full name of a module, by which a registry imports it.
_MODULE = re.compile(r"[a-z_]+(\.[a-z_]+)+")
# What of a file only makes names.
_MAKES_NAMES = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class CodeUsed:
    """The code that scripts of one project run, as it lies when it is asked for first.

    Attributes:
        project: the folder with `src` and `stages`.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self._uses = cache(_uses)  # most files are used by many scripts

    def listing(self, script: Path) -> str:
        """Return a line `PATH HASH` for each file that a script runs, sorted by path.

        Raises:
            InputError: one of the files is not valid Python.
        """
        return "".join(f"{name} {digest(self.project / name)}\n" for name in self.names(script))

    def names(self, script: Path) -> list[str]:
        """Return the files that a script runs, relative to the project, sorted.

        Files without code are left out, and so is the file of a whole package that only makes
        names: it imports what is asked for.
        """
        homes = (self.project / "src", self.project / script.parent)
        files, waiting = {script}, [script]
        while waiting:
            for path in self._uses(waiting.pop(), homes):
                if path not in files:
                    files.add(path)
                    waiting += [path] if path.suffix == ".py" else []
        return sorted(path.relative_to(self.project).as_posix() for path in files)


def write_listings(scripts: list[Path], folder: Path, known: Path) -> None:
    """Write what each script runs to `folder`, and to `known` the hash of each file as it lies.

    `changed_since` reads both: of a file that lies there as it did it takes the hash from `known`,
    which takes a thousandth of the time.
    """
    used = CodeUsed(Path())
    for script in scripts:
        write_text(folder / f"{script.stem}.txt", used.listing(script))
    names = sorted({name for script in scripts for name in used.names(script)})
    hashes = {name: [*_as_it_lies(Path(name)), digest(Path(name))] for name in names}
    write_text(known, json.dumps(hashes, indent=0, sort_keys=True) + "\n")


def changed_since(listing: Path, known: Path) -> list[str]:
    """Return the files of a listing that have other code now, or are gone."""
    hashes = json.loads(read_text(known, HINT)) if known.is_file() else {}
    changed = []
    for line in read_text(listing, HINT).splitlines():
        name, _, recorded = line.rpartition(" ")
        path = Path(name)
        if not path.is_file():
            changed.append(name)
            continue
        *as_before, of_before = hashes.get(name, [None])
        same = as_before == _as_it_lies(path)
        if (of_before if same else digest(path)) != recorded:
            changed.append(name)
    return changed


class FilesRead:
    """The files that this process opens from now on, and the modules that it has loaded."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike):
            self._opened.add(os.fspath(arguments[0]))

    def below(self, folder: Path) -> set[Path]:
        """Return those below a folder."""
        loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        compiled = (".py", ".pyc")  # loaded modules have them
        opened = {name for name in self._opened if not name.endswith(compiled)}
        paths = {
            Path(os.path.realpath(name))  # pyright: ignore[reportCallIssue, reportArgumentType]
            for name in (loaded | opened) - {None}
        }
        return {path for path in paths if folder.resolve() in path.parents and path.is_file()}


def unlisted(read: FilesRead, listing: Path, project: Path) -> list[str]:
    """Return the files of `src` and `stages` that a listing lacks although they were read."""
    listed = {line.rpartition(" ")[0] for line in read_text(listing, HINT).splitlines()}
    missing = []
    for folder in ("src", "stages"):
        for path in read.below(project / folder):
            name = path.relative_to(project.resolve()).as_posix()
            if name not in listed and _counts(path, project / folder):
                missing.append(name)
    return sorted(missing)


def _as_it_lies(path: Path) -> list[int]:
    """Return what changes if a file is written: time of the last change in ns, bytes, number."""
    status = path.stat()
    return [status.st_mtime_ns, status.st_size, status.st_ino]


class _Code(NamedTuple):
    """What one file of Python has: its hash, imports and texts, if it has code, and if that acts.

    A file of data has a hash alone.
    """

    digest: str
    imports: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    runs: bool = True
    acts: bool = True


def digest(path: Path) -> str:
    """Return the SHA-256 of the code in a file; of a file of data that of its bytes."""
    return _read(path, *_as_it_lies(path)).digest


def imports(path: Path) -> frozenset[str]:
    """Return the full names of all that a file imports, anywhere in it, parts of modules included.

    Raises:
        InputError: it imports by a relative name, or is not valid Python.
    """
    return _read(path, *_as_it_lies(path)).imports


@cache
def _read(path: Path, *as_it_lies: int) -> _Code:
    content = path.read_bytes()
    if path.suffix != ".py":
        return _Code(hashlib.sha256(_meaning(content, path.suffix)).hexdigest())
    try:
        tree = ast.parse(content, str(path))
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path}: not valid Python: {error}") from error
    hashed = hashlib.sha256()
    for part in _parts(tree):
        hashed.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    modules: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise InputError(f"{path}:{node.lineno}: expected an import by its full name")
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    runs = any(not isinstance(getattr(node, "value", None), ast.Constant)
               or not isinstance(node, ast.Expr) for node in tree.body)  # fmt: skip
    acts = any(map(_acts, tree.body))
    return _Code(hashed.hexdigest(), frozenset(modules), frozenset(texts), runs, acts)


def _meaning(content: bytes, suffix: str) -> bytes:
    """Return what a file of data says, without comments and line breaks; else its bytes."""
    parse = {".toml": tomllib.loads, ".json": json.loads}.get(suffix)
    try:
        return content if parse is None else repr(parse(content.decode("utf-8"))).encode("utf-8")
    except ValueError:  # who reads the file says so
        return content


def _acts(node: ast.stmt) -> bool:
    """Return whether a statement of a module does more than make names."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name):  # TYPE_CHECKING
        return any(map(_acts, node.body))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        calls = any(isinstance(each, ast.Call) for each in ast.walk(node))
        return calls or not all(isinstance(target, ast.Name) for target in targets)
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return not docstring and not isinstance(node, _MAKES_NAMES)


def _parts(node: object) -> Iterator[str]:
    """Yield the parts of a syntax tree in order, without positions and docstrings."""
    if isinstance(node, ast.AST):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node):
                value = value[1:]
            elif isinstance(node, ast.JoinedStr):  # some versions keep empty pieces
                value = [each for each in value if getattr(each, "value", None) != ""]
            if value is not None and value != [] and name not in _LEFT_OUT:
                yield name
                yield from _parts(value)
    elif isinstance(node, list):
        yield str(len(node))
        for each in node:
            yield from _parts(each)
    else:
        yield f"{type(node).__name__} {node}"


def _uses(path: Path, homes: tuple[Path, Path]) -> set[Path]:
    """Return the files that one file imports from `src` or beside its script, or names as data."""
    files: set[Path] = set()
    home, texts = homes[0], _read(path, *_as_it_lies(path)).texts
    by_text = [(home, text) for text in texts if _MODULE.fullmatch(text)]
    for each, module in [*product(homes, imports(path)), *by_text]:
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            files.update(_module_files(each, tuple(parts[:end])))
    named = {text.rpartition("/")[2] for text in texts}
    for package, folder, data in _data(home):
        if path.parent == package or ".".join(package.relative_to(home).parts) in texts:
            whole = bool(folder) and folder in named
            files.update(file for file in data if whole or file.name in named)
    return files


@cache
def _module_files(home: Path, parts: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the file of a module if it is in the folder and has code; else nothing."""
    path = home.joinpath(*parts)
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return (candidate,) if _counts(candidate, home) else ()
    return ()


def _counts(path: Path, home: Path) -> bool:
    """Return whether a file that is loaded or read computes: it is data, or has code that does."""
    code = _read(path, *_as_it_lies(path))
    whole_package = path.name == "__init__.py" and path.parent.parent.resolve() == home.resolve()
    return code.acts if whole_package else code.runs


@cache
def _data(home: Path) -> list[tuple[Path, str, list[Path]]]:
    """Return the data of packages: the package, the name of its folder in it ("" for none), files.

    A folder without Python in a package is one of data.
    """
    files_of: dict[tuple[Path, str], list[Path]] = {}
    for marker in sorted(home.rglob("__init__.py")):
        package = marker.parent
        for path in sorted(package.iterdir()):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".typed"):
                files_of.setdefault((package, ""), []).append(path)
            elif path.is_dir() and not any(path.rglob("*.py")) and path.name != "__pycache__":
                files = [file for file in sorted(path.rglob("*")) if file.is_file()]
                files_of[package, path.name] = files
    return [(package, name, files) for (package, name), files in files_of.items()]
