"""Keys as models that ask a person, and models and knowledge tables as keys."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import counted
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.estimators.from_knowledge import OF_A_PERSON, known_rates
from infopursuit.keys.key import Character, Key
from infopursuit.pursuit.answers.columns import value_texts, value_words
from infopursuit.pursuit.answers.rules import NO_CUT, ColumnValues
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.texts.asking import questions
from infopursuit.texts.knowledge import KnowledgeTable

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
        said = known_rates(shares, reliability, None, shares.shape[1] - 1)
        if each.in_degrees:
            said = said @ OF_DEGREES
        levels = rule.levels_of(query)
        rates[levels, query] = (said / said.sum(axis=1, keepdims=True) * (1 - UNSURE)).T
    rates[rule.levels // 2] = UNSURE
    count = len(key.classes)
    table = AnswerTable(
        torch.from_numpy(rates).log().float(), torch.full((count,), 1 / count).log()
    )
    columns = TableColumns(
        tuple(each.choice_name for each in characters),
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


def knowledge_key(knowledge: KnowledgeTable, title: str) -> Key:
    """Return a knowledge table as a key: each text is a question."""
    values = knowledge.values.astype(np.float64)
    characters = [
        Character.of_question(asked, values[:, column])
        for column, asked in enumerate(questions(knowledge.texts))
        if np.nanmax(values[:, column], initial=0) > np.nanmin(values[:, column], initial=1)
    ]
    return Key(title, knowledge.classes, tuple(characters))


def fitted_key(pursuit: Pursuit, title: str) -> Key:
    """Return a fitted model as a key: how often each class says yes; not sure counts half.

    Raises:
        InputError: it is not a naive Bayes model.
    """
    if pursuit.querier.criterion == "querier probability":
        raise InputError("networks have no table of answers; expected a naive Bayes model")
    rates = cast(NaiveBayes, pursuit.classifier).exact_rates.marginal.log_likelihood.exp().cpu()
    levels = torch.linspace(0, 1, len(rates), dtype=rates.dtype)
    yes = torch.einsum("v,vkc->ck", levels, rates).numpy()
    characters = [
        Character.of_question(pursuit.question(column), yes[:, column])
        for column in range(len(pursuit.queries))
    ]
    if pursuit.words:  # the states of a character are the values of a column
        characters = []
        for query, words in enumerate(pursuit.words):
            shown = [
                level for level, word in enumerate(words) if word and 2 * level + 1 != len(words)
            ]
            shares = rates[shown, query].T
            shares = (shares / shares.sum(dim=1, keepdim=True)).numpy()
            name = pursuit.queries[query].removesuffix("?")
            characters.append(Character(name, tuple(words[level] for level in shown), shares))
    return Key(title, pursuit.class_names, tuple(characters))
