"""CLIP's text tower on many short texts: work on tokens, none on padding.

CLIP pads each text to 77 tokens; a query has six. Its tower is causal, a token sees itself and
those before it, and the embedding is read off at the end token: what follows changes nothing. So
texts are sorted by length, and each batch is cut behind its last end token. A tower for which this
fails on a trial (SigLIP's, CoCa's, those of other libraries) gets the whole padding.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int

from infopursuit.core.errors import InputError

logger = logging.getLogger(__name__)

Tokenize = Callable[[list[str]], torch.Tensor]

# Texts of several lengths, on which a cut tower must agree with the whole one.
PROBES = ("", "cat", "a red bird", "four long legs and a striped tail")
# The most that 1 - cosine may be there: what rounding does in float32, and in half precision.
ROUNDING = 1e-6
HALF_ROUNDING = 1e-4
# Characters of a text that a message quotes.
SHOWN = 60


class TextTower:
    """Encodes texts by the text tower of an open_clip model, cut to their tokens if that is exact.

    The model is in eval mode, on `device`; `obstacle` says why texts cannot be cut, None if they
    can.
    """

    def __init__(self, model: Any, tokenize: Tokenize, device: torch.device) -> None:
        self._model = model
        self._tower = model.text if hasattr(model, "text") else model
        self._tokenize = tokenize
        self._device = device
        self.obstacle = self._find_obstacle()
        if self.obstacle:
            logger.info("texts go through the tower with their padding: %s", self.obstacle)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], batch_size: int) -> Float32[torch.Tensor, "n d"]:
        """Embed texts, in the precision of the tower's weights.

        A text's neighbours in a batch change its embedding by no more than rounding does; equal
        texts in equal order and batches give equal bytes. `batch_size` is for texts of full length;
        a batch of short ones has as many tokens. Rows are on the CPU, of any norm.
        """
        tokens = tokens_of(texts, self._tokenize)
        if self.obstacle:
            parts = tokens.split(batch_size)
            return torch.cat([self._whole(part.to(self._device)).float().cpu() for part in parts])
        ends = self._ends(tokens)
        order = torch.argsort(ends, descending=True, stable=True)
        sorted_ends = ends[order]
        sorted_tokens = tokens[order, : int(sorted_ends[0]) + 1].to(self._device)
        # Read back once at the end: a GPU does not wait between batches.
        rows = [
            self._cut(sorted_tokens[start:stop, :length])
            for start, stop, length in _batches(sorted_ends + 1, batch_size * tokens.shape[1])
        ]
        embeddings = torch.cat(rows).float().cpu()
        result = torch.empty_like(embeddings)
        result[order] = embeddings
        return result

    def _whole(self, tokens: Int[torch.Tensor, "b context"]) -> torch.Tensor:
        return self._model.encode_text(tokens)

    def _cut(self, tokens: Int[torch.Tensor, "b length"]) -> torch.Tensor:
        """Return what `_whole` does, from tokens up to the last end token in the batch.

        `encode_text` adds the positions of all 77 tokens, so it cannot be called with fewer.
        """
        tower, length = self._tower, tokens.shape[1]
        dtype = tower.transformer.get_cast_dtype()
        x = tower.token_embedding(tokens).to(dtype)
        x = x + tower.positional_embedding[:length].to(dtype)
        x = tower.transformer(x, attn_mask=tower.attn_mask[:length, :length])
        x = x[torch.arange(len(x), device=x.device), self._ends(tokens)]
        x = tower.ln_final(x)
        projection = tower.text_projection
        if projection is None:
            return x
        return projection(x) if isinstance(projection, torch.nn.Linear) else x @ projection

    def _ends(self, tokens: Int[torch.Tensor, "b length"]) -> Int[torch.Tensor, " b"]:
        """Return where the tower reads the embedding off: the end tokens."""
        pool, end = _pooling(self._tower)
        return (tokens if pool == "argmax" else (tokens == end).int()).argmax(dim=-1)

    @torch.inference_mode()
    def _find_obstacle(self) -> str | None:
        """Return why texts cannot be cut: what the tower is, or how it fails on the probes."""
        mask: torch.Tensor | None = getattr(self._tower, "attn_mask", None)
        if mask is None:
            return "its attention is not causal"
        if not bool(mask[torch.ones_like(mask, dtype=torch.bool).triu(1)].isneginf().all()):
            return "its mask lets tokens see later ones"
        pool, _ = _pooling(self._tower)
        if pool not in ("argmax", "eos"):
            return f"the embedding is read off at: {pool}"
        tokens = self._tokenize(list(PROBES)).to(self._device)
        whole = self._whole(tokens).double()
        ends = self._ends(tokens)
        cut = [self._cut(row[None, : end + 1]) for row, end in zip(tokens, ends, strict=True)]
        apart = 1 - torch.cosine_similarity(torch.cat(cut).double(), whole)
        full = self._tower.transformer.get_cast_dtype() == torch.float32
        worst, limit = float(apart.max()), ROUNDING if full else HALF_ROUNDING
        if worst <= limit:
            return None
        return f"without it, 1 - cosine is {worst:.1e} on a trial; expected at most {limit:.0e}"


def _pooling(tower: Any) -> tuple[str, int]:
    """Return how a tower finds the end token (`argmax`: the highest number), and its number."""
    if hasattr(tower, "text_pool_type"):
        return tower.text_pool_type, tower.text_eos_id
    return tower.pool_type, tower.eos_id


def _batches(lengths: Int[torch.Tensor, " n"], tokens: int) -> Iterator[tuple[int, int, int]]:
    """Give first row, end and length of batches of at most `tokens` tokens; `lengths` descend."""
    start = 0
    while start < len(lengths):
        length = int(lengths[start])
        stop = min(start + max(tokens // length, 1), len(lengths))
        yield start, stop, length
        start = stop


def refuse_long(texts: Sequence[str], tokenize: Tokenize) -> None:
    """Raise InputError for a text of more tokens than are read: others may begin as it does."""
    most, encode = tokenize([""]).shape[1], getattr(tokenize, "encode", None)
    for text in texts:
        if len(text.encode(errors="replace")) <= most - 2:  # a token has at least a byte
            continue
        if encode is not None:  # of open_clip's own
            long = len(encode(text)) > most - 2
        else:  # what is left out of the end changes no token
            tokens = tokenize([text, text.rpartition(" ")[0], ""])
            full = bool((tokens[0, -2:] != tokens[2, -2:]).any())
            long = full and torch.equal(tokens[0], tokens[1])
        if long:
            shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 20]} ... {text[-15:]}"
            raise InputError(
                f"the text {shown!r} has more than the {most} tokens that CLIP reads; expected a "
                "shorter text: about a token a word"
            )


def tokens_of(texts: Sequence[str], tokenize: Tokenize) -> Int[torch.Tensor, "n context"]:
    """Return what `tokenize` does, several times faster for open_clip's own tokenizer.

    open_clip cleans each text and splits it again. Cleaning changes only case and spaces of plain
    ASCII, and no token reaches over a space, so each word of plain texts is encoded once.
    """
    from open_clip.tokenizer import SimpleTokenizer

    if not isinstance(tokenize, SimpleTokenizer) or tokenize.reduction_fn is not None:
        return tokenize(list(texts))
    words: dict[str, list[int]] = {}
    tokens = torch.zeros((len(texts), tokenize.context_length or 0), dtype=torch.long)
    for row, text in zip(tokens.numpy(), texts, strict=True):
        encoded = _encoded(text, tokenize.encode, words)[: len(row) - 2]
        ids = [tokenize.sot_token_id, *encoded, tokenize.eot_token_id]
        row[: len(ids)] = np.array(ids)
    return tokens


def _encoded(
    text: str, encode: Callable[[str], list[int]], words: dict[str, list[int]]
) -> list[int]:
    """Return the tokens of one text without its ends; `words` keeps those of known words."""
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
