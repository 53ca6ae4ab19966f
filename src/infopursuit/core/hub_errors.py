"""What the client of the Hugging Face hub says of an error, in one line."""

from __future__ import annotations

import re

# What to do about errors of the Hugging Face hub's client, by the name of their class.
HUB_ADVICE = {
    "GatedRepoError": "accept its licence on its page there, and log in (hf auth login)",
    "RepositoryNotFoundError": "check the name; a private one needs a login (hf auth login)",
    "RevisionNotFoundError": "check the commit",
}
_REQUEST = re.compile(r"\s*\(Request ID:[^)]*\)")


def hub_reason(error: Exception) -> tuple[str, str]:
    """Return what the client of the hub says of an error, and what to do about it."""
    kinds = [kind.__name__ for kind in type(error).__mro__]
    # "Please check your connection" stands for what went wrong with it.
    cause = error.__cause__ if kinds[0] == "LocalEntryNotFoundError" else None
    said = _REQUEST.sub("", str(cause or error)).split()
    reason = " ".join(said).rstrip(".:")[:600] or type(error).__name__
    advice = [HUB_ADVICE[kind] for kind in kinds if kind in HUB_ADVICE]
    return reason, (advice or ["connect to the network"])[0]
