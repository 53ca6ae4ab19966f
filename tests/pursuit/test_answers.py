import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.pursuit.answers import minmax_answers
from tests.pursuit import reference


def _scores(seed: int, images: int = 6, k: int = 9, d: int = 5) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(images + k, d, generator=generator, dtype=torch.float64)
    points = torch.nn.functional.normalize(points, dim=1)
    return points[:images], points[images:]


@given(st.integers(0, 10_000), st.booleans())
def test_answers_equal_the_definition(seed: int, hard: bool) -> None:
    images, queries = _scores(seed)
    fast = minmax_answers(images @ queries.T, hard)
    torch.testing.assert_close(fast, reference.answers(images, queries, hard))


@given(st.integers(0, 10_000), st.floats(0.1, 100), st.floats(-10, 10))
def test_answers_ignore_scale_and_shift_of_an_image_s_scores(
    seed: int, scale: float, shift: float
) -> None:
    scores = torch.randn(4, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    moved = minmax_answers(scale * scores + shift, hard=False)
    torch.testing.assert_close(moved, minmax_answers(scores, hard=False), atol=1e-6, rtol=1e-6)


def test_equal_scores_answer_no_and_never_nan() -> None:
    scores = torch.full((2, 5), 0.3, requires_grad=True)
    for hard in (True, False):
        answers = minmax_answers(scores, hard)
        assert answers.tolist() == [[0.0] * 5] * 2
    minmax_answers(scores).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


def test_exactly_half_is_no() -> None:
    assert minmax_answers(torch.tensor([[0.0, 0.5, 1.0]])).tolist() == [[0.0, 0.0, 1.0]]


def test_hard_answers_have_the_gradient_of_soft_ones() -> None:
    weights = torch.randn(3, 6)
    grads = []
    for hard in (True, False):
        scores = torch.linspace(-1, 1, 18).sin().reshape(3, 6).requires_grad_()
        (minmax_answers(scores, hard) * weights).sum().backward()
        assert scores.grad is not None
        grads.append(scores.grad)
    torch.testing.assert_close(grads[0], grads[1])
