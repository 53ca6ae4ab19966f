"""A key as a model that asks a person."""

from __future__ import annotations

import numpy as np
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import counted
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.estimators.from_knowledge import OF_A_PERSON, known_rates
from infopursuit.keys.key import Key
from infopursuit.pursuit.answers.columns import value_texts, value_words
from infopursuit.pursuit.answers.rules import NO_CUT, ColumnValues
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit

# What a person says in place of yes and no; how probable each is if no is right, and if yes is.
DEGREES = ("no", "probably not", "probably", "yes")
VAGUE = 1e-3
OF_DEGREES = np.array(
    [
        [1 - VAGUE, 0.75 * VAGUE, 0.25 * VAGUE, 0],
        [0, 0.25 * VAGUE, 0.75 * VAGUE, 1 - VAGUE],
    ]
)
# How probable it is that a person cannot tell, whatever the class; and what no one ever says.
UNSURE, NEVER = 1e-3, 1e-30
# The largest key: states of the character with the most, times characters, times classes.
MOST_RATES = 2**25


def key_model(key: Key, reliability: float = OF_A_PERSON) -> Pursuit:
    """Return the model of an identification key, for a person to answer: a question a character.

    Questions are for the values of a table's columns; yes and no come in four degrees.

    Raises:
        InputError: the reliability is out of its range, or the key is too large.
    """
    if not 0.5 < reliability < 1:
        raise InputError(f"reliability is {reliability!r}; expected more than 0.5 and less than 1")
    characters = [each for each in key.characters if each.asked]
    states = [DEGREES if each.in_degrees else each.states for each in characters]
    cuts = [
        each.cuts or tuple(place + 0.5 for place in range(len(names) - 1))
        for each, names in zip(characters, states, strict=True)
    ]
    padded = torch.full((len(cuts), max(map(len, cuts))), NO_CUT, dtype=torch.float64)
    for row, found in zip(padded, cuts, strict=True):
        row[: len(found)] = torch.tensor(found, dtype=torch.float64)
    numeric = torch.tensor([each.ranges is not None for each in characters])
    rule = ColumnValues(torch.arange(len(cuts)), padded, numeric)
    size = rule.levels * len(cuts) * len(key.classes)
    if size > MOST_RATES:
        raise InputError(
            f"{key.title}: {counted(len(cuts), 'character')} of up to {rule.levels - 1} states and "
            f"{counted(len(key.classes), 'class')}: {size:,} rates; expected at most "
            f"{MOST_RATES:,}: fewer of one of these"
        )
    rates = np.full((rule.levels, len(cuts), len(key.classes)), NEVER)
    for query, each in enumerate(characters):
        shares = each.choices
        known = known_rates(shares, reliability, None, shares.shape[1] - 1)
        if each.in_degrees:
            known = known @ OF_DEGREES
        levels = rule.levels_of(query)
        rates[levels, query] = (known / known.sum(axis=1, keepdims=True) * (1 - UNSURE)).T
    rates[rule.levels // 2] = UNSURE
    count = len(key.classes)
    table = AnswerTable(
        torch.from_numpy(rates).log().float(), torch.full((count,), 1 / count).log()
    )
    columns = TableColumns(
        # What is asked, before the states that one may choose from.
        tuple(
            each.question(0) if each.in_degrees else each.name.rstrip(": ") for each in characters
        ),
        tuple(
            None if each.ranges is not None else tuple(names)
            for each, names in zip(characters, states, strict=True)
        ),
    )
    return Pursuit(
        tuple(value_texts(rule, columns)),
        key.classes,
        rule,
        InformationGain(table),
        NaiveBayes(table),
        words=value_words(rule, columns),
    )
