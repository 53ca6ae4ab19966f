"""The cut text tower against open_clip's `encode_text`, and towers that must not be cut."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.clip.text_tower import TextTower, structural_obstacle, tokens_of
from tests.clip.tiny import MODEL

CPU = torch.device("cpu")
TEXTS = [
    "a striped tail",
    "",
    "red",
    " ".join(["feather"] * 40),
    "Café, naïve &amp; fine",
    "a photo of a giant panda, eating",
    "red",
    "x " * 14,
    "<end_of_text> and more",
    "RED\n thing",
]
MULTIMODAL = {"context_length": 16, "width": 32, "heads": 2, "layers": 1, "vocab_size": 49408}


def model_of(kind: str, precise: torch.dtype = torch.float32, **text: Any) -> Any:
    import open_clip

    settings = {**MODEL, "text_cfg": {**MODEL["text_cfg"], "layers": 3, **text}}
    if kind == "CoCa":
        settings["multimodal_cfg"] = MULTIMODAL
    torch.manual_seed(0)
    model = getattr(open_clip, kind)(**settings).eval().requires_grad_(False)
    # At their initial size attention hardly tells tokens apart; here it must.
    for name, parameter in model.named_parameters():
        if "in_proj_weight" in name:
            parameter *= 3
    return model.to(precise)


@cache
def tokenizer(clean: str = "lower") -> Any:
    from open_clip.tokenizer import SimpleTokenizer

    return SimpleTokenizer(context_length=16, clean=clean)


def plain(model: Any, texts: list[str]) -> np.ndarray:
    with torch.inference_mode():
        rows = [model.encode_text(tokenizer()([text]), normalize=True) for text in texts]
    return torch.cat(rows).float().numpy()


def unit(rows: torch.Tensor) -> np.ndarray:
    return torch.nn.functional.normalize(rows, dim=-1).numpy()


CAUSAL = [
    ("CLIP", {}),
    ("CLIP", {"pool_type": "eos", "eos_id": 49407}),
    ("CLIP", {"proj_type": "none"}),
    ("CLIP", {"proj_bias": True, "act_kwargs": {"approximate": "tanh"}}),
    ("CLIP", {"qk_norm": True, "scale_attn": True, "scale_fc": True, "ls_init_value": 0.5}),
    ("CustomTextCLIP", {}),
    ("CustomTextCLIP", {"pool_type": "eos", "eos_id": 49407, "pad_id": 1}),
]


@pytest.mark.parametrize(("kind", "text"), CAUSAL)
@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_cut_texts_embed_as_whole_ones_in_their_order(
    kind: str, text: dict[str, Any], batch_size: int
) -> None:
    model = model_of(kind, **text)
    tower = TextTower(model, tokenizer(), CPU)
    assert tower.obstacle is None
    rows = tower.encode(TEXTS, batch_size)
    wanted = plain(model, TEXTS)
    np.testing.assert_allclose(unit(rows), wanted, atol=1e-5)
    assert rows.dtype == torch.float32
    # Texts are told apart by far more than that.
    apart = 1 - wanted @ wanted.T + np.eye(len(TEXTS))
    for equal in ([2, 6], [1, 8]):
        apart[np.ix_(equal, equal)] = 1
    assert apart.min() > 1e-3
    assert torch.equal(rows, tower.encode(TEXTS, batch_size))


def test_work_is_done_on_tokens_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tower = TextTower(model_of("CLIP"), tokenizer(), CPU)
    shapes: list[tuple[int, int]] = []
    cut = tower._cut

    def watched(tokens: torch.Tensor) -> torch.Tensor:
        shapes.append((tokens.shape[0], tokens.shape[1]))
        return cut(tokens)

    monkeypatch.setattr(tower, "_cut", watched)
    monkeypatch.setattr(tower, "_whole", lambda tokens: pytest.fail("a whole text"))
    # Two texts of 16 tokens are a batch: 2 x 16, then up to 10 x 3 or 32 of nothing.
    tower.encode(["cat", "", "dog", "word " * 40] * 4, batch_size=2)
    assert shapes == [(2, 16), (2, 16), (10, 3), (2, 2)]


NOT_CUT = [
    ("CLIP", {"no_causal_mask": True}, "its attention is not causal"),
    ("CLIP", {"pool_type": "last"}, "read off at: last"),
    ("CLIP", {"pool_type": "first"}, "read off at: first"),
    ("CustomTextCLIP", {"no_causal_mask": True, "pool_type": "last"}, "not causal"),
    ("CustomTextCLIP", {"no_causal_mask": True}, "not causal"),
    ("CustomTextCLIP", {"embed_cls": True}, "a class token follows the text"),
    ("CoCa", {"embed_cls": True}, "it is a CoCa"),
]


@pytest.mark.parametrize(("kind", "text", "reason"), NOT_CUT)
def test_other_towers_get_their_padding(
    kind: str, text: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = model_of(kind, output_tokens=kind == "CoCa", **text)
    with caplog.at_level(logging.INFO):
        tower = TextTower(model, tokenizer(), CPU)
    assert reason in caplog.text
    assert tower.obstacle is not None
    for batch_size in (1, 3, 64):
        rows = tower.encode(TEXTS, batch_size)
        np.testing.assert_allclose(unit(rows), plain(model, TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    "text", [{"no_causal_mask": True, "pool_type": "last"}, {"no_causal_mask": True}]
)
def test_cutting_a_tower_like_siglips_would_be_wrong(text: dict[str, Any]) -> None:
    model = model_of("CustomTextCLIP", **text)
    tokens = tokenizer()(TEXTS[:3])
    ends = tokens.argmax(dim=1)
    with torch.inference_mode():
        short = [model.encode_text(row[None, : e + 1]) for row, e in zip(tokens, ends, strict=True)]
    cosines = (unit(torch.cat(short)) * plain(model, TEXTS[:3])).sum(axis=1)
    assert cosines.min() < 0.999


class MixingBlock(torch.nn.Module):
    """Looks causal from outside, but adds to each token a little of all."""

    def __init__(self, block: torch.nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor, attn_mask: torch.Tensor) -> torch.Tensor:
        return self.block(x, attn_mask=attn_mask) + 0.1 * x.mean(dim=1, keepdim=True)


def test_a_tower_that_disagrees_on_the_trial_is_not_cut(caplog: pytest.LogCaptureFixture) -> None:
    model = model_of("CLIP")
    model.transformer.resblocks[1] = MixingBlock(model.transformer.resblocks[1])
    assert structural_obstacle(model) is None
    with caplog.at_level(logging.INFO):
        tower = TextTower(model, tokenizer(), CPU)
    assert "1 - cosine is" in caplog.text
    np.testing.assert_allclose(unit(tower.encode(TEXTS, 3)), plain(model, TEXTS), atol=1e-5)


def test_a_mask_that_lets_later_tokens_through_is_noticed() -> None:
    model = model_of("CLIP")
    model.attn_mask[3, 9] = 0
    assert structural_obstacle(model) == "its mask lets tokens see later ones"


def test_a_text_tower_of_another_library_is_not_cut() -> None:
    model = model_of("CustomTextCLIP")
    model.text = torch.nn.Identity()
    assert structural_obstacle(model) == "its text tower is a Identity"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_its_precision(dtype: torch.dtype) -> None:
    model = model_of("CLIP", dtype)
    tower = TextTower(model, tokenizer(), CPU)
    assert tower.obstacle is None
    rows = unit(tower.encode(TEXTS, 64))
    cosines = (rows * unit(torch.from_numpy(plain(model, TEXTS)))).sum(axis=1)
    assert cosines.min() > 1 - 1e-3


@given(st.lists(st.text(max_size=30) | st.text("aB'<>&;# 1_.é\t\n", max_size=40), max_size=8))
def test_tokens_are_those_of_open_clip(texts: list[str]) -> None:
    for clean in ("lower", "whitespace", "canonicalize"):
        assert torch.equal(tokens_of(texts, tokenizer(clean)), tokenizer(clean)(texts))


def test_tokens_of_special_texts_are_those_of_open_clip() -> None:
    texts = [*TEXTS, "&lt ;x&amp;lt;", "<start_of_text>", "don't  they'll", "a\x00b", "ﬁne", "Ä&"]
    tokenize = tokenizer()
    assert torch.equal(tokens_of(texts, tokenize), tokenize(texts))


def test_other_tokenizers_are_called_as_they_are() -> None:
    from open_clip.tokenizer import SimpleTokenizer

    def other(texts: list[str]) -> torch.Tensor:
        return torch.full((len(texts), 4), 7)

    assert torch.equal(tokens_of(["a", "b"], other), torch.full((2, 4), 7))
    reducing = SimpleTokenizer(context_length=5, reduction_mask="simple")
    torch.manual_seed(0)
    assert tokens_of(["one two three four five six"], reducing).shape == (1, 5)
