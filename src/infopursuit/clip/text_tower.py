"""CLIP's text tower on many short texts: work on tokens, none on padding.

CLIP pads each text to 77 tokens; a query has six. Its tower is causal, a token sees itself and
those before it, and the embedding is read off at the end token: what follows changes nothing. So
texts are sorted by length and each batch is cut behind its last end token. Towers that look at the
padding (SigLIP's and CoCa's, those of other libraries) get all of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int

logger = logging.getLogger(__name__)

Tokenize = Callable[[list[str]], torch.Tensor]

# Texts of several lengths, on which a cut tower must agree with the whole one.
PROBES = ("", "cat", "a red bird", "four long legs and a striped tail")
# The most that 1 - cosine may be there: what rounding does in float32, and in half precision.
ROUNDING = 1e-6
HALF_ROUNDING = 1e-4


class TextTower:
    """Encodes texts by the text tower of an open_clip model, cut to their tokens if that is exact.

    Attributes:
        obstacle: why texts cannot be cut, None where they can.
    """

    def __init__(self, model: Any, tokenize: Tokenize, device: torch.device) -> None:
        """Look at the tower, and try it on a few texts.

        Args:
            model: what open_clip built, in eval mode, on `device`.
            tokenize: its tokenizer.
            device: where to compute.
        """
        self._model = model
        self._tower = model.text if hasattr(model, "text") else model
        self._tokenize = tokenize
        self._device = device
        self.obstacle = structural_obstacle(model) or self._disagreement()
        if self.obstacle:
            logger.info("texts go through the tower with their padding: %s", self.obstacle)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], batch_size: int) -> Float32[torch.Tensor, "n d"]:
        """Embed texts, in the precision of the tower's weights.

        A text's neighbours in a batch change its embedding by no more than rounding does; equal
        texts in equal order and batches give equal bytes.

        Args:
            texts: at least one.
            batch_size: texts of full length per batch; of short ones more, to as many tokens.

        Returns:
            On the CPU, in the order of `texts`, of any norm.
        """
        tokens = tokens_of(texts, self._tokenize)
        if self.obstacle:
            parts = tokens.split(batch_size)
            return torch.cat([self._whole(part.to(self._device)).float().cpu() for part in parts])
        ends = self._ends(tokens)
        order = torch.argsort(ends, descending=True, stable=True)
        sorted_ends = ends[order]
        longest = int(sorted_ends[0]) + 1
        sorted_tokens = tokens[order, :longest].to(self._device)
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
        """What `_whole` gives, of tokens up to the last end token in the batch."""
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
        """Where the tower reads the embedding off: one of the places of `_pools_at`."""
        pool, end = _pooling(self._tower)
        return (tokens if pool == "argmax" else (tokens == end).int()).argmax(dim=-1)

    @torch.inference_mode()
    def _disagreement(self) -> str | None:
        """What is wrong when the cut tower and the whole one disagree on the probes."""
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


def structural_obstacle(model: Any) -> str | None:
    """Why the embeddings of `model` may depend on what follows the end token; None if they cannot.

    They cannot in open_clip's own text tower, in a CLIP or beside an image tower of any kind, if
    each token is masked from all later ones and the embedding is read off at the end token, with
    no class token behind it and no mask made of the padding.
    """
    from open_clip.model import CLIP, CustomTextCLIP
    from open_clip.transformer import TextTransformer

    tower: Any = model
    if type(model) is CustomTextCLIP:
        tower = model.text
        if type(tower) is not TextTransformer:
            return f"its text tower is a {type(tower).__name__}"
        if tower.cls_emb is not None:
            return "a class token follows the text"
        if tower.use_pad_mask:
            return "its attention has a mask for the padding"
    elif type(model) is not CLIP:
        return f"it is a {type(model).__name__}"
    mask: torch.Tensor | None = tower.attn_mask
    if mask is None:
        return "its attention is not causal"
    later = torch.ones_like(mask, dtype=torch.bool).triu(1)
    if not bool(mask[later].isneginf().all()):
        return "its mask lets tokens see later ones"
    pool, _ = _pooling(tower)
    return None if pool in ("argmax", "eos") else f"the embedding is read off at: {pool}"


def _pooling(tower: Any) -> tuple[str, int]:
    """How a tower finds the end token (`argmax`: the highest number), and its number."""
    if hasattr(tower, "text_pool_type"):
        return tower.text_pool_type, tower.text_eos_id
    return tower.pool_type, tower.eos_id


def _batches(lengths: Int[torch.Tensor, " n"], tokens: int) -> Iterator[tuple[int, int, int]]:
    """First row, end and length of batches of at most `tokens` tokens; `lengths` descend."""
    start = 0
    while start < len(lengths):
        length = int(lengths[start])
        stop = min(start + max(tokens // length, 1), len(lengths))
        yield start, stop, length
        start = stop


def tokens_of(texts: Sequence[str], tokenize: Tokenize) -> Int[torch.Tensor, "n context"]:
    """What `tokenize` gives for `texts`, tokens and padding, some times faster.

    open_clip cleans each text and splits it anew. Cleaning leaves plain ASCII as it is but for case
    and spaces, and no token reaches over a space, so words of plain texts are encoded once each.

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
