"""Embeddings of patches: against open_clip's own attention that sees one token, and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import open_clip
import pytest
import timm
import torch
from open_clip.timm_model import TimmModel
from torch import Tensor
from torch.nn import functional

from infopursuit.clip.patches import patch_embeddings
from infopursuit.clip.towers import OpenClip
from infopursuit.core.errors import InputError
from tests.clip.conftest import TEXT, VISION

RESNET = {"image_size": 64, "layers": [1, 1, 2, 2], "width": 8, "head_width": 64}


def clip_tower(vision: dict[str, Any]) -> Any:
    """The image tower of a CLIP with random weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        visual = open_clip.CLIP(16, vision, TEXT).visual.eval()
        for block in getattr(visual, "layer4", ()):  # those of open_clip begin with zero
            torch.nn.init.normal_(block.bn3.weight)
        return visual.requires_grad_(False)


def timm_tower(name: str, pool: str = "") -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return TimmModel(name, 16, image_size=160, pool=pool).eval().requires_grad_(False)


def siglip() -> Any:
    """A small tower of SigLIP: timm pools its patches by attention."""
    tower = timm_tower("test_vit_relpos")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        tower.trunk = timm.create_model(
            "vit_base_patch16_siglip_224", img_size=64, depth=1, embed_dim=16, num_heads=2
        )
    tower.trunk.reset_classifier(0, "map")
    tower.head = torch.nn.Sequential()
    return tower.eval().requires_grad_(False)


TOWERS: dict[str, tuple[Callable[[], Any], int, int]] = {
    "transformer": (lambda: clip_tower(VISION), 32, 4),
    "custom": (lambda: clip_tower({**VISION, "scale_attn_inner": True, "scale_attn": True}), 32, 4),
    "pooled by mean": (lambda: clip_tower({**VISION, "pool_type": "avg"}), 32, 4),
    "resnet": (lambda: clip_tower(RESNET), 64, 4),
    "fine resnet": (lambda: clip_tower({**RESNET, "image_size": 160}), 160, 5),
    "convnext": (lambda: timm_tower("test_convnext", "avg"), 160, 5),
    "mean of tokens": (lambda: timm_tower("test_vit_relpos"), 160, 10),
    "siglip": (siglip, 64, 4),
}


def pictures(side: int) -> Tensor:
    return torch.randn(2, 3, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", TOWERS)
def test_one_pass_embeds_pictures_as_always_and_patches_in_their_grid(name: str) -> None:
    make, side, grid = TOWERS[name]
    visual, images = make(), pictures(side)
    found = patch_embeddings(visual, images)
    assert torch.equal(found.pictures, visual(images))
    assert found.patches.shape == (2, grid, grid, 16)
    norms = found.patches.norm(dim=-1)
    torch.testing.assert_close(norms, torch.ones_like(norms))
    images, cell = images[:1], side // grid
    # A patch that changes changes its own embedding most.
    before = patch_embeddings(visual, images).patches
    for row, column in ((0, 0), (1, grid - 1), (grid - 1, 1)):
        changed = images.clone()
        rows, columns = (slice(cell * each, cell * (each + 1)) for each in (row, column))
        changed[:, :, rows, columns] += 3
        moved = (patch_embeddings(visual, changed).patches - before).norm(dim=-1)[0]
        assert divmod(int(moved.argmax()), grid) == (row, column)


def test_values_are_what_attention_gives_if_each_token_sees_itself_alone() -> None:
    visual, images = clip_tower({**VISION, "layers": 3}), pictures(32)
    *others, last = visual.transformer.resblocks
    tokens = visual._embeds(images)
    for block in others:
        tokens = block(tokens)
    itself = torch.full((17, 17), -torch.inf).fill_diagonal_(0.0)
    alone = last.attention(last.ln_1(tokens), attn_mask=itself)[:, 1:]
    wanted = functional.normalize(visual.ln_post(alone) @ visual.proj, dim=-1)
    found = patch_embeddings(visual, images).patches
    torch.testing.assert_close(found.flatten(1, 2), wanted)


def test_a_coarse_resnet_computes_its_last_stage_without_the_stride() -> None:
    """Every second place has the neighbours of the coarse grid, as if nothing were averaged."""
    visual, images = clip_tower({**RESNET, "image_size": 96}), pictures(96)
    found = patch_embeddings(visual, images).patches
    assert found.shape[1:3] == (6, 6)
    first, second = visual.layer4
    x = visual.layer3(visual.layer2(visual.layer1(visual.stem(images))))
    first.avgpool, first.downsample[0] = torch.nn.Identity(), torch.nn.Identity()
    x = first(x)
    pool = visual.attnpool
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        tokens = second(x[:, :, row::2, column::2]).flatten(2).transpose(1, 2)
        values = pool.c_proj(pool.v_proj(tokens + pool.positional_embedding[1:].mean(dim=0)))
        wanted = functional.normalize(values, dim=-1).unflatten(1, (3, 3))
        torch.testing.assert_close(found[:, row::2, column::2], wanted)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: timm_tower("test_vit"), "timm's VisionTransformer pools in a way"),
        (lambda: clip_tower({**VISION, "attentional_pool": True}), "an attentional pooler"),
        (lambda: torch.nn.Identity(), "of the kind Identity"),
    ],
)
def test_a_tower_without_embeddings_of_patches_is_refused(make: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        patch_embeddings(make(), pictures(160))


def test_maps_are_patches_along_directions(clip: OpenClip) -> None:
    images = pictures(32)
    directions = torch.randn(3, 16)
    rows, maps = clip.encode_maps(images, directions)
    assert np.array_equal(rows, clip.encode_images(images))
    patches = patch_embeddings(clip._loaded[0].visual, images).patches
    assert maps.dtype == np.float32
    wanted = (patches.reshape(-1, 16) @ directions.T).reshape(2, 4, 4, 3).permute(0, 3, 1, 2)
    np.testing.assert_allclose(maps, wanted.numpy(), atol=1e-6)
