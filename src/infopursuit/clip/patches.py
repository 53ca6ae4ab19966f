"""What each patch of a picture says: embeddings of patches, in the same space as the picture's.

A tower makes the embedding of a picture of tokens of its patches. Before the last attention each
token is still about its own place. Its value there, led through the projection as if it were the
whole picture, is the embedding of the patch (Zhou et al., MaskCLIP, ECCV 2022); a patch speaks for
a text as much as this embedding times the direction that gives the score of the picture.

lab/where.md compares other ways. A tower of open_clip is a vision transformer, a ResNet with
attention pooling, or a model of timm without a class token, whose patches are pooled alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError

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


def patch_embeddings(visual: Any, images: Float[Tensor, "b 3 y x"]) -> Patches:
    """Embed pictures and their patches in one pass of open_clip's image tower `visual`.

    Raises:
        InputError: the tower is of a kind that has no embeddings of patches.
    """
    kind = type(visual).__name__
    reader = READERS.get(kind)
    if reader is None:
        raise InputError(f"an image tower of the kind {kind} has no embeddings of patches")
    pictures, patches = reader(visual, images)
    return Patches(pictures, functional.normalize(patches.float(), dim=-1))


def _of_transformer(visual: Any, images: Tensor) -> tuple[Tensor, Tensor]:
    if visual.attn_pool is not None:
        raise InputError("an image tower with an attentional pooler has no embeddings of patches")
    block = visual.transformer.resblocks[-1]
    pictures, (tokens,) = _with_inputs(visual, images, [block])
    attention = block.attn
    weight = attention.in_proj_weight.chunk(3)[2]
    bias = None if attention.in_proj_bias is None else attention.in_proj_bias.chunk(3)[2]
    values = functional.linear(block.ln_1(tokens)[:, 1:], weight, bias)
    same = torch.nn.Identity()
    seen = attention.out_proj(getattr(attention, "ln_inner", same)(values))
    patches = visual.ln_post(block.ls_1(getattr(block, "ln_attn", same)(seen)))
    if visual.proj is not None:
        patches = patches @ visual.proj
    return pictures, patches.unflatten(1, visual.grid_size)


def _of_resnet(visual: Any, images: Tensor) -> tuple[Tensor, Tensor]:
    pool = visual.attnpool
    first = visual.layer4[0].avgpool
    pictures, (before, inner, grid) = _with_inputs(visual, images, [visual.layer4, first, pool])
    if grid.shape[2] < COARSE:
        grid = _without_stride(visual.layer4, before, inner)
    # Places of the finer grid have no position; their mean is what all of them share.
    position = pool.positional_embedding.to(grid.dtype)[1:].mean(dim=0)
    values = pool.v_proj(grid.flatten(2).transpose(1, 2) + position)
    return pictures, pool.c_proj(values).unflatten(1, grid.shape[2:])


def _of_timm(visual: Any, images: Tensor) -> tuple[Tensor, Tensor]:
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
    input_of: dict[Any, Tensor] = {}
    hooks = [
        part.register_forward_pre_hook(lambda part, inputs: input_of.update({part: inputs[0]}))
        for part in parts
    ]
    try:
        pictures = visual(images)
    finally:
        for hook in hooks:
            hook.remove()
    return pictures, [input_of[part] for part in parts]


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
