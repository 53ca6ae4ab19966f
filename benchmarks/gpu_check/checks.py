"""The tests' checks of a device: each holds or does not."""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import naive_checks
from benchmarks.gpu_check.rows import Row
from tests.pursuit import device_checks as pursuit_checks
from tests.pursuit.dictionary import medoid_checks, nearest_checks
from tests.pursuit.vip import device_checks as training_checks


def swap_changes(device: str) -> None:
    """Check cases like those that the tests draw with hypothesis."""
    draw = random.Random(0)
    with medoid_checks.short_blocks():
        for seed in range(10):
            medoid_checks.check_changes(device, draw.randint(3, 40), draw.randint(1, 8), seed)


def medoid_lists(device: str) -> None:
    """Check cases like those that the tests draw with hypothesis."""
    draw = random.Random(0)
    with medoid_checks.short_blocks():
        for seed in range(4):
            n, k, reach = draw.randint(20, 50), draw.randint(1, 9), draw.randint(2, 12)
            medoid_checks.check_lists(device, n, k, reach, seed)


CHECKS: dict[str, Callable[[str], None]] = {
    "updates with random histories: those of the naive implementation on the CPU (float64)":
        partial(naive_checks.check_steps, phase="random"),
    "updates with histories of the querier: those of the naive implementation on the CPU":
        partial(naive_checks.check_steps, phase="biased"),
    "queries and predictions: the naive ones on the CPU": naive_checks.check_evaluation,
    "a training run, twice: the same bits": training_checks.check_repeats,
    "a training run, stopped and resumed: the same bits": training_checks.check_resumes,
    "no update waits for the device": training_checks.check_never_waits,
    "nearest texts: those of the exact search on the CPU": nearest_checks.check_nearest,
    "a dictionary stands for its nearest texts": nearest_checks.check_snap,
    "swaps of medoids: their changes by the whole matrix": swap_changes,
    "swaps of medoids: lists and losses stay true": medoid_lists,
    "k-medoids: repeated, and as good as on the CPU": medoid_checks.check_search,
    "answers by every rule: those of the CPU": pursuit_checks.check_answers,
    "questions and posteriors: those of the CPU": pursuit_checks.check_questions,
}  # fmt: skip


def rows(device: str, tiny: bool) -> Iterator[Row]:
    """Yield one row per check."""
    for what, check in CHECKS.items():
        yield checked(what, check, device)


def checked(what: str, check: Callable[[str], None], device: str) -> Row:
    """Run one check; a failure becomes one line, with the traceback on standard error."""
    started = time.perf_counter()
    try:
        check(device)
    except Exception as error:  # any error is a result
        traceback.print_exc(file=sys.stderr)
        return Row(what, f"fails: {reason(error)}", exact=False)
    return Row(what, f"holds ({time.perf_counter() - started:.1f} s)", exact=True)


def reason(error: BaseException) -> str:
    """Return an error in one line; for an assertion without a message, its code."""
    message = " ".join(str(error).split())
    if not message:
        message = str(traceback.extract_tb(error.__traceback__)[-1].line)
    return f"{type(error).__name__}: {message[:200]}"
