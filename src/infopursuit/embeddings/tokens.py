"""Tokens of many short texts, the same as CLIP's own tokenizer gives, some times faster.

open_clip cleans each text and splits it anew. Cleaning leaves plain ASCII as it is but for case and
spaces, and no token reaches over a space, so the words of plain texts are encoded once each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Int

Tokenize = Callable[[list[str]], torch.Tensor]


def tokens_of(texts: Sequence[str], tokenize: Tokenize) -> Int[torch.Tensor, "n context"]:
    """What `tokenize` gives for `texts`, tokens and padding.

    Args:
        texts: any texts.
        tokenize: open_clip's tokenizer of the model; words are kept only for its own byte-pair
            encoding without reduction, all others are called as they are.
    """
    from open_clip.tokenizer import SimpleTokenizer

    if not isinstance(tokenize, SimpleTokenizer) or tokenize.reduction_fn is not None:
        return tokenize(list(texts))
    context = tokenize.context_length
    assert context is not None
    words: dict[str, list[int]] = {}
    rows = [_encoded(text, tokenize.encode, words) for text in texts]
    room = context - 2
    lengths = np.array([min(len(row), room) for row in rows], dtype=np.int64)
    tokens = np.zeros((len(rows), context), dtype=np.int64)
    column = np.arange(context)
    inside = (column >= 1) & (column <= lengths[:, None])
    tokens[inside] = [token for row in rows for token in row[:room]]
    tokens[:, 0] = tokenize.sot_token_id
    tokens[np.arange(len(rows)), lengths + 1] = tokenize.eot_token_id
    return torch.from_numpy(tokens)


def _encoded(
    text: str, encode: Callable[[str], list[int]], words: dict[str, list[int]]
) -> list[int]:
    """Tokens of one text without its ends; `words` has those of words met before."""
    # Cleaning repairs wrong decoding (never of ASCII) and control characters, and reads HTML
    # entities, which begin with an ampersand and may hold a space.
    if not (text.isascii() and text.isprintable()) or "&" in text:
        return encode(text)
    row: list[int] = []
    for word in text.split():
        if word not in words:
            words[word] = encode(word)
        row += words[word]
    return row
