"""What each patch of a picture says: embeddings of patches, in the same space as the picture's.

A tower makes the embedding of a picture of tokens of its patches. Before the last attention each
token is still about its own place. Its value there, led through the projection as if it were the
whole picture, is the embedding of the patch; a patch speaks for a text as much as this embedding
times the direction that gives the score of the picture.

values      each value alone (Zhou et al., MaskCLIP, ECCV 2022)
keys        values averaged over patches with alike keys (after Lan et al., ClearCLIP, ECCV 2024)
attention   each value, weighted by the attention that the picture's embedding pays to it

lab/where.md measures all three; `values` is the best. A tower of open_clip is a vision
transformer, a ResNet with attention pooling, or a model of timm without a class token, whose
patches are pooled alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError

MapMethod = Literal["values", "keys", "attention"]
Projection = Callable[[Tensor], Tensor]
METHODS: tuple[MapMethod, ...] = get_args(MapMethod)
# A ResNet with fewer patches a side than this computes its last stage without the stride.
COARSE = 4


class Patches(NamedTuple):
    """What a tower makes of b pictures.

    Attributes:
        pictures: their embeddings, as the tower gives them.
        patches: embeddings of their patches, in rows from the top left corner on; unit norm.
    """

    pictures: Float[Tensor, "b d"]
    patches: Float[Tensor, "b h w d"]


def patch_embeddings(
    visual: Any, images: Float[Tensor, "b 3 y x"], method: MapMethod = "values"
) -> Patches:
    """Embed pictures and their patches in one pass of open_clip's image tower `visual`.

    Raises:
        InputError: the tower is of a kind that has no embeddings of patches.
    """
    kind = type(visual).__name__
    reader = READERS.get(kind)
    if reader is None:
        raise InputError(f"an image tower of the kind {kind} has no embeddings of patches")
    pictures, patches = reader(visual, images, method)
    return Patches(pictures, functional.normalize(patches.float(), dim=-1))


def _of_transformer(visual: Any, images: Tensor, method: MapMethod) -> tuple[Tensor, Tensor]:
    if visual.attn_pool is not None:
        raise InputError("an image tower with an attentional pooler has no embeddings of patches")
    block = visual.transformer.resblocks[-1]
    pictures, (tokens,) = _with_inputs(visual, images, [block])
    attention = block.attn
    weights = attention.in_proj_weight.chunk(3)
    biases = [None] * 3 if attention.in_proj_bias is None else attention.in_proj_bias.chunk(3)
    query, key, value = (
        partial(functional.linear, weight=weight, bias=bias)
        for weight, bias in zip(weights, biases, strict=True)
    )
    tokens = block.ln_1(tokens)
    mixed = _mixed(tokens[:, 0], tokens[:, 1:], (query, key, value), attention.num_heads, method)
    same = torch.nn.Identity()
    seen = attention.out_proj(getattr(attention, "ln_inner", same)(mixed))
    patches = visual.ln_post(block.ls_1(getattr(block, "ln_attn", same)(seen)))
    if visual.proj is not None:
        patches = patches @ visual.proj
    return pictures, patches.unflatten(1, visual.grid_size)


def _of_resnet(visual: Any, images: Tensor, method: MapMethod) -> tuple[Tensor, Tensor]:
    pool = visual.attnpool
    first = visual.layer4[0].avgpool
    pictures, (before, inner, grid) = _with_inputs(visual, images, [visual.layer4, first, pool])
    position = pool.positional_embedding.to(grid.dtype)
    whole = grid.mean(dim=(2, 3)) + position[0]
    if grid.shape[2] < COARSE:
        grid = _without_stride(visual.layer4, before, inner)
    # Places of the finer grid have no position; their mean is what all of them share.
    tokens = grid.flatten(2).transpose(1, 2) + position[1:].mean(dim=0)
    projections = (pool.q_proj, pool.k_proj, pool.v_proj)
    mixed = _mixed(whole, tokens, projections, pool.num_heads, method)
    return pictures, pool.c_proj(mixed).unflatten(1, grid.shape[2:])


def _of_timm(visual: Any, images: Tensor, method: MapMethod) -> tuple[Tensor, Tensor]:
    trunk = visual.trunk
    features = trunk.forward_features(images)
    in_grid = features.ndim == 4 and features.shape[1] == trunk.num_features
    in_row = features.ndim == 3 and not getattr(trunk, "num_prefix_tokens", 0)
    if hasattr(visual.head, "pool") or not (in_grid or in_row):
        kind = type(trunk).__name__
        raise InputError(f"timm's {kind} pools in a way that has no embeddings of patches")
    if in_grid:
        grid = features.shape[2:]
        alone = features.permute(0, 2, 3, 1).reshape(-1, features.shape[1], 1, 1)
    else:
        grid = trunk.patch_embed.grid_size
        alone = features.reshape(-1, 1, features.shape[2])
    pictures, patches = (visual.head(trunk.forward_head(each)) for each in (features, alone))
    return pictures, patches.reshape(len(images), *grid, -1)


READERS = {
    "VisionTransformer": _of_transformer,
    "ModifiedResNet": _of_resnet,
    "TimmModel": _of_timm,
}


def _with_inputs(visual: Any, images: Tensor, parts: list[Any]) -> tuple[Tensor, list[Tensor]]:
    """Run a tower; return its embeddings, and what the given parts of it were given."""
    given: dict[Any, Tensor] = {}
    hooks = [
        part.register_forward_pre_hook(lambda part, inputs: given.update({part: inputs[0]}))
        for part in parts
    ]
    try:
        pictures = visual(images)
    finally:
        for hook in hooks:
            hook.remove()
    return pictures, [given[part] for part in parts]


def _mixed(
    whole: Float[Tensor, "b c"],
    tokens: Float[Tensor, "b n c"],
    projections: tuple[Projection, Projection, Projection],
    heads: int,
    method: MapMethod,
) -> Float[Tensor, "b n e"]:
    """Return the values of patches as a method takes them.

    Args:
        whole: the token that the picture's embedding is made at.
        tokens: of the patches.
        projections: to queries, keys and values.
        heads: of the attention.
        method: one of METHODS.
    """
    query, key, value = projections
    values = value(tokens)
    if method == "values":
        return values
    keys, values = (
        each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in (key(tokens), values)
    )
    if method == "keys":
        mixed = functional.scaled_dot_product_attention(keys, keys, values)
    else:
        asked = query(whole).unflatten(-1, (heads, 1, -1))
        attention = (asked @ keys.transpose(2, 3) / asked.shape[-1] ** 0.5).softmax(dim=-1)
        mixed = attention.transpose(2, 3) * values
    return mixed.transpose(1, 2).flatten(2)


def _without_stride(
    stage: Any, x: Float[Tensor, "b c h w"], inner: Float[Tensor, "b i h w"]
) -> Float[Tensor, "b e h w"]:
    """Run a stage of a ResNet at each place of its input: nothing is averaged over 2 x 2 places.

    `inner` is what the first block has before its average.
    """
    for number, block in enumerate(stage):
        if number:  # neighbours are now two places apart
            inner = block.act1(block.bn1(block.conv1(x)))
            inner = functional.conv2d(inner, block.conv2.weight, padding=2, dilation=2)
            inner = block.act2(block.bn2(inner))
        beside = x if block.downsample is None else block.downsample[1:](x)
        x = block.act3(block.bn3(block.conv3(inner)) + beside)
    return x
