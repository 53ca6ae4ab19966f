"""Methods are told apart by their recipes, and lines by their style."""

from dataclasses import asdict
from itertools import product
from typing import get_args, get_type_hints

from infopursuit.params import INITS as KNOWN_INITS
from infopursuit.presentation.methods import INITS, is_paper_method, line_styles, meaning
from infopursuit.pursuit.recipe import Recipe
from tests.presentation.made_up_runs import RECIPES


def test_every_recipe_and_init_has_a_meaning():
    hints = get_type_hints(Recipe)
    choices = [get_args(hints[name]) for name in ("dictionary", "answers", "networks")]
    found = {
        meaning(
            asdict(Recipe())
            | {"dictionary": one, "answers": two, "networks": three, "quantize_queries": four}
        )
        for one, two, three in product(*choices)
        for four in (True, False)
    }
    assert len(found) == len(list(product(*choices))) * 2
    assert set(KNOWN_INITS) <= set(INITS)


def test_lines_of_many_methods_are_distinct():
    styles = line_styles([f"method {number}" for number in range(32)] * 2)
    assert len(set(styles.values())) == len(styles) == 32


def test_names_do_not_make_a_paper_method():
    recipe = RECIPES["alternating"]
    assert is_paper_method(recipe, "alternating")
    assert not is_paper_method(recipe, "joint")
    assert not is_paper_method(recipe | {"networks": "evidence"}, "alternating")
    assert is_paper_method(recipe | {"answers": "soft"}, "alternating", "soft")
    assert not is_paper_method(recipe | {"quantize_queries": False}, "alternating")
