"""Methods are told apart by their settings, and lines by their style."""

from itertools import product

from infopursuit_study.run_report.methods import (
    ANSWERS,
    DICTIONARIES,
    is_paper_method,
    line_styles,
    meaning,
)
from tests.study.run_report.made_up_runs import METHODS


def test_every_method_and_init_has_a_meaning():
    every = [
        {"method": "variational", "dictionary": one, "answers": two, "quantize_queries": three}
        for one, two, three in product(DICTIONARIES, ANSWERS, (True, False))
    ]
    every.append({"method": "naive_bayes"})
    assert len({meaning(settings) for settings in every}) == len(every) == 25
    assert meaning(every[-1]) == (
        "fixed dictionary, five answers from no to yes, naive Bayes in place of networks"
    )


def test_lines_of_many_methods_are_distinct():
    styles = line_styles([f"method {number}" for number in range(32)] * 2)
    assert len(set(styles.values())) == len(styles) == 32


def test_names_do_not_make_a_paper_method():
    settings = METHODS["alternating"]
    assert is_paper_method(settings, "alternating")
    assert not is_paper_method(settings, "joint")
    assert not is_paper_method(settings | {"method": "naive_bayes"}, "alternating")
    assert is_paper_method(settings | {"answers": "soft"}, "alternating", "soft")
    assert not is_paper_method(settings | {"quantize_queries": False}, "alternating")
