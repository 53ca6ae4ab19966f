"""Pages that are written elsewhere: tutorial, changelog, security, help of the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

NOTEBOOK = "tutorial.ipynb"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    root = Path(config.config_file_path).parent
    notebook = json.loads((Path(config.docs_dir) / NOTEBOOK).read_text(encoding="utf-8"))
    changelog, security = (
        (root / f"{name}.md").read_text(encoding="utf-8") for name in ("CHANGELOG", "SECURITY")
    )
    files.append(File.generated(config, "tutorial.md", content=notebook_page(notebook)))
    files.append(File.generated(config, "changelog.md", content=changelog))
    inside = security.replace("](docs/", "](")
    files.append(File.generated(config, "security.md", content=inside))
    files.append(File.generated(config, "api/command-line.md", content=command_line_page()))
    return files


def command_line_page() -> str:
    """What `--help` says of the command and of each of its subcommands."""
    first = help_of()
    commands = re.findall(r"^ {2,4}([a-z][\w-]*)(?: {2,}|$)", first, re.MULTILINE)
    parts = [
        "# Command line",
        "For users of a shell. After this page you know every option of `infopursuit`, the command "
        "that comes with the library; `python -m infopursuit` is the same.",
        f"```text\n{first}```",
    ]
    for command in dict.fromkeys(commands):
        parts += [f"## infopursuit {command}", f"```text\n{help_of(command)}```"]
    return "\n\n".join(parts) + "\n"


def help_of(*command: str) -> str:
    """The help of a command, as wide as a page."""
    program = [sys.executable, "-m", "infopursuit", *command, "--help"]
    environment = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1"}
    found = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    return found.stdout.replace("python -m infopursuit", "infopursuit")


def notebook_page(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown: its text, its code, and what the code gave."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    # After the title, so that the title stays the first line of the page.
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\n[Download this page as a notebook]({NOTEBOOK})\n{rest}\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "text/html" in data:
        # One line: Markdown would end the block at an empty one.
        table = " ".join("".join(data["text/html"]).split("\n"))
        return f'<div class="output">{table}</div>'
    if "image/png" in data:
        picture = "".join(data["image/png"]).strip()
        alt = escape("".join(data["text/plain"]))
        return f'<img class="output" alt="{alt}" src="data:image/png;base64,{picture}">'
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
